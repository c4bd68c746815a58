// A calibration as JSON.

import { expect, test } from 'vitest';
import { calibrationDocument } from '../../../src/report/calibration/json.js';
import { limitResults } from '../../../src/score/calibration/limits.js';
import { calibrationHeader } from '../../support/calibration-headers.js';
import { calibrationPart, madeUpCalibration } from '../../support/calibrations.js';

const calibration = madeUpCalibration();

test('the document has trust, all figures unrounded, and nothing that JSON would drop', () => {
  const document = calibrationDocument(calibration, calibrationHeader({ notes: ['a note'] }));
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  expect(document).toMatchObject({
    schema: 'awb.calibrate/1',
    judge_model: 'gpt-5.2',
    rubric_pack: 'awb-3',
    trust: { ceiling: 97.1, noise: 7.9, damages: 14, blind: 2, undecided: 2, gullible: 0.4 },
    limits: null,
    notes: ['Determined tokens, precision by hand: 81 of 81 in MCP, 100 of 100 in Terminal.', 'a note'],
  });
  expect(document.trust.line).toMatch(/^judge: ceiling 97\.1/);
  expect(Object.keys(document.domains)).toEqual(['mcp', 'terminal']);
  const { overall } = document;
  expect(overall.losses[0]).toMatchObject({
    variant: 'determined-1of8',
    family: 'dose',
    dose: 0.125,
    value: 6.4,
    sight: 'seen',
  });
  expect(Object.keys(overall.losses[0]?.dimensions ?? {})).toHaveLength(5);
  expect(overall.steps[0]).toMatchObject({
    better: 'truth',
    worse: 'determined-1of8',
    order: 'kept',
    p_adjusted: 0.02,
  });
  expect(overall.canaries).toHaveLength(4);
  expect(overall.noise).toEqual({ sd: 7.9, low: 7.2, high: 8.7, predictions: 320, judgements: 640 });
  expect(overall.false_penalty).toMatchObject({ value: 1.15, is_none: true });
});

test('what is not known is null', () => {
  const part = calibrationPart(1, {
    ceiling: undefined,
    falsePenalty: undefined,
    gullibility: undefined,
    noise: undefined,
    smallestDifference: undefined,
  });
  const document = calibrationDocument({ overall: part, domains: [] }, calibrationHeader());
  expect(document.overall).toMatchObject({
    ceiling: null,
    false_penalty: null,
    gullibility: null,
    noise: null,
    smallest_difference: null,
  });
  expect(document.trust).toMatchObject({ ceiling: null, noise: null, gullible: null });
});

test('limits have their verdict and the exit code of all', () => {
  const limits = limitResults(calibration, { minCeiling: 99, maxNoise: 7.5 });
  const document = calibrationDocument(calibration, calibrationHeader({ limits }));
  expect(document.limits).toMatchObject({ verdict: 'broken', exit_code: 4 });
  expect(document.limits?.results.map(({ name, verdict }) => [name, verdict])).toEqual([
    ['min_ceiling', 'broken'],
    ['max_noise', 'undecided'],
  ]);
});
