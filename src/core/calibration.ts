// Predictions of known quality, which tell what a judge is worth: what kinds there are, and how one was judged.

import type { JudgedRow } from './types.js';

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
  readonly dose?: number | undefined;
}

/** One judgement of one variant of one row. */
export interface CalibratedRow extends JudgedRow {
  readonly variant: string;
}

/** How far a loss may go and still count as none, in points of 0-100. */
export const EQUIVALENT_POINTS = 3;

/** The fewest trajectories of a domain from which on its own figures are worth reading. */
export const LEAST_TRAJECTORIES = 8;

/**
 * Whether a variant is a damage that a judge could see. `empty` is none: a prediction without a text is the lowest rating without a
 * judge being asked.
 */
export function isDamage({ name, family }: VariantFacts): boolean {
  return ['dose', 'order', 'single', 'baseline'].includes(family) && name !== 'empty';
}

/** The adjusted p of the side that a step of the known order is told by: of an inverted order that of the inversion. */
export function decidingP(step: {
  readonly order: 'kept' | 'inverted' | 'undecided';
  readonly p_adjusted: number | null;
  readonly p_inverted: number | null;
}): number | null {
  return step.order === 'inverted' ? step.p_inverted : step.p_adjusted;
}
