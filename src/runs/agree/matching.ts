// People's ratings put to the predictions that they are of; those that belong to none are named.

import type { PlacedRating } from '../../bench/ratings.js';
import { groupBy } from '../../groups.js';
import type { PersonFigures, RatedPrediction } from '../../people.js';
import { rowId } from '../../row-id.js';
import { mean } from '../../score/mean.js';
import { DIMENSIONS } from '../../types.js';
import { type JudgedPrediction, judgeFigures } from './predictions.js';

/** Why a rating may not count, as a sentence has it. */
export const REASONS = {
  'no-row': 'it matches no row of the judged file',
  changed: 'the prediction has changed since it was rated',
  ambiguous: 'this row has several predictions, and no prediction_sha256 says which one was rated',
  revised: "it was changed after the judge's ratings were shown",
  repeated: 'the same person rates the same prediction again further on',
} as const;
type Reason = keyof typeof REASONS;

/** A rating that does not count. */
interface LeftOut {
  /** File and line. */
  readonly place: string;
  readonly why: Reason;
}

export interface Matched {
  readonly predictions: readonly RatedPrediction[];
  /** In the order of the files and their lines. */
  readonly leftOut: readonly LeftOut[];
  /** Ratings without a hash: nobody can tell whether the prediction is still the one that was rated. */
  readonly unchecked: number;
}

interface Found {
  readonly rating: PlacedRating;
  readonly prediction: JudgedPrediction;
}

/**
 * Puts ratings to predictions. Of several ratings that one person gave one prediction the last counts.
 * @param byRow the predictions of each row, by `key#repeat`
 */
export function matchRatings(
  ratings: readonly PlacedRating[],
  byRow: ReadonlyMap<string, readonly JudgedPrediction[]>,
): Matched {
  const leftOut = new Map<PlacedRating, Reason>();
  const found: Found[] = [];
  for (const rating of ratings) {
    const prediction = predictionOf(rating, byRow.get(rowId(rating.key, rating.repeat)) ?? []);
    if (typeof prediction === 'string') leftOut.set(rating, prediction);
    else found.push({ rating, prediction });
  }
  // One person's ratings of one prediction: the map keeps the last.
  const latest = new Map<JudgedPrediction, Map<string, PlacedRating>>();
  for (const { rating, prediction } of found) {
    const byRater = latest.get(prediction) ?? new Map<string, PlacedRating>();
    const before = byRater.get(rating.rater);
    if (before !== undefined) leftOut.set(before, 'repeated');
    latest.set(prediction, byRater.set(rating.rater, rating));
  }
  const counted = found.filter(({ rating }) => {
    if (rating.revised && !leftOut.has(rating)) leftOut.set(rating, 'revised');
    return !leftOut.has(rating);
  });
  return {
    predictions: [...groupBy(counted, ({ prediction }) => prediction)].map(([prediction, [first, ...more]]) => ({
      domain: prediction.rows[0].domain,
      trajectory: prediction.rows[0].trajectory,
      judge: judgeFigures(prediction),
      people: [personFigures(first.rating), ...more.map(({ rating }) => personFigures(rating))],
    })),
    leftOut: ratings.flatMap((rating) => {
      const why = leftOut.get(rating);
      return why === undefined ? [] : [{ place: rating.place, why }];
    }),
    unchecked: counted.filter(({ rating }) => rating.predictionSha256 === undefined).length,
  };
}

function predictionOf(
  { predictionSha256: hash }: PlacedRating,
  predictions: readonly JudgedPrediction[],
): JudgedPrediction | Reason {
  const [first, ...others] = predictions;
  if (first === undefined) return 'no-row';
  if (hash === undefined) return others.length === 0 ? first : 'ambiguous';
  return predictions.find(({ sha256 }) => sha256 === hash) ?? 'changed';
}

function personFigures({ rater, ratings }: PlacedRating): PersonFigures {
  return { rater, figures: { ...ratings, total: mean(DIMENSIONS.map((dimension) => ratings[dimension])) } };
}
