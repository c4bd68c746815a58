// Bounds of a figure that is the same in all rows, where a standard error of 0 says nothing.

import type { Interval } from '../comparison.js';
import { type Estimate, LEAST_CLUSTERS } from '../types.js';
import { isUniform } from './intervals.js';

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
