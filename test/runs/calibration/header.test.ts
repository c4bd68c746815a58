// The head of a calibration's page, by its manifest.

import { expect, it } from 'vitest';
import { calibrationHeader } from '../../../src/runs/calibration/header.js';
import { calibrationManifest } from '../../support/calibrations.js';

it('names the judge by its snapshot, and all that its ratings depend on', () => {
  const { judge, facts, warnings } = calibrationHeader(calibrationManifest(), ['A warning.']);
  expect(judge).toBe('judge-2026-01-01');
  expect(facts).toEqual([
    ['rubrics', 'awb-2'],
    ['fingerprint', '0123456789ab'],
    ['verdicts', 'strict (reading 3, frame 2)'],
    ['temperature', '0.6'],
    ['calibrated', '2026-01-01'],
  ]);
  expect(warnings).toEqual(['A warning.']);
});

it('leaves out what the manifest does not tell', () => {
  const { judge, facts } = calibrationHeader(calibrationManifest({ identity: {}, startedAt: undefined }), []);
  expect(judge).toBe('a judge that is not recorded');
  expect(facts).toEqual([]);
});
