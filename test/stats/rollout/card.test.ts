// The scores of a rollout by step and by distance.

import { describe, expect, it } from 'vitest';
import { estimateDocument } from '../../../src/core/document.js';
import type { JudgedRow } from '../../../src/core/types.js';
import { clusteredEstimate } from '../../../src/stats/clusters.js';
import { type RolloutCard, rolloutCard } from '../../../src/stats/rollout.js';
import { type MadeStep, steppedRow } from '../../support/rollouts.js';

const cardOf = (rows: readonly JudgedRow[]): RolloutCard => {
  const card = rolloutCard(rows, { scale: 'score' });
  if (card === undefined) throw new Error('no rollout');
  return card;
};

/** The given number of trajectories with these steps, each step one point lower. */
function steps(trajectories: number, places: readonly number[], more: Partial<MadeStep> = {}): JudgedRow[] {
  return Array.from({ length: trajectories }, (_, trajectory) =>
    places.map((step) => steppedRow({ trajectory, step, rating: 5 - 0.1 * step - 0.01 * (trajectory % 3), ...more })),
  ).flat();
}

describe('the curves of a rollout', () => {
  it('have a bin for each distance with enough rows, and merge the others into ranges', () => {
    const all = cardOf([...steps(12, [1, 2]), ...steps(6, [3, 4, 5, 7]), ...steps(2, [9])]);
    expect(all.by_distance.map(({ from, to, score }) => [from, to, score.rows])).toEqual([
      [1, 1, 12],
      [2, 2, 12],
      [3, 4, 12],
      [5, 9, 14],
    ]);
  });

  it('score a bin like any other mean, clustered by trajectory', () => {
    const rows = steps(12, [1, 2]);
    const first = rows.filter(({ turnIdx }) => turnIdx === 1);
    const expected = clusteredEstimate(
      first.map(({ total, trajectory }) => ({ value: (total - 1) * 25, cluster: trajectory })),
      'score',
    );
    expect(cardOf(rows).by_distance[0]?.score).toEqual(estimateDocument(expected));
    expect(expected.low).toBeLessThan(expected.value);
  });

  it('count failures of the model as rating 1, so that no curve rises by failing', () => {
    const rows = steps(10, [1, 2]).map((row) =>
      row.turnIdx === 2
        ? steppedRow({ trajectory: Number(row.trajectory.slice(10)), step: 2, rating: undefined })
        : row,
    );
    expect(cardOf(rows).by_distance.map(({ score }) => score.value)).toEqual([expect.closeTo(97.275, 9), 0]);
  });

  it('distinguish distance from turn if true turns come first', () => {
    const { from: starts, ...all } = cardOf(steps(12, [4, 5], { from: 3 }));
    expect(starts).toEqual([3]);
    expect(all.by_distance.map(({ from }) => from)).toEqual([1, 2]);
    expect(all.by_step.map(({ from }) => from)).toEqual([4, 5]);
  });

  it('show off-script rows separately, and omit none', () => {
    const off = steps(6, [2], { offScript: ['/a'] });
    const rows = [...steps(12, [1]), ...off, ...steps(12, [2]).slice(6)];
    const all = cardOf(rows);
    expect(all).toMatchObject({ predictions: 24, off_script: 6, chains: 12 });
    expect(all.by_distance.map(({ score, on_script }) => [score.rows, on_script?.rows])).toEqual([
      [12, 12],
      [12, 6],
    ]);
  });

  it('average the repeats of a row first', () => {
    const again = steps(12, [1, 2], { repeat: 1, rating: 3 });
    const all = cardOf([...steps(12, [1, 2], { rating: 5 }), ...again]);
    expect(all.predictions).toBe(48);
    expect(all.by_distance.map(({ score }) => [score.rows, score.value])).toEqual([
      [12, 75],
      [12, 75],
    ]);
  });

  it('are listed by domain, in the order of the table', () => {
    const { domains } = cardOf([...steps(12, [1], { domain: 'web' }), ...steps(12, [1, 2], { domain: 'mcp' })]);
    expect(Object.entries(domains).map(([domain, { predictions }]) => [domain, predictions])).toEqual([
      ['mcp', 24],
      ['web', 12],
    ]);
  });

  it('show a measure if nothing was rated', () => {
    const rows = steps(12, [1]).map(({ ratings: _none, failed: _failed, ...row }) => ({
      ...row,
      ratings: {},
      total: 0,
      measures: { chrf: 40 },
    }));
    const card = rolloutCard(rows, { measure: 'chrf', scale: [0, 100] });
    expect(card?.measure).toBe('chrf');
    expect(card?.by_distance[0]?.score.value).toBe(40);
  });

  it('are absent for a run that is not a rollout', () => {
    expect(rolloutCard(steps(12, [1], { isTrue: true }), { scale: 'score' })).toBeUndefined();
  });
});
