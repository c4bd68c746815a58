// A text in units of one thought each: its lines, and where it is JSON, its leaves with their keys. Units are what is compared.

import { type JsonSpan, readJson, type Span } from '../json-spans.js';

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
