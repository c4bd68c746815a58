// What the document of a calibration says in addition to its figures.

import { expect, it } from 'vitest';
import { calibrationDocument } from '../../src/cli/calibrate.js';
import { calibrationManifest, madeUpCalibration } from '../support/calibrations.js';

const documentOf = (change: object = {}) =>
  calibrationDocument(
    { manifest: calibrationManifest(change), calibration: madeUpCalibration() },
    'calibration/calibration.jsonl',
    {},
  );

it('names the judge by its snapshot, and everything that its ratings depend on', () => {
  expect(documentOf({ notices: ['A note.'] })).toMatchObject({
    judge_model: 'judge-2026-01-01',
    rubric_pack: 'awb-3 (0123456789ab)',
    verdicts: 'strict (reading 3, frame 2)',
    sampling: 'temperature 0.6',
    source: 'calibration/calibration.jsonl',
    notes: ['Determined tokens, precision by hand: 81 of 81 in MCP, 100 of 100 in Terminal.', 'A note.'],
  });
});

it('omits what the manifest does not say', () => {
  expect(documentOf({ identity: {} })).toMatchObject({
    judge_model: 'a judge that is not recorded',
    rubric_pack: '',
    verdicts: '',
    sampling: '',
  });
});
