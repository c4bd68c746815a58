// JSON as Python's json reads it, and values as Python reads them from texts and prints them: what the official reading of verdicts rests
// on.

import { decimalDigit } from '../core/folded.js';
import { pythonStrip } from '../core/reply.js';

/** Python 3.11 refuses deeper nesting and longer integers; the official script calls such a reply unreadable. */
const MAX_DEPTH = 992;
const MAX_DIGITS = 4300;

/** Integers are bigints and other numbers floats, since Python prints them differently; objects are maps, to keep the order of their keys. */
export type Json = null | boolean | bigint | number | string | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

interface Parsed {
  readonly value?: JsonObject;
  /** The official script mends `syntax`, and gives up at a `limit` (nested too deep, an integer too long). */
  readonly fault?: 'syntax' | 'limit';
  /** Keys that some object gives more than once; the last counts. */
  readonly repeated: ReadonlySet<string>;
}

/** The JSON object that is the whole text: RFC 8259, and the literals `NaN`, `Infinity` and `-Infinity` as in Python's `json`. */
export function parseJson(text: string): Parsed {
  const repeated = new Set<string>();
  try {
    const value = read(text, repeated);
    return value instanceof Map ? { value, repeated } : { fault: 'syntax', repeated };
  } catch (error) {
    return { fault: error instanceof RangeError ? 'limit' : 'syntax', repeated };
  }
}

const LITERALS = new Map<string, Json>([
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);
const token = (pattern: string) => new RegExp(`[ \\t\\n\\r]*(${pattern})`, 'y');
const STRING = token(String.raw`"[^"\\]*(?:\\[\s\S][^"\\]*)*"`);
const LITERAL = token([...LITERALS.keys()].join('|'));
const NUMBER = token(String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?`);
const OPEN = token('[{[]');
const END_OF_OBJECT = token('}');
const END_OF_LIST = token(']');
const COLON = token(':');
const COMMA = token(',');

/** @throws SyntaxError where the text is not JSON, RangeError at Python's limits. */
function read(text: string, repeated: Set<string>): Json {
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[1];
    if (found !== undefined) at = pattern.lastIndex;
    return found;
  };
  const need = (pattern: RegExp): string => {
    const found = take(pattern);
    if (found === undefined) throw new SyntaxError(`no ${pattern.source} at ${at}`);
    return found;
  };
  const items = (end: RegExp, readItem: () => unknown) => {
    if (take(end) !== undefined) return;
    do readItem();
    while (take(COMMA) !== undefined);
    need(end);
  };
  const value = (depth: number): Json => {
    const string = take(STRING);
    if (string !== undefined) return String(JSON.parse(string));
    const open = take(OPEN);
    if (open !== undefined && depth === MAX_DEPTH) throw new RangeError('nested too deep');
    if (open === '[') {
      const list: Json[] = [];
      items(END_OF_LIST, () => list.push(value(depth + 1)));
      return list;
    }
    if (open === '{') {
      const object: JsonObject = new Map();
      items(END_OF_OBJECT, () => {
        const key = String(JSON.parse(need(STRING)));
        if (object.has(key)) repeated.add(key);
        need(COLON);
        object.set(key, value(depth + 1));
      });
      return object;
    }
    const literal = take(LITERAL);
    if (literal !== undefined) return LITERALS.get(literal) ?? null;
    const number = need(NUMBER);
    if (/[.eE]/.test(number)) return Number(number);
    if (number.replace('-', '').length > MAX_DIGITS) throw new RangeError('an integer is too long');
    return BigInt(number);
  };
  const whole = value(0);
  if (/[^ \t\n\r]/.test(text.slice(at))) throw new SyntaxError(`more at ${at}`);
  return whole;
}

/** The number that Python's `int()` makes of a text, in decimal digits of any script; undefined where it makes none. */
export function pythonInt(text: string): number | undefined {
  const ascii = pythonStrip(text).replace(/\p{Nd}/gu, decimalDigit);
  if (!/^[+-]?\d+(?:_\d+)*$/.test(ascii)) return undefined;
  const digits = ascii.replaceAll('_', '');
  return digits.replace(/^[+-]/, '').length > MAX_DIGITS ? undefined : Number(digits);
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
  if (!Number.isFinite(value)) return `${value}`.slice(0, value < 0 ? 4 : 3).toLowerCase();
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
