// Resampling: SciPy's p values and intervals, and the random numbers that it uses.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { simulateRuns } from '../../bench/simulated-runs.mjs';
import { randomFrom, randomOf } from '../../src/core/random.js';
import { clusteredEstimate, meanOfEstimates, type Observation } from '../../src/stats/clusters.js';
import { bootstrapInterval, signFlipP } from '../../src/stats/resampling.js';

interface Clustered {
  readonly values: number[];
  readonly clusters: string[];
}
const compared = JSON.parse(readFileSync(new URL('../../fixtures/comparison.json', import.meta.url), 'utf8')) as {
  readonly flips: (Clustered & { readonly p: number })[];
  readonly bootstrap: Clustered & { readonly low: number; readonly high: number };
};

const observed = ({ values, clusters }: Clustered): Observation[] =>
  values.map((value, index) => ({ value, cluster: clusters[index] ?? '' }));

const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

describe('seeded random numbers', () => {
  test('are xoshiro128**, by the published vector of the state 1, 2, 3, 4', () => {
    const { bits } = randomFrom([1, 2, 3, 4]);
    expect(Array.from({ length: 6 }, bits)).toEqual([11520, 0, 5927040, 70819200, 2031721883, 1637235492]);
  });

  test('repeat for the same seed, and not for its neighbour', () => {
    const some = (seed: number) => Array.from({ length: 8 }, randomOf(seed).bits);
    expect(some(7)).toEqual(some(7));
    expect(some(7).filter((word) => some(8).includes(word))).toEqual([]);
  });

  test('fall evenly into ten bins', () => {
    const { uniform } = randomOf(3);
    const parts = Array.from({ length: 10 }, () => 0);
    for (let draw = 0; draw < 20_000; draw++) {
      const part = Math.floor(uniform() * 10);
      parts[part] = (parts[part] ?? 0) + 1;
    }
    // Chi square with 9 degrees of freedom: one seed in a thousand exceeds 27.9.
    expect(parts.reduce((sum, count) => sum + (count - 2000) ** 2 / 2000, 0)).toBeLessThan(27.9);
  });
});

describe('sign flips', () => {
  test.each(compared.flips)("give SciPy's exact p: $p", (known) => {
    expect(signFlipP([observed(known)], { draws: 1, seed: 1 })).toBeCloseTo(known.p, 12);
  });

  test('flip complete trajectories, not rows', () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({ value: 5, cluster: `t${index % 2}` }));
    // Of the four patterns of two trajectories, two are as far from 0 as the observed one.
    expect(signFlipP([rows], { draws: 1, seed: 1 })).toBe(0.5);
  });

  test('that are sampled are close to the exact p, and never reach 0', () => {
    const many = each(...Array.from({ length: 17 }, (_, index) => (index % 4) * 10 - 8));
    const exact = signFlipP([many.slice(0, 16)], { draws: 1, seed: 1 });
    // A seventeenth trajectory too small to matter turns the same test into a sampled one.
    const sampled = signFlipP([[...many.slice(0, 16), { value: 1e-7, cluster: 'more' }]], { draws: 20_000, seed: 5 });
    expect(Math.abs(sampled - exact)).toBeLessThan(0.015);
    expect(signFlipP([each(...Array.from({ length: 40 }, () => 3))], { draws: 99, seed: 5 })).toBe(0.01);
  });

  test('weight domains equally, however many rows they have', () => {
    const small = each(-30, -30, -30, -30, -30);
    const large = Array.from({ length: 500 }, (_, index) => ({ value: 10, cluster: `l${index % 5}` }));
    // In Overall, a trajectory of the small domain moves -30 / 5 / 2 points, and one of the large domain 1000 / 500 / 2.
    const parts = [...Array.from({ length: 5 }, () => -3), ...Array.from({ length: 5 }, () => 1)];
    let found = 0;
    for (let pattern = 0; pattern < 1024; pattern++) {
      const sum = parts.reduce((total, part, index) => total + ((pattern >> index) & 1 ? -part : part), 0);
      found += Math.abs(sum) >= 10 ? 1 : 0;
    }
    expect(signFlipP([small, large], { draws: 1, seed: 1 })).toBeCloseTo(found / 1024, 12);
  });

  test('of runs that never differ give 1', () => {
    expect(signFlipP([each(0, 0, 0)], { draws: 10, seed: 1 })).toBe(1);
  });
});

describe('cluster bootstrap', () => {
  test("gives SciPy's percentile interval, within the sampling error", () => {
    const { low = 0, high = 0 } = bootstrapInterval([observed(compared.bootstrap)], { draws: 10_000, seed: 1 }) ?? {};
    const width = compared.bootstrap.high - compared.bootstrap.low;
    expect(Math.abs(low - compared.bootstrap.low)).toBeLessThan(0.025 * width);
    expect(Math.abs(high - compared.bootstrap.high)).toBeLessThan(0.025 * width);
  });

  test('agrees with the t interval of Overall within a twentieth, and is repeatable', () => {
    const { uniform } = randomOf(11);
    const domain = (name: string, centre: number) =>
      Array.from({ length: 400 }, (_, index) => ({ value: centre + 50 * uniform(), cluster: `${name}${index % 80}` }));
    const strata = [domain('a', 10), domain('b', 30), domain('c', 0)];
    const exact = meanOfEstimates(strata.map((rows) => clusteredEstimate(rows)));
    const drawn = bootstrapInterval(strata, { draws: 10_000, seed: 2 });
    const width = (exact.high ?? 0) - (exact.low ?? 0);
    expect(Math.abs((drawn?.low ?? 0) - (exact.low ?? 0))).toBeLessThan(width / 20);
    expect(Math.abs((drawn?.high ?? 0) - (exact.high ?? 0))).toBeLessThan(width / 20);
    expect(bootstrapInterval(strata, { draws: 10_000, seed: 2 })).toEqual(drawn);
  });

  test('gives nothing for one trajectory', () => {
    const alone = [
      { value: 3, cluster: 'one' },
      { value: 4, cluster: 'one' },
    ];
    expect(bootstrapInterval([each(1, 2), alone], { draws: 100, seed: 1 })).toBeUndefined();
  });
});

test('sign flips find a difference between equal runs at most 5 times in 100', () => {
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
  // Binomial: 25 are expected, plus three standard errors.
  expect(found).toBeLessThanOrEqual(40);
  expect(found).toBeGreaterThanOrEqual(10);
});
