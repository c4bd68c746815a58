// A text in units of one thought each: its lines, and where it is JSON, its leaves with their keys. Units are what is compared, and
// what stands at a place can be changed while the rest stays byte for byte.

import { isContainer, parseJson } from '../../core/json.js';
import { present } from '../../core/present.js';

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
  const from = skipSpace(text, start);
  return from < end && isJson(text.slice(from, end)) ? valueAt(text, from, 0) : undefined;
}

/** Whether the whole text is an object or list of JSON. */
export function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text) && isContainer(parseJson(text));
}

/** What stands at a place, and what it is replaced by. */
export interface Replaced extends Span {
  readonly by: string;
}

/** The text with these places replaced; none overlaps another. */
export function withReplaced(text: string, changes: readonly Replaced[]): string {
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

/** A line, or a leaf of JSON; `start` and `end` are those of what a token may stand in: a line without its number, a leaf's value. */
export interface Unit extends Span {
  /** What stands there in one form, so that equal units have equal words: spaces and marks of listings left out. */
  readonly words: string;
  /** What `words` has before the part that tokens may stand in: a leaf's key. */
  readonly label: string;
  readonly kind: 'line' | 'leaf';
  /** Of a line: it from its first character to the next line's, for whoever drops it. */
  readonly whole: Span;
}

/** What stands before a line in a listing: `[12] `, `12:`, `12\t`, or `3. `. */
const LISTED = /[ \t]*(?:(?:\[\d+\][ \t]|\d+[:|\t](?!\d)|\d+\.[ \t])[ \t]*)?/y;
const DIFF = /^@@ -\d/m;
/** The line ends that a string in JSON or in a program has. */
const ESCAPED_LINE_END = /\\r?\\n|\\n/g;

/** The units of a text in their order; blank lines, and leaves that say nothing, are none. */
export function unitsOf(text: string): Unit[] {
  const units: Unit[] = [];
  const json = readJson(text, 0, text.length);
  if (json !== undefined) {
    addLeaves(units, text, json, '');
    return units;
  }
  const isDiff = DIFF.test(text);
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf('\n', start);
    const next = feed === -1 ? text.length : feed + 1;
    addLine(units, text, { start, end: next }, isDiff);
    start = next;
  }
  return units;
}

function addLine(units: Unit[], text: string, whole: Span, isDiff: boolean): void {
  const last = text.charAt(whole.end - 1) === '\n' ? whole.end - 1 : whole.end;
  const json = /[}\]]\s*$/.test(text.slice(Math.max(whole.start, last - 3), last))
    ? readJson(text, whole.start, last)
    : undefined;
  if (json !== undefined) {
    addLeaves(units, text, json, '');
    return;
  }
  LISTED.lastIndex = whole.start + (isDiff && /[-+ ]/.test(text.charAt(whole.start)) ? 1 : 0);
  const listed = LISTED.exec(text);
  const start = Math.min(last, LISTED.lastIndex || whole.start + (listed?.[0].length ?? 0));
  const words = text.slice(start, last).trim();
  if (words === '') return;
  const from = text.indexOf(words, start);
  units.push({ kind: 'line', start: from, end: from + words.length, words, label: '', whole });
}

/** Leaves under a list have the key of the list. */
function addLeaves(units: Unit[], text: string, node: JsonSpan, key: string): void {
  if (node.kind === 'object' || node.kind === 'array') {
    for (const part of node.parts)
      addLeaves(units, text, part.value, part.key === undefined ? key : text.slice(part.key.start, part.key.end));
    return;
  }
  const label = `${key}: `;
  if (node.kind === 'other') {
    const words = label + text.slice(node.start, node.end);
    units.push({ kind: 'leaf', start: node.start, end: node.end, words, label, whole: node });
    return;
  }
  addString(units, text, node, label);
}

/** A string of several lines is a unit a line: what a tool returns stands in JSON like that. */
function addString(units: Unit[], text: string, node: JsonSpan, label: string): void {
  const inner = { start: node.start + 1, end: node.end - 1 };
  const raw = text.slice(inner.start, inner.end);
  const ends = [...raw.matchAll(ESCAPED_LINE_END)].map(({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }));
  let start = 0;
  for (const end of [...ends, { start: raw.length, end: raw.length }]) {
    const line = raw.slice(start, end.start);
    const said = line.trim();
    const from = inner.start + start + line.indexOf(said);
    const own = ends.length === 0 ? label : '';
    if (said !== '')
      units.push({
        kind: 'leaf',
        start: from,
        end: from + said.length,
        words: own + (ends.length === 0 ? JSON.stringify(said) : said.replaceAll('\\"', '"').replace(/,$/, '')),
        label: own,
        whole: node,
      });
    start = end.end;
  }
}
