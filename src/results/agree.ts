// Matches people's ratings with predictions, by row and by the hash of the text. Ratings that match none are reported.

import { createHash } from 'node:crypto';
import { readJudged } from '../benchmark/judged.js';
import type { PlacedRating } from '../benchmark/ratings.js';
import { FIGURES, type Figure } from '../core/comparison.js';
import { badData } from '../core/errors.js';
import { groupBy, type Some } from '../core/groups.js';
import { possibleRating } from '../core/points.js';
import { shownPrediction } from '../core/reply.js';
import { rowId } from '../core/row-id.js';
import { DIMENSIONS, type JudgedRow } from '../core/types.js';
import { meanFigure } from '../stats/aggregate.js';
import type { RatedPrediction } from '../stats/agreement/people.js';
import { mean } from '../stats/clusters.js';

/** Why a rating does not count, as part of a sentence. */
export const REASONS = {
  'no-row': 'it matches no row of the judged file',
  changed: 'the prediction has changed since it was rated',
  ambiguous: 'this row has several predictions, and no prediction_sha256 says which one was rated',
  revised: "it was changed after the judge's ratings were shown",
  repeated: 'the same person rates this prediction again later',
} as const;
type Reason = keyof typeof REASONS;

/** The raters of one prediction are compared in pairs, so their number is limited. */
const MOST_PEOPLE = 200;

export type Matched = ReturnType<typeof matchRatings>;

/**
 * Matches ratings with predictions. If a person rated a prediction more than once, the last rating counts.
 * @param byRow the predictions of each row, by `key#repeat`
 */
export function matchRatings(
  ratings: readonly PlacedRating[],
  byRow: ReadonlyMap<string, readonly JudgedPrediction[]>,
) {
  const leftOut = new Map<PlacedRating, Reason>();
  const found = new Map<JudgedPrediction, Map<string, PlacedRating>>();
  for (const rating of ratings) {
    const prediction = predictionOf(rating, byRow.get(rowId(rating.key, rating.repeat)) ?? []);
    if (typeof prediction === 'string') {
      leftOut.set(rating, prediction);
      continue;
    }
    const byRater = found.get(prediction) ?? new Map<string, PlacedRating>();
    const before = byRater.get(rating.rater);
    if (before !== undefined) leftOut.set(before, 'repeated');
    if (rating.revised) leftOut.set(rating, 'revised');
    found.set(prediction, byRater.set(rating.rater, rating));
  }
  return {
    predictions: [...found].flatMap(([prediction, byRater]): RatedPrediction[] => {
      const counted = [...byRater.values()].filter((rating) => !leftOut.has(rating));
      if (counted.length > MOST_PEOPLE) {
        const many = `${counted.length} people rated one prediction`;
        throw badData(`${many}, but agreement supports at most ${MOST_PEOPLE}; give fewer files`);
      }
      const [first, ...more] = counted.map(({ rater, ratings: given }) => {
        return { rater, figures: { ...given, total: mean(DIMENSIONS.map((dimension) => given[dimension])) } };
      });
      const { domain, trajectory } = prediction.rows[0];
      return first === undefined
        ? []
        : [{ domain, trajectory, judge: judgeFigures(prediction), people: [first, ...more] }];
    }),
    /** Ratings that do not count, by file and line, in the order of the files and their lines. */
    leftOut: ratings.flatMap((rating) => {
      const why = leftOut.get(rating);
      return why === undefined ? [] : [{ place: rating.place, why }];
    }),
    /** How many have no hash, so that the prediction may have changed since it was rated. */
    unchecked: ratings.filter((rating) => rating.predictionSha256 === undefined && !leftOut.has(rating)).length,
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

/** A prediction and its judgements, which may come from several files. */
interface JudgedPrediction {
  readonly sha256: string;
  readonly rows: Some<JudgedRow>;
}

/** SHA-256 (hex) of a prediction as shown to the judge. It ties a person's rating to the rated text. */
export function predictionHash(shown: string): string {
  return createHash('sha256').update(shown).digest('hex');
}

/**
 * Reads the predictions of these rows (`key#repeat`) from judged files. A row may have several predictions, one for each text.
 * @returns the predictions by row, and warnings about the files
 * @throws UserError as `readJudged`
 */
export async function readPredictions(paths: readonly string[], wanted: ReadonlySet<string>, stop: AbortSignal) {
  const found: { id: string; sha256: string; row: JudgedRow }[] = [];
  const warnings: string[] = [];
  for (const path of paths) {
    const file = await readJudged(path, stop, (row, { gen }) => {
      const id = rowId(row.key, row.repeat);
      if (!wanted.has(id)) return;
      found.push({ id, row, sha256: predictionHash(typeof gen === 'string' ? shownPrediction(gen) : '') });
    });
    warnings.push(...file.warnings);
  }
  const predictions = new Map<string, JudgedPrediction[]>();
  for (const [id, own] of groupBy(found, (one) => one.id)) {
    const byText = [...groupBy(own, ({ sha256 }) => sha256)];
    predictions.set(
      id,
      byText.map(([sha256, [first, ...more]]) => ({ sha256, rows: [first.row, ...more.map(({ row }) => row)] })),
    );
  }
  return { predictions, warnings };
}

/** The judge's ratings of a prediction, averaged over its judgements; empty for a row that could not be judged. */
export function judgeFigures({ rows }: Pick<JudgedPrediction, 'rows'>): Partial<Record<Figure, number>> {
  const means = FIGURES.map((figure) => [figure, meanFigure(rows, (row) => possibleRating(row, figure))] as const);
  return Object.fromEntries(means.filter(([, value]) => value !== undefined));
}
