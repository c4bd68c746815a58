// What an observation consists of that can be damaged while its format stays: the values of JSON, lines, or the words of one line.

import { isContainer } from '../json.js';
import { present } from '../present.js';
import type { Span } from './json-spans.js';

/** The pieces of a text, and the text with some of them changed. */
export interface Content {
  readonly kind: 'values' | 'lines' | 'words';
  readonly pieces: readonly string[];
  /** The whole text with other pieces in these places; `undefined` leaves a line out. */
  with(changes: ReadonlyMap<number, string | undefined>): string;
}

/** The values of the text where it is JSON (and of the JSON that its strings hold), else its lines, or the words of its only one. */
export function contentOf(text: string): Content {
  const values = valuesOf(text);
  if (values !== undefined && values.pieces.length > 0) return values;
  const lines = linesOf(text);
  return lines.pieces.length > 1 ? lines : wordsOf(text);
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[\d.eE+-]+|true|false|null/g;
/** A value under such a key says of what kind the rest is: without it, the format is another. */
const FORMAL_KEYS: ReadonlySet<string> = new Set(['"type"', '"jsonrpc"', '"object"']);

/** The single values of a JSON object or list; undefined for any other text. */
function valuesOf(text: string): Content | undefined {
  if (!isJson(text)) return undefined;
  const spans: Span[] = [];
  let key = '';
  for (const { 0: token, 1: colon, index } of text.matchAll(JSON_TOKEN)) {
    if (colon !== undefined) key = token.slice(0, -colon.length);
    else if (!FORMAL_KEYS.has(key)) spans.push({ start: index, end: index + token.length });
  }
  return joined('values', text, spans, (value) => {
    const inner = value.startsWith('"') ? valuesOf(stringIn(value)) : undefined;
    return inner && { ...inner, with: (changes) => JSON.stringify(inner.with(changes)) };
  });
}

/** Whether the whole text is an object or list of JSON. */
export function isJson(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  try {
    return isContainer(JSON.parse(text));
  } catch {
    return false;
  }
}

/** What a string of JSON says. */
export function stringIn(value: string): string {
  return String(JSON.parse(value));
}

/** Lines in which there is anything to read. */
function linesOf(text: string): Content {
  const spans: Span[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    if (/[\p{L}\p{N}]/u.test(line)) spans.push({ start, end: start + line.length });
    start += line.length + 1;
  }
  return joined('lines', text, spans);
}

/** Words, with whatever signs stand within them: a path and a flag are one. */
export function wordsOf(text: string): Content {
  const spans = Array.from(text.matchAll(/[^\s"']*[\p{L}\p{N}][^\s"']*/gu), ({ 0: { length }, index }) => ({
    start: index,
    end: index + length,
  }));
  return joined('words', text, spans);
}

/** The text with its spans as pieces. @param open looks into a span whose own pieces stand in its place */
function joined(
  kind: Content['kind'],
  text: string,
  spans: readonly Span[],
  open: (piece: string) => Content | undefined = () => undefined,
): Content {
  const inside = spans.map(({ start, end }) => open(text.slice(start, end)));
  const pieces = spans.map(({ start, end }, place) => inside[place]?.pieces ?? [text.slice(start, end)]);
  return {
    kind,
    pieces: pieces.flat(),
    with(changes) {
      const parts: string[] = [];
      let [from, first] = [0, 0];
      for (const [place, { start, end }] of spans.entries()) {
        const own = present(pieces[place]);
        const isLeftOut = changes.has(first) && changes.get(first) === undefined;
        parts.push(
          text.slice(from, start),
          inside[place]?.with(within(changes, first, own.length)) ??
            changes.get(first) ??
            (isLeftOut ? '' : text.slice(start, end)),
        );
        from = isLeftOut && text.charAt(end) === '\n' ? end + 1 : end;
        first += own.length;
      }
      return parts.join('') + text.slice(from);
    },
  };
}

/** The changes to the `count` pieces from `first` on, numbered from 0. */
function within(
  changes: ReadonlyMap<number, string | undefined>,
  first: number,
  count: number,
): Map<number, string | undefined> {
  return new Map(
    [...changes].flatMap(([place, piece]) => (place >= first && place < first + count ? [[place - first, piece]] : [])),
  );
}

/** Whether a line is one in which an interactive program waits for input, or shows what it was given. */
export function isPrompt(line: string): boolean {
  return PROMPT.test(line);
}

const PROMPT = /^(?:\([^()\s]+\) ?)?[\w.-]+@[\w.-]+:\S*[#$](?: |$)|^(?:>{1,3}|\.\.\.|\$|PS \S*>)(?: |$)/;
