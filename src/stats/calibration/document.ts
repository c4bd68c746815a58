// What a calibration says about a judge, as `awb calibrate --json` prints it: its figures, whether the judge can be used, and why.

import { z } from 'zod';
import { FAMILIES } from '../../core/calibration.js';
import { COUNT, ESTIMATE, FIGURE, keyed } from '../../core/document.js';
import { EXIT } from '../../core/errors.js';
import { DIMENSIONS } from '../../core/types.js';

const VARIANT = {
  variant: z.string(),
  family: z.enum(FAMILIES),
  /** For graded corruption: the share of determined tokens that is corrupted. */
  dose: FIGURE,
};

/** What a corruption costs compared with the truth of the same row. */
const LOSS = z.strictObject({
  ...VARIANT,
  ...ESTIMATE.shape,
  /** Whether the judge sees the corruption: the interval of its loss lies above `EQUIVALENT_POINTS`, below it, or contains it. */
  sight: z.enum(['seen', 'blind', 'undecided']),
  /** The dimension that loses more than each other one, by the intervals of their paired differences. */
  most: z.enum(DIMENSIONS).nullable(),
  /** The same loss by dimension: which of them moved. */
  dimensions: z.partialRecord(z.enum(DIMENSIONS), ESTIMATE),
});
export type Loss = z.infer<typeof LOSS>;
export type Sight = Loss['sight'];

/** By how much the better variant is rated above the worse one of the same row. */
const STEP = z.strictObject({
  better: z.string(),
  worse: z.string(),
  ...ESTIMATE.shape,
  /** Share of rows in which the worse one is rated above the better one, 0 to 1. */
  inverted: z.number(),
  /** One-sided, against the worse being rated at least as high; `p_adjusted` is Holm's over all steps. */
  ...keyed(FIGURE, 'p', 'p_adjusted'),
  /** The same for the other side: against the better being rated at least as high; also adjusted. */
  p_inverted: FIGURE,
  /**
   * Whether the judge rates the better one higher (`kept`), the worse one (`inverted`), or neither, by the adjusted p of either side at 2.5
   * %.
   */
  order: z.enum(['kept', 'inverted', 'undecided']),
});
export type Step = z.infer<typeof STEP>;

/** What an attack gains: the points above the same bad prediction without it. */
const GAIN = z.strictObject({ variant: z.string(), ...ESTIMATE.shape });
export type Gain = z.infer<typeof GAIN>;

/** The judge's own noise: the SD of repeated judgements of one prediction, its 95 % interval, and what it was computed from. */
const NOISE = z.strictObject({ sd: z.number(), low: FIGURE, high: FIGURE, predictions: COUNT, judgements: COUNT });
export type Noise = z.infer<typeof NOISE>;

/** For all rows, or for one domain. Points are 0-100; estimates are clustered by trajectory. Null if nothing was judged for it. */
const PART = z.strictObject({
  /** Rows of the benchmark, and their trajectories. */
  ...keyed(COUNT, 'rows', 'trajectories'),
  /** Judgements with a rating, and those asked for that have none, also by class. If no judge was asked, nothing is counted. */
  ...keyed(COUNT, 'judged', 'failed'),
  failures: z.record(z.string(), COUNT),
  /** Mean score of the neutral rewrites, of the verbatim truth, and of another row's truth. */
  ...keyed(ESTIMATE.nullable(), 'ceiling', 'truth', 'floor'),
  /**
   * What a neutral rewrite costs compared with the verbatim truth of the same row. `is_none` is true if the interval lies within
   * `EQUIVALENT_POINTS` of 0, false if it lies entirely beyond, else null.
   */
  false_penalty: ESTIMATE.extend({ is_none: z.boolean().nullable() }).nullable(),
  /** Mean score of every variant that was judged. */
  scores: z.array(z.strictObject({ ...VARIANT, ...ESTIMATE.shape })),
  /** For each corruption. */
  losses: z.array(LOSS),
  /** Down the known order, and from dose to dose. */
  steps: z.array(STEP),
  attacks: z.array(GAIN),
  /** The attack that gains most; the interval of its gain holds for all attacks at once. */
  attack_gain: GAIN.nullable(),
  noise: NOISE.nullable(),
  /**
   * The minimum detectable difference of two runs over the rows of the released benchmark (of Overall, or of the domain's score), each
   * judged once, given that noise: 5 %, two-sided, power 80 %. Null if the noise has no interval, and for other domains.
   */
  smallest_difference: FIGURE,
});
export type CalibrationPart = z.infer<typeof PART>;

/** Overall figures, over all rows equally, and figures by domain in the order of the published table. */
const FIGURES = z.strictObject({ overall: PART, domains: z.record(z.string(), PART) });
export type Calibration = z.infer<typeof FIGURES>;

const LIMIT_VERDICT = z.enum(['holds', 'broken', 'undecided']);
export type LimitVerdict = z.infer<typeof LIMIT_VERDICT>;

/** One limit, and its result. */
const LIMIT = z.strictObject({
  name: z.enum(['min_ceiling', 'max_noise', 'max_blind', 'max_attack_gain']),
  limit: z.number(),
  /** The value found, with the interval that decides; for corruptions their number, and the number including undecided ones. */
  ...keyed(FIGURE, 'value', 'low', 'high'),
  verdict: LIMIT_VERDICT,
  /** The same in a sentence. */
  sentence: z.string(),
});
export type LimitResult = z.infer<typeof LIMIT>;

/** A calibration's result; figures that are unknown are null. */
export const TRUST = z.strictObject({
  /** Mean score of neutral rewrites of the truth. */
  ceiling: FIGURE,
  /** SD of repeated judgements of one prediction. */
  noise: FIGURE,
  /** Corruptions that were judged, and how many the judge does not see, or are undecided. */
  ...keyed(COUNT, 'corruptions', 'blind', 'undecided'),
  /** What the attack that gains most gains. */
  attack_gain: FIGURE,
});
export type JudgeTrust = z.infer<typeof TRUST>;

/** Its texts may be hostile; what the manifest does not say is empty. `run` has the result of asking. */
export const CALIBRATION = z.strictObject({
  schema: z.literal('awb.calibrate/1'),
  ...keyed(z.string(), 'judge_model', 'rubric_pack'),
  /** How verdicts were read, with versions. */
  verdicts: z.string(),
  /** The sampling parameters, such as `max_tokens 32768, temperature 0.6`. */
  sampling: z.string(),
  /** The path of calibration.jsonl as shown to people. */
  source: z.string(),
  /** Whether the judge can be used, and why, in a sentence. */
  verdict: z.strictObject({ use: z.enum(['good', 'with care', 'do not use']), sentence: z.string() }),
  trust: z.strictObject({ line: z.string(), ...TRUST.shape }),
  /** Null if no limits were set. */
  limits: z
    .strictObject({
      verdict: LIMIT_VERDICT,
      exit_code: z.literal([EXIT.done, EXIT.noGo, EXIT.inconclusive]),
      results: z.array(LIMIT),
    })
    .nullable(),
  ...FIGURES.shape,
  /** Caveats in sentences: what the figures cannot show, rows left out, why the calibration was cut short. */
  notes: z.array(z.string()),
  run: z.looseObject({}),
});
/** What the calibration itself says, whatever the result of asking. */
export type CalibrationDocument = Omit<z.infer<typeof CALIBRATION>, 'run'>;
