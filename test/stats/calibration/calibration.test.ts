// What ratings of known predictions say about a judge, checked against NumPy and SciPy, and what must hold at the edges.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { CalibratedRow } from '../../../src/core/calibration.js';
import type { EstimateDocument } from '../../../src/core/document.js';
import { DIMENSIONS, type JudgementFailure } from '../../../src/core/types.js';
import { calibrationOf } from '../../../src/stats/calibration/calibration.js';
import type { CalibrationPart } from '../../../src/stats/calibration/document.js';
import { facts, judged, KNOWN } from '../../support/known-ratings.js';

type Figures = Record<'value' | 'se' | 'df' | 'low' | 'high', number>;
interface KnownSet {
  readonly name: string;
  readonly rows: {
    readonly key: string;
    readonly trajectory: string;
    readonly domain: string;
    readonly judged: Readonly<Record<string, (number[] | JudgementFailure)[]>>;
  }[];
  readonly figures: Record<'ceiling' | 'truth' | 'floor' | 'falsePenalty', Figures> & {
    readonly losses: Record<string, Figures>;
    readonly dimensions: Record<string, Record<string, Figures>>;
    readonly steps: Record<string, Figures & Record<'inverted' | 'p' | 'holm' | 'inversion', number>>;
    readonly attacks: Record<string, Figures>;
    readonly atOnce: Record<string, Figures>;
    readonly noise: Record<'sd' | 'low' | 'high' | 'predictions' | 'smallestDifference', number>;
  };
}
const url = new URL('../../../fixtures/calibration.json', import.meta.url);
const { sets } = JSON.parse(readFileSync(url, 'utf8')) as { readonly sets: KnownSet[] };

const rowsOf = ({ rows }: Pick<KnownSet, 'rows'>): CalibratedRow[] =>
  rows.flatMap(({ judged: variants, ...place }) =>
    Object.entries(variants).flatMap(([variant, said]) =>
      said.map((one, index) => judged({ ...place, variant, index }, one)),
    ),
  );

function expectNear(estimate: EstimateDocument | null | undefined, known: Figures | undefined): void {
  expect(estimate).toEqual(expect.anything());
  for (const name of ['value', 'se', 'df', 'low', 'high'] as const) {
    expect(estimate?.[name], name).toBeCloseTo(known?.[name] ?? Number.NaN, 8);
  }
}

describe.each(sets)('of made-up ratings ($name), as computed by NumPy and SciPy,', (set) => {
  const calibration = calibrationOf(rowsOf(set), KNOWN);
  const part: CalibrationPart | undefined = set.name === 'all' ? calibration.overall : calibration.domains[set.name];
  if (part === undefined) throw new Error(`no rows of ${set.name}`);
  const { figures } = set;

  test.each(['ceiling', 'truth', 'floor'] as const)('%s is a mean score with its interval', (name) => {
    expectNear(part[name], figures[name]);
  });

  test('false penalty is paired within rows', () => {
    expectNear(part.false_penalty, figures.falsePenalty);
  });

  test('each corruption loses points in total and in each dimension', () => {
    expect(part.losses.map(({ variant }) => variant).sort()).toEqual(Object.keys(figures.losses).sort());
    for (const loss of part.losses) {
      expectNear(loss, figures.losses[loss.variant]);
      for (const dimension of DIMENSIONS)
        expectNear(loss.dimensions[dimension], figures.dimensions[loss.variant]?.[dimension]);
    }
  });

  test('steps have a one-sided p for both directions, adjusted by Holm', () => {
    expect(part.steps.map(({ better, worse }) => `${better} > ${worse}`)).toEqual(Object.keys(figures.steps));
    for (const { better, worse, ...step } of part.steps) {
      const known = figures.steps[`${better} > ${worse}`];
      expectNear(step, known);
      expect(step.inverted).toBeCloseTo(known?.inverted ?? Number.NaN, 12);
      expect(step.p).toBeCloseTo(known?.p ?? Number.NaN, 9);
    }
  });

  test('attacks gain points, and the one that gains most has a simultaneous interval', () => {
    for (const gain of part.attacks) expectNear(gain, figures.attacks[gain.variant]);
    const [most] = Object.entries(figures.atOnce).sort((a, b) => b[1].value - a[1].value);
    expect(part.attack_gain?.variant).toBe(most?.[0]);
    expectNear(part.attack_gain, most?.[1]);
  });

  test('noise is the SD within predictions, and says by how much two runs must differ', () => {
    const { sd, low, high, predictions, smallestDifference } = figures.noise;
    expect(part.noise?.sd).toBeCloseTo(sd, 9);
    expect(part.noise?.low).toBeCloseTo(low, 8);
    expect(part.noise?.high).toBeCloseTo(high, 8);
    expect(part.noise?.predictions).toBe(predictions);
    expect(part.smallest_difference).toBeCloseTo(smallestDifference, 9);
  });
});

