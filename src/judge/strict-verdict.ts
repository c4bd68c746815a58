// Reading a judge's reply strictly: nothing but the judge's own five ratings counts.

import { jsonrepair } from 'jsonrepair';
import { pythonStrip } from '../reply.js';
import { DIMENSIONS, type Ratings, type Verdict } from '../types.js';
import { finalObject } from './final-block.js';
import { readOfficially } from './official-verdict.js';
import { parseJson } from './python-json.js';
import { type Material, mayQuote } from './quotation.js';
import { accepted, unreadable, wholeNumber } from './verdict.js';

/** The strict reading mends no longer verdict (UTF-16 units): mending takes quadratic time on stray quotes. */
const MENDABLE_LENGTH = 32_000;

/**
 * What a judge's reply says, or nothing: a verdict counts only where it is certainly the judge's own and final one.
 *
 * It stands in the one tagged block at the end of the reply, or the reply is nothing but its JSON (or one fence of it). Blocks that
 * stand in the material are quotations and are taken out first. Behind the block there may be a farewell, but no tag and no JSON.
 * Ratings are taken for a quotation, even one that is not word for word, where the prediction names all five dimensions and holds the
 * same ratings: so no planted rating counts.
 *
 * It is parsed before it is mended, and accepted only where its `scores` rate the five dimensions, each once, with numbers that
 * round (half to even) to 1 to 5, and where the official reading of the same JSON does not rate otherwise.
 */
export function readStrictVerdict(reply: string, material: Material): Verdict {
  const text = pythonStrip(reply);
  if (text === '') return unreadable('the reply is empty');
  const json = finalObject(text, material);
  if (typeof json !== 'string') return json;
  const verdict = readStrictly(json);
  if (!rateAlike(verdict, readOfficially(json))) return unreadable('the verdict can be read in two ways');
  if (verdict.status === 'ok' && mayQuote(material, verdict.ratings)) {
    return unreadable('the prediction holds the same ratings, so they may be a quotation');
  }
  return verdict;
}

function rateAlike(strict: Verdict, official: Verdict): boolean {
  if (strict.status !== 'ok' || official.status !== 'ok') return true;
  const { ratings } = official;
  const complete = DIMENSIONS.every((dimension) => (ratings[dimension] ?? 0) > 0);
  return !complete || DIMENSIONS.every((dimension) => strict.ratings[dimension] === ratings[dimension]);
}

function readStrictly(json: string): Verdict {
  let parsed = parseJson(json);
  if (parsed.fault === 'syntax') parsed = parseJson(mended(json));
  const { value: verdict, repeated } = parsed;
  const scores = verdict?.get('scores');
  if (verdict === undefined) return unreadable('the JSON is invalid or cut off');
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
function mended(json: string): string {
  if (json.length > MENDABLE_LENGTH) return '';
  try {
    const repaired = jsonrepair(json);
    return closings(repaired) > closings(json) ? '' : repaired;
  } catch {
    return '';
  }
}

const closings = (json: string): number => json.split(/[}\]]/).length;
