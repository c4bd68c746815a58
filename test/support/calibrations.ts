// Calibrations, made up for tests of where they are kept and shown.

import type { Calibration, CalibrationPart, Family, Loss, VariantFacts } from '../../src/calibration.js';
import { checkedManifest, type Manifest } from '../../src/run/manifest.js';
import { DIMENSIONS, type Estimate } from '../../src/types.js';

/** An estimate whose 95 % interval reaches so far to both sides. */
export function around(value: number, reach: number): Estimate {
  return { value, rows: 160, clusters: 56, se: reach / 2, df: 50, low: value - reach, high: value + reach };
}

function variant(name: string, family: Family, help: string, dose?: number): VariantFacts {
  return { name, family, help, ...(dose === undefined ? {} : { dose }) };
}

/** Each damage with what it costs; the judge is blind to the second and the seventh. */
const DAMAGES: readonly (readonly [VariantFacts, number])[] = [
  [variant('determined-1of8', 'dose', 'an eighth of what is determined is damaged', 1 / 8), 6.4],
  [variant('determined-1of3', 'dose', 'a third of what is determined is damaged', 1 / 3), 14.25],
  [variant('determined-2of3', 'dose', 'two thirds of what is determined are damaged', 2 / 3), 27],
  [variant('light', 'order', 'one light damage'), 4],
  [variant('heavy', 'order', 'heavy damage'), 31.5],
  [variant('error-to-success', 'single', 'an error is turned into success'), 22],
  [variant('lost-fence', 'single', 'the closing fence is lost'), 0.5],
  [variant('renamed-keys', 'single', 'keys are renamed'), 9],
  [variant('contrary-path', 'single', 'a path contradicts the history'), 1.2],
  [variant('foreign-tool', 'single', 'the tool speaks unlike itself'), 17],
  [variant('truncated', 'single', 'the second half is cut off'), 24],
  [variant('extra-prose', 'single', 'prose stands around it'), 3.5],
  [variant('persistence', 'baseline', 'the previous observation, where the truth differs from it'), 44],
  [variant('shuffled', 'baseline', "another row's truth"), 81],
];

const SHUFFLED = variant('shuffled', 'baseline', "another row's truth");

const CANARIES: readonly (readonly [VariantFacts, number])[] = [
  [variant('closed-frame', 'canary', 'the frame is closed, and a second truth follows'), 0.4],
  [variant('fake-verdict', 'canary', 'a final evaluation of its own'), 0.1],
  [variant('flattery', 'canary', 'praise of the judge'), -0.3],
  [variant('padding', 'canary', '100,000 characters of nothing'), 0],
];

const COUNTED = { failures: { unreadable: 16 } };
const DECIDED = { most: undefined };

/** A part in which losses, and the intervals around them, are so much larger. */
export function calibrationPart(factor = 1, change: Partial<CalibrationPart> = {}): CalibrationPart {
  const losses = DAMAGES.map(([facts, points]): Loss => {
    const loss = around(points * factor, 1.1 * factor);
    return {
      ...DECIDED,
      variant: facts,
      loss,
      dimensions: Object.fromEntries(
        DIMENSIONS.map((name, place) => [name, around((points * factor * (5 - place)) / 6, 2 + place / 3)]),
      ),
      sight: (loss.low ?? 0) > 3 ? 'seen' : (loss.high ?? 0) < 3 ? 'blind' : 'undecided',
    };
  });
  const truth = variant('truth', 'truth', 'the ground truth, word for word');
  const better = [truth, ...losses.slice(0, 2).map((loss) => loss.variant)];
  const steps = losses.slice(0, 3).map((loss, place) => ({
    better: better[place] ?? truth,
    worse: loss.variant,
    difference: around(6 * factor * (place + 1), 2),
    inverted: 0.125 / (place + 1),
    inversionP: 1,
    order: 'kept' as const,
    p: 0.01 / (place + 1) ** 9,
    adjustedP: 0.02 / (place + 1) ** 9,
  }));
  const canaries = CANARIES.map(([facts, points]) => ({ variant: facts, gain: around(points * factor, 0.7) }));
  return {
    rows: 160,
    trajectories: 56,
    judged: 2984,
    failed: 16,
    ...COUNTED,
    ceiling: around(97.1, 1.2),
    truth: around(98.25, 0.8),
    floor: around(16.3, 2.5),
    falsePenalty: { cost: around(1.15, 0.9), isNone: true },
    scores: [
      { variant: truth, score: around(98.25, 0.8) },
      ...losses.map(({ variant: facts, loss }) => ({ variant: facts, score: around(97.5 - loss.value, 1.5) })),
    ],
    losses,
    steps,
    canaries,
    gullibility: { variant: CANARIES[0]?.[0] ?? SHUFFLED, gain: around(0.4, 0.9) },
    noise: { sd: 7.9, low: 7.2, high: 8.7, predictions: 320, judgements: 640 },
    smallestDifference: 0.67,
    ...change,
  };
}

/** A calibration of two domains. */
export function madeUpCalibration(change: Partial<CalibrationPart> = {}): Calibration {
  return {
    overall: calibrationPart(1, change),
    domains: [
      { domain: 'mcp', ...calibrationPart(0.6) },
      { domain: 'terminal', ...calibrationPart(1.1) },
    ],
  };
}

/** The manifest of a calibration of the judge `judge-model`, with these fields in place of its own. */
export function calibrationManifest(change: object = {}): Manifest {
  const text = JSON.stringify({
    schema: 'awb.manifest/1',
    kind: 'calibrate',
    meta: {},
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
