// What is odd about a world model's reply without making it a failure.
import { countTags, PREDICTION_TAG, pythonStrip, withoutThought } from '../core/reply.js';
import type { Flag } from '../core/types.js';

/**
 * The flags that a reply's text and end give, in the order of the `Flag` type (`fitted-max-tokens` and `redacted` belong to the call).
 * `truncated`: the token budget ended it. `untagged`: something is left beside thinking, but no `<predicted_observation>` opens in it.
 * `empty`: nothing is left beside thinking and white space. `repetitive`: see `isRepetitive`; thinking counts here, since that is where
 * models loop. `several-tags`: the tag opens more than once outside thinking.
 */
export function flagsOf(reply: { readonly content: string; readonly finishReason?: string }): Flag[] {
  const text = withoutThought(reply.content);
  const tags = countTags(text, PREDICTION_TAG);
  const flags: Flag[] = [];
  if (reply.finishReason === 'length') flags.push('truncated');
  if (text !== '' && tags === 0) flags.push('untagged');
  if (text === '') flags.push('empty');
  if (isRepetitive(reply.content)) flags.push('repetitive');
  if (tags > 1) flags.push('several-tags');
  return flags;
}

/** Thresholds, with room above every recorded observation; a unit or line counts as worded when it holds a letter. */
const LINES_IN_A_ROW = 48;
const REPEATS_AT_END = 8;
const WORDED_LENGTH = 2_000;
/** Real screens and dumps are full of rows of zeros, rules and blanks, so these must go on for longer. */
const WORDLESS_LENGTH = 16_000;
/** Only this much of the end is searched, so the unit of the longest loop that is found is an eighth of it. */
const END_LENGTH = 32_000;
/** Room for one search, used by each: new room for each of many replies would be a third of all that is allocated for them. */
const BACKWARDS = new Uint16Array(END_LENGTH);
const MATCHES = new Int32Array(END_LENGTH);

/**
 * Whether a text shows degenerate repetition: 48 equal lines in a row, or an end that is one unit of any length repeated 8 times or
 * more. A unit that holds a letter must fill 2,000 UTF-16 units at the end; a line or unit without one must fill 16,000. Blank lines
 * and white space at the end never count. Loops that change from round to round, such as counters, are not found. Linear in the
 * text's length.
 */
function isRepetitive(text: string): boolean {
  return hasRepeatedLine(text) || endsInLoop(text);
}

function hasRepeatedLine(text: string): boolean {
  let previous = '';
  let run = 0;
  for (const line of text.split('\n')) {
    run = line === previous ? run + 1 : 1;
    previous = line;
    if (run >= LINES_IN_A_ROW && line.trim() !== '' && spansEnough(line, run * (line.length + 1), 0)) return true;
  }
  return false;
}

function endsInLoop(text: string): boolean {
  const closing = new RegExp(`</${PREDICTION_TAG}>$`, 'i');
  const end = pythonStrip(pythonStrip(text.slice(-END_LENGTH)).replace(closing, ''));
  const backwards = BACKWARDS.subarray(0, end.length);
  for (let i = 0; i < end.length; i++) backwards[i] = end.charCodeAt(end.length - 1 - i);
  const same = prefixMatches(backwards);
  for (let period = 1; period * REPEATS_AT_END <= end.length; period++) {
    const length = period + (same[period] ?? 0);
    if (length < period * REPEATS_AT_END) continue;
    if (spansEnough(end.slice(-period), length, WORDED_LENGTH)) return true;
  }
  return false;
}

function spansEnough(unit: string, length: number, wordedLength: number): boolean {
  return length >= (/\p{L}/u.test(unit) ? wordedLength : WORDLESS_LENGTH);
}

/**
 * The Z-array, valid until the next search: how many values from each index on equal those at the start (its own place holds nothing;
 * Gusfield, "Algorithms on Strings, Trees, and Sequences", 1.4).
 */
function prefixMatches(values: Uint16Array): Int32Array {
  const matches = MATCHES.subarray(0, values.length);
  let left = 0;
  let right = 0;
  for (let i = 1; i < values.length; i++) {
    let length = i < right ? Math.min(right - i, matches[i - left] ?? 0) : 0;
    while (i + length < values.length && values[length] === values[i + length]) length++;
    matches[i] = length;
    if (i + length > right) [left, right] = [i, i + length];
  }
  return matches;
}
