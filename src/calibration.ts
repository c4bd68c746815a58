// What is known of a judge: predictions of known quality, how they were judged, and what that says of the judge.

import type { Dimension, Domain, Estimate, JudgedRow } from './types.js';

/**
 * What kind of prediction a variant is. `truth`: the ground truth as it stands. `rewrite`: the truth in other words that mean the
 * same. `dose`: a share of what is determined is damaged. `order`: light and heavy damage of any content. `single`: one damage
 * without a dose. `baseline`: what `awb infer --baseline` answers. `canary`: a bad prediction with a trick on top of it.
 */
export const FAMILIES = ['truth', 'rewrite', 'dose', 'order', 'single', 'baseline', 'canary'] as const;
export type Family = (typeof FAMILIES)[number];

/** What statistics and reports need to know of a variant. */
export interface VariantFacts {
  /** Letters, digits and dashes. */
  readonly name: string;
  readonly family: Family;
  /** What was done, in a few words. */
  readonly help: string;
  /** Of graded damage: the share of determined tokens that is damaged. */
  readonly dose?: number;
}

/** One judgement of one variant of one row. */
export interface CalibratedRow extends JudgedRow {
  readonly variant: string;
}

/** How far a loss may go and still count as none, in points of 0-100. */
export const EQUIVALENT_POINTS = 3;

/** Whether a judge sees a damage: the interval of its loss lies above `EQUIVALENT_POINTS`, below, or holds it. */
export type Sight = 'seen' | 'blind' | 'undecided';

/** What a judge's ratings of known predictions say of it, in all and by domain. Points are 0-100. */
export interface Calibration {
  readonly overall: CalibrationPart;
  /** In the order of the published table. */
  readonly domains: readonly (CalibrationPart & { readonly domain: Domain })[];
}

/** Estimates are clustered by trajectory; those in all are over all rows, each trajectory a cluster. */
export interface CalibrationPart {
  /** Rows of the benchmark, their trajectories, and judgements with a rating and without one. */
  readonly rows: number;
  readonly trajectories: number;
  readonly judged: number;
  readonly failed: number;
  /** Mean score of the neutral rewrites, of the verbatim truth, and of another row's truth; undefined where none was judged. */
  readonly ceiling: Estimate | undefined;
  readonly truth: Estimate | undefined;
  readonly floor: Estimate | undefined;
  /** What a neutral rewrite costs against the verbatim truth of the same row, and whether that is less than `EQUIVALENT_POINTS`. */
  readonly falsePenalty: { readonly cost: Estimate; readonly isNone: boolean | undefined } | undefined;
  /** Mean score of every variant that was judged. */
  readonly scores: readonly { readonly variant: VariantFacts; readonly score: Estimate }[];
  /** What each damage costs against the mean of the same row's truth and rewrites: doses, order, singles and baselines. */
  readonly losses: readonly Loss[];
  /** Steps of the known order and of growing doses: by how much the better one is rated above the worse one of the same row. */
  readonly steps: readonly Step[];
  /** What each trick buys: the points above the same bad prediction without it. */
  readonly canaries: readonly { readonly variant: VariantFacts; readonly gain: Estimate }[];
  /** The canary that buys most; `high` and `low` of its gain hold for all canaries at once. */
  readonly gullibility: { readonly variant: VariantFacts; readonly gain: Estimate } | undefined;
  /** The judge's own noise: the SD of repeated judgements of one prediction; undefined where none was judged twice. */
  readonly noise: Noise | undefined;
  /** The smallest difference of two runs that 2,170 rows can show under that noise (5 %, two-sided, power 80 %). */
  readonly smallestDifference: number | undefined;
}

export interface Loss {
  readonly variant: VariantFacts;
  readonly loss: Estimate;
  /** The same by dimension: which of them moved. */
  readonly dimensions: Readonly<Partial<Record<Dimension, Estimate>>>;
  readonly sight: Sight;
}

/** `p` is one-sided, against the worse being rated as high; `adjustedP` is Holm's over all steps. */
export interface Step {
  readonly better: VariantFacts;
  readonly worse: VariantFacts;
  readonly difference: Estimate;
  /** Share of rows in which the worse one is rated above the better one, 0 to 1. */
  readonly inverted: number;
  readonly p: number | undefined;
  readonly adjustedP: number | undefined;
}

/** SD of points, its 95 % interval, and what it was computed from. */
export interface Noise {
  readonly sd: number;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly predictions: number;
  readonly judgements: number;
}
