// Calls in the manner of Python, as agents write them for browsers and desktops: each statement as a call with literal arguments, or as code.

/** A statement: a call all of whose arguments are literals, or anything else as its text with white space squeezed. */
type Statement = PythonCall | { readonly code: string };

export interface PythonCall {
  /** With its dots, such as `pyautogui.click`. */
  readonly name: string;
  readonly positional: readonly unknown[];
  readonly named: Readonly<Record<string, unknown>>;
}

/** Literals within literals are read so deep. */
const DEEPEST = 16;

/** A piece of a script. A string that is never closed goes on to the end; what is nothing else is a single sign. */
const TOKEN = new RegExp(
  [
    '(?<space>[^\\S\\n]+|#[^\\n]*)',
    ...['"""', "'''"].map((quote) => `[rR]?${quote}(?:[^\\\\]|\\\\[\\s\\S])*?(?:${quote}|\\\\?$)`),
    ...['"', "'"].map((quote) => `[rR]?${quote}(?:[^${quote}\\\\]|\\\\[\\s\\S])*(?:${quote}|\\\\?$)`),
    '[-+]?(?:\\d{1,20}(?:\\.\\d{0,20})?|\\.\\d{1,20})(?:[eE][-+]?\\d{1,4})?(?![\\w.])',
    '[A-Za-z_][\\w.]*',
    '[\\s\\S]',
  ].join('|'),
  'g',
);
const STRING = /^([rR]?)("""|'''|["'])([\s\S]*)\2$/;
const NUMBER = /^[-+]?\.?\d/;
const NAME = /^[A-Za-z_]\w*$/;

/** The statements of a script, without imports and comments. A script is read in one pass, however it is written. */
export function statementsOf(script: string): Statement[] {
  return split(script).flatMap((pieces) => {
    const text = pieces.join('').trim();
    if (text === '' || /^(?:import|from)\s/.test(text)) return [];
    return readCall(pieces.filter((piece) => piece.trim() !== '')) ?? { code: text.replace(/\s+/g, ' ') };
  });
}

/** The pieces of each statement, comments left out: they end at line ends and semicolons outside of brackets and strings. */
function split(script: string): string[][] {
  let current: string[] = [];
  const statements = [current];
  let depth = 0;
  for (const [piece] of script.matchAll(TOKEN)) {
    if ('([{'.includes(piece)) depth++;
    if (')]}'.includes(piece) && depth > 0) depth--;
    if (depth === 0 && (piece === '\n' || piece === ';')) {
      current = [];
      statements.push(current);
    } else if (!piece.startsWith('#')) current.push(piece);
  }
  return statements;
}

/** Undefined where the pieces are no single call, or an argument is no literal. */
function readCall([name = '', ...pieces]: readonly string[]): PythonCall | undefined {
  if (!/^[A-Za-z_]/.test(name) || pieces[0] !== '(') return undefined;
  const reader = new LiteralReader(pieces.slice(1));
  const positional: unknown[] = [];
  const named: [string, unknown][] = [];
  try {
    reader.items(')', () => {
      const key = reader.takeKey();
      if (key === undefined) positional.push(reader.literal(0));
      else named.push([key, reader.literal(0)]);
    });
  } catch (error) {
    if (error === NO_LITERAL) return undefined;
    throw error;
  }
  return reader.isAtEnd ? { name, positional, named: Object.fromEntries(named) } : undefined;
}

const NO_LITERAL = new Error('no literal');
const WORDS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null, true: true, false: false };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

/** Reads literals from pieces without white space. Throws NO_LITERAL where there is none. */
class LiteralReader {
  #at = 0;

  constructor(private readonly pieces: readonly string[]) {}

  get isAtEnd(): boolean {
    return this.#at >= this.pieces.length;
  }

  #take(sign: string): boolean {
    const isThere = this.pieces[this.#at] === sign;
    if (isThere) this.#at++;
    return isThere;
  }

  /** The name of a named argument, with the equals sign behind it. */
  takeKey(): string | undefined {
    const [key = '', equals] = this.pieces.slice(this.#at, this.#at + 2);
    if (equals !== '=' || !NAME.test(key)) return undefined;
    this.#at += 2;
    return key;
  }

  /** Items with commas between them, up to the closing sign. */
  items<T>(close: string, item: () => T): T[] {
    const items: T[] = [];
    while (!this.#take(close)) {
      items.push(item());
      if (!this.#take(',') && this.pieces[this.#at] !== close) throw NO_LITERAL;
    }
    return items;
  }

  literal(depth: number): unknown {
    const piece = this.pieces[this.#at++];
    if (piece === undefined || depth > DEEPEST) throw NO_LITERAL;
    if (NUMBER.test(piece)) return Number(piece);
    if (STRING.test(piece)) return this.#strings(piece);
    if (piece === '[' || piece === '(') return this.items(piece === '[' ? ']' : ')', () => this.literal(depth + 1));
    if (piece === '{') return Object.fromEntries(this.items('}', () => this.#entry(depth)));
    if (!Object.hasOwn(WORDS, piece)) throw NO_LITERAL;
    return WORDS[piece];
  }

  #entry(depth: number): [string, unknown] {
    const key = String(this.literal(depth + 1));
    if (!this.#take(':')) throw NO_LITERAL;
    return [key, this.literal(depth + 1)];
  }

  /** Strings that stand beside each other are one. */
  #strings(first: string): string {
    let whole = '';
    for (let piece: string | undefined = first; piece !== undefined; ) {
      const [, prefix = '', , body = ''] = STRING.exec(piece) ?? [];
      whole += prefix === '' ? unescaped(body) : body;
      const next: string | undefined = this.pieces[this.#at];
      piece = next !== undefined && /^["']/.test(next) && STRING.test(next) ? next : undefined;
      if (piece !== undefined) this.#at++;
    }
    return whole;
  }
}

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/g,
    (whole, hex?: string, unicode?: string, char?: string) => {
      const code = hex ?? unicode;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (char === undefined) return whole;
      return ESCAPES[char] ?? (`\\'"`.includes(char) ? char : whole);
    },
  );
}
