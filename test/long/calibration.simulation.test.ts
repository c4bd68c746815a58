// A calibration recovers what was built into a made-up judge: intervals cover known values as often as they claim.

import { beforeAll, describe, expect, test } from 'vitest';
import type { Ends } from '../../src/core/printable.js';
import { DOMAINS } from '../../src/core/types.js';
import { calibrationOf } from '../../src/stats/calibration/calibration.js';
import type { CalibrationPart } from '../../src/stats/calibration/document.js';
import { mean } from '../../src/stats/clusters.js';
import { facts } from '../support/known-ratings.js';
import { expectedNoise, expectedPoints, OPINIONS, simulateJudge } from '../support/made-up-judge.js';

const SETS = 300;
const VARIANTS = OPINIONS.map(({ variant }) => variant);
/** As many as 8 in each of the seven domains. */
const TRAJECTORIES = 56;

const truth = expectedPoints('truth');
const lossOf = (part: CalibrationPart, name: string) => part.losses.find(({ variant }) => variant === name);

type Bounds = Ends | null | undefined;

const holds = (bounds: Bounds, known: number) =>
  (bounds?.low ?? Number.NaN) <= known && known <= (bounds?.high ?? Number.NaN);

/** Each figure with its true value. */
const FIGURES: readonly (readonly [name: string, known: number, figure: (part: CalibrationPart) => Bounds])[] = [
  ['ceiling', expectedPoints('rewrite-keys'), (part) => part.ceiling],
  ['floor', expectedPoints('shuffled'), (part) => part.floor],
  ['false penalty', truth - expectedPoints('rewrite-keys'), (part) => part.false_penalty],
  ['loss to light corruption', truth - expectedPoints('light'), (part) => lossOf(part, 'light')],
  ['loss to another truth', truth - expectedPoints('shuffled'), (part) => lossOf(part, 'shuffled')],
  [
    'loss of factuality to light corruption',
    expectedPoints('truth', 'factuality') - expectedPoints('light', 'factuality'),
    (part) => lossOf(part, 'light')?.dimensions.factuality,
  ],
  ['step from truth to light', truth - expectedPoints('light'), (part) => part.steps[0]],
  ['gain of flattery', expectedPoints('flattery') - expectedPoints('shuffled'), (part) => part.attacks[0]],
  ['gain of padding', 0, (part) => part.attacks[1]],
  ['noise', expectedNoise(), (part) => part.noise],
];

describe(`of ${SETS} calibrations of one made-up judge`, () => {
  const made: CalibrationPart[] = [];
  beforeAll(() => {
    for (let seed = 1; seed <= SETS; seed++) {
      made.push(calibrationOf(simulateJudge(seed, { web: TRAJECTORIES }), VARIANTS).overall);
    }
  }, 120_000);
  const share = (isTrue: (part: CalibrationPart) => boolean) => made.filter(isTrue).length / SETS;

  test('intervals cover known values 93 to 97 times in 100, and no figure is far from that', () => {
    const held = FIGURES.map(([, known, figureOf]) => share((part) => holds(figureOf(part), known)));
    expect(mean(held)).toBeGreaterThan(0.93);
    expect(mean(held)).toBeLessThan(0.97);
    // With 300 calibrations, the share of one figure has a standard error of 1.3 in 100.
    for (const [place, [name]] of FIGURES.entries()) {
      expect(held[place], name).toBeGreaterThan(0.91);
      expect(held[place], name).toBeLessThan(0.985);
    }
  });

  test('the interval of the most effective attack covers at least 95 times in 100, although it was selected', () => {
    const held = share(({ attack_gain }) => {
      const known = expectedPoints(attack_gain?.variant ?? '') - expectedPoints('shuffled');
      return holds(attack_gain, known);
    });
    expect(held).toBeGreaterThanOrEqual(0.95);
  });

  test('what the judge sees is seen, what it does not see never is, and the known order is always kept', () => {
    const sees = (name: string, sight: string) => share((part) => lossOf(part, name)?.sight === sight);
    expect(sees('light', 'seen')).toBe(1);
    expect(sees('shuffled', 'seen')).toBe(1);
    expect(truth - expectedPoints('lost-fence')).toBeCloseTo(0, 0);
    expect(sees('lost-fence', 'seen')).toBe(0);
    expect(sees('lost-fence', 'blind')).toBeGreaterThan(0.8);
    expect(share(({ steps }) => steps.length === 2 && steps.every(({ order }) => order === 'kept'))).toBe(1);
  });

  test('the corrupted dimension moved most, and none if all moved equally', () => {
    expect(share((part) => lossOf(part, 'light')?.most === 'factuality')).toBe(1);
    expect(share((part) => lossOf(part, 'lost-fence')?.most !== null)).toBeLessThan(0.05);
  });
});

test('in a domain of 8 trajectories, intervals cover known values as often', () => {
  const made = Array.from(
    { length: 150 },
    (_, seed) => calibrationOf(simulateJudge(seed, { os: 8 }), VARIANTS).domains.os,
  );
  for (const [name, known, figureOf] of FIGURES) {
    const held = made.filter((part) => part && holds(figureOf(part), known)).length / made.length;
    expect(held, name).toBeGreaterThan(0.91);
    expect(held, name).toBeLessThan(0.985);
  }
});

test('reversed steps are inverted, and equal ones are so at most 2.5 times in 100', () => {
  const renamed: Readonly<Record<string, string>> = { light: 'shuffled', shuffled: 'light' };
  const turned = simulateJudge(1, { web: TRAJECTORIES }).map((row) => ({
    ...row,
    variant: renamed[row.variant] ?? row.variant,
  }));
  const [first, second] = calibrationOf(turned, VARIANTS).overall.steps;
  expect(first).toMatchObject({ better: 'truth', worse: 'light', order: 'kept' });
  expect(second).toMatchObject({ better: 'light', worse: 'shuffled', order: 'inverted' });
  expect(second?.inverted).toBeGreaterThan(0.7);

  // Padding and another row's truth get equal ratings, so a step between them is exactly the null hypothesis.
  const steps = [facts('truth', 'truth'), facts('padding', 'order')];
  const equal = Array.from({ length: 200 }, (_, seed) => {
    const rows = simulateJudge(seed, { web: 12 }).filter(
      ({ variant }) => variant === 'padding' || variant === 'shuffled',
    );
    const asTruth = rows.map((row) => (row.variant === 'shuffled' ? { ...row, variant: 'truth' } : row));
    return calibrationOf(asTruth, steps).overall.steps[0]?.order;
  });
  expect(equal.filter((order) => order === 'inverted').length).toBeLessThanOrEqual(11);
  expect(equal.filter((order) => order === 'kept').length).toBeLessThanOrEqual(11);
});

test('a calibration over domains also recovers the known values of Overall', () => {
  const domains = Object.fromEntries(DOMAINS.map((domain) => [domain, 8]));
  const { overall } = calibrationOf(simulateJudge(5, domains), VARIANTS);
  for (const [name, known, figureOf] of FIGURES) expect(holds(figureOf(overall), known), name).toBe(true);
  expect(overall.trajectories).toBe(56);
});
