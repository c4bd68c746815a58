// The judgements that a judging consists of: which of each prediction, in which order they are asked for, and under which seeds.

import type { PredictionRef } from '../../bench/predictions.js';
import { groupBy } from '../../groups.js';
import { MOST_PARTS } from '../../judge/mode.js';
import { MOST_JUDGEMENTS } from '../../judgement.js';
import { MOST_REPEATS } from '../../prediction.js';
import { parseRowId, rowId } from '../../row-id.js';
import type { StageJob } from '../stage-contract.js';

/** One judgement of one prediction. */
export interface JudgeJob extends StageJob {
  readonly ref: PredictionRef;
  /** Which of the prediction's judgements it is, from 0. */
  readonly index: number;
  /** What its record is made from. */
  readonly stamp: string;
}

/**
 * The first `count` judgements of every prediction, in the order of the file; those of one prediction follow each other. Where the
 * prediction is missing there is nothing to judge, and one record says so.
 */
export function jobsOf(refs: readonly PredictionRef[], count: number): JudgeJob[] {
  return refs.flatMap((ref) =>
    Array.from({ length: ref.failure === undefined ? count : 1 }, (_, index) => judgeJob(ref, index)),
  );
}

export function judgeJob(ref: PredictionRef, index: number): JudgeJob {
  const { key, repeat, domain, trajectory: group, stamp } = ref;
  return { id: rowId(key, repeat, index), domain, group, ref, index, stamp, isFurther: index > 0 ? true : undefined };
}

/** How many judgements of one prediction a journal holds at most, by the ids of its records. */
export function recordedCount(ids: Iterable<string>): number {
  let most = 0;
  for (const id of ids) most = Math.max(most, (parseRowId(id)?.index ?? 0) + 1);
  return Math.min(most, MOST_JUDGEMENTS);
}

/**
 * Rows with the same judge prompt follow each other, and within them the turns of a trajectory, so that prefix caches hit. The
 * judgements of one prediction share all of their prompt, so they follow each other too: only the first of them is paid in full.
 * Whoever wants every prediction judged once before any is judged twice gives the command once without, and once with the count.
 */
export function inJudgeOrder(jobs: readonly JudgeJob[]): JudgeJob[] {
  return [...groupBy(jobs, ({ domain }) => domain).values()].flatMap((own) =>
    [...groupBy(own, ({ group }) => group).values()].flatMap((turns) =>
      turns.toSorted((a, b) => a.ref.turnIdx - b.ref.turnIdx),
    ),
  );
}

/**
 * Which seed a try is asked under: a number of its own for each repeat, judgement, part and try, counted in blocks. A block holds the
 * tries of every repeat; the first is that of the first part of the first judgement, so that a prediction which is judged once is
 * asked under the seeds of old, whatever the count. `part` and `tried` are 0-based, `tried` is less than `maxRetries`.
 */
export function seedOffsetOf({ ref, index }: JudgeJob, part: number, tried: number, maxRetries: number): number {
  const block = index * MOST_PARTS + part;
  return (block * MOST_REPEATS + ref.repeat) * maxRetries + tried;
}
