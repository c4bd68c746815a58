// What is known of a judge: predictions of known quality, how they were judged, and what that says of the judge.

import type { Dimension, Domain, Estimate, JudgedRow } from './types.js';

/**
 * What kind of prediction a variant is. `truth`: the ground truth as it stands. `rewrite`: the truth in other words that mean the
 * same. `dose`: a share of what is determined is damaged. `order`: light and heavy damage of any content. `single`: one damage
 * without a dose. `baseline`: what `awb infer --baseline` answers. `canary`: a bad prediction with a trick on top of it.
 */
export type Family = 'truth' | 'rewrite' | 'dose' | 'order' | 'single' | 'baseline' | 'canary';

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

/** The fewest trajectories of a domain from which on its own figures are worth reading. */
export const LEAST_TRAJECTORIES = 8;

/** Whether a judge sees a damage: the interval of its loss lies above `EQUIVALENT_POINTS`, below, or holds it. */
export type Sight = 'seen' | 'blind' | 'undecided';

/**
 * Whether a variant is a damage that a judge could see. `empty` is none: a prediction without a text is the lowest rating without a
 * judge being asked.
 */
export function isDamage({ name, family }: VariantFacts): boolean {
  const isOneOf = family === 'dose' || family === 'order' || family === 'single' || family === 'baseline';
  return isOneOf && name !== 'empty';
}

/** What a judge's ratings of known predictions say of it, in all and by domain. Points are 0-100. */
export interface Calibration {
  readonly overall: CalibrationPart;
  /** In the order of the published table. */
  readonly domains: readonly (CalibrationPart & { readonly domain: Domain })[];
}

/** Estimates are clustered by trajectory; those in all are over all rows, each trajectory a cluster. */
export interface CalibrationPart {
  /** Rows of the benchmark, and their trajectories. */
  readonly rows: number;
  readonly trajectories: number;
  /** Judgements with a rating, and those asked for that have none, also by class. Where no judge was asked nothing is counted. */
  readonly judged: number;
  readonly failed: number;
  readonly failures: Readonly<Record<string, number>>;
  /** Mean score of the neutral rewrites, of the verbatim truth, and of another row's truth; undefined where none was judged. */
  readonly ceiling: Estimate | undefined;
  readonly truth: Estimate | undefined;
  readonly floor: Estimate | undefined;
  /**
   * What a neutral rewrite costs against the verbatim truth of the same row. It is none where the interval lies within
   * `EQUIVALENT_POINTS` of 0, some where it lies wholly beyond, else undefined.
   */
  readonly falsePenalty: { readonly cost: Estimate; readonly isNone: boolean | undefined } | undefined;
  /** Mean score of every variant that was judged. */
  readonly scores: readonly { readonly variant: VariantFacts; readonly score: Estimate }[];
  /** What each damage (see `isDamage`) costs against the truth of the same row. */
  readonly losses: readonly Loss[];
  /** Steps of the known order and of growing doses: by how much the better one is rated above the worse one of the same row. */
  readonly steps: readonly Step[];
  /** What each trick buys: the points above the same bad prediction without it. */
  readonly canaries: readonly Bought[];
  /** The canary that buys most; the interval of its gain holds for all canaries at once. */
  readonly gullibility: Bought | undefined;
  /** The judge's own noise: the SD of repeated judgements of one prediction; undefined where none was judged twice. */
  readonly noise: Noise | undefined;
  /**
   * The smallest true difference of two runs over the rows of the released benchmark (of Overall, or of the domain's score), each
   * judged once, that can be told from that noise: 5 %, two-sided, power 80 %. Undefined where the noise has no interval, and for other domains.
   */
  readonly smallestDifference: number | undefined;
}

export interface Loss {
  readonly variant: VariantFacts;
  readonly loss: Estimate;
  /** The same by dimension: which of them moved. */
  readonly dimensions: Readonly<Partial<Record<Dimension, Estimate>>>;
  /** The dimension that loses more than each other one does, by the intervals of their paired differences; undefined where none does. */
  readonly most: Dimension | undefined;
  readonly sight: Sight;
}

/** What a canary buys. */
export interface Bought {
  readonly variant: VariantFacts;
  readonly gain: Estimate;
}

/** Whether a judge rates the better one higher (`kept`), the worse one (`inverted`), or neither beyond doubt. */
export type Order = 'kept' | 'inverted' | 'undecided';

export interface Step {
  readonly better: VariantFacts;
  readonly worse: VariantFacts;
  readonly difference: Estimate;
  /** Share of rows in which the worse one is rated above the better one, 0 to 1. */
  readonly inverted: number;
  /** One-sided, against the worse being rated as high; `adjustedP` is Holm's over all steps. */
  readonly p: number | undefined;
  readonly adjustedP: number | undefined;
  /** The same of the other side: against the better being rated as high; adjusted likewise. */
  readonly inversionP: number | undefined;
  /** By the adjusted p of either side, each held against 2.5 %. */
  readonly order: Order;
}

/** The adjusted p of the side that a step is told by: of an inverted order that of the inversion. */
export function decidingP({ order, adjustedP, inversionP }: Step): number | undefined {
  return order === 'inverted' ? inversionP : adjustedP;
}

/** SD of points, its 95 % interval, and what it was computed from. */
export interface Noise {
  readonly sd: number;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly predictions: number;
  readonly judgements: number;
}
