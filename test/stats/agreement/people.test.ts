// A judge against people: kappa checked against scikit-learn, alpha against the Python package krippendorff, bias against NumPy.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DIMENSIONS, type Dimension } from '../../../src/core/types.js';
import { agreementWithPeople, type PersonFigures, type RatedPrediction } from '../../../src/stats/agreement/people.js';
import { mean } from '../../../src/stats/clusters.js';

interface Row {
  readonly domain: string;
  readonly trajectory: string;
  readonly judge: number[];
  readonly ann: number[];
  readonly bob: number[] | null;
}
type Known = { readonly judge: number; readonly people: number };
type Biased = Known & { readonly bias: { mean: number; se: number; df: number; low: number; high: number } };
const { people: known } = JSON.parse(
  readFileSync(new URL('../../../fixtures/agreement.json', import.meta.url), 'utf8'),
) as { readonly people: Record<Dimension, Biased> & { readonly rows: Row[]; readonly total: Known } };

const few = { draws: 200, seed: 1 };
function figuresOf(ratings: readonly number[]): PersonFigures['figures'] {
  const five = Object.fromEntries(DIMENSIONS.map((name, at) => [name, ratings[at]]));
  return { ...five, total: mean(ratings) } as PersonFigures['figures'];
}
const predictions = known.rows.map(
  ({ domain, trajectory, judge, ann, bob }): RatedPrediction => ({
    domain,
    trajectory,
    judge: figuresOf(judge),
    people: [
      { rater: 'ann', figures: figuresOf(ann) },
      ...(bob === null ? [] : [{ rater: 'bob', figures: figuresOf(bob) }]),
    ],
  }),
);
const found = agreementWithPeople(predictions, few);

describe('a judge and two people, one of whom rated two thirds', () => {
  test.each(DIMENSIONS)('agree in %s as the figures from Python say', (name) => {
    const { judge, people, bias } = found.dimensions[name];
    expect(judge?.kappa).toBeCloseTo(known[name].judge, 12);
    expect(people?.kappa).toBeCloseTo(known[name].people, 12);
    const { mean: value, se, df, low, high } = known[name].bias;
    for (const [own, other] of [
      [bias?.value, value],
      [bias?.se, se],
      [bias?.df, df],
      [bias?.low, low],
      [bias?.high, high],
    ])
      expect(own).toBeCloseTo(other as number, 8);
  });

  test('agree in the total as the figures from Python say', () => {
    expect(found.total.judge?.alpha).toBeCloseTo(known.total.judge, 12);
    expect(found.total.people?.alpha).toBeCloseTo(known.total.people, 12);
    expect(found.total.people).toMatchObject({ rows: 20 });
    expect(found.total.judge).toMatchObject({ rows: 50 });
  });

  test('have intervals around every figure', () => {
    for (const { judge, people, bias } of [...Object.values(found.dimensions), found.total]) {
      for (const one of [judge, people]) {
        const value = one && ('kappa' in one ? one.kappa : one.alpha);
        expect(one?.low).toBeLessThan(value as number);
        expect(one?.high).toBeGreaterThan(value as number);
      }
      expect(bias?.low).toBeLessThan(bias?.value as number);
    }
  });

  test('are counted by rater, and reported by domain if it has five trajectories', () => {
    expect(found).toMatchObject({ predictions: 30, trajectories: 9 });
    expect(found.raters).toEqual({ ann: 30, bob: 20 });
    const trajectories = (domain: string) =>
      new Set(known.rows.filter((row) => row.domain === domain).map(({ trajectory }) => trajectory)).size;
    expect([trajectories('mcp'), trajectories('os')]).toEqual([5, 4]);
    expect(found.domains).toMatchObject({ mcp: { trajectories: 5 } });
    expect(found.too_few_trajectories).toEqual({ os: 4 });
  });
});

test('a prediction that the judge could not rate counts only between people', () => {
  const unjudged = predictions.map((each, at) => (at < 10 ? { ...each, judge: {} } : each));
  const after = agreementWithPeople(unjudged, few);
  expect(after.total.people).toEqual(found.total.people);
  expect(after.total.judge?.rows).toBeLessThan(found.total.judge?.rows as number);
});

test('one person has no ceiling, and a figure without a pair to compare is omitted', () => {
  const alone = predictions.map(({ people: [first], ...rest }) => ({ ...rest, people: [first] as const }));
  expect(agreementWithPeople(alone, few).total.people).toBeNull();
  const flat = alone.map((each) => {
    const figures = figuresOf([3, 3, 3, 3, 3]);
    return { ...each, judge: figures, people: [{ rater: 'ann', figures }] as const };
  });
  const { format } = agreementWithPeople(flat, few).dimensions;
  expect(format.judge).toBeNull();
  expect(format.bias?.value).toBe(0);
});
