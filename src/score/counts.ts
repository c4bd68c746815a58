// What a run's predictions come to, counted: how many are valid, of how many anything is known, and why the others are not.

import { countedRating, isModelCaused, isRated } from '../points.js';
import type { DomainScore, JudgedRow } from '../types.js';
import type { Judgements } from './predictions.js';

type Counts = Pick<DomainScore, 'chosen' | 'valid' | 'failed' | 'failures' | 'flags'>;

/**
 * The counts of a domain's predictions, and how many of them are covered. What counts is the prediction: it is valid where any of
 * its judgements is, covered where any is, and has each of its flags once.
 * @param asked how many predictions the run chose; more in the file count as chosen, too
 */
export function countPredictions(
  predictions: readonly Judgements[],
  asked: number,
): { readonly counts: Counts; readonly covered: number } {
  const chosen = Math.max(asked, predictions.length);
  const missing = chosen - predictions.length;
  let [valid, covered] = [0, 0];
  const failures = new Map<string, number>();
  const flags = new Map<string, number>();
  for (const judgements of predictions) {
    if (judgements.some(isValid)) valid++;
    if (judgements.some(isCovered)) covered++;
    for (const failure of failureOf(judgements)) failures.set(failure, (failures.get(failure) ?? 0) + 1);
    for (const flag of flagsOf(judgements)) flags.set(flag, (flags.get(flag) ?? 0) + 1);
  }
  const counts = {
    chosen,
    valid,
    failed: predictions.length - valid,
    failures: { ...Object.fromEntries(failures), ...(missing > 0 ? { 'not-judged': missing } : {}) },
    flags: Object.fromEntries(flags),
  };
  return { counts, covered };
}

function isValid(row: JudgedRow): boolean {
  const measuredOnly = row.failed === undefined && row.failure === undefined && row.measures !== undefined;
  return isRated(row) || measuredOnly;
}

/** Whether anything is known of the row: the official script also calls valid what has no rating, or one that cannot be. */
function isCovered(row: JudgedRow): boolean {
  if (isRated(row)) return countedRating(row, 'total') !== undefined;
  return isValid(row) || hasFailureCounted(row);
}

/** Whether a failure that the model caused counts: as the lowest rating where rows are rated, else only where it was measured. */
function hasFailureCounted({ failed, failure, measures }: JudgedRow): boolean {
  return isModelCaused(failure?.class) && (failed !== undefined || measures !== undefined);
}

/** Why nothing, or too little, is known of a prediction; none where it has a rating. Of several failures the model's own counts. */
function failureOf(judgements: Judgements): string[] {
  if (judgements.some(isValid)) return judgements.some(isCovered) ? [] : ['not-rated'];
  const [{ failure }] = judgements;
  return [judgements.map((row) => row.failure?.class).find(isModelCaused) ?? failure?.class ?? 'unstated'];
}

function flagsOf(judgements: Judgements): readonly string[] {
  const [{ flags }, ...more] = judgements;
  if (more.length === 0) return flags;
  return [...new Set(judgements.flatMap((row) => row.flags))];
}
