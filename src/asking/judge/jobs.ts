// The judgements that a judging consists of: which of each prediction, in which order they are asked for, and under which seeds.

import { inTurns } from '../../bench/loop-turn.js';
import type { PredictionRef } from '../../bench/prediction-ref.js';
import { Column } from '../../column.js';
import { MOST_PARTS } from '../../judge/mode.js';
import { MOST_JUDGEMENTS } from '../../judgement.js';
import { itemsAt, type List, listOf } from '../../list.js';
import { MOST_REPEATS } from '../../prediction.js';
import { present } from '../../present.js';
import { parseRowId, rowId } from '../../row-id.js';
import type { Domain } from '../../types.js';
import type { StageJob } from '../stage-contract.js';

/** One judgement of one prediction. */
export class JudgeJob implements StageJob {
  /** @param index which of the prediction's judgements it is, from 0 */
  constructor(
    readonly ref: PredictionRef,
    readonly index: number,
  ) {}

  get id(): string {
    return rowId(this.ref.key, this.ref.repeat, this.index);
  }

  get domain(): Domain {
    return this.ref.domain;
  }

  get group(): string {
    return this.ref.trajectory;
  }

  /** What its record is made from. */
  get stamp(): string {
    return this.ref.stamp;
  }

  get isFurther(): true | undefined {
    return this.index === 0 ? undefined : true;
  }
}

/**
 * The first `count` judgements of every prediction, in the order of the file; those of one prediction follow each other. Where the
 * prediction is missing there is nothing to judge, and one record says so.
 */
export async function jobsOf(refs: List<PredictionRef>, count: number): Promise<List<JudgeJob>> {
  const [refOf, indexOf] = [new Column(Uint32Array), new Column(Uint32Array)];
  let [jobs, place] = [0, 0];
  for await (const { failure } of inTurns(refs)) {
    for (let index = 0; index < (failure === undefined ? count : 1); index++) {
      refOf.put(jobs, place);
      indexOf.put(jobs, index);
      jobs++;
    }
    place++;
  }
  return listOf(jobs, (job) => new JudgeJob(present(refs.at(refOf.at(job))), indexOf.at(job)));
}

/** How many judgements of one prediction a journal holds at most, by the ids of its records. */
export async function recordedCount(ids: Iterable<string>): Promise<number> {
  let most = 0;
  for await (const id of inTurns(ids)) most = Math.max(most, (parseRowId(id)?.index ?? 0) + 1);
  return Math.min(most, MOST_JUDGEMENTS);
}

/**
 * Rows with the same judge prompt follow each other, and within them the turns of a trajectory, so that prefix caches hit. The
 * judgements of one prediction share all of their prompt, so they follow each other too: only the first of them is paid in full.
 * Whoever wants every prediction judged once before any is judged twice gives the command once without, and once with the count.
 */
export async function inJudgeOrder(jobs: List<JudgeJob>): Promise<List<JudgeJob>> {
  const domains = new Map<Domain, Map<string, number[]>>();
  let place = 0;
  for await (const { domain, group } of inTurns(jobs)) {
    const trajectories = domains.get(domain) ?? new Map<string, number[]>();
    domains.set(domain, trajectories);
    const turns = trajectories.get(group);
    if (turns === undefined) trajectories.set(group, [place]);
    else turns.push(place);
    place++;
  }
  const turnIdx = (job: number) => present(jobs.at(job)).ref.turnIdx;
  const ordered = new Uint32Array(jobs.length);
  let next = 0;
  for (const trajectories of domains.values()) {
    for await (const turns of inTurns(trajectories.values())) {
      ordered.set(
        turns.sort((a, b) => turnIdx(a) - turnIdx(b)),
        next,
      );
      next += turns.length;
    }
  }
  return itemsAt(jobs, ordered);
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
