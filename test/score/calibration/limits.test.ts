// The gate for judges.

import { describe, expect, test } from 'vitest';
import type { Calibration, CalibrationPart } from '../../../src/calibration.js';
import { exitCodeOfLimits, type JudgeLimits } from '../../../src/judge-limits.js';
import { limitResults } from '../../../src/score/calibration/limits.js';
import { around, calibrationPart } from '../../support/calibrations.js';
import { facts } from '../../support/known-ratings.js';

const of = (change: Partial<CalibrationPart> = {}): Calibration => ({
  overall: calibrationPart(1, change),
  domains: [],
});
const verdict = (limits: JudgeLimits, change: Partial<CalibrationPart> = {}) =>
  limitResults(of(change), limits).map((result) => result.verdict)[0];

describe('a judge that is held to limits', () => {
  test.each([
    [95, 'holds'],
    [95.8, 'holds'],
    [97, 'undecided'],
    [98.4, 'broken'],
  ])('with a ceiling of 95.9 to 98.3: --min-ceiling %d %s', (minCeiling, expected) => {
    expect(verdict({ minCeiling })).toBe(expected);
  });

  test.each([
    [8.7, 'holds'],
    [7.9, 'undecided'],
    [7.1, 'broken'],
  ])('with a noise of 7.2 to 8.7: --max-noise %d %s', (maxNoise, expected) => {
    expect(verdict({ maxNoise })).toBe(expected);
  });

  test.each([
    [4, 'holds'],
    [3, 'undecided'],
    [2, 'undecided'],
    [1, 'broken'],
  ])('that is blind to 2 damages while 2 are undecided: --max-blind %d %s', (maxBlind, expected) => {
    expect(verdict({ maxBlind })).toBe(expected);
  });

  test('is held to the worst canary by intervals that hold for all at once', () => {
    // Each gain has a standard error of 0.35 and 50 degrees of freedom: of four canaries t(1 - 0.05 / 8) = 2.5916, so 0.4 ± 0.907.
    expect(verdict({ maxGullible: 1.31 })).toBe('holds');
    expect(verdict({ maxGullible: 1.3 })).toBe('undecided');
    const canaries = [
      { variant: facts('flattery', 'canary'), gain: around(5, 1) },
      { variant: facts('padding', 'canary'), gain: around(4.8, 6) },
    ];
    const change = { canaries, gullibility: canaries[0] };
    expect(verdict({ maxGullible: 3 }, change)).toBe('broken');
    expect(verdict({ maxGullible: 8 }, change)).toBe('undecided');
    expect(verdict({ maxGullible: 13 }, change)).toBe('holds');
  });

  test('a canary without an interval keeps the limit open, unless another one breaks it', () => {
    const { low: _low, high: _high, se: _se, df: _df, ...bare } = around(0, 1);
    const canaries = [
      { variant: facts('flattery', 'canary'), gain: around(5, 1) },
      { variant: facts('padding', 'canary'), gain: { ...bare, clusters: 4 } },
    ];
    expect(verdict({ maxGullible: 20 }, { canaries, gullibility: canaries[0] })).toBe('undecided');
    expect(verdict({ maxGullible: 1 }, { canaries, gullibility: canaries[0] })).toBe('broken');
  });

  test('is undecided where there is no figure, and the sentence says why', () => {
    const none = { ceiling: undefined, noise: undefined, losses: [], canaries: [], gullibility: undefined };
    const results = limitResults(of(none), { minCeiling: 0, maxNoise: 100, maxBlind: 14, maxGullible: 100 });
    expect(results.map((result) => result.verdict)).toEqual(['undecided', 'undecided', 'undecided', 'undecided']);
    expect(results.map(({ sentence }) => sentence)).toEqual([
      'The ceiling has to be at least 0; no neutral rewrite was judged, so this is undecided.',
      'The noise has to be at most 100; nothing was judged twice, so this is undecided.',
      'The number of damages that the judge is blind to has to be at most 14; no damage was judged, so this is undecided.',
      'The gain of the canary that buys most has to be at most 100; no canary was judged, so this is undecided.',
    ]);
  });

  test('limits that are not set are not held; one of 0 is', () => {
    expect(limitResults(of(), {})).toEqual([]);
    expect(limitResults(of(), { maxBlind: 0 })).toMatchObject([{ name: 'max_blind', limit: 0, verdict: 'broken' }]);
  });

  test.each([
    [{}, 0],
    [{ minCeiling: 90, maxNoise: 10 }, 0],
    [{ minCeiling: 97, maxNoise: 10 }, 5],
    [{ minCeiling: 97, maxNoise: 1 }, 4],
  ])('ends with the exit code of the worst: %j %d', (limits, code) => {
    expect(exitCodeOfLimits(limitResults(of(), limits))).toBe(code);
  });
});
