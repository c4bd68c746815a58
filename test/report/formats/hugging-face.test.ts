// The scores of a run as a file for the Hugging Face Hub.

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DOMAINS } from '../../../src/core/types.js';
import type { JudgedWith } from '../../../src/report/leaderboard/runs.js';
import { cardOf, format, hostileRuns, METRICS, OFFICIAL, run } from '../../support/boards.js';

describe('a file for Hugging Face', () => {
  it('with a hostile name reads back as one entry per figure', () => {
    for (const hostile of hostileRuns) {
      const seven = { ...hostile, judgedWith: OFFICIAL, card: cardOf(56.785) };
      const entries = parse(format('hf', [seven]));
      expect(entries.map((entry: { dataset: { task_id: string } }) => entry.dataset.task_id)).toEqual([
        'overall',
        ...DOMAINS,
      ]);
      expect(entries[0]).toMatchObject({ dataset: { id: 'Qwen/AgentWorldBench' }, value: 56.78, date: '2026-01-01' });
      expect(Object.keys(entries[0])).toEqual(['dataset', 'value', 'date', 'notes']);
    }
  });

  it('is for one run with ratings', () => {
    expect(() => format('hf', [run('a', 60), run('b', 50)])).toThrow('these are 2 runs; choose one with --run');
    const measured = run('m', 0, { judgedWith: METRICS, measures: { chrf: 31 } });
    expect(() => format('hf', [measured])).toThrow('none of these runs has ratings');
    const partial = run('p', 50, { domains: ['mcp', 'web'] });
    const tasks = parse(format('hf', [partial])).map(
      (entry: { dataset: { task_id: string } }) => entry.dataset.task_id,
    );
    expect(tasks).toEqual(['mcp', 'web']);
  });

  it.each<[string, Partial<JudgedWith>]>([
    ['judge', { judge: 'local', snapshot: undefined }],
    ['rubric pack', { rubricPack: 'awb-1' }],
    ['reading', { verdicts: 'strict' }],
    ['protocol', { protocol: 'blind' }],
  ])('with another %s is refused', (_what, change) => {
    const other = [run('a', 60, { judgedWith: { ...OFFICIAL, ...change } })];
    expect(() => format('hf', other)).toThrow('this run was judged differently');
  });

  it('contains official figures, with our own in its notes', () => {
    const [entry] = parse(format('hf', [run('a', 60, { withFailures: 45 })]));
    expect(entry).toMatchObject({ value: 60 });
    expect(entry.notes).toContain("45.00 with the model's failures as rating 1; 95 % interval of that 41.00 to 49.00");
  });
});