test('p of steps are adjusted over the steps of Overall, and those of domains over all domains', () => {
  const [all] = sets as [KnownSet];
  const { overall, domains } = calibrationOf(rowsOf(all), KNOWN);
  for (const { better, worse, p_adjusted, p_inverted } of overall.steps) {
    const known = all.figures.steps[`${better} > ${worse}`];
    expect(p_adjusted).toBeCloseTo(known?.holm ?? Number.NaN, 9);
    expect(p_inverted).toBeCloseTo(known?.inversion ?? Number.NaN, 9);
  }
  const steps = Object.values(domains).flatMap((part) => part.steps);
  const [least] = [...steps].sort((a, b) => (a.p ?? 1) - (b.p ?? 1));
  expect(steps).toHaveLength(10);
  expect(least?.p_adjusted).toBeCloseTo(10 * (least?.p ?? 1), 12);
});

const keys = (count: number) => Array.from({ length: count }, (_, place) => `k${place}`);
/** The same ratings of each variant in `count` rows, each its own trajectory. */
const alike = (count: number, ratings: Record<string, number>) =>
  keys(count).flatMap((key) => Object.entries(ratings).map(([variant, rating]) => judged({ key, variant }, rating)));
const overallOf = (rows: readonly CalibratedRow[]) => calibrationOf(rows, KNOWN).overall;
const lossOf = (part: CalibrationPart, name: string) => part.losses.find(({ variant }) => variant === name);

describe('a corruption', () => {
  /** Losses spread around a centre. */
  const losing = (centre: number, count: number) =>
    keys(count).flatMap((key, place) => [
      judged({ key, variant: 'truth' }, 4),
      judged({ key, variant: 'light' }, 4 - centre / 25 + (place % 2 === 0 ? 0.04 : -0.04)),
    ]);

  test.each([
    [10, 'seen'],
    [1, 'blind'],
    [3, 'undecided'],
    [-10, 'blind'],
  ])('that loses about %d points over 20 trajectories is %s', (centre, sight) => {
    expect(lossOf(overallOf(losing(centre, 20)), 'light')).toMatchObject({ sight });
  });

  test('with fewer than 5 trajectories has no interval and is undecided', () => {
    const loss = lossOf(overallOf(losing(60, 4)), 'light');
    expect(loss).toMatchObject({ sight: 'undecided', clusters: 4, low: null });
  });

  test.each([
    [6, 0],
    [6, 4],
    [6, 12],
    [0.5, 4],
  ])('that loses %d points loses the same if neutral rewrites lose %d', (lost, penalty) => {
    const ratings = {
      truth: 5,
      'rewrite-keys': 5 - penalty / 25,
      'rewrite-space': 5 - penalty / 25,
      heavy: 5 - lost / 25,
    };
    const part = overallOf(alike(60, ratings));
    expect(lossOf(part, 'heavy')?.value).toBeCloseTo(lost, 12);
    expect(lossOf(part, 'heavy')?.dimensions.realism?.value).toBeCloseTo(lost, 12);
    expect(part.false_penalty?.value).toBeCloseTo(penalty, 12);
  });

  test('without the truth of its row has no loss, whatever its rewrites got', () => {
    expect(overallOf(alike(6, { 'rewrite-keys': 5, heavy: 2, shuffled: 1 })).losses).toEqual([]);
  });

  test('is never `empty`, since no judge is asked about it', () => {
    const rows = keys(6).flatMap((key) => [
      judged({ key, variant: 'truth' }, 5),
      judged({ key, variant: 'empty' }, 'empty'),
    ]);
    const part = overallOf(rows);
    expect(part.losses).toEqual([]);
    expect(part).toMatchObject({ judged: 6, failed: 0, failures: {} });
    expect(part.scores.map(({ variant, value }) => [variant, value])).toEqual([
      ['truth', 100],
      ['empty', 0],
    ]);
  });

  test('that moves two dimensions equally has no dimension that moved most', () => {
    const shifted = (first: number, second: number) =>
      keys(12).flatMap((key, place) => [
        judged({ key, variant: 'truth' }, 5),
        judged({ key, variant: 'heavy' }, [first - (place % 2), second - (place % 3 === 0 ? 1 : 0), 5, 5, 5]),
      ]);
    expect(lossOf(overallOf(shifted(4, 4)), 'heavy')?.most).toBeNull();
    expect(lossOf(overallOf(shifted(2, 4)), 'heavy')?.most).toBe('format');
  });
});

