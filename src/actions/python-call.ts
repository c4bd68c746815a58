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

/** The statements of a script, without imports and comments. A script is read in one pass, however it is written. */
export function statementsOf(script: string): Statement[] {
  return splitStatements(script)
    .filter((text) => text !== '' && !/^(?:import|from)\s/.test(text))
    .map((text) => readCall(text) ?? { code: text.replace(/\s+/g, ' ') });
}

/** Texts of the statements, stripped: split at line ends and semicolons outside of brackets and strings. */
function splitStatements(script: string): string[] {
  const statements: string[] = [];
  let [current, depth, at] = ['', 0, 0];
  const end = () => {
    statements.push(current.trim());
    current = '';
  };
  while (at < script.length) {
    const char = script.charAt(at);
    if (char === '#') {
      const line = script.indexOf('\n', at);
      at = line === -1 ? script.length : line;
    } else if (char === '"' || char === "'") {
      const close = stringEnd(script, at);
      current += script.slice(at, close);
      at = close;
    } else {
      if ('([{'.includes(char)) depth++;
      if (')]}'.includes(char) && depth > 0) depth--;
      if (depth === 0 && (char === '\n' || char === ';')) end();
      else current += char;
      at++;
    }
  }
  end();
  return statements;
}

/** Where the string ends (exclusive) whose quote stands at `start`; at the text's end where it is never closed. */
function stringEnd(text: string, start: number): number {
  const quote = text.charAt(start);
  const fence = text.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  for (let at = start + fence.length; at < text.length; at++) {
    if (text.charAt(at) === '\\') at++;
    else if (text.startsWith(fence, at)) return at + fence.length;
  }
  return text.length;
}

/** Undefined where the text is no single call, or an argument is no literal. */
function readCall(text: string): PythonCall | undefined {
  const name = /^[A-Za-z_][\w.]*(?=\s*\()/.exec(text)?.[0];
  if (name === undefined) return undefined;
  const reader = new LiteralReader(text, name.length);
  const [positional, named]: [unknown[], Record<string, unknown>] = [[], Object.create(null)];
  reader.take('(');
  try {
    while (!reader.take(')')) {
      const key = reader.takeName();
      if (key === undefined) positional.push(reader.literal(0));
      else named[key] = reader.literal(0);
      if (!reader.take(',') && !reader.isAt(')')) return undefined;
    }
  } catch (error) {
    if (error === NO_LITERAL) return undefined;
    throw error;
  }
  return reader.isAtEnd() ? { name, positional, named: { ...named } } : undefined;
}

const NO_LITERAL = new Error('no literal');
const WORDS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null, true: true, false: false };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

/** Reads literals from a place in a text on. Throws NO_LITERAL where there is none. */
class LiteralReader {
  constructor(
    private readonly text: string,
    private at: number,
  ) {}

  private skip(): void {
    while (/\s/.test(this.text.charAt(this.at))) this.at++;
  }

  isAt(sign: string): boolean {
    this.skip();
    return this.text.startsWith(sign, this.at);
  }

  isAtEnd(): boolean {
    this.skip();
    return this.at >= this.text.length;
  }

  take(sign: string): boolean {
    if (!this.isAt(sign)) return false;
    this.at += sign.length;
    return true;
  }

  private match(pattern: RegExp): RegExpExecArray | undefined {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text) ?? undefined;
    this.at += found?.[0].length ?? 0;
    return found;
  }

  /** The name of a named argument, its equals sign behind it. */
  takeName(): string | undefined {
    return this.match(/([A-Za-z_]\w*)\s*=(?!=)/y)?.[1];
  }

  literal(depth: number): unknown {
    if (depth > DEEPEST) throw NO_LITERAL;
    const number = this.match(/[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,4})?(?![\w.])/y)?.[0];
    if (number !== undefined) return Number(number);
    const prefix = this.match(/[rR]?(?=["'])/y)?.[0];
    if (prefix !== undefined) return this.strings(prefix !== '');
    if (this.take('[')) return this.items(']', depth);
    if (this.take('(')) return this.items(')', depth);
    if (this.take('{')) return this.entries(depth);
    const word = this.match(/[A-Za-z]+(?![\w.(])/y)?.[0] ?? '';
    if (!Object.hasOwn(WORDS, word)) throw NO_LITERAL;
    return WORDS[word];
  }

  /** Strings that stand beside each other are one. */
  private strings(isRaw: boolean): string {
    let whole = '';
    do {
      const end = stringEnd(this.text, this.at);
      const quote = this.text.charAt(this.at);
      const size = this.text.startsWith(quote.repeat(3), this.at) && end - this.at >= 6 ? 3 : 1;
      const body = this.text.slice(this.at + size, end - size);
      whole += isRaw ? body : unescaped(body);
      this.at = end;
    } while (this.isAt('"') || this.isAt("'"));
    return whole;
  }

  private items(close: string, depth: number): unknown[] {
    const items: unknown[] = [];
    while (!this.take(close)) {
      items.push(this.literal(depth + 1));
      if (!this.take(',') && !this.isAt(close)) throw NO_LITERAL;
    }
    return items;
  }

  private entries(depth: number): Record<string, unknown> {
    const entries: [string, unknown][] = [];
    while (!this.take('}')) {
      const key = String(this.literal(depth + 1));
      if (!this.take(':')) throw NO_LITERAL;
      entries.push([key, this.literal(depth + 1)]);
      if (!this.take(',') && !this.isAt('}')) throw NO_LITERAL;
    }
    return Object.fromEntries(entries);
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
