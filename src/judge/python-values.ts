// Values as Python reads them from texts, and as it prints them.

import { decimalDigit } from '../folded.js';
import { pythonStrip } from '../reply.js';
import { type Json, MAX_DIGITS } from './python-json.js';

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
