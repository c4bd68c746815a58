// Splits a text into units of one thought each: its lines, and for JSON, its leaves with their keys. Units are what is compared, and any
// place can be changed while the rest stays byte for byte.

import { isContainer, parseJson } from '../../core/json.js';

/** A place in a text, in UTF-16 units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A value and its parts; `key` is a member's name as written in the text, with its quotes. */
export interface JsonSpan extends Span {
  readonly kind: 'object' | 'array' | 'string' | 'other';
  readonly parts: readonly { readonly key: Span | undefined; readonly value: JsonSpan }[];
}

/** More deeply nested text is not read. */
const DEEPEST = 200;

/** The object or array in a part of the text, ignoring surrounding white space; undefined if there is none. */
export function readJson(text: string, start: number, end: number): JsonSpan | undefined {
  const from = endOf(SPACE, text, start);
  return from < end && isJson(text.slice(from, end)) ? valueAt(text, from, 0) : undefined;
}

/** Whether the whole text is a JSON object or array. */
export function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text) && isContainer(parseJson(text));
}

/** The text with these places replaced; none overlaps another. */
export function withReplaced(text: string, changes: readonly (Span & { readonly by: string })[]): string {
  let made = '';
  let at = 0;
  for (const { start, end, by } of inOrder(changes)) {
    made += text.slice(at, start) + by;
    at = end;
  }
  return made + text.slice(at);
}

export function inOrder<T extends Span>(places: readonly T[]): T[] {
  return [...places].sort((a, b) => a.start - b.start);
}

/** Reads a value that is known to be JSON; undefined if it is nested too deep. */
function valueAt(text: string, start: number, depth: number): JsonSpan | undefined {
  const first = text.charAt(start);
  if (first === '"') return { kind: 'string', parts: [], start, end: endOf(STRING, text, start) };
  if (first !== '{' && first !== '[') return { kind: 'other', parts: [], start, end: endOf(LITERAL, text, start) };
  if (depth === DEEPEST) return undefined;
  const parts: JsonSpan['parts'][number][] = [];
  let at = endOf(SPACE, text, start + 1);
  while (!/[}\]]/.test(text.charAt(at))) {
    const key = first === '{' ? { start: at, end: endOf(STRING, text, at) } : undefined;
    const value = valueAt(text, key === undefined ? at : endOf(COLON, text, key.end), depth + 1);
    if (value === undefined) return undefined;
    parts.push({ key, value });
    at = endOf(COMMA, text, value.end);
  }
  return { kind: first === '{' ? 'object' : 'array', parts, start, end: at + 1 };
}

const SPACE = /[ \t\r\n]*/y;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const LITERAL = /[^\s,\]}]*/y;
const COLON = /\s*:\s*/y;
const COMMA = /\s*,?\s*/y;

/** The end of the pattern's match at a place. */
function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

/** A line, or a leaf of JSON; `start` and `end` delimit the part that may contain tokens: a line without its number, a leaf's value. */
export interface Unit extends Span {
  /** The content in normal form, so that equal units have equal words: without spaces and listing marks. */
  readonly words: string;
  /** The part of `words` before the part that may contain tokens: a leaf's key. */
  readonly label: string;
  readonly kind: 'line' | 'leaf';
  /** For a line: from its first character to the next line's, to be removed when the line is dropped. */
  readonly whole: Span;
}

/** The prefix of a line in a listing: `[12] `, `12:`, `12\t`, or `3. `. */
const LISTED = /[ \t]*(?:(?:\[\d+\][ \t]|\d+[:|\t](?!\d)|\d+\.[ \t])[ \t]*)?/y;
const DIFF = /^@@ -\d/m;
/** Escaped line ends in a string of JSON or of a program. */
const LINE_END = /(\\r?\\n|\\n)/;

/** The units of a text in order, without blank lines and empty leaves. */
export function unitsOf(text: string): Unit[] {
  const json = readJson(text, 0, text.length);
  if (json !== undefined) return leavesOf(text, json, '');
  const isDiff = DIFF.test(text);
  return Array.from(text.matchAll(/[^\n]*\n|[^\n]+/g)).flatMap(({ index, 0: { length } }) =>
    unitsOfLine(text, { start: index, end: index + length }, isDiff),
  );
}

function unitsOfLine(text: string, whole: Span, isDiff: boolean): Unit[] {
  const last = text.charAt(whole.end - 1) === '\n' ? whole.end - 1 : whole.end;
  const isClosed = /[}\]]\s*$/.test(text.slice(Math.max(whole.start, last - 3), last));
  const json = isClosed ? readJson(text, whole.start, last) : undefined;
  if (json !== undefined) return leavesOf(text, json, '');
  const sign = isDiff && /[-+ ]/.test(text.charAt(whole.start)) ? 1 : 0;
  const start = Math.min(last, endOf(LISTED, text, whole.start + sign));
  const words = text.slice(start, last).trim();
  if (words === '') return [];
  const from = text.indexOf(words, start);
  return [{ kind: 'line', start: from, end: from + words.length, words, label: '', whole }];
}

/** Leaves in a list get the key of the list. */
function leavesOf(text: string, node: JsonSpan, key: string): Unit[] {
  if (node.kind === 'object' || node.kind === 'array') {
    return node.parts.flatMap((part) =>
      leavesOf(text, part.value, part.key === undefined ? key : text.slice(part.key.start, part.key.end)),
    );
  }
  const label = `${key}: `;
  if (node.kind === 'string') return unitsOfString(text, node, label);
  const { start, end } = node;
  return [{ kind: 'leaf', start, end, words: label + text.slice(start, end), label, whole: node }];
}

/** A string of several lines becomes one unit per line: tools return text in JSON like that. */
function unitsOfString(text: string, whole: JsonSpan, label: string): Unit[] {
  const raw = text.slice(whole.start + 1, whole.end - 1);
  let next = whole.start + 1;
  return raw.split(LINE_END).flatMap((line, place, lines): Unit[] => {
    const at = next;
    next += line.length;
    // Odd items are the separators between lines.
    if (place % 2 === 1) return [];
    const said = line.trim();
    const start = at + line.indexOf(said);
    const here = { kind: 'leaf', start, end: start + said.length, whole } as const;
    if (said === '') return [];
    if (lines.length === 1) return [{ ...here, words: label + JSON.stringify(said), label }];
    return [{ ...here, words: said.replaceAll('\\"', '"').replace(/,$/, ''), label: '' }];
  });
}
