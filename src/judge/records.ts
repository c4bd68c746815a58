// Records of judgements in a run's journal: what each was made from and with, and whether it still holds.

import { EXIT } from '../core/errors.js';
import { isUnasked, type JudgementRecord, recordedJudgement } from '../core/judgement.js';
import { isModelCaused } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import type { JournalRecord } from '../run/journal.js';
import { type RowState, type RowSummary, type Run, STAMP_KEY } from '../run/run.js';
import type { Beginning, StageListener } from '../run/stage-contract.js';

/** A judgement; `stamp` tells what it is made from. */
export interface Judged {
  readonly id: string;
  readonly stamp: string;
}

/** The stamp of a judgement (see `StageOutput.stampOf`). Where no judge had a say, it does not matter how judges are asked. */
export function stampOf({ stamp }: Pick<Judged, 'stamp'>, failure: string | undefined, mark: string): string {
  return isUnasked(failure) ? stamp : `${stamp} ${mark}`;
}

/** A new record, for the journal; its log has nothing of what it cost. */
export function recordOf(job: Judged, record: JudgementRecord, mark: string): JournalRecord {
  const failure = record.judge.status === 'failed' ? record.judge.class : undefined;
  const stamp = stampOf(job, failure, mark);
  return { id: job.id, row: record, log: { [STAMP_KEY.judge]: stamp, at: new Date().toISOString() } };
}

/** Whether there is a record that is not stale, and that judging again would not mend. */
export function holds({ journal }: Run, job: Judged, mark: string): boolean {
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

/** So many judgements that could not be read, with none that could, are enough to see that the judge is none. */
const HOPELESS = 20;
/** How much of a reply is shown, in terminal columns. */
const MOST_SHOWN = 200;

/** Ends a judging (65) of which nothing can be read, in this session and in those before. */
export function legibilityWatch(journal: Run['journal'], { keepGoing }: { readonly keepGoing: boolean }) {
  let isOver = keepGoing;
  let asking: Beginning | undefined;
  const found = new Set<string>();
  /** A judgement could not be read; `reply` is the last one to it. */
  const unread = (id: string, reply = '') => {
    if (isOver || found.add(id).size < HOPELESS) return;
    const shown = reply.trim() === '' ? 'is empty' : `reads "${oneLine(reply, MOST_SHOWN)}"`;
    asking?.stop(`none of ${found.size} judgements could be read, and the last reply ${shown}`, EXIT.badData);
  };
  return {
    unread,
    begins(beginning) {
      asking = beginning;
      for (const id of journal.ids()) {
        const summary = journal.summaryOf(id);
        isOver ||= isRead(summary);
        if (isOver) break;
        if (summary?.class === 'unreadable') found.add(id);
      }
    },
    settled({ id }, summary) {
      isOver ||= isRead(summary);
      if (isOver || summary.class !== 'unreadable') return;
      const { judge } = recordedJudgement(journal.read(id).row);
      unread(id, judge.status === 'failed' ? judge.raw_output : undefined);
    },
  } satisfies StageListener & { readonly unread: typeof unread };
}

/** Whether a judge was asked, and understood. */
function isRead(summary: RowSummary | undefined): boolean {
  return summary?.status === 'ok' && summary.attempts > 0;
}

/** The same of a calibration, where an empty prediction, which is rated 1 without a call, is as it was planned. */
export function calibrationState(record: JournalRecord): RowState {
  const state = judgementState(record);
  return state.class === 'empty' ? { status: 'ok', flags: [] } : state;
}
