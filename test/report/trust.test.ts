// How far a judge can be trusted, in one line and in JSON.

import { expect, it } from 'vitest';
import { trustDocument, trustText, trustTexts } from '../../src/report/trust.js';

const TRUST = { ceiling: 97.1, noise: 7.9, corruptions: 14, blind: 2, undecided: 0, attack_gain: 0.4 };
const LINE = 'judge: ceiling 97.1, noise 7.9 per row, blind to 2 of 14 corruptions, attack gain +0.4';

it('is one line about a calibrated judge, and calls any other uncalibrated', () => {
  expect(trustText(TRUST)).toBe(LINE);
  expect(trustText('uncalibrated')).toBe('judge: uncalibrated');
});

it('is stated once for two runs if it is the same, and for each if it differs', () => {
  expect(trustTexts(TRUST, { ...TRUST })).toEqual([LINE]);
  expect(trustTexts('uncalibrated', 'uncalibrated')).toEqual(['judge: uncalibrated']);
  expect(trustTexts('uncalibrated', TRUST)).toEqual([
    'judge of the base: uncalibrated',
    LINE.replace('judge:', 'judge of the candidate:'),
  ]);
});

it('is omitted for a run that asked no judge', () => {
  expect(trustTexts(undefined, undefined)).toEqual([]);
  expect(trustTexts(undefined, TRUST)).toEqual([LINE]);
  expect(trustDocument(undefined)).toBeNull();
});

it('JSON distinguishes an uncalibrated judge from one with an unknown figure', () => {
  expect(trustDocument('uncalibrated')).toEqual({ calibrated: false });
  expect(
    trustDocument({ ceiling: null, noise: null, corruptions: 3, blind: 0, undecided: 1, attack_gain: null }),
  ).toEqual({
    calibrated: true,
    ceiling: null,
    noise: null,
    corruptions: 3,
    blind: 0,
    undecided: 1,
    attack_gain: null,
  });
});
