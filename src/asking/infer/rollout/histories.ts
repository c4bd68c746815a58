// What stood before a turn of a rollout, with a stamp that shows when a turn before has changed.

import { createHash } from 'node:crypto';
import { isModelCaused } from '../../../points.js';
import { recordedPrediction } from '../../../prediction.js';
import type { Journal } from '../../../run/journal.js';
import { observationOf } from '../../../simulate/rollout-turn.js';
import type { RowState, RowSummary } from '../../run.js';
import type { TurnJob } from './turn-jobs.js';

/** Eight hex digits: two of them make a stamp. */
const DIGITS = 8;
const NOTHING_BEFORE = '0'.repeat(DIGITS);

type Records = Pick<Journal<RowSummary>, 'read' | 'summaryOf'>;

/** The simulated part of a history. */
export interface History {
  readonly observations: readonly string[];
  /** Stands for it. */
  readonly hash: string;
}

/** A turn whose failure the model caused is done: the rollout has gone on behind it. */
export function isDoneTurn({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** The history in front of a turn, read back. @throws Error where a turn before it has no record */
export function historyBefore(records: Records, job: TurnJob): History {
  let history: History = { observations: [], hash: NOTHING_BEFORE };
  for (let turn = job.chain.from + 1; turn < job.turn; turn++) {
    history = followedBy(history, observedIn(records, job.at(turn)));
  }
  return history;
}

/** What the world model showed in a turn; empty where it failed. @throws Error where the turn has no record */
export function observedIn(records: Records, { id }: TurnJob): string {
  const { row } = records.read(id);
  return observationOf(recordedPrediction(row).status === 'ok' && typeof row.gen === 'string' ? row.gen : '');
}

/** The history behind one more turn. */
export function followedBy({ observations, hash }: History, observation: string): History {
  const next = createHash('sha256').update(`${hash}\n${observation}`).digest('hex').slice(0, DIGITS);
  return { observations: [...observations, observation], hash: next };
}

/**
 * The stamp that a record should have, given the one that it has: it begins with what stands before the turn now, and what it says of
 * the turn itself is taken as it is. Undefined where a turn before is not done, or was itself asked behind another history.
 * @param mark what else records depend on
 */
export function stampOfTurn(records: Records, job: TurnJob, mark: string, recorded: string): string | undefined {
  let hash = NOTHING_BEFORE;
  for (let turn = job.chain.from + 1; turn < job.turn; turn++) {
    const summary = records.summaryOf(job.at(turn).id);
    if (summary === undefined || !isDoneTurn(summary)) return undefined;
    const after = afterOf(summary.stamp);
    if (summary.stamp !== stampText(hash + after, mark)) return undefined;
    hash = after;
  }
  return stampText(hash + afterOf(recorded), mark);
}

/** A record's stamp: of the history, and what else it depends on. */
export function stampText(hashes: string, mark: string): string {
  return mark === '' ? hashes : `${hashes} ${mark}`;
}

function afterOf(stamp: string): string {
  return stamp.slice(DIGITS, 2 * DIGITS);
}
