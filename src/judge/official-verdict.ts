// Reading a judge's reply exactly as the official script does.

import { lastBlock, PYTHON_SPACE, pythonStrip, VERDICT_TAG, withoutThinking } from '../reply.js';
import { DIMENSIONS, type Ratings, type Verdict } from '../types.js';
import { locate } from './json-place.js';
import { type JsonObject, parseJson } from './python-json.js';
import { accepted, unreadable, wholeNumber } from './verdict.js';

/**
 * What a judge's reply says, as the official script reads it. The verdict stands in the last `<final_evaluation>` block outside
 * thinking, or anywhere in the reply where there is no block or the last one is empty. It is the JSON object that `locate` finds
 * there, and it is mended. A score that cannot be read is absent, one above 5 is 5, one below 0 stays.
 */
export function readOfficialVerdict(reply: string): Verdict {
  const text = withoutThinking(pythonStrip(reply), VERDICT_TAG);
  if (text === '') return unreadable('the reply is empty');
  const place = lastBlock(text, VERDICT_TAG) || text;
  const found = locate(place);
  if (found === undefined) return unreadable('the reply holds no JSON object');
  return readOfficially(place.slice(found.start, found.end));
}

/** The verdict in a JSON object, mended as the official script mends it. */
function readOfficially(json: string): Verdict {
  const verdict = parseOfficially(mendOfficially(json));
  const scores = verdict?.get('scores');
  if (verdict === undefined) return unreadable('the JSON cannot be parsed');
  if (!(scores instanceof Map)) return unreadable('the verdict holds no "scores" object');
  const ratings: Ratings = {};
  for (const dimension of DIMENSIONS) {
    const score = scores.get(dimension);
    const rating = wholeNumber(score) ?? 0;
    if (typeof score === 'number' && !Number.isFinite(score))
      return unreadable(`the rating of ${dimension} is not finite`);
    if (rating !== 0) ratings[dimension] = Math.min(rating, 5);
  }
  return accepted(verdict, ratings);
}

const TRAILING_COMMA = new RegExp(`,([${PYTHON_SPACE}]*[}\\]])`, 'gu');
const SINGLE_QUOTED_KEY = new RegExp(`'([\\p{L}\\p{N}_]+)'([${PYTHON_SPACE}]*:)`, 'gu');
const BARE_KEY = new RegExp(`([{,])[${PYTHON_SPACE}]*([\\p{L}\\p{N}_]+)[${PYTHON_SPACE}]*:`, 'gu');
const SCORES_ALONE = new RegExp(`"scores"[${PYTHON_SPACE}]*:[${PYTHON_SPACE}]*\\{[^}]+\\}`, 'u');

/** What the official script does to every verdict, valid or not; strings that look like its targets are altered too. */
function mendOfficially(json: string): string {
  return json.replace(TRAILING_COMMA, '$1').replace(SINGLE_QUOTED_KEY, '"$1"$2').replace(BARE_KEY, '$1"$2":');
}

/** The mended object, or what is left of it when its first `scores` alone can be parsed. */
function parseOfficially(json: string): JsonObject | undefined {
  const { value, fault } = parseJson(json);
  if (fault !== 'syntax') return value;
  const scores = SCORES_ALONE.exec(json);
  return scores === null ? undefined : parseJson(`{${scores[0]}}`).value;
}
