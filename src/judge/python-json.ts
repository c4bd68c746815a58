// JSON as Python's json reads it, and values as Python prints them: what the official reading of verdicts rests on.

import { pythonStrip } from '../reply.js';

/** Python 3.11 refuses deeper nesting and longer integers; the official script calls such a reply unreadable. */
const MAX_DEPTH = 992;
const MAX_DIGITS = 4300;

/** Integers are bigints and other numbers floats, since Python prints them differently; objects are maps, to keep the order of their keys. */
export type Json = null | boolean | bigint | number | string | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

export interface Parsed {
  readonly value?: JsonObject;
  /** `syntax` can be mended; `limit` (nested too deep, an integer too long) cannot, officially. */
  readonly fault?: 'syntax' | 'limit';
  /** Keys that some object gives more than once; the last counts. */
  readonly repeated: ReadonlySet<string>;
}

/** The JSON object that is the whole text: RFC 8259, and the literals `NaN`, `Infinity` and `-Infinity` as in Python's `json`. */
export function parseJson(text: string): Parsed {
  const repeated = new Set<string>();
  let at = 0;

  const peek = (): string => {
    while (/[ \t\n\r]/.test(text.charAt(at))) at++;
    return text.charAt(at);
  };
  const take = (char: string): boolean => {
    const there = peek() === char;
    if (there) at++;
    return there;
  };
  const expect = (char: string): void => {
    if (!take(char)) throw new SyntaxError(`no ${char} at ${at}`);
  };

  const readString = (): string => {
    const start = at;
    for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++;
    return JSON.parse(text.slice(start, ++at)) as string;
  };
  const readNumber = (): bigint | number => {
    NUMBER.lastIndex = at;
    const [token, whole, fraction, exponent] = NUMBER.exec(text) ?? [''];
    if (whole === undefined) throw new SyntaxError(`no value at ${at}`);
    at += token.length;
    if (fraction !== undefined || exponent !== undefined) return Number(token);
    if (whole.replace('-', '').length > MAX_DIGITS) throw new RangeError('an integer is too long');
    return BigInt(token);
  };
  const readList = (depth: number): Json[] => {
    const list: Json[] = [];
    if (take(']')) return list;
    do list.push(readValue(depth));
    while (take(','));
    expect(']');
    return list;
  };
  const readObject = (depth: number): JsonObject => {
    const object: JsonObject = new Map();
    if (take('}')) return object;
    do {
      if (peek() !== '"') throw new SyntaxError(`no key at ${at}`);
      const key = readString();
      if (object.has(key)) repeated.add(key);
      expect(':');
      object.set(key, readValue(depth));
    } while (take(','));
    expect('}');
    return object;
  };
  const readValue = (depth: number): Json => {
    const char = peek();
    if (char === '"') return readString();
    if (char === '{' || char === '[') {
      if (depth === MAX_DEPTH) throw new RangeError('nested too deep');
      at++;
      return char === '{' ? readObject(depth + 1) : readList(depth + 1);
    }
    for (const [literal, value] of LITERALS) {
      if (!text.startsWith(literal, at)) continue;
      at += literal.length;
      return value;
    }
    return readNumber();
  };

  try {
    const value = readValue(0);
    if (peek() !== '' || !(value instanceof Map)) return { fault: 'syntax', repeated };
    return { value, repeated };
  } catch (error) {
    return { fault: error instanceof RangeError ? 'limit' : 'syntax', repeated };
  }
}

const NUMBER = /(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?/y;
const LITERALS: readonly (readonly [string, Json])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];

/** The number that Python's `int()` makes of a text, in decimal digits of any script; undefined where it makes none. */
export function pythonInt(text: string): number | undefined {
  const ascii = pythonStrip(text).replace(/\p{Nd}/gu, decimalDigit);
  if (!/^[+-]?\d+(?:_\d+)*$/.test(ascii)) return undefined;
  const digits = ascii.replaceAll('_', '');
  return digits.replace(/^[+-]/, '').length > MAX_DIGITS ? undefined : Number(digits);
}

/** The ASCII digit of a decimal digit: Unicode encodes them in unbroken runs from 0 to 9, one behind the other. */
export function decimalDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return String((code - zero) % 10);
}

/** A value as Python's `repr` prints it. */
export function pythonRepr(value: Json): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return reprFloat(value);
  if (typeof value === 'string') return reprString(value);
  if (Array.isArray(value)) return `[${value.map(pythonRepr).join(', ')}]`;
  return `{${Array.from(value, ([key, item]) => `${reprString(key)}: ${pythonRepr(item)}`).join(', ')}}`;
}

/** Python and JavaScript print the same digits, but turn to exponents elsewhere. */
function reprFloat(value: number): string {
  if (!Number.isFinite(value))
    return String(value)
      .slice(0, value < 0 ? 4 : 3)
      .toLowerCase();
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return value.toExponential().replace(/([+-])(\d)$/, '$10$2');
  const text = Object.is(value, -0) ? '-0' : String(value);
  return Number.isInteger(value) ? `${text}.0` : text;
}

function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\', [quote]: `\\${quote}` };
  const body = text.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (char) => {
    if (char === '"' || char === "'" || named[char] !== undefined) return named[char] ?? char;
    const hex = (char.codePointAt(0) ?? 0).toString(16);
    if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return quote + body + quote;
}
