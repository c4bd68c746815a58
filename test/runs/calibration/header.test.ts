// What is told of a calibration beside its figures.

import { expect, it } from 'vitest';
import { calibrationHeader } from '../../../src/runs/calibration/telling.js';
import { calibrationManifest } from '../../support/calibrations.js';

const BESIDE = {
  source: 'calibration/calibration.jsonl',
  notes: ['A note.'],
  verdict: { use: 'good', sentence: 'A good judge: all is proven.' },
  limits: [],
} as const;

it('names the judge by its snapshot, and all that its ratings depend on', () => {
  expect(calibrationHeader(calibrationManifest(), BESIDE)).toEqual({
    judge: 'judge-2026-01-01',
    rubricPack: 'awb-3 (0123456789ab)',
    verdicts: 'strict (reading 3, frame 2)',
    sampling: 'temperature 0.6',
    ...BESIDE,
  });
});

it('leaves out what the manifest does not tell', () => {
  const header = calibrationHeader(calibrationManifest({ identity: {} }), BESIDE);
  expect(header).toMatchObject({ judge: 'a judge that is not recorded', rubricPack: '', verdicts: '', sampling: '' });
});
