// Quadratic kappa, checked against scikit-learn, and its interval against NumPy's resamples.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { randomOf } from '../../../src/core/random.js';
import { kappaOfJudge, kappaOfPeople, type RatedByPeople } from '../../../src/stats/agreement/kappa.js';

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

type Judged = RatedByPeople & { readonly judge: number };
const judged = (judge: number, rating: number, cluster: string, rater = 'ann'): Judged => ({
  judge,
  people: [{ rater, rating }],
  cluster,
});
const pairsOf = ({ a, b, clusters }: Pick<Case, 'a' | 'b' | 'clusters'>): Judged[] =>
  a.map((value, index) => judged(value, b[index] ?? 0, clusters[index] ?? ''));
const each = (...pairs: (readonly [number, number])[]): Judged[] => by('ann', ...pairs);
const by = (rater: string, ...pairs: (readonly [number, number])[]): Judged[] =>
  pairs.map(([a, b], index) => judged(a, b, `t${index}`, rater));
const few = { draws: 200, seed: 1 };

describe('quadratic kappa', () => {
  test.each(cases)('of set $number equals that of scikit-learn', ({ known }) => {
    expect(kappaOfJudge(pairsOf(known), few)?.kappa).toBeCloseTo(known.kappa, 12);
  });

  test.each(cases)('has the interval that resampling complete trajectories gives, set $number', ({ known }) => {
    const interval = kappaOfJudge(pairsOf(known), { draws: 10_000, seed: 3 });
    expect(Math.abs((interval?.low ?? Number.NaN) - known.low)).toBeLessThan(0.02);
    expect(Math.abs((interval?.high ?? Number.NaN) - known.high)).toBeLessThan(0.02);
  });

  test('is 1 for two who never differ, 0 if one always says the same, and below 0 for opposites', () => {
    expect(kappaOfJudge(each([1, 1], [3, 3], [5, 5]), few)?.kappa).toBe(1);
    expect(kappaOfJudge(each([3, 1], [3, 3], [3, 5]), few)?.kappa).toBe(0);
    expect(kappaOfJudge(each([1, 5], [5, 1]), few)?.kappa).toBeLessThan(0);
  });

  test('does not fall for a rater with other habits, since chance is computed per pair', () => {
    // Two raters who each agree perfectly with the judge, on rows of different levels.
    const low = each([1, 1], [2, 2], [1, 1]);
    const high = by('bob', [4, 4], [5, 5], [4, 4]);
    expect(kappaOfJudge([...low, ...high], few)?.kappa).toBe(1);
    // A rater with uninformative ratings adds no agreement through the distance between the levels.
    const blind = by('bob', [1, 2], [2, 1], [1, 1], [2, 2]);
    expect(kappaOfJudge([...blind, ...each([4, 5], [5, 4], [4, 4], [5, 5])], few)?.kappa).toBe(0);
  });

  test('uses averaged ratings without rounding them', () => {
    // Quadratic kappa equals Lin's concordance with variances over n; the means are equal here.
    expect(kappaOfJudge(each([1.5, 1], [2.5, 2], [3.5, 4], [4.5, 5]), few)?.kappa).toBeCloseTo(
      (2 * 1.75) / (1.25 + 2.5),
      12,
    );
  });

  test('is absent without ratings, or if all are equal', () => {
    expect(kappaOfJudge([], few)).toBeNull();
    expect(kappaOfJudge(each([3, 3], [3, 3]), few)).toBeNull();
  });

  test('has an interval from five trajectories on, and the same one for the same seed', () => {
    const four = each([1, 1], [2, 3], [4, 4], [5, 4]);
    expect(kappaOfJudge(four, few)).toMatchObject({ rows: 4, clusters: 4 });
    expect(kappaOfJudge(four, few)).toMatchObject({ low: null, high: null });
    const five = each([1, 1], [2, 3], [4, 4], [5, 4], [3, 1]);
    expect(kappaOfJudge(five, few)).toEqual(kappaOfJudge(five, few));
    expect(kappaOfJudge(five, few)?.low).toEqual(expect.any(Number));
  });
});

describe('people against each other', () => {
  /** The raters' names, what each gave the predictions, and the predictions' trajectories. */
  const surveyOf = (ratings: readonly (readonly (number | undefined)[])[], cluster: (at: number) => number) =>
    (ratings[0] ?? []).map(
      (_, at): RatedByPeople => ({
        people: ratings.flatMap((own, rater) => {
          const rating = own[at];
          return rating === undefined ? [] : [{ rater: `r${rater}`, rating }];
        }),
        cluster: `t${cluster(at)}`,
      }),
    );

  /** Cohen's kappa by its definition, pair by pair: the disagreement of each two, and that of each rating with each of the other rater. */
  const pairwise = (ratings: readonly (readonly (number | undefined)[])[]) => {
    let [observed, expected] = [0, 0];
    for (const [at, one] of ratings.entries()) {
      for (const other of ratings.slice(at + 1)) {
        const both = one.flatMap((a, row) => {
          const b = other[row];
          return a === undefined || b === undefined ? [] : [[a, b] as const];
        });
        for (const [a, b] of both) observed += (a - b) ** 2;
        for (const [a] of both) for (const [, b] of both) expected += (a - b) ** 2 / both.length;
      }
    }
    return 1 - observed / expected;
  };

  test.each([
    ['who rated the same predictions', 1],
    ['who each rated some of them', 0.6],
    ['who share few predictions', 0.15],
  ])('%s have the kappa of all pairs', (_, share) => {
    const { uniform } = randomOf(5);
    const ratings = Array.from({ length: 14 }, () =>
      Array.from({ length: 9 }, () => {
        const rating = 1 + Math.floor(5 * uniform());
        return uniform() < share ? rating : undefined;
      }),
    );
    expect(
      kappaOfPeople(
        surveyOf(ratings, (at) => at >> 1),
        few,
      )?.kappa,
    ).toBeCloseTo(pairwise(ratings), 12);
  });
});
