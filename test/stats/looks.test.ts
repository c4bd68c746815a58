// Planned looks, checked against SciPy's multivariate normal and a simulation, and what is not a look.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import type { JudgedRow } from '../../src/core/types.js';
import { studentTQuantile } from '../../src/stats/distributions.js';
import { alphaOfLook, lookAt, repeatsOf } from '../../src/stats/looks.js';

describe('alpha of a look', () => {
  // scipy.stats.multivariate_normal.cdf with correlations sqrt(n / m), solved with brentq.
  test.each([
    [[1], 0.05],
    [[1, 3], 0.027654188847902016],
    [[1, 2, 3, 4], 0.0182110135675949],
    [[1, 10], 0.025897828184922703],
    [[1, 3, 9, 27], 0.014420286277853125],
    [[9, 10], 0.03825293984208824],
  ])('of the schedule %j is %d', (schedule, alpha) => {
    expect(alphaOfLook(schedule, 0.05)).toBeCloseTo(alpha, 6);
  });

  // Gauss-Legendre quadrature of the same recursion with 1,200 nodes per look.
  test.each([
    [[1, 2, 3, 4], 0.01821100866698],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.01061774742017],
  ])('of the schedule %j is %d to nine digits', (schedule, alpha) => {
    expect(alphaOfLook(schedule, 0.05) / alpha).toBeCloseTo(1, 8);
  });

  test("lies between Bonferroni's share and alpha, and does not depend on the unit of the repeats", () => {
    const schedules = fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 3 });
    fc.assert(
      fc.property(schedules, fc.constantFrom(0.01, 0.05, 0.2), (some, alpha) => {
        const schedule = [...some].sort((a, b) => a - b);
        const own = alphaOfLook(schedule, alpha);
        expect(own).toBeGreaterThan(alpha / schedule.length);
        expect(own).toBeLessThan(alpha);
        expect(
          alphaOfLook(
            schedule.map((repeats) => 5 * repeats),
            alpha,
          ),
        ).toBeCloseTo(own, 6);
      }),
      { numRuns: 8 },
    );
  });

  test.each([
    [[1, 3], 0.035],
    [[1, 2, 3, 4], 0.055],
  ])(
    'keeps false findings over all looks of %j at alpha / 2, while an unchanged alpha exceeds %d',
    (schedule, worse) => {
      const { uniform } = randomOf(31);
      const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
      const sets = 60_000;
      const last = schedule.at(-1) ?? 1;
      const limits = [alphaOfLook(schedule, 0.05), 0.05].map((alpha) => studentTQuantile(1 - alpha / 2, 20_000));
      const found = [0, 0];
      for (let set = 0; set < sets; set++) {
        let sum = 0;
        let highest = Number.NEGATIVE_INFINITY;
        for (let repeat = 1; repeat <= last; repeat++) {
          sum += normal();
          if (schedule.includes(repeat)) highest = Math.max(highest, sum / Math.sqrt(repeat));
        }
        for (const [index, limit] of limits.entries()) found[index] = (found[index] ?? 0) + (highest > limit ? 1 : 0);
      }
      // 0.025 is known to within 0.0013 (two standard errors).
      expect(Math.abs((found[0] ?? 0) / sets - 0.025)).toBeLessThan(0.002);
      expect((found[1] ?? 0) / sets).toBeGreaterThan(worse);
    },
  );
});

describe('which look it is', () => {
  test.each([
    [{ base: 1, candidate: 1 }, 1],
    [{ base: 3, candidate: 3 }, 2],
    // The base, repeated once for all candidates.
    [{ base: 3, candidate: 1 }, 1],
    [{ base: 4, candidate: 3 }, 2],
  ])('for the repeats %j of the runs: %d', (repeats, look) => {
    expect(lookAt([1, 3], repeats, true)).toBe(look);
  });

  test('a floor has no base', () => {
    expect(lookAt([2, 4], { candidate: 4 }, false)).toBe(2);
  });

  test.each([
    [{ base: 2, candidate: 2 }, 'the candidate has 2 repeats of every row, the base has 2'],
    [{ base: 1, candidate: 3 }, 'the base has 1 repeat of every row, but the schedule of looks is 1, 3'],
    [{ base: 2, candidate: 1 }, 'the base as many, or the last number from the start'],
    [{ base: undefined, candidate: 1 }, 'the rows of the base do not all have the same number of repeats'],
    [{ base: 1, candidate: undefined }, 'the rows of the candidate do not all have the same number of repeats'],
  ])('%j is not a look', (repeats, reason) => {
    expect(lookAt([1, 3], repeats, true)).toContain(reason);
  });
});

describe('repeats of a run', () => {
  const rows = (domain: string, count: number, repeats: number): JudgedRow[] =>
    Array.from({ length: count * repeats }, (_, index) => ({
      key: `${domain}${index % count}`,
      trajectory: 't',
      repeat: Math.floor(index / count),
      index: 0,
      domain,
      turnIdx: 1,
      failed: 0,
      total: 3,
      ratings: {},
      flags: [],
    }));

  test('are counted, and a few missing rows change nothing', () => {
    expect(repeatsOf(rows('os', 200, 3))).toBe(3);
    expect(repeatsOf(rows('os', 200, 3).slice(0, -5))).toBe(3);
    expect(repeatsOf(rows('os', 5, 1))).toBe(1);
    const twice = rows('os', 5, 2).flatMap((row) => [row, { ...row, index: 1 }]);
    expect(repeatsOf(twice.slice(0, -1))).toBe(2);
  });

  test('are not counted in a run that is unfinished, or that repeats only some domains', () => {
    expect(repeatsOf(rows('os', 200, 3).slice(0, -50))).toBeUndefined();
    expect(repeatsOf([...rows('os', 20, 3), ...rows('web', 20, 1)])).toBeUndefined();
    expect(repeatsOf([])).toBeUndefined();
  });
});