describe('if all trajectories agree', () => {
  test('the bound assumes that the largest unseen share differs as much as possible', () => {
    const part = overallOf(alike(8, { truth: 5, 'rewrite-keys': 5, shuffled: 1 }));
    // SciPy: binomtest(0, 8).proportion_ci(0.95, 'exact').high = 0.3694166475528193
    expect(part.ceiling?.low).toBeCloseTo(100 - 36.9416647552819, 9);
    expect(part.ceiling?.high).toBe(100);
    expect(lossOf(part, 'shuffled')?.low).toBeCloseTo(100 - 2 * 36.9416647552819, 9);
    expect(lossOf(part, 'shuffled')?.sight).toBe('seen');
    expect(part.steps).toEqual([]);
  });

  test('a judge that always gives the same rating is undecided with few trajectories and blind from 50 on', () => {
    const ratings = { truth: 4, 'rewrite-keys': 4, light: 4, heavy: 4, shuffled: 4 };
    expect(lossOf(overallOf(alike(8, ratings)), 'heavy')?.sight).toBe('undecided');
    expect(lossOf(overallOf(alike(50, ratings)), 'heavy')?.sight).toBe('blind');
  });

  test('the p of a step matches the bound that ends at 0', () => {
    const [step] = overallOf(alike(8, { truth: 5, light: 1 })).steps;
    expect(step?.p).toBeCloseTo(0.5 ** 8, 15);
    expect(step).toMatchObject({ order: 'kept', inverted: 0, p_inverted: 1 });
    const [back] = overallOf(alike(8, { truth: 1, light: 5 })).steps;
    expect(back).toMatchObject({ order: 'inverted', inverted: 1, p: 1, p_adjusted: 1 });
  });
});

describe('false penalty', () => {
  const penalty = (centre: number) =>
    overallOf(
      keys(30).flatMap((key, place) => [
        judged({ key, variant: 'truth' }, 4),
        judged({ key, variant: 'rewrite-keys' }, 4 - centre / 25 + (place % 2 === 0 ? 0.05 : -0.05)),
      ]),
    ).false_penalty?.is_none;

  test.each([
    [0, true],
    [2, true],
    [3, null],
    [8, false],
    [-8, false],
  ])('of about %d points is none: %s', (centre, isNone) => {
    expect(penalty(centre)).toBe(isNone);
  });

  test('and ceiling are unknown if no rewrite was judged', () => {
    const part = overallOf(alike(6, { truth: 5, heavy: 2 }));
    expect(part).toMatchObject({ ceiling: null, false_penalty: null, truth: { value: 100 } });
  });
});

describe('noise', () => {
  const twice = (first: number, second: number, count: number) =>
    keys(count).flatMap((key) => [
      judged({ key, variant: 'truth' }, first),
      judged({ key, variant: 'truth', index: 1 }, second),
    ]);

  test('of a judge that always says the same is 0, and certain from 50 trajectories on', () => {
    expect(overallOf(twice(4, 4, 49)).noise).toMatchObject({ sd: 0, low: null, high: null });
    expect(overallOf(twice(4, 4, 50))).toMatchObject({ noise: { sd: 0, low: 0, high: 0 }, smallest_difference: 0 });
  });

  test('is unknown if nothing was judged twice, or only one of two judgements is readable', () => {
    const rows = keys(6).flatMap((key) => [
      judged({ key, variant: 'truth' }, 4),
      judged({ key, variant: 'truth', index: 1 }, 'unreadable'),
    ]);
    expect(overallOf(rows)).toMatchObject({ noise: null, smallest_difference: null, judged: 6, failed: 6 });
  });

  test('omits predictions that no judge is asked about', () => {
    const empty = keys(6).flatMap((key) => [0, 1].map((index) => judged({ key, variant: 'empty', index }, 'empty')));
    expect(overallOf([...twice(5, 3, 6), ...empty]).noise).toMatchObject({ sd: Math.sqrt(1250), predictions: 6 });
  });

  test('of an unpublished domain gives no smallest difference between its runs', () => {
    const rows = twice(5, 3, 6).map((row) => ({ ...row, domain: 'factory' }));
    const { factory } = calibrationOf(rows, KNOWN).domains;
    expect(factory?.noise?.sd).toBeCloseTo(Math.sqrt(1250), 9);
    expect(factory?.smallest_difference).toBeNull();
  });
});

test('failures are counted by class; those of the world model count as rating 1, the others are missing', () => {
  const rows = [
    judged({ key: 'a', variant: 'heavy' }, 5),
    judged({ key: 'b', variant: 'heavy' }, 'planted'),
    judged({ key: 'c', variant: 'heavy' }, 'unreadable'),
    judged({ key: 'd', variant: 'heavy' }, 'judge-timeout'),
    judged({ key: 'e', variant: 'heavy' }, 9),
  ];
  const { scores, ...part } = overallOf(rows);
  expect(scores[0]).toMatchObject({ value: 50, rows: 2 });
  expect(part).toMatchObject({
    rows: 5,
    trajectories: 5,
    judged: 1,
    failed: 4,
    failures: { planted: 1, unreadable: 1, 'judge-timeout': 1, 'not-rated': 1 },
  });
});

test('without its bad prediction, no attack gains anything', () => {
  expect(overallOf(alike(6, { truth: 5, flattery: 4 }))).toMatchObject({ attacks: [], attack_gain: null });
});

test('judgements of unknown variants are omitted', () => {
  const rows = alike(6, { truth: 5, heavy: 2 });
  expect(calibrationOf(rows, [facts('truth', 'truth')]).overall).toMatchObject({ judged: 6, losses: [] });
});

test('domains appear in the order of the published table', () => {
  const rows = ['zoo', 'web', 'mcp'].map((domain) => judged({ key: domain, domain, variant: 'truth' }, 4));
  expect(Object.keys(calibrationOf(rows, KNOWN).domains)).toEqual(['mcp', 'web', 'zoo']);
});
