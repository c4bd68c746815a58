// Reads a model's reply as the official script does: without its thinking, the last tagged block, without the marker.

import { heldIn } from './groups.js';

/** The tag in which a world model is asked to put its predicted observation. */
export const PREDICTION_TAG = 'predicted_observation';

/** The tag in which a judge is asked to put its verdict. */
export const VERDICT_TAG = 'final_evaluation';

/** Python's white space (`str.isspace`, and `\s` in its `re`) for use in a character class. JavaScript's `\s` is a different set. */
export const PYTHON_SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';

const NO_PREDICTION = 'No output';

/** What recorded observations start with. */
export const OBSERVATION_MARKER = '**Environment Observation:**';

const SPACE = new RegExp(`[${PYTHON_SPACE}]`);

/** The text without white space at both ends, as Python's `str.strip` understands white space. */
export function pythonStrip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && SPACE.test(text.charAt(start))) start++;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

/**
 * The stripped text without its `<think>` spans; a text without any thinking tag is returned unchanged. Each opening tag pairs with the
 * next closing tag that is still free. An unpaired closing tag removes everything before it. An unpaired opening tag removes everything
 * after it, up to the next `<wantedTag>` if one is named and follows.
 */
export function withoutThinking(text: string, wantedTag?: string): string {
  const opens = tagSpans(text, 'think');
  const closes = tagSpans(text, '/think');
  if (opens.length === 0 && closes.length === 0) return text;

  const spans: { start: number; end: number }[] = [];
  const wanted = wantedTag === undefined ? [] : tagSpans(text, wantedTag);
  let nextWanted = 0;
  let nextClose = 0;
  let kept = 0;
  for (const open of opens) {
    for (let close = closes[nextClose]; close && close.start < open.start; close = closes[++nextClose])
      kept = close.end;
    const close = closes[nextClose++];
    while ((wanted[nextWanted]?.start ?? Infinity) < open.start) nextWanted++;
    spans.push({ start: open.start, end: close?.end ?? wanted[nextWanted]?.start ?? text.length });
  }
  if (nextClose < closes.length) kept = closes.at(-1)?.end ?? kept;

  const parts: string[] = [];
  for (const { start, end } of spans) {
    if (start > kept) parts.push(text.slice(kept, start));
    kept = Math.max(kept, end);
  }
  parts.push(text.slice(kept));
  return pythonStrip(parts.join(''));
}

/** The stripped text between the last `<tag>` and the closing tag after it, or the text's end; undefined if the tag never opens. */
export function lastBlock(text: string, tag: string): string | undefined {
  const open = tagSpans(text, tag).at(-1);
  if (open === undefined) return undefined;
  const rest = text.slice(open.end);
  const close = rest.search(tagPattern(`/${tag}`));
  return pythonStrip(close === -1 ? rest : rest.slice(0, close));
}

/** How often `<tag>` opens in the text. */
export function countTags(text: string, tag: string): number {
  return tagSpans(text, tag).length;
}

/** A world model's reply without its thinking, stripped. */
export function withoutThought(gen: string): string {
  return pythonStrip(withoutThinking(gen, PREDICTION_TAG));
}

/**
 * The prediction in a world model's reply: its last tagged block, even if empty. Without a tag it is everything except the thinking, or
 * `No output` if nothing is left.
 */
export function readPrediction(gen: string): string {
  const text = withoutThinking(gen, PREDICTION_TAG);
  return lastBlock(text, PREDICTION_TAG) ?? (pythonStrip(text) || NO_PREDICTION);
}

/** An observation as the judge sees it, stripped: without the marker at its start, or else without any marker. */
export function withoutMarker(text: string): string {
  if (text.startsWith(OBSERVATION_MARKER)) return pythonStrip(text.slice(OBSERVATION_MARKER.length));
  return pythonStrip(text.replaceAll(OBSERVATION_MARKER, ''));
}

/** A stripped text with the spaces and tabs that precede it on its line in the source, where they may be significant. */
export function withIndent(stripped: string, source: string): string {
  const before = stripped === '' ? '' : source.slice(0, Math.max(0, source.lastIndexOf(stripped)));
  return `${/(?:^|\n)([ \t]+)$/.exec(before)?.[1] ?? ''}${stripped}`;
}

/** The prediction in a world model's reply as the judge sees it; empty if there is no reply. */
export function shownPrediction(gen: string): string {
  return gen === '' ? '' : withoutMarker(readPrediction(gen));
}

/**
 * The observation that a reply contains; empty if there is none, for example if the reply is only thinking. Judges are told so in
 * words.
 */
export function writtenPrediction(gen: string): string {
  return withoutThought(gen) === '' ? '' : withoutMarker(readPrediction(gen));
}

/** Where `<tag>` opens in the text, or closes if the name starts with a slash, in UTF-16 units; `end` is exclusive. */
export function tagSpans(text: string, tag: string): { readonly start: number; readonly end: number }[] {
  return Array.from(text.matchAll(tagPattern(tag)), ({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }));
}

/** Each of the few patterns is made once, since making one takes as long as a search. */
const TAG_PATTERNS = new Map<string, RegExp>();

function tagPattern(tag: string): RegExp {
  return heldIn(TAG_PATTERNS, tag, () => newTagPattern(tag));
}

/** `tag` consists of letters, `_` and `/`. Python ignores case more widely than JavaScript: three letters have variants outside ASCII. */
function newTagPattern(tag: string): RegExp {
  const cousins: Record<string, string> = { i: '\u0130\u0131', s: '\u017f', k: '\u212a' };
  const letters = Array.from(tag, (letter) => `[${letter}${letter.toUpperCase()}${cousins[letter] ?? ''}]`);
  return new RegExp(`<${letters.join('')}>`, 'g');
}
