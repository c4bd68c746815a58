// Simulations small enough for every run of the tests; bench/gate-simulation.mjs has the long ones.
import { describe, expect, test } from 'vitest';
import { PUBLISHED, SAMPLE_MEAN, simulatedPoints, simulateRuns, simulateSample } from '../../bench/simulated-runs.mjs';
import type { Comparison, Interval } from '../../src/comparison.js';
import { clusteredEstimate } from '../../src/score/clusters.js';
import { compareRuns } from '../../src/score/compare.js';
import { decide, type GateOutcome } from '../../src/score/gate.js';
import { defaultPolicy } from '../../src/score/policy.js';
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
  test.each([12, 20, 60])('of %d skewed trajectories hold the truth 93 to 97 times in 100', (clusters) => {
    const { uniform } = randomOf(clusters);
    const held = share(2000, () => clusteredEstimate(simulateSample(uniform, clusters)), SAMPLE_MEAN);
    expect(held).toBeGreaterThan(0.93);
    expect(held).toBeLessThan(0.97);
  });

  test('of the bootstrap do so with 50 trajectories', () => {
    const { uniform } = randomOf(50);
    const interval = (seed: number) => bootstrapInterval([simulateSample(uniform, 50)], { draws: 500, seed });
    const held = share(600, interval, SAMPLE_MEAN);
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
