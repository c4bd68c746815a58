// Bounds of a figure that is the same in all rows, where a standard error of 0 says nothing.

import type { Interval } from '../comparison.js';
import { type Estimate, LEAST_CLUSTERS } from '../types.js';
import { isUniform } from './intervals.js';
import { studentTQuantile } from './student.js';

const ALPHA = 0.05;

/** Where a figure can lie. */
export type Ends = readonly [low: number, high: number];

/** The estimate with its interval, or where it has none with these bounds. */
export function bounded(estimate: Estimate, ends: Ends): Estimate {
  return estimate.low === undefined ? { ...estimate, ...boundsOf(estimate, ends, ALPHA) } : estimate;
}

/**
 * The interval of a figure that is the same in all rows, where a standard error of 0 says nothing: from G trajectories without one
 * that is unlike, their share is at most `1 - (alpha / 2)^(1 / G)` (Clopper & Pearson, Biometrika 26(4), 1934, for 0 of G), and the
 * worst is that those lie at an end of the scale. Undefined below `LEAST_CLUSTERS`, and where rows differ.
 */
export function boundsOf(estimate: Estimate, [least, greatest]: Ends, alpha: number): Interval | undefined {
  const { value, clusters } = estimate;
  if (clusters < LEAST_CLUSTERS || !isUniform(estimate)) return undefined;
  const unlike = 1 - (alpha / 2) ** (1 / clusters);
  return { low: value - unlike * (value - least), high: value + unlike * (greatest - value) };
}

/**
 * What uniform differences add to the variance of a sum of independent differences, and its degrees of freedom; undefined where there
 * are none. The shares of unlike clusters in n of them, the smallest with G clusters, add up to at most `n (1 - (alpha / 2)^(1 / nG))`:
 * with n = 1 the bound above, with more the greatest sum under which a chance of `alpha / 2` is left to see no unlike cluster. The worst
 * is that they lie at an end of the scale. That half-width over the t of G - 1 is the standard error.
 */
export function unseenVariance(
  differences: readonly Estimate[],
): { readonly variance: number; readonly df: number } | undefined {
  const uniform = differences.filter(isUniform);
  if (uniform.length === 0) return undefined;
  const clusters = Math.min(...uniform.map((difference) => difference.clusters));
  const unlike = uniform.length * (1 - (ALPHA / 2) ** (1 / (uniform.length * clusters)));
  const furthest = 100 + Math.max(...uniform.map(({ value }) => Math.abs(value)));
  const df = clusters - 1;
  return { variance: ((unlike * furthest) / studentTQuantile(1 - ALPHA / 2, df)) ** 2, df };
}
