// Records of judgements in a run's journal: what each was made from and with, and whether it still holds.

import { isUnasked, type JudgementRecord, recordedJudgement } from '../../judgement.js';
import { isModelCaused } from '../../points.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { RowState } from '../row-summary.js';
import { type Run, STAMP_KEY } from '../run.js';

/** A judgement; `stamp` tells what it is made from. */
interface Stamped {
  readonly id: string;
  readonly stamp: string;
}

/** The stamp of a judgement (see `AskedStage.stampOf`). Where no judge had a say, it does not matter how judges are asked. */
export function stampOf({ stamp }: Pick<Stamped, 'stamp'>, failure: string | undefined, mark: string): string {
  return isUnasked(failure) ? stamp : `${stamp} ${mark}`;
}

/** A new record, for the journal. */
export function recordOf(job: Stamped, record: JudgementRecord, log: object, mark: string): JournalRecord {
  const failure = record.judge.status === 'failed' ? record.judge.class : undefined;
  const stamp = stampOf(job, failure, mark);
  return { id: job.id, row: record, log: { ...log, [STAMP_KEY.judge]: stamp, at: new Date().toISOString() } };
}

/** Whether there is a record that is not stale, and that judging again would not mend. */
export function holds({ journal }: Run, job: Stamped, mark: string): boolean {
  const summary = journal.summaryOf(job.id);
  return summary !== undefined && summary.stamp === stampOf(job, summary.class, mark) && isDone(summary);
}

/** Whether a judgement need not be asked for again: what the world model caused, no judge can mend. */
export function isDone({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** What a judgement's record has come to. @throws TypeError for what judging never writes. */
export function judgementState({ row }: JournalRecord): RowState {
  const { judge } = recordedJudgement(row);
  return {
    status: judge.status,
    ...(judge.status === 'failed' ? { class: judge.class, reason: judge.reason } : {}),
    flags: [],
  };
}
