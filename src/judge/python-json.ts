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
  const reader = new Reader(text);
  const { repeated } = reader;
  try {
    const value = reader.whole();
    return value instanceof Map ? { value, repeated } : { fault: 'syntax', repeated };
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

/** Reads a text from its start. Its methods throw a SyntaxError where the text is no JSON, a RangeError at Python's limits. */
class Reader {
  readonly repeated = new Set<string>();
  #at = 0;

  constructor(private readonly text: string) {}

  /** The value that is all of the text. */
  whole(): Json {
    const value = this.#value(0);
    if (this.#peek() !== '') throw new SyntaxError(`more at ${this.#at}`);
    return value;
  }

  #value(depth: number): Json {
    const char = this.#peek();
    if (char === '"') return this.#string();
    if (char === '{' || char === '[') {
      if (depth === MAX_DEPTH) throw new RangeError('nested too deep');
      this.#at++;
      return char === '{' ? this.#object(depth + 1) : this.#list(depth + 1);
    }
    for (const [literal, value] of LITERALS) {
      if (!this.text.startsWith(literal, this.#at)) continue;
      this.#at += literal.length;
      return value;
    }
    return this.#number();
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = new Map();
    if (this.#take('}')) return object;
    do {
      if (this.#peek() !== '"') throw new SyntaxError(`no key at ${this.#at}`);
      const key = this.#string();
      if (object.has(key)) this.repeated.add(key);
      this.#expect(':');
      object.set(key, this.#value(depth));
    } while (this.#take(','));
    this.#expect('}');
    return object;
  }

  #list(depth: number): Json[] {
    const list: Json[] = [];
    if (this.#take(']')) return list;
    do list.push(this.#value(depth));
    while (this.#take(','));
    this.#expect(']');
    return list;
  }

  #string(): string {
    const start = this.#at;
    for (this.#at++; this.#at < this.text.length && this.text[this.#at] !== '"'; this.#at++) {
      if (this.text[this.#at] === '\\') this.#at++;
    }
    return String(JSON.parse(this.text.slice(start, ++this.#at)));
  }

  #number(): bigint | number {
    NUMBER.lastIndex = this.#at;
    const [token, whole, fraction, exponent] = NUMBER.exec(this.text) ?? [''];
    if (whole === undefined) throw new SyntaxError(`no value at ${this.#at}`);
    this.#at += token.length;
    if (fraction !== undefined || exponent !== undefined) return Number(token);
    if (whole.replace('-', '').length > MAX_DIGITS) throw new RangeError('an integer is too long');
    return BigInt(token);
  }

  /** The next character that is no white space; empty at the end. */
  #peek(): string {
    while (/[ \t\n\r]/.test(this.text.charAt(this.#at))) this.#at++;
    return this.text.charAt(this.#at);
  }

  #take(char: string): boolean {
    const there = this.#peek() === char;
    if (there) this.#at++;
    return there;
  }

  #expect(char: string): void {
    if (!this.#take(char)) throw new SyntaxError(`no ${char} at ${this.#at}`);
  }
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
