// Made-up calibrations, for tests that store and show them.

import type { Family } from '../../src/core/calibration.js';
import { DIMENSIONS } from '../../src/core/types.js';
import { trustOf, trustText } from '../../src/report/trust.js';
import { checkedManifest, type Manifest } from '../../src/run/manifest.js';
import type { Calibration, CalibrationDocument, CalibrationPart, Loss } from '../../src/stats/calibration/document.js';
import { notesOn } from '../../src/stats/calibration/limits.js';

/** An estimate whose 95 % interval extends `reach` to both sides. */
export function around(value: number, reach: number) {
  return { value, rows: 160, clusters: 56, se: reach / 2, df: 50, low: value - reach, high: value + reach };
}

/** Each corruption with its loss; the judge is blind to the second and seventh of those without a dose. */
const CORRUPTIONS: readonly (readonly [name: string, family: Family, points: number, dose?: number])[] = [
  ['determined-1of8', 'dose', 6.4, 1 / 8],
  ['determined-1of3', 'dose', 14.25, 1 / 3],
  ['determined-2of3', 'dose', 27, 2 / 3],
  ['light', 'order', 4],
  ['heavy', 'order', 31.5],
  ['error-to-success', 'single', 22],
  ['lost-fence', 'single', 0.5],
  ['renamed-keys', 'single', 9],
  ['contrary-path', 'single', 1.2],
  ['foreign-tool', 'single', 17],
  ['truncated', 'single', 24],
  ['extra-prose', 'single', 3.5],
  ['persistence', 'baseline', 44],
  ['shuffled', 'baseline', 81],
];

const ATTACKS = [
  ['closed-frame', 0.4],
  ['fake-verdict', 0.1],
  ['flattery', -0.3],
  ['padding', 0],
] as const;

/** A part with losses and intervals scaled by `factor`. */
export function calibrationPart(factor = 1, change: Partial<CalibrationPart> = {}): CalibrationPart {
  const losses = CORRUPTIONS.map(([variant, family, points, dose = null]): Loss => {
    const loss = around(points * factor, 1.1 * factor);
    return {
      ...{ variant, family, dose },
      ...loss,
      sight: loss.low > 3 ? 'seen' : loss.high < 3 ? 'blind' : 'undecided',
      most: null,
      dimensions: Object.fromEntries(
        DIMENSIONS.map((name, place) => [name, around((points * factor * (5 - place)) / 6, 2 + place / 3)]),
      ),
    };
  });
  const better = ['truth', ...losses.slice(0, 2).map(({ variant }) => variant)];
  const steps = losses.slice(0, 3).map(({ variant: worse }, place) => ({
    ...{ better: better[place] ?? 'truth', worse },
    ...around(6 * factor * (place + 1), 2),
    inverted: 0.125 / (place + 1),
    p: 0.01 / (place + 1) ** 9,
    p_adjusted: 0.02 / (place + 1) ** 9,
    p_inverted: 1,
    order: 'kept' as const,
  }));
  const truth = { variant: 'truth', family: 'truth', dose: null } as const;
  return {
    rows: 160,
    trajectories: 56,
    judged: 2984,
    failed: 16,
    failures: { unreadable: 16 },
    ceiling: around(97.1, 1.2),
    truth: around(98.25, 0.8),
    floor: around(16.3, 2.5),
    false_penalty: { ...around(1.15, 0.9), is_none: true },
    scores: [
      { ...truth, ...around(98.25, 0.8) },
      ...losses.map(({ variant, family, dose, value }) => ({ variant, family, dose, ...around(97.5 - value, 1.5) })),
    ],
    losses,
    steps,
    attacks: ATTACKS.map(([variant, points]) => ({ variant, ...around(points * factor, 0.7) })),
    attack_gain: { variant: 'closed-frame', ...around(0.4, 0.9) },
    noise: { sd: 7.9, low: 7.2, high: 8.7, predictions: 320, judgements: 640 },
    smallest_difference: 0.67,
    ...change,
  };
}

/** A part without any judgement. */
export const NOTHING_JUDGED = {
  ...{ rows: 0, trajectories: 0, judged: 0, failed: 0, failures: {} },
  ...{ ceiling: null, truth: null, floor: null, false_penalty: null, scores: [], losses: [], steps: [], attacks: [] },
  ...{ attack_gain: null, noise: null, smallest_difference: null },
} satisfies CalibrationPart;

/** A calibration of two domains. */
export function madeUpCalibration(change: Partial<CalibrationPart> = {}): Calibration {
  return {
    overall: calibrationPart(1, change),
    domains: { mcp: calibrationPart(0.6), terminal: calibrationPart(1.1) },
  };
}

/** The document of a calibration, with these members replaced. */
export function madeUpDocument(
  calibration: Calibration = madeUpCalibration(),
  { notes = [], ...change }: Partial<CalibrationDocument> = {},
): CalibrationDocument {
  const trust = trustOf(calibration);
  return {
    schema: 'awb.calibrate/1',
    judge_model: 'gpt-5.2',
    rubric_pack: 'awb-3',
    verdicts: 'strict',
    sampling: 'temperature 0.6',
    source: 'calibration/calibration.jsonl',
    verdict: { use: 'good', sentence: 'A good judge: all is proven.' },
    trust: { line: trustText(trust), ...trust },
    limits: null,
    ...calibration,
    notes: [...notesOn(calibration), ...notes],
    ...change,
  };
}

/** The manifest of a calibration of the judge `judge-model`, with these fields replaced. */
export function calibrationManifest(change: object = {}): Manifest {
  const text = JSON.stringify({
    schema: 'awb.manifest/1',
    kind: 'calibrate',
    meta: {},
    notices: [],
    identity: {
      mode: 'rubric',
      judge: 'judge-model',
      snapshot: 'judge-2026-01-01',
      rubrics: { name: 'awb-3', fingerprint: '0123456789abcdef', frame: 2 },
      verdicts: 'strict',
      reading: 3,
      sampling: { temperature: 0.6 },
      calibration: { data: 'd', seed: 0 },
    },
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T01:00:00.000Z',
    ...change,
  });
  return checkedManifest(JSON.parse(text), 'the manifest');
}
