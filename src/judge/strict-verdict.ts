// Reading a judge's reply strictly: nothing but the judge's own five ratings counts.

import { jsonrepair } from 'jsonrepair';
import { pythonStrip, withoutThinking } from '../reply.js';
import { DIMENSIONS, type Ratings, type Verdict } from '../types.js';
import { markedBlocks, soleBlock } from './answer-mark.js';
import { type JsonObject, parseJson } from './python-json.js';
import { accepted, unreadable, wholeNumber } from './verdict.js';

/** The strict reading repairs no longer verdict (UTF-16 units): repairing takes quadratic time on stray quotes. */
const REPAIRABLE_LENGTH = 32_000;

/** What the judge was asked, as far as reading its reply needs it. */
export interface AskedVerdict {
  readonly mark: string;
  /** Whether the whole reply is held to one JSON object. */
  readonly isHeld: boolean;
  /** Whether a block without the mark counts: only where nothing in the case can be mistaken for one. */
  countsUnmarked(): boolean;
}

/**
 * What a judge's reply says, or nothing. The verdict stands in the block that bears the mark, outside of thinking; several such blocks
 * have to agree. A reply that is held to JSON is one object whose `mark` is the mark. Without the mark a verdict counts only in the one
 * block with which the reply ends, and only where `countsUnmarked`.
 *
 * The JSON is parsed before it is repaired, and accepted only where its `scores` rate the five dimensions, each once, with numbers
 * that round (half to even) to 1 to 5 and have no exponent.
 */
export function readStrictVerdict(reply: string, asked: AskedVerdict): Verdict {
  const text = pythonStrip(reply);
  if (text === '') return unreadable('the reply is empty');
  return asked.isHeld ? readHeld(text, asked.mark) : readBlocks(text, asked);
}

function readHeld(text: string, mark: string): Verdict {
  const objects = [text, pythonStrip(withoutThinking(text))].map(parseJson);
  const { value, repeated } = objects.find(({ fault }) => fault === undefined) ?? {};
  if (value === undefined) return unreadable('the reply is not one JSON object');
  if (value.get('mark') !== mark || repeated?.has('mark')) return unreadable('the object lacks the mark of its case');
  return verdictOf(value, repeated ?? new Set(), text);
}

function readBlocks(text: string, { mark, countsUnmarked }: AskedVerdict): Verdict {
  const marked = markedBlocks(text, mark);
  if (marked.length === 0) {
    const sole = soleBlock(text);
    if (sole === undefined) return unreadable('the reply holds no block with the mark of its case');
    if (!countsUnmarked()) return unreadable('the block lacks the mark of its case, so it may be a quotation');
    return readBlock(sole);
  }
  const verdicts = marked.map(readBlock);
  const last = verdicts.at(-1) ?? unreadable('the reply is empty');
  return verdicts.every((verdict) => agree(verdict, last)) ? last : unreadable('the reply holds verdicts that differ');
}

function agree(one: Verdict, other: Verdict): boolean {
  if (one.status !== 'ok' || other.status !== 'ok') return one.status === other.status;
  return DIMENSIONS.every((dimension) => one.ratings[dimension] === other.ratings[dimension]);
}

/** A rating with an exponent. In a quotation within a string the quotes are escaped. */
const EXPONENT = new RegExp(`"(?:${DIMENSIONS.join('|')})"\\s*:\\s*"?[-+.\\d]+e[-+\\d]`, 'i');

function readBlock(block: string): Verdict {
  const given = unfenced(block);
  const json = parseJson(given).fault === 'syntax' ? repaired(given) : given;
  const { value, repeated } = parseJson(json);
  return value === undefined ? unreadable('the JSON is invalid or cut off') : verdictOf(value, repeated, json);
}

function unfenced(text: string): string {
  const isFenced = text.length > 6 && text.startsWith('```') && text.endsWith('```');
  return isFenced ? pythonStrip(text.slice(3, -3).replace(/^json/, '')) : text;
}

function verdictOf(verdict: JsonObject, repeated: ReadonlySet<string>, json: string): Verdict {
  if (EXPONENT.test(json)) return unreadable('the verdict gives a rating with an exponent');
  const scores = verdict.get('scores');
  if (!(scores instanceof Map)) return unreadable('the verdict holds no "scores" object');
  const twice = ['scores', ...DIMENSIONS].find((key) => repeated.has(key));
  if (twice !== undefined) return unreadable(`the verdict gives ${twice} twice`);
  const missing = DIMENSIONS.filter((dimension) => !scores.has(dimension));
  if (missing.length > 0) return unreadable(`the verdict does not rate ${missing.join(', ')}`);
  if (scores.size > DIMENSIONS.length) return unreadable('the verdict rates more than the five dimensions');

  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const score = scores.get(dimension);
    const rating = typeof score === 'boolean' ? undefined : wholeNumber(score);
    if (rating === undefined) return unreadable(`the rating of ${dimension} is not a number`);
    if (!(rating >= 1 && rating <= 5)) return unreadable(`the rating of ${dimension} is not from 1 to 5`);
    ratings[dimension] = rating;
  }
  return accepted(verdict, ratings);
}

/** The repaired JSON. Empty where repairing fails or had to close an object or list: the judge may have had more to say. */
function repaired(json: string): string {
  if (json.length > REPAIRABLE_LENGTH) return '';
  try {
    const result = jsonrepair(json);
    return closings(result) > closings(json) ? '' : result;
  } catch {
    return '';
  }
}

const closings = (json: string): number => json.split(/[}\]]/).length;
