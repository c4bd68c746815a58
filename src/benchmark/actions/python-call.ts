// Calls in the manner of Python, as agents write them for browsers and desktops: each statement as a call with literal arguments, or as code.

import { nestsBeyond, parseJson } from '../../core/json.js';

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
function readCall([name = '', open, ...pieces]: readonly string[]): PythonCall | undefined {
  if (!/^[A-Za-z_]/.test(name) || open !== '(') return undefined;
  const given = argumentsIn(pieces);
  if (given === undefined) return undefined;
  const positional: unknown[] = [];
  const named: Record<string, unknown> = {};
  for (const [key = '', equals, ...value] of given) {
    const isNamed = equals === '=' && NAME.test(key);
    const literal = literalOf(isNamed ? value : [key, ...(equals === undefined ? [] : [equals]), ...value]);
    if (literal === undefined) return undefined;
    if (isNamed) named[key] = literal.value;
    else positional.push(literal.value);
  }
  return { name, positional, named };
}

/** The pieces of each argument, up to the bracket that closes the call as the last piece of all. */
function argumentsIn(pieces: readonly string[]): string[][] | undefined {
  const given: string[][] = [[]];
  let depth = 1;
  for (const [at, piece] of pieces.entries()) {
    if ('([{'.includes(piece)) depth++;
    if (')]}'.includes(piece)) depth--;
    if (depth === 0) {
      // A comma may stand behind the last one.
      if (given.at(-1)?.length === 0) given.pop();
      return piece === ')' && at === pieces.length - 1 ? given : undefined;
    }
    if (depth === 1 && piece === ',') given.push([]);
    else given.at(-1)?.push(piece);
  }
  return undefined;
}

const WORDS: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
};
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

/** The value of a literal, read as the JSON that says the same; undefined where the pieces are none. */
function literalOf(pieces: readonly string[]): { readonly value: unknown } | undefined {
  const json = pieces.map((piece, at) => {
    const next = pieces[at + 1] ?? '';
    // Strings that stand beside each other are one.
    if (STRING.test(piece)) return STRING.test(pieces[at - 1] ?? '') ? '' : JSON.stringify(stringsAt(pieces, at));
    if (NUMBER.test(piece)) return next === ':' ? JSON.stringify(String(Number(piece))) : String(Number(piece));
    if (piece === ',') return ')]}'.includes(next) ? '' : ',';
    if ('[({:})]'.includes(piece)) return piece.replace('(', '[').replace(')', ']');
    return Object.hasOwn(WORDS, piece) ? WORDS[piece] : piece;
  });
  const value = nestsBeyond(json.join(''), DEEPEST) ? undefined : parseJson(json.join(''));
  return value === undefined ? undefined : { value };
}

function stringsAt(pieces: readonly string[], first: number): string {
  let whole = '';
  for (let at = first; STRING.test(pieces[at] ?? ''); at++) {
    const [, prefix = '', , body = ''] = STRING.exec(pieces[at] ?? '') ?? [];
    whole += prefix === '' ? unescaped(body) : body;
  }
  return whole;
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
