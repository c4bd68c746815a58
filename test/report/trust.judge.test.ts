// The line about the judge in every table.

import { expect, test } from 'vitest';
import { trustOf, trustText } from '../../src/report/trust.js';
import { calibrationOf } from '../../src/stats/calibration/calibration.js';
import { judged, KNOWN } from '../support/known-ratings.js';

const UNKNOWN = { ceiling: null, noise: null, damages: 0, blind: 0, undecided: 0, gullible: null };

test('the line names ceiling, noise, blindness and gullibility', () => {
  const trust = { ceiling: 97.13, noise: 7.91, damages: 14, blind: 2, undecided: 0, gullible: 0.42 };
  expect(trustText(trust)).toBe('judge: ceiling 97.1, noise 7.9 a row, blind to 2 of 14 damages, gullible +0.4');
});

test('undecided and unknown values are reported, and a value that rounds to zero has no sign', () => {
  expect(trustText({ ceiling: null, damages: 1, blind: 0, undecided: 1, gullible: -0.04, noise: 0 })).toBe(
    'judge: ceiling unknown, noise 0.0 a row, blind to 0 of 1 damage (1 undecided), gullible 0.0',
  );
  expect(trustText(UNKNOWN)).toBe('judge: ceiling unknown, noise unknown, no damage judged, gullibility unknown');
  expect(trustText({ ceiling: 90, noise: 1, damages: 3, blind: 0, undecided: 0, gullible: -2 })).toContain(
    'gullible -2.0',
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
    damages: 2,
    blind: 1,
    undecided: 0,
    gullible: 25,
  });
  expect(trustOf(calibrationOf([], KNOWN))).toEqual(UNKNOWN);
});
