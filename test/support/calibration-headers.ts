// What stands beside a calibration's figures, for tests of reports.

import type { CalibrationHeader } from '../../src/report/calibration/header.js';

export function calibrationHeader(change: Partial<CalibrationHeader> = {}): CalibrationHeader {
  return {
    judge: 'gpt-5.2',
    rubricPack: 'awb-3',
    verdicts: 'strict',
    sampling: 'temperature 0.6',
    source: 'calibration/calibration.jsonl',
    notes: [],
    verdict: { use: 'good', sentence: 'A good judge: all is proven.' },
    limits: [],
    ...change,
  };
}
