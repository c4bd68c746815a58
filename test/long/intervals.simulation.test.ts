// Intervals cover the simulated truth as often as they claim; bench/gate-simulation.mjs has longer simulations.

import { describe, expect, test } from 'vitest';
import { SIZES, simulateDifferences, simulateScores } from '../../bench/simulated-runs.mjs';
import type { Interval } from '../../src/core/comparison.js';
import { randomOf } from '../../src/core/random.js';
import { clusteredEstimate } from '../../src/stats/clusters.js';
import { intervalAt } from '../../src/stats/intervals.js';
import { bootstrapInterval } from '../../src/stats/resampling.js';
import { compared } from '../support/simulated-comparison.js';

type Bounds = Partial<Interval> | undefined;

/** The share of simulated samples whose interval covers the truth. */
function share(sets: number, intervalOf: (set: number) => Bounds, truth: number): number {
  let held = 0;
  for (let set = 0; set < sets; set++) {
    const { low = Number.NaN, high = Number.NaN } = intervalOf(set) ?? {};
    held += low <= truth && truth <= high ? 1 : 0;
  }
  return held / sets;
}

describe('intervals', () => {
  const sizesOf = (name: string, random: () => number, clusters: number) => SIZES[name]?.(random, clusters) ?? [];

  test.each(
    ['4 to 6', '1 to 9', 'skewed'].flatMap((sizes) => [8, 12, 20].map((clusters) => [clusters, sizes] as const)),
  )('of %d trajectories with rows of %s cover the truth 93 to 97 times in 100', (clusters, sizes) => {
    const { uniform } = randomOf(clusters);
    const sample = () => simulateDifferences(uniform, sizesOf(sizes, uniform, clusters));
    const held = share(3000, () => clusteredEstimate(sample()), 0);
    expect(held).toBeGreaterThan(0.93);
    expect(held).toBeLessThan(0.975);
  });

  test('cover the truth even if one trajectory is as long as all others, while those with G - 1 degrees of freedom do not', () => {
    const { uniform } = randomOf(3);
    const estimates = Array.from({ length: 2000 }, () =>
      clusteredEstimate(simulateDifferences(uniform, sizesOf('one huge', uniform, 12))),
    );
    const naive = estimates.map((estimate) => intervalAt({ ...estimate, df: 11 }, 0.05));
    expect(share(2000, (set) => estimates[set], 0)).toBeGreaterThan(0.94);
    expect(share(2000, (set) => naive[set], 0)).toBeLessThan(0.93);
  });

  test.each([80, 92])('of scores around %d cover the truth, while symmetric ones do not', (centre) => {
    const { uniform } = randomOf(centre);
    const estimates = Array.from({ length: 2000 }, () =>
      clusteredEstimate(simulateScores(uniform, sizesOf('4 to 6', uniform, 8), centre), 'score'),
    );
    const symmetric = estimates.map((estimate) => intervalAt(estimate, 0.05, 'difference'));
    expect(share(2000, (set) => estimates[set], centre)).toBeGreaterThan(0.93);
    expect(share(2000, (set) => symmetric[set], centre)).toBeLessThan(0.93);
  });

  test('of the bootstrap cover it with 50 trajectories', () => {
    const { uniform } = randomOf(50);
    const interval = (seed: number) =>
      bootstrapInterval([simulateDifferences(uniform, sizesOf('4 to 6', uniform, 50))], { draws: 500, seed });
    const held = share(600, interval, 0);
    expect(held).toBeGreaterThan(0.92);
    expect(held).toBeLessThan(0.98);
  });

  test("of Overall's paired difference cover it, with domains of different sizes", () => {
    const { uniform } = randomOf(4);
    const sizes = { mcp: [60, 12], os: [40, 20], web: [90, 30] } as const;
    const drops = { mcp: 9, web: 3 };
    const held = share(600, () => compared({ sizes, drops }, uniform).overall.total?.difference, -4);
    expect(held).toBeGreaterThan(0.92);
    expect(held).toBeLessThan(0.98);
  });
});

test('the smallest effect is found 80 times in 100', () => {
  const { uniform } = randomOf(6);
  const sizes = { os: [120, 30] } as const;
  const totals = (drop: number) =>
    Array.from({ length: 500 }, () => compared({ sizes, drops: { os: drop } }, uniform).overall.total);
  const stated = totals(0).reduce((sum, total) => sum + (total?.smallestEffect ?? Number.NaN), 0) / 500;
  const found = totals(stated).filter((total) => (total?.difference.high ?? 0) < 0).length;
  expect(found / 500).toBeGreaterThan(0.75);
  expect(found / 500).toBeLessThan(0.85);
});
