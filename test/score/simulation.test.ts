// Simulations small enough for every run of the tests; bench/gate-simulation.mjs has the long ones.

import { describe, expect, test } from 'vitest';
import {
  PUBLISHED,
  SIZES,
  simulateDifferences,
  simulatedPoints,
  simulateRuns,
  simulateScores,
} from '../../bench/simulated-runs.mjs';
import type { Comparison, Interval } from '../../src/comparison.js';
import type { GateOutcome } from '../../src/decision.js';
import { clusteredEstimate } from '../../src/score/clusters.js';
import { compareRuns } from '../../src/score/compare.js';
import { decide } from '../../src/score/gate.js';
import { intervalAt } from '../../src/score/intervals.js';
import { defaultPolicy, parsePolicy } from '../../src/score/policy.js';
import { randomOf } from '../../src/score/random.js';
import { bootstrapInterval, signFlipP } from '../../src/score/resampling.js';

type Bounds = Partial<Interval> | undefined;

/** The share of simulated samples whose interval holds the truth. */
function share(sets: number, intervalOf: (set: number) => Bounds, truth: number): number {
  let held = 0;
  for (let set = 0; set < sets; set++) {
    const { low = Number.NaN, high = Number.NaN } = intervalOf(set) ?? {};
    held += low <= truth && truth <= high ? 1 : 0;
  }
  return held / sets;
}

function compared(settings: Omit<Parameters<typeof simulateRuns>[0], 'random'>, random: () => number): Comparison {
  const { base, candidate } = simulateRuns({ ...settings, random });
  const comparison = compareRuns(base, candidate, { draws: 0, pointsOf: simulatedPoints });
  if (comparison.status !== 'ok') throw new Error(comparison.reason);
  return comparison;
}

const everywhere = (drop: number) => Object.fromEntries(Object.keys(PUBLISHED).map((domain) => [domain, drop]));

