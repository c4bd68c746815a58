// Predictions of known quality, which measure a judge: the kinds of variants, and how one was judged.

import type { JudgedRow } from './types.js';

/**
 * What kind of prediction a variant is. `truth`: the unchanged ground truth. `rewrite`: the truth in other words with the same meaning.
 * `dose`: a share of the determined tokens is corrupted. `order`: light and heavy corruption of any content. `single`: one corruption
 * without a dose. `baseline`: what `awb infer --baseline` answers. `attack`: a bad prediction with an attack on top.
 */
export const FAMILIES = ['truth', 'rewrite', 'dose', 'order', 'single', 'baseline', 'attack'] as const;
export type Family = (typeof FAMILIES)[number];

/** What statistics and reports need to know about a variant. */
export interface VariantFacts {
  /** Letters, digits and dashes. */
  readonly name: string;
  readonly family: Family;
  /** What was done, in a few words. */
  readonly help: string;
  /** For graded corruption: the share of determined tokens that is corrupted. */
  readonly dose?: number | undefined;
}

/** One judgement of one variant of one row. */
export interface CalibratedRow extends JudgedRow {
  readonly variant: string;
}

/** The largest loss that still counts as none, in points of 0-100. */
export const EQUIVALENT_POINTS = 3;

/** The fewest trajectories for which a domain's own figures are worth reading. */
export const LEAST_TRAJECTORIES = 8;

/**
 * Whether a variant is a corruption that a judge could see. `empty` is not: a prediction without text gets the lowest rating without
 * asking a judge.
 */
export function isCorruption({ name, family }: VariantFacts): boolean {
  return ['dose', 'order', 'single', 'baseline'].includes(family) && name !== 'empty';
}

/** The adjusted p that decides a step of the known order: for an inverted step, that of the inversion. */
export function decidingP(step: {
  readonly order: 'kept' | 'inverted' | 'undecided';
  readonly p_adjusted: number | null;
  readonly p_inverted: number | null;
}): number | null {
  return step.order === 'inverted' ? step.p_inverted : step.p_adjusted;
}
