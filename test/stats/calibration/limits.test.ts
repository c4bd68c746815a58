// The gate for judges.

import { describe, expect, test } from 'vitest';
import type { Calibration, CalibrationPart, Sight } from '../../../src/stats/calibration/document.js';
import { type JudgeLimits, judgeVerdict, limitResults, limitsDocument } from '../../../src/stats/calibration/limits.js';
import { around, calibrationPart } from '../../support/calibrations.js';

const of = (change: Partial<CalibrationPart> = {}): Calibration => ({
  overall: calibrationPart(1, change),
  domains: {},
});
const verdict = (limits: JudgeLimits, change: Partial<CalibrationPart> = {}) =>
  limitResults(of(change), limits).map((result) => result.verdict)[0];

describe('a judge that is checked against limits', () => {
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
  ])('that is blind to 2 corruptions while 2 are undecided: --max-blind %d %s', (maxBlind, expected) => {
    expect(verdict({ maxBlind })).toBe(expected);
  });

  test('is checked by the worst attack, with simultaneous intervals', () => {
    // Each gain has a standard error of 0.35 and 50 degrees of freedom. Of four attacks: t(1 - 0.05 / 8) = 2.5916, so 0.4 ± 0.907.
    expect(verdict({ maxAttackGain: 1.31 })).toBe('holds');
    expect(verdict({ maxAttackGain: 1.3 })).toBe('undecided');
    const attacks = [
      { variant: 'flattery', ...around(5, 1) },
      { variant: 'padding', ...around(4.8, 6) },
    ];
    const change = { attacks, attack_gain: attacks[0] ?? null };
    expect(verdict({ maxAttackGain: 3 }, change)).toBe('broken');
    expect(verdict({ maxAttackGain: 8 }, change)).toBe('undecided');
    expect(verdict({ maxAttackGain: 13 }, change)).toBe('holds');
  });

  test('an attack without an interval leaves the limit undecided, unless another one breaks it', () => {
    const bare = { ...around(0, 1), se: null, df: null, low: null, high: null };
    const attacks = [
      { variant: 'flattery', ...around(5, 1) },
      { variant: 'padding', ...bare, clusters: 4 },
    ];
    expect(verdict({ maxAttackGain: 20 }, { attacks, attack_gain: attacks[0] ?? null })).toBe('undecided');
    expect(verdict({ maxAttackGain: 1 }, { attacks, attack_gain: attacks[0] ?? null })).toBe('broken');
  });

  test('is undecided if there is no figure, and the sentence says why', () => {
    const none = { ceiling: null, noise: null, losses: [], attacks: [], attack_gain: null };
    const results = limitResults(of(none), { minCeiling: 0, maxNoise: 100, maxBlind: 14, maxAttackGain: 100 });
    expect(results.map((result) => result.verdict)).toEqual(['undecided', 'undecided', 'undecided', 'undecided']);
    expect(results.map(({ sentence }) => sentence)).toEqual([
      'The ceiling has to be at least 0; no neutral rewrite was judged, so this is undecided.',
      'The noise has to be at most 100; nothing was judged twice, so this is undecided.',
      'The number of corruptions that the judge is blind to has to be at most 14; no corruption was judged, so this is undecided.',
      'The largest gain of any attack has to be at most 100; no attack was judged, so this is undecided.',
    ]);
  });

  test('limits that are not set are not checked; a limit of 0 is', () => {
    expect(limitResults(of(), {})).toEqual([]);
    expect(limitResults(of(), { maxBlind: 0 })).toMatchObject([{ name: 'max_blind', limit: 0, verdict: 'broken' }]);
  });

  test.each([
    [{}, 0],
    [{ minCeiling: 90, maxNoise: 10 }, 0],
    [{ minCeiling: 97, maxNoise: 10 }, 5],
    [{ minCeiling: 97, maxNoise: 1 }, 4],
  ])('ends with the exit code of the worst verdict: %j %d', (limits, code) => {
    expect(limitsDocument(limitResults(of(), limits))?.exit_code ?? 0).toBe(code);
  });
});

describe('whether a judge is usable', () => {
  const noise = { sd: 5, low: 4, high: 6, predictions: 320, judgements: 640 };
  const verdictOf = (change: Partial<CalibrationPart> = {}, sights: Partial<Record<Sight, number>> = {}) => {
    const part = calibrationPart(1, { noise, ...change });
    const { blind = 0, undecided = 0 } = sights;
    const losses = part.losses.map((loss, place) => ({
      ...loss,
      sight:
        place < blind ? ('blind' as const) : place < blind + undecided ? ('undecided' as const) : ('seen' as const),
    }));
    return judgeVerdict({ overall: { ...part, losses }, domains: {} });
  };

  test('a good judge proves its ceiling, its noise, its sight and that no attack pays', () => {
    expect(verdictOf()).toMatchObject({ use: 'good', sentence: expect.stringMatching(/^A good judge/) });
    expect(verdictOf({}, { blind: 1, undecided: 1 }).use).toBe('good');
  });

  test.each([
    [
      'a low ceiling',
      { ceiling: around(85, 1) },
      {},
      'with care',
      /The ceiling has to be at least 90; it is 85\.00 .*, so this is broken\.$/,
    ],
    ['a ceiling in doubt', { ceiling: around(90, 1) }, {}, 'with care', /at least 90; .* so this is undecided\.$/],
    [
      'three corruptions of 14',
      {},
      { blind: 2, undecided: 1 },
      'with care',
      /corruptions that the judge is blind to has to be at most 2; it is 2/,
    ],
    ['eight corruptions of 14', {}, { blind: 8 }, 'do not use', /^Do not use this judge\. The number of corruptions/],
    ['eight undecided', {}, { undecided: 8 }, 'do not use', /^Do not use this judge yet\. .* this is undecided\.$/],
    [
      'no repeats',
      { noise: null },
      {},
      'do not use',
      /^Do not use this judge yet\. The noise .*; nothing was judged twice, so this is undecided\.$/,
    ],
  ] as const)('%s', (_name, change, sights, use, sentence) => {
    expect(verdictOf(change, sights)).toEqual({ use, sentence: expect.stringMatching(sentence) });
  });
});
