// Intervals and p values: the tails of SciPy, both scales, and when nothing can be said.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clusteredEstimate, type Observation } from '../../src/stats/clusters.js';
import { chanceAbove, chanceBelow, intervalAt, smallestEffect, withInterval } from '../../src/stats/intervals.js';

const compared = JSON.parse(readFileSync(new URL('../../fixtures/comparison.json', import.meta.url), 'utf8')) as {
  readonly tails: [number, number, number][];
  readonly detectable: [number, number][];
};

/** Figures whose sums must be rounded, without the very smallest floating-point numbers. */
const figures = (minLength: number) =>
  fc.array(
    fc.integer({ min: 0, max: 999_900 }).map((whole) => whole / 9999),
    { minLength, maxLength: 40 },
  );

const each = (...values: number[]): Observation[] => values.map((value, index) => ({ value, cluster: `c${index}` }));

describe('the chance of an estimate below its bound', () => {
  test.each(compared.tails)("t %d with %d degrees of freedom has SciPy's tail: %d", (t, df, tail) => {
    const estimate = { value: 10 - 2 * t, rows: 9, clusters: 3, se: 2, df, low: 0, high: 0 };
    expect(Math.abs((chanceBelow(estimate, 10) ?? 0) / tail - 1)).toBeLessThan(1e-9);
  });

  test('is below alpha / 2 exactly if the interval ends below the bound', () => {
    const inputs = fc.tuple(
      figures(5),
      fc.double({ min: -20, max: 120, noNaN: true }),
      fc.constantFrom(0.01, 0.05, 0.2),
    );
    fc.assert(
      fc.property(inputs, ([some, bound, alpha]) => {
        const estimate = clusteredEstimate(each(...some));
        const high = intervalAt(estimate, alpha)?.high ?? Number.NaN;
        fc.pre(Math.abs(high - bound) > 1e-6);
        expect((chanceBelow(estimate, bound) ?? Number.NaN) < alpha / 2).toBe(high < bound);
      }),
    );
  });

  test.each([
    ['below', 7, 7.5, 0],
    ['at', 7, 7, 1],
    ['above', 7, 6, 1],
  ])('is certain if rows never vary: %s the bound', (_, value, bound, chance) => {
    expect(chanceBelow(clusteredEstimate(each(...Array.from({ length: 50 }, () => value))), bound)).toBe(chance);
  });

  test.each([
    ['few trajectories', each(4, 9, 2, 7)],
    ['few trajectories that all agree', each(...Array.from({ length: 49 }, () => 4))],
  ])('is unknown for %s, like every interval and power', (_, some) => {
    const alone = clusteredEstimate(some);
    expect([chanceBelow(alone, 3), intervalAt(alone, 0.05), smallestEffect(alone)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('interval at a level', () => {
  test("at 0.05 is the estimate's own, and is wider at 0.01", () => {
    const estimate = clusteredEstimate(each(10, 40, 35, 90, 25));
    const wide = intervalAt(estimate, 0.01);
    expect(intervalAt(estimate, 0.05)).toEqual({ low: estimate.low, high: estimate.high });
    expect(wide?.low).toBeCloseTo(estimate.value - 4.604095 * (estimate.se ?? 0), 4);
  });
});

describe('the interval of a score', () => {
  const score = (value: number, se: number) => ({ value, se, df: 20, rows: 60, clusters: 21 });

  test('is the formula of the logit scale', () => {
    const { low = 0, high = 0 } = intervalAt(score(92, 2), 0.05, 'score') ?? {};
    // t(0.975, 20) = 2.085963; half-width 2.085963 · 2 · 100 / (92 · 8), around ln(92 / 8).
    expect(Math.log(low / (100 - low))).toBeCloseTo(Math.log(11.5) - 0.566838, 5);
    expect(Math.log(high / (100 - high))).toBeCloseTo(Math.log(11.5) + 0.566838, 5);
  });

  test('never leaves 0 to 100, is mirrored with the score, and is symmetric in the middle', () => {
    const inputs = fc.tuple(
      fc.double({ min: 0.5, max: 99.5, noNaN: true }),
      fc.double({ min: 0.01, max: 9, noNaN: true }),
    );
    fc.assert(
      fc.property(inputs, ([value, se]) => {
        const { low = Number.NaN, high = Number.NaN } = intervalAt(score(value, se), 0.05, 'score') ?? {};
        const mirrored = intervalAt(score(100 - value, se), 0.05, 'score');
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(100);
        expect(low).toBeLessThan(value);
        expect(high).toBeGreaterThan(value);
        expect(mirrored?.high).toBeCloseTo(100 - low, 6);
      }),
    );
    const middle = intervalAt(score(50, 0.5), 0.05, 'score');
    expect(middle?.low).toBeCloseTo(50 - 2.085963 * 0.5, 3);
  });

  test.each([0, 100])('does not exist at exactly %d, even if rows of 60 trajectories agree', (value) => {
    const flat = clusteredEstimate(each(...Array.from({ length: 60 }, () => value)), 'score');
    expect(flat.se).toBe(0);
    expect([flat.low, flat.high]).toEqual([undefined, undefined]);
  });

  test('ends at a bound exactly as its p values say', () => {
    const inputs = fc.tuple(
      fc.double({ min: 2, max: 98, noNaN: true }),
      fc.double({ min: 0.1, max: 9, noNaN: true }),
      fc.double({ min: 1, max: 99, noNaN: true }),
    );
    fc.assert(
      fc.property(inputs, ([value, se, bound]) => {
        const { low = 0, high = 0 } = intervalAt(score(value, se), 0.05, 'score') ?? {};
        fc.pre(Math.abs(low - bound) > 1e-6 && Math.abs(high - bound) > 1e-6);
        expect((chanceBelow(score(value, se), bound, 'score') ?? 1) < 0.025).toBe(high < bound);
        expect((chanceAbove(score(value, se), bound, 'score') ?? 1) < 0.025).toBe(low > bound);
      }),
    );
  });

  test('at the ends of the scale, always reaches 0, and reaches 100 only if the score is perfect', () => {
    expect(chanceAbove(score(30, 2), 0, 'score')).toBe(0);
    expect(chanceBelow(score(99, 1), 100, 'score')).toBe(0);
  });

  test('replaces an interval that the estimate already had', () => {
    expect(withInterval({ ...score(100, 0), low: 99, high: 100 }, 'score')).toEqual(score(100, 0));
  });
});

describe('smallest effect', () => {
  test.each(compared.detectable)('with %d degrees of freedom is close to the exact one of %d', (df, exact) => {
    const effect = smallestEffect({ value: 0, rows: 9, clusters: 9, se: 1, df, low: 0, high: 0 }) ?? 0;
    const error = effect / exact - 1;
    expect(Math.abs(error)).toBeLessThan(df >= 5 ? 0.01 : df === 2 ? 0.055 : 0.14);
  });
});
