// Krippendorff's alpha, checked against the Python package krippendorff, and its interval against NumPy's resamples.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type AlphaMetric, agreementOf, type RatedUnit } from '../../../src/stats/agreement/coefficients.js';

interface Known {
  readonly alpha: number;
  readonly low: number;
  readonly high: number;
}
interface Case {
  readonly units: number[][];
  readonly clusters: string[];
  readonly interval: Known;
  readonly ordinal: Known;
}
const { alphas } = JSON.parse(readFileSync(new URL('../../../fixtures/agreement.json', import.meta.url), 'utf8')) as {
  readonly alphas: Case[];
};
const METRICS = ['interval', 'ordinal'] as const satisfies readonly AlphaMetric[];
const cases = alphas.flatMap((known, number) => METRICS.map((metric) => ({ known, number, metric })));

const unitsOf = ({ units, clusters }: Pick<Case, 'units' | 'clusters'>): RatedUnit[] =>
  units.map((values, index) => ({ values, cluster: clusters[index] ?? '' }));
const each = (...units: number[][]): RatedUnit[] => units.map((values, index) => ({ values, cluster: `t${index}` }));
const few = { draws: 200, seed: 1 };

describe("Krippendorff's alpha", () => {
  test.each(cases)('of set $number equals that of the Python package, $metric', ({ known, metric }) => {
    expect(agreementOf(unitsOf(known), metric, few)?.alpha).toBeCloseTo(known[metric].alpha, 12);
  });

  test.each(cases)(
    'has the interval that resampling complete trajectories gives, set $number, $metric',
    ({ known, metric }) => {
      const interval = agreementOf(unitsOf(known), metric, { draws: 10_000, seed: 3 });
      expect(Math.abs((interval?.low ?? Number.NaN) - known[metric].low)).toBeLessThan(0.02);
      expect(Math.abs((interval?.high ?? Number.NaN) - known[metric].high)).toBeLessThan(0.02);
    },
  );

  test('omits units with fewer than two ratings, and counts the rest', () => {
    const units = each([1, 2], [4], [], [3, 3, 4], [5, 5], [1, 1], [2, 2]);
    const found = agreementOf(units, 'ordinal', few);
    expect(found).toMatchObject({ predictions: 5, ratings: 11, clusters: 5 });
    expect(found?.alpha).toBe(
      agreementOf(
        units.filter(({ values }) => values.length > 1),
        'ordinal',
        few,
      )?.alpha,
    );
  });

  test('is 1 for raters who never differ, and below 0 for those who always do', () => {
    expect(agreementOf(each([1, 1], [3, 3], [5, 5]), 'interval', few)?.alpha).toBe(1);
    expect(agreementOf(each([1, 5], [5, 1], [1, 5]), 'interval', few)?.alpha).toBeLessThan(0);
  });

  test('of the ordinal metric depends only on the order of values', () => {
    const units = [
      [1, 2],
      [2, 4],
      [5, 5],
      [4, 4],
      [1, 1],
      [2, 1],
    ];
    const stretched = units.map((values) => values.map((value) => value ** 3 + 7));
    const alpha = (values: number[][], metric: AlphaMetric) => agreementOf(each(...values), metric, few)?.alpha;
    expect(alpha(stretched, 'ordinal')).toBe(alpha(units, 'ordinal'));
    expect(alpha(stretched, 'interval')).not.toBe(alpha(units, 'interval'));
  });

  test('is undefined if all ratings are equal or none are paired', () => {
    expect(agreementOf(each([3, 3], [3, 3]), 'interval', few)).toBeNull();
    expect(agreementOf(each([3], [4]), 'ordinal', few)).toBeNull();
    expect(agreementOf([], 'ordinal', few)).toBeNull();
  });

  test('has no interval with fewer than five trajectories', () => {
    const units = [
      [1, 2],
      [2, 2],
      [3, 4],
      [5, 5],
    ];
    expect(agreementOf(each(...units), 'interval', few)?.low).toBeNull();
    expect(agreementOf(each(...units, [4, 4]), 'interval', few)?.low).toEqual(expect.any(Number));
  });

  test('has the same interval for the same seed, and another one for another seed', () => {
    const [known] = alphas;
    const interval = (seed: number) => known && agreementOf(unitsOf(known), 'interval', { draws: 300, seed });
    expect(interval(1)).toEqual(interval(1));
    expect(interval(1)).not.toEqual(interval(2));
  });
});
