// Which runs share a block of a leaderboard.

import { describe, expect, it } from 'vitest';
import type { JudgedWith } from '../../../src/report/leaderboard/runs.js';
import { blocksOf, cellsOf, headings, METRICS, names, OFFICIAL, run } from '../../support/boards.js';

describe('runs share a block only if they were judged in the same way', () => {
  it.each<[string, Partial<JudgedWith>]>([
    ['another judge', { judge: 'other' }],
    ['another snapshot of the judge', { snapshot: 'gpt-5.2-2026-06-01' }],
    ['another rubric pack', { rubricPack: 'awb-1' }],
    ['the same pack, reworded', { rubricFingerprint: 'ffff' }],
    ['another way of reading replies', { verdicts: 'strict' }],
    ['another version of the mode', { method: { version: 2 } }],
    ['another sampling of the judge', { sampling: { temperature: 0 } }],
    ['another protocol', { protocol: 'blind' }],
    ['a rollout', { rollout: 'rollout from 0' }],
    ['predictions judged without the truth', { method: { sees: 'rollout' } }],
  ])('not with %s', (_what, change) => {
    const blocks = blocksOf([run('a', 60), run('b', 50), run('c', 70, { judgedWith: { ...OFFICIAL, ...change } })]);
    expect(blocks.map(names)).toEqual([['a', 'b'], ['c']]);
    expect(new Set(blocks.map((block) => block.title)).size).toBe(2);
  });

  it('not if a measuring mode depends on something else, or asks another judge', () => {
    const gauge: JudgedWith = { kind: 'gauge', rates: false, judge: 'j', method: { bits: 1 }, protocol: 'history' };
    const more: Partial<JudgedWith>[] = [{}, { method: { bits: 2 } }, { judge: 'k' }];
    const runs = more.map((change, at) =>
      run(`r${at}`, 0, { judgedWith: { ...gauge, ...change }, measures: { chrf: 5 } }),
    );
    const titles = blocksOf(runs).map(({ title }) => title);
    expect(new Set(titles).size).toBe(3);
    for (const title of titles) expect(title).toMatch(/judge [jk], bits [12], protocol history/);
  });

  it("in whatever order the judge's sampling was written", () => {
    const samplings = [
      { temperature: 1, topP: 0.9 },
      { topP: 0.9, temperature: 1 },
    ];
    const runs = samplings.map((sampling, index) => run(`r${index}`, 50, { judgedWith: { ...OFFICIAL, sampling } }));
    expect(blocksOf(runs)).toHaveLength(1);
  });

  it('and runs that are not known to be alike stay separate, unless the caller vouches for them', () => {
    const unknown: JudgedWith = { kind: 'rubric', rates: true };
    const runs = [run('a', 60, { judgedWith: unknown }), run('b', 50, { judgedWith: unknown })];
    expect(blocksOf(runs).map(names)).toEqual([['a'], ['b']]);
    const [assumed, ...more] = blocksOf(runs, { assumeSame: true });
    expect(more).toEqual([]);
    expect(names(assumed)).toEqual(['a', 'b']);
    expect(assumed?.notes.join()).toContain('--assume-same assumes');
    const noProtocol = { ...OFFICIAL, protocol: undefined };
    const official = [run('a', 60, { judgedWith: noProtocol }), run('b', 50, { judgedWith: noProtocol })];
    expect(blocksOf(official)).toHaveLength(2);
  });

  it('rollouts do not share with those of another start, and a rollout of a baseline shares only with rollouts', () => {
    const from = (start: number, judged: Partial<JudgedWith> = {}) => ({
      judgedWith: { ...OFFICIAL, ...judged, rollout: `rollout from ${start}` },
    });
    const baseline = { ...from(0, { protocol: undefined }), isBaseline: true };
    const runs = [run('true', 60), run('a', 50, from(0)), run('b', 40, from(3)), run('persistence', 30, baseline)];
    const blocks = blocksOf(runs, { withPublished: true });
    expect(blocks.map(names)).toEqual([expect.arrayContaining(['true']), ['a', 'persistence'], ['b']]);
    expect(blocks.map(({ isOfficial }) => isOfficial)).toEqual([true, false, false]);
    expect(blocks[2]?.title).toMatch(/protocol history, rollout from 3$/);
  });

  it('a baseline was asked under no protocol, and appears with the runs of each', () => {
    const baseline = { judgedWith: { ...OFFICIAL, protocol: undefined }, isBaseline: true };
    const blind = { ...OFFICIAL, protocol: 'blind' };
    const blocks = blocksOf([run('a', 60), run('b', 50, { judgedWith: blind }), run('persistence', 40, baseline)]);
    expect(blocks.map(names)).toEqual([
      ['a', 'persistence'],
      ['b', 'persistence'],
    ]);
    expect(blocksOf([run('persistence', 40, baseline), run('empty', 0, baseline)]).map(names)).toEqual([
      ['persistence', 'empty'],
    ]);
  });

  it('measures have their own block, with a measure for each domain', () => {
    const measured = run('m', 0, { judgedWith: METRICS, measures: { chrf: 31.5, exact_match: 7 } });
    const [ratings, measures] = blocksOf([run('a', 60), measured]);
    expect(names(ratings)).toEqual(['a']);
    expect(cellsOf(measures, 'm')?.slice(0, 9)).toEqual(['m', ...Array(8).fill('31.50')]);
    expect(headings(measures)).not.toContain('Overall');
    expect(cellsOf(blocksOf([measured], { measure: 'exact_match' })[0], 'm')?.[1]).toBe('7.00');
    expect(() => blocksOf([measured], { measure: 'bleu' })).toThrow(
      'unknown measure "bleu"; the runs have chrf, exact_match',
    );
  });
});
