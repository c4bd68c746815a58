// Records of judgements in a run's journal: what each was made from and with, and whether it still holds.

import { isUnasked, type JudgementRecord, recordedJudgement } from '../../judgement.js';
import { isModelCaused } from '../../points.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Usage } from '../../types.js';
import type { RowSummary, Run } from '../run.js';
import type { JudgeJob } from './jobs.js';

interface JudgeRecords {
  /** Whether the prediction, or how judges are asked, has changed since. */
  isStale(job: JudgeJob, summary: RowSummary): boolean;
  /** Whether there is a record that is not stale, and that judging again would not mend. */
  holds(job: JudgeJob): boolean;
  /** A new record, for the journal. */
  recordOf(job: JudgeJob, record: JudgementRecord, log: object): JournalRecord;
}

/** `mark` tells what is sent beside the messages, as far as it may change within a run. */
export function openRecords(run: Run, mark: () => string): JudgeRecords {
  // Where no judge had a say, it does not matter how judges are asked.
  const stampOf = ({ ref }: JudgeJob, failure: string | undefined) =>
    isUnasked(failure) ? ref.stamp : `${ref.stamp} ${mark()}`;
  const isStale = (job: JudgeJob, summary: RowSummary) => summary.stamp !== stampOf(job, summary.class);
  return {
    isStale,
    holds(job) {
      const summary = run.journal.entries.get(job.id)?.summary;
      return summary !== undefined && !isStale(job, summary) && isDone(summary);
    },
    recordOf(job, record, log) {
      const failure = record.judge.status === 'failed' ? record.judge.class : undefined;
      return { id: job.id, row: record, log: { ...log, stamp: stampOf(job, failure), at: new Date().toISOString() } };
    },
  };
}

/** Whether a judgement need not be asked for again: what the world model caused, no judge can mend. */
export function isDone({ status, class: failure }: RowSummary): boolean {
  return status === 'ok' || isModelCaused(failure);
}

/** What stays in memory of a judgement's record. @throws TypeError for what judging never writes. */
export function summariseJudgement({ row, log }: JournalRecord): RowSummary {
  const { judge } = recordedJudgement(row);
  return {
    status: judge.status,
    ...(judge.status === 'failed' ? { class: judge.class, reason: judge.reason } : {}),
    flags: [],
    // `openRun` checks that these are what they were written as.
    usage: (log.usage ?? {}) as Usage,
    // The same check.
    stamp: (log.stamp ?? '') as string,
  };
}
