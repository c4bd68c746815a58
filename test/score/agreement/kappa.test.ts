// Quadratic kappa against the figures of scikit-learn, and its interval against NumPy's resamples.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { quadraticKappa, type RatedPair } from '../../../src/score/agreement/kappa.js';

interface Case {
  readonly a: number[];
  readonly b: number[];
  readonly clusters: string[];
  readonly kappa: number;
  readonly low: number;
  readonly high: number;
}
const { kappas } = JSON.parse(readFileSync(new URL('../../../fixtures/agreement.json', import.meta.url), 'utf8')) as {
  readonly kappas: Case[];
};
const cases = kappas.map((known, number) => ({ known, number }));

const pairsOf = ({ a, b, clusters }: Pick<Case, 'a' | 'b' | 'clusters'>, who = 'ann'): RatedPair[] =>
  a.map((value, index) => ({ a: value, b: b[index] ?? 0, who, cluster: clusters[index] ?? '' }));
const each = (...pairs: (readonly [number, number])[]): RatedPair[] =>
  pairs.map(([a, b], index) => ({ a, b, who: 'ann', cluster: `t${index}` }));
const few = { draws: 200, seed: 1 };

describe('quadratic kappa', () => {
  test.each(cases)('of set $number is that of scikit-learn', ({ known }) => {
    expect(quadraticKappa(pairsOf(known), few)?.value).toBeCloseTo(known.kappa, 12);
  });

  test.each(cases)('has the interval that resampling whole trajectories gives, set $number', ({ known }) => {
    const { interval } = quadraticKappa(pairsOf(known), { draws: 10_000, seed: 3 }) ?? {};
    expect(Math.abs((interval?.low ?? Number.NaN) - known.low)).toBeLessThan(0.02);
    expect(Math.abs((interval?.high ?? Number.NaN) - known.high)).toBeLessThan(0.02);
  });

  test('is 1 for two who never differ, 0 where one always says the same, and below 0 for opposites', () => {
    expect(quadraticKappa(each([1, 1], [3, 3], [5, 5]), few)?.value).toBe(1);
    expect(quadraticKappa(each([3, 1], [3, 3], [3, 5]), few)?.value).toBe(0);
    expect(quadraticKappa(each([1, 5], [5, 1]), few)?.value).toBeLessThan(0);
  });

  test('does not fall for a rater of other habits, since chance is reckoned for each two', () => {
    // Two raters who each agree with the judge perfectly, on rows of different levels.
    const low = each([1, 1], [2, 2], [1, 1]);
    const high = each([4, 4], [5, 5], [4, 4]).map((pair) => ({ ...pair, who: 'bob' }));
    expect(quadraticKappa([...low, ...high], few)?.value).toBe(1);
    // One whose ratings say nothing adds no agreement by the distance between the levels.
    const blind = each([1, 2], [2, 1], [1, 1], [2, 2]).map((pair) => ({ ...pair, who: 'bob' }));
    expect(quadraticKappa([...blind, ...each([4, 5], [5, 4], [4, 4], [5, 5])], few)?.value).toBe(0);
  });

  test('takes averaged ratings as they are', () => {
    // Lin's concordance with variances over n, which quadratic kappa is: the means are equal.
    expect(quadraticKappa(each([1.5, 1], [2.5, 2], [3.5, 4], [4.5, 5]), few)?.value).toBeCloseTo(
      (2 * 1.75) / (1.25 + 2.5),
      12,
    );
  });

  test('is not there without ratings, or where all are the same', () => {
    expect(quadraticKappa([], few)).toBeUndefined();
    expect(quadraticKappa(each([3, 3], [3, 3]), few)).toBeUndefined();
  });

  test('has an interval from five trajectories on, the same for the same seed', () => {
    const four = each([1, 1], [2, 3], [4, 4], [5, 4]);
    expect(quadraticKappa(four, few)).toMatchObject({ rows: 4, clusters: 4 });
    expect(quadraticKappa(four, few)).not.toHaveProperty('interval');
    const five = each([1, 1], [2, 3], [4, 4], [5, 4], [3, 1]);
    expect(quadraticKappa(five, few)?.interval).toEqual(quadraticKappa(five, few)?.interval);
    expect(quadraticKappa(five, few)?.interval).toBeDefined();
  });
});
