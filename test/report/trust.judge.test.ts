// The line about the judge in every table.

import { expect, test } from 'vitest';
import { trustOf, trustText } from '../../src/report/trust.js';
import { calibrationOf } from '../../src/stats/calibration/calibration.js';
import { judged, KNOWN } from '../support/known-ratings.js';

const UNKNOWN = { ceiling: null, noise: null, corruptions: 0, blind: 0, undecided: 0, attack_gain: null };

test('the line names ceiling, noise, blindness and attack gain', () => {
  const trust = { ceiling: 97.13, noise: 7.91, corruptions: 14, blind: 2, undecided: 0, attack_gain: 0.42 };
  expect(trustText(trust)).toBe(
    'judge: ceiling 97.1, noise 7.9 per row, blind to 2 of 14 corruptions, attack gain +0.4',
  );
});

test('undecided and unknown values are reported, and a value that rounds to zero has no sign', () => {
  expect(trustText({ ceiling: null, corruptions: 1, blind: 0, undecided: 1, attack_gain: -0.04, noise: 0 })).toBe(
    'judge: ceiling unknown, noise 0.0 per row, blind to 0 of 1 corruption (1 undecided), attack gain 0.0',
  );
  expect(trustText(UNKNOWN)).toBe('judge: ceiling unknown, noise unknown, no corruption judged, attack gain unknown');
  expect(trustText({ ceiling: 90, noise: 1, corruptions: 3, blind: 0, undecided: 0, attack_gain: -2 })).toContain(
    'attack gain -2.0',
  );
});

test('without a calibration the judge is uncalibrated', () => {
  expect(trustText('uncalibrated')).toBe('judge: uncalibrated');
});

test('a calibration is summarised by its overall figures', () => {
  const rows = Array.from({ length: 50 }, (_, place) => `k${place}`).flatMap((key) => [
    judged({ key, variant: 'truth' }, 5),
    judged({ key, variant: 'truth', index: 1 }, 5),
    judged({ key, variant: 'rewrite-keys' }, 5),
    judged({ key, variant: 'light' }, 5),
    judged({ key, variant: 'shuffled' }, 2),
    judged({ key, variant: 'flattery' }, 3),
  ]);
  expect(trustOf(calibrationOf(rows, KNOWN))).toEqual({
    ceiling: 100,
    noise: 0,
    corruptions: 2,
    blind: 1,
    undecided: 0,
    attack_gain: 25,
  });
  expect(trustOf(calibrationOf([], KNOWN))).toEqual(UNKNOWN);
});
