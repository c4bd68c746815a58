// Where the members of JSON stand in its text, so that a part of it can be changed while the rest stays byte for byte.

import { present } from '../present.js';

/** A place in a text, in UTF-16 units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A value and its parts; `key` is a member's name as it stands in the text, quotes and all. */
export interface JsonSpan extends Span {
  readonly kind: 'object' | 'array' | 'string' | 'other';
  readonly parts: readonly JsonPart[];
}

interface JsonPart {
  readonly key: Span | undefined;
  readonly value: JsonSpan;
}

/** Text that nests deeper is read by nobody. */
const DEEPEST = 200;

/** The object or array that a part of the text is, white space around it left out; undefined where it is none. */
export function readJson(text: string, start: number, end: number): JsonSpan | undefined {
  const [from, to] = [skipSpace(text, start), end];
  if (!/[{[]/.test(text.charAt(from)) || from >= to) return undefined;
  try {
    JSON.parse(text.slice(from, to));
  } catch {
    return undefined;
  }
  return valueAt(text, from, 0);
}

/** Reads a value that is known to be JSON; undefined where it nests too deep. */
function valueAt(text: string, start: number, depth: number): JsonSpan | undefined {
  const first = text.charAt(start);
  if (first === '"') return { kind: 'string', parts: [], start, end: stringEnd(text, start) };
  if (first === '{' || first === '[') return depth === DEEPEST ? undefined : containerAt(text, start, depth);
  const rest = /[^\s,\]}]*/y;
  rest.lastIndex = start;
  return { kind: 'other', parts: [], start, end: start + present(rest.exec(text)?.[0]).length };
}

function containerAt(text: string, start: number, depth: number): JsonSpan | undefined {
  const kind = text.charAt(start) === '{' ? 'object' : 'array';
  const parts: JsonPart[] = [];
  let at = skipSpace(text, start + 1);
  while (!/[}\]]/.test(text.charAt(at))) {
    let key: Span | undefined;
    if (kind === 'object') {
      key = { start: at, end: stringEnd(text, at) };
      at = skipSpace(text, skipSpace(text, key.end) + 1);
    }
    const value = valueAt(text, at, depth + 1);
    if (value === undefined) return undefined;
    parts.push({ key, value });
    at = skipSpace(text, value.end);
    if (text.charAt(at) === ',') at = skipSpace(text, at + 1);
  }
  return { kind, parts, start, end: at + 1 };
}

/** The end of the string that starts here, behind its closing quote. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (/[ \t\r\n]/.test(text.charAt(at))) at++;
  return at;
}
