// Where in a text the JSON object of a verdict stands, as the official script looks for it.

import { pythonStrip } from '../reply.js';

/** A stretch of a text, in UTF-16 units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * The last fenced object, else the last one with matching braces, else the one that the last brace closes. Objects that hold
 * `"scores"` come first.
 */
export function locate(text: string): Span | undefined {
  return preferScores(text, fencedObjects(text)) ?? preferScores(text, braceMatched(text)) ?? matchedBackwards(text);
}

function preferScores(text: string, spans: readonly Span[]): Span | undefined {
  return spans.findLast(({ start, end }) => text.slice(start, end).includes('"scores"')) ?? spans.at(-1);
}

function fencedObjects(text: string): Span[] {
  const fence = '```';
  const spans: Span[] = [];
  let open = text.indexOf(fence);
  while (open !== -1) {
    const from = open + fence.length;
    const close = text.indexOf(fence, from);
    if (close === -1) break;
    const body = pythonStrip(text.slice(text.startsWith('json', from) ? from + 'json'.length : from, close));
    const start = text.indexOf(body, from);
    if (body.startsWith('{') && body.endsWith('}')) spans.push({ start, end: start + body.length });
    open = text.indexOf(fence, close + fence.length);
  }
  return spans;
}

/** Objects whose braces match, the outermost alone, in order. */
function braceMatched(text: string): Span[] {
  const closing = unmatchedBraces(text);
  const spans: Span[] = [];
  let start = text.indexOf('{');
  while (start !== -1) {
    const close = closing[start + 1] ?? -1;
    if (close !== -1) spans.push({ start, end: close + 1 });
    start = text.indexOf('{', close === -1 ? start + 1 : close + 1);
  }
  return spans;
}

/**
 * For each position, where the first `}` without an opening partner stands when reading starts there outside of any string; -1 for none.
 * The official script reads anew from every brace, which takes quadratic time; reading from the right gives the same in one pass.
 */
function unmatchedBraces(text: string): Int32Array {
  const outside = new Int32Array(text.length + 2).fill(-1);
  let inString = -1;
  let escaped = -1;
  for (let i = text.length - 1; i >= 0; i--) {
    const char = text.charAt(i);
    const next = outside[i + 1] ?? -1;
    const here = { '"': inString, '}': i, '{': next === -1 ? -1 : (outside[next + 1] ?? -1) }[char];
    outside[i] = here ?? next;
    [inString, escaped] = [char === '"' ? next : char === '\\' ? escaped : inString, inString];
  }
  return outside;
}

/** From the last `}` backwards to its partner; a quote behind a backslash does not count. */
function matchedBackwards(text: string): Span | undefined {
  const last = text.lastIndexOf('}');
  let depth = 0;
  let quoted = false;
  for (let i = last; i >= 0; i--) {
    const char = text.charAt(i);
    if (char === '"' && text.charAt(i - 1) !== '\\') quoted = !quoted;
    if (quoted) continue;
    if (char === '}') depth++;
    if (char === '{' && --depth === 0) return { start: i, end: last + 1 };
  }
  return undefined;
}

/** Where the object ends (exclusive) that a text begins with, braces within strings not counted; undefined where it never does. */
export function objectEnd(text: string): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quoted && char === '\\') i++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return i + 1;
  }
  return undefined;
}
