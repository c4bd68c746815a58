// What more repeats would do for an open rule: the chance that they decide it.

import type { RepeatAdvice } from '../decision.js';
import type { Estimate, VarianceSplit } from '../types.js';
import { normalTail, studentTQuantile } from './distributions.js';

/** Which of two sides a difference lies on, as it will be tested. */
interface Decision {
  readonly bound: number;
  /** One-sided levels at which the rule is held, and at which it is broken. */
  readonly holdsAt: number;
  readonly breaksAt: number;
}

/**
 * The predictive power of N repeats of every row in both runs (Spiegelhalter, Freedman & Blackburn, Controlled Clinical Trials 7(1),
 * 1986): how probable it is, from what is known now, that the rule will then be shown to hold or to be broken.
 *
 * Of the variance now, `row` stays, and sampling (`generation` and `judge`) shrinks to `perRepeat / N`. With a flat prior for what the
 * rows truly differ by, the later difference scatters around the one of now by `σ² = sampling - perRepeat / N`, and its standard error
 * will be `SE_N = √(row + perRepeat / N)`. So with d the distance from the bound, t and t' the quantiles of the two levels, the chance is
 * `Φ((d - t SE_N) / σ) + Φ((-d - t' SE_N) / σ)`. Undefined without a standard error.
 */
export function predictivePower(
  { value, se, df }: Estimate,
  split: VarianceSplit | undefined,
  { bound, holdsAt, breaksAt }: Decision,
  repeats: number,
): RepeatAdvice | undefined {
  if (se === undefined || df === undefined) {
    return undefined;
  }
  const known = knownSampling(split, se);
  const { row, sampling, perRepeat } = known ?? { row: 0, sampling: se ** 2, perRepeat: se ** 2 };
  const later = Math.sqrt(row + perRepeat / repeats);
  const scatter = Math.sqrt(Math.max(0, sampling - perRepeat / repeats));
  const chanceOf = (distance: number, level: number) => {
    const beyond = distance - studentTQuantile(1 - level, df) * later;
    return scatter === 0 ? Number(beyond >= 0) : normalTail(-beyond / scatter);
  };
  const chance = chanceOf(value - bound, holdsAt) + chanceOf(bound - value, breaksAt);
  return { kind: known === undefined ? 'at-most' : 'about', repeats, chance: Math.min(1, chance) };
}

/** Sampling as repeats tell of it, and what is left of the variance; undefined where a run has no repeats. */
function knownSampling(split: VarianceSplit | undefined, se: number) {
  const { row, generation, judge = 0, perRepeat } = split ?? {};
  if (row === undefined || generation === undefined || perRepeat === undefined) {
    return undefined;
  }
  const sampling = generation + judge;
  // What a uniform domain may hide is in the standard error alone.
  return { row: Math.max(row, se ** 2 - sampling), sampling, perRepeat };
}
