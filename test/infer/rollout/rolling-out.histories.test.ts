// What stood before a turn: read back from records, and with stamps that show which turns are stale.

import { describe, expect, test } from 'vitest';
import type { RowRef } from '../../../src/benchmark/dataset.js';
import {
  followedBy,
  historyBefore,
  stampOfTurn,
  type TurnJob,
  turnJob,
} from '../../../src/infer/rollout/rolling-out.js';
import type { JournalRecord } from '../../../src/run/journal.js';
import type { RowSummary } from '../../../src/run/run.js';
import { rowRefs } from '../../support/row-refs.js';

const MARKER = '**Environment Observation:**\n';
const [driver] = rowRefs([
  { key: 'k', trajectory: 't', domain: 'web', id: '1', turnIdx: 9, line: 1, offset: 0, length: 1 },
]) as [RowRef];
const jobAt = (turn: number, name = 'chain', from = 0) =>
  turnJob({ name, trajectory: name, domain: 'web', driver, from, last: 9, end: 9, rows: new Map() }, turn, 0);

/** A journal in memory; `reads` are the ids that were read. */
function journal() {
  const records = new Map<string, { record: JournalRecord; summary: RowSummary }>();
  const reads: string[] = [];
  return {
    reads,
    keep(job: TurnJob, gen: string, stamp: string, failure?: string) {
      const state = failure === undefined ? { status: 'ok' as const } : { status: 'failed' as const, class: failure };
      const awb = { key: job.key, trajectory: 't', repeat: 0, reason: 'why', flags: [], ...state };
      const summary = { ...state, flags: [], usage: {}, attempts: 1, calls: 1, taken: [], stamp };
      records.set(job.id, { record: { id: job.id, row: { gen, awb }, log: {} }, summary });
    },
    summaryOf: (id: string) => records.get(id)?.summary,
    read(id: string) {
      reads.push(id);
      const found = records.get(id);
      if (found === undefined) throw new Error(`no record of ${id}`);
      return found.record;
    },
  };
}

/** A journal with so many turns of a chain, each settled behind the ones before. */
function settled(turns: number, mark = '') {
  const kept = journal();
  for (let turn = 1; turn <= turns; turn++) {
    const stamp = stampBehind(kept, turn, `${MARKER}seen ${turn}`);
    kept.keep(jobAt(turn), `seen ${turn}`, mark === '' ? stamp : `${stamp} ${mark}`);
  }
  return kept;
}

/** The stamp of a turn that showed this, behind the ones before. */
function stampBehind(kept: ReturnType<typeof journal>, turn: number, observation: string): string {
  const before = historyBefore(kept, jobAt(turn));
  return before.hash + followedBy(before, observation).hash;
}

const isStanding = (kept: ReturnType<typeof journal>, turn: number, mark = '') => {
  const stamp = kept.summaryOf(jobAt(turn).id)?.stamp ?? 'none';
  return stampOfTurn(kept, jobAt(turn), mark, stamp) === stamp;
};
const standing = (kept: ReturnType<typeof journal>, mark = '') =>
  [1, 2, 3, 4].filter((turn) => isStanding(kept, turn, mark));

describe('the history before a turn', () => {
  test('is read back from the journal by a session that did not write it, each record once', () => {
    const kept = settled(3);
    kept.reads.length = 0;
    const { observations } = historyBefore(kept, jobAt(4));
    expect(observations).toEqual([1, 2, 3].map((turn) => `${MARKER}seen ${turn}`));
    expect(kept.reads).toHaveLength(3);
  });

  test('is not made up where a turn has no record', () => {
    expect(() => historyBefore(settled(2), jobAt(4))).toThrow('no record');
  });

  test('has an empty observation for a turn that the model failed', () => {
    const kept = settled(1);
    kept.keep(jobAt(2), '', 'x', 'refused');
    expect(historyBefore(kept, jobAt(3)).observations).toEqual([`${MARKER}seen 1`, MARKER]);
  });

  test('begins after the true turns', () => {
    expect(historyBefore(journal(), jobAt(3, 'chain', 2)).observations).toEqual([]);
  });
});

describe('a record', () => {
  test('is valid while everything before it is', () => {
    expect(standing(settled(4))).toEqual([1, 2, 3, 4]);
  });

  test('is stale where a turn before it was asked again and said something else', () => {
    const kept = settled(4);
    const again = stampBehind(kept, 2, `${MARKER}seen otherwise`);
    kept.keep(jobAt(2), 'seen otherwise', again);
    expect(standing(kept)).toEqual([1, 2]);
  });

  test('is stale where a turn before it has no record any more, or one of a failure that has to be asked again', () => {
    const kept = settled(4);
    kept.keep(jobAt(3), '', kept.summaryOf(jobAt(3).id)?.stamp ?? '', 'transient');
    expect(standing(kept)).toEqual([1, 2, 3]);
    const other = settled(4);
    const without = { ...other, summaryOf: (id: string) => (id === jobAt(1).id ? undefined : other.summaryOf(id)) };
    expect([2, 3, 4].filter((turn) => isStanding(without, turn))).toEqual([]);
  });

  test('is stale where it, or one before it, was asked for with other parameters', () => {
    const kept = settled(4, 'temperature');
    expect(standing(kept, 'temperature')).toEqual([1, 2, 3, 4]);
    expect(standing(kept, '')).toEqual([]);
    kept.keep(jobAt(2), 'seen 2', (kept.summaryOf(jobAt(2).id)?.stamp ?? '').slice(0, 16));
    expect(standing(kept, 'temperature')).toEqual([1]);
  });
});