describe('intervals', () => {
  const sizesOf = (name: string, random: () => number, clusters: number) => SIZES[name]?.(random, clusters) ?? [];

  test.each(
    ['4 to 6', '1 to 9', 'skewed'].flatMap((sizes) => [8, 12, 20].map((clusters) => [clusters, sizes] as const)),
  )('of %d trajectories with rows of %s hold the truth 93 to 97 times in 100', (clusters, sizes) => {
    const { uniform } = randomOf(clusters);
    const sample = () => simulateDifferences(uniform, sizesOf(sizes, uniform, clusters));
    const held = share(3000, () => clusteredEstimate(sample()), 0);
    expect(held).toBeGreaterThan(0.93);
    expect(held).toBeLessThan(0.975);
  });

  test('of trajectories one of which is as long as all others hold the truth, where G - 1 degrees of freedom do not', () => {
    const { uniform } = randomOf(3);
    const estimates = Array.from({ length: 2000 }, () =>
      clusteredEstimate(simulateDifferences(uniform, sizesOf('one huge', uniform, 12))),
    );
    const naive = estimates.map((estimate) => intervalAt({ ...estimate, df: 11 }, 0.05));
    expect(share(2000, (set) => estimates[set], 0)).toBeGreaterThan(0.94);
    expect(share(2000, (set) => naive[set], 0)).toBeLessThan(0.93);
  });

  test.each([80, 92])('of scores around %d hold the truth where symmetric ones do not', (centre) => {
    const { uniform } = randomOf(centre);
    const estimates = Array.from({ length: 2000 }, () =>
      clusteredEstimate(simulateScores(uniform, sizesOf('4 to 6', uniform, 8), centre), 'score'),
    );
    const symmetric = estimates.map((estimate) => intervalAt(estimate, 0.05, 'difference'));
    expect(share(2000, (set) => estimates[set], centre)).toBeGreaterThan(0.93);
    expect(share(2000, (set) => symmetric[set], centre)).toBeLessThan(0.93);
  });

  test('of the bootstrap do so with 50 trajectories', () => {
    const { uniform } = randomOf(50);
    const interval = (seed: number) =>
      bootstrapInterval([simulateDifferences(uniform, sizesOf('4 to 6', uniform, 50))], { draws: 500, seed });
    const held = share(600, interval, 0);
    expect(held).toBeGreaterThan(0.92);
    expect(held).toBeLessThan(0.98);
  });

  test('of Overall’s paired difference do so, with domains of unlike size', () => {
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

test('sign flips find a difference between equal runs no more than 5 times in 100', () => {
  const { uniform } = randomOf(9);
  let found = 0;
  for (let set = 0; set < 500; set++) {
    const { base, candidate } = simulateRuns({ random: uniform, sizes: { os: [60, 20] } });
    const shifts = base.rows.map((row, index) => ({
      value: (candidate.rows[index]?.total ?? Number.NaN) - row.total,
      cluster: row.trajectory,
    }));
    found += signFlipP([shifts], { draws: 199, seed: set }) <= 0.05 ? 1 : 0;
  }
  // Binomial: 25 are expected, and three standard errors more.
  expect(found).toBeLessThanOrEqual(40);
  expect(found).toBeGreaterThanOrEqual(10);
});

describe('the default gate on the published sizes', () => {
  function verdicts(sets: number, settings: Omit<Parameters<typeof simulateRuns>[0], 'random'>) {
    const { uniform } = randomOf(20);
    const counts: Record<GateOutcome, number> = { GO: 0, 'NO-GO': 0, INCONCLUSIVE: 0, INCOMPLETE: 0, ADVICE: 0 };
    for (let set = 0; set < sets; set++) {
      counts[decide({ comparison: compared(settings, uniform) }, defaultPolicy()).verdict]++;
    }
    return counts;
  }

  test('never stops an identical checkpoint, and passes about 78 in 100', () => {
    const counts = verdicts(100, { drops: {} });
    expect(counts['NO-GO']).toBe(0);
    expect(counts.GO).toBeGreaterThan(65);
    expect(counts.GO).toBeLessThan(91);
  });

  test('passes the same weights asked again nearly always', () => {
    const counts = verdicts(60, { sameWeights: true });
    expect(counts['NO-GO']).toBe(0);
    expect(counts.GO).toBeGreaterThan(53);
  });

  test('stops a drop of 5 points nearly always, and never passes it', () => {
    const counts = verdicts(60, { drops: everywhere(5) });
    expect(counts['NO-GO']).toBeGreaterThan(54);
    expect(counts.GO).toBe(0);
  });

  test('at the bounds themselves errs no more than alpha allows, either way', () => {
    // Two domains lose exactly the 5 points they may, and Overall exactly its 2.
    const counts = verdicts(200, { drops: { ...everywhere(0.8), search: 5, os: 5 } });
    // Expected at most 10 (alpha) and 5 (alpha / 2), and two standard errors more.
    expect(counts['NO-GO']).toBeLessThanOrEqual(16);
    expect(counts.GO).toBeLessThanOrEqual(10);
  });
});

test('the gate errs no more than alpha allows on few and very unlike trajectories', () => {
  const { uniform } = randomOf(23);
  const sizes = Object.fromEntries(Object.keys(PUBLISHED).map((name) => [name, [50, 12] as const]));
  const drops = { ...everywhere(0.8), search: 5, os: 5 };
  const found: Partial<Record<GateOutcome, number>> = {};
  for (let set = 0; set < 400; set++) {
    const { verdict } = decide({ comparison: compared({ sizes, drops }, uniform) }, defaultPolicy());
    found[verdict] = (found[verdict] ?? 0) + 1;
  }
  // Expected at most 20 (alpha) and 10 (alpha / 2), and two standard errors more.
  expect(found['NO-GO'] ?? 0).toBeLessThanOrEqual(29);
  expect(found.GO ?? 0).toBeLessThanOrEqual(17);
});

test('planned looks keep the chance of a false GO at alpha / 2 over all of them', () => {
  const { uniform } = randomOf(29);
  const policy = parsePolicy({ looks: [1, 3], max_drop: { overall: 2 } });
  const sizes = { mcp: [60, 20], web: [60, 20] } as const;
  let passed = 0;
  for (let set = 0; set < 500; set++) {
    const runs = simulateRuns({ random: uniform, sizes, drops: everywhere(2), repeats: 3 });
    const passes = [1, 3].some((count) => {
      const first = (run: typeof runs.base) => ({ rows: run.rows.filter(({ repeat }) => repeat < count) });
      const comparison = compareRuns(first(runs.base), first(runs.candidate), { draws: 0, pointsOf: simulatedPoints });
      if (comparison.status !== 'ok') throw new Error(comparison.reason);
      return decide({ comparison, repeats: { base: count, candidate: count } }, policy).verdict === 'GO';
    });
    passed += passes ? 1 : 0;
  }
  // 12.5 are expected at most, and two standard errors more.
  expect(passed).toBeLessThanOrEqual(20);
});
