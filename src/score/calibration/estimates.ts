// Estimates of calibration: those of every score, and bounds where all trajectories say the same.

import type { Interval } from '../../comparison.js';
import { type Estimate, LEAST_CLUSTERS } from '../../types.js';
import { clusteredEstimate } from '../clusters.js';
import { chanceAbove, chanceBelow, intervalAt, isUniform } from '../intervals.js';
import { type FigureOf, type KnownRow, observed } from './points.js';

const ALPHA = 0.05;

type Ends = readonly [low: number, high: number];
const SCORES: Ends = [0, 100];
const DIFFERENCES: Ends = [-100, 100];

/** The mean score of the rows that have it; undefined where none does. */
export function scoreOf(rows: readonly KnownRow[], figureOf: FigureOf): Estimate | undefined {
  const found = observed(rows, figureOf);
  return found.length === 0 ? undefined : bounded(clusteredEstimate(found, 'score'), SCORES);
}

/** The mean difference of the rows that have it; undefined where none does. */
export function differenceOf(rows: readonly KnownRow[], figureOf: FigureOf): Estimate | undefined {
  const found = observed(rows, figureOf);
  return found.length === 0 ? undefined : bounded(clusteredEstimate(found), DIFFERENCES);
}

/** The estimate of a difference with its interval at level `1 - alpha`. */
export function differenceAt(estimate: Estimate, alpha: number): Estimate {
  const { low: _low, high: _high, ...rest } = estimate;
  return { ...rest, ...(intervalAt(rest, alpha) ?? boundsOf(rest, DIFFERENCES, alpha)) };
}

function bounded(estimate: Estimate, ends: Ends): Estimate {
  return estimate.low === undefined ? { ...estimate, ...boundsOf(estimate, ends, ALPHA) } : estimate;
}

/**
 * The interval of a figure that is the same in all rows, where a standard error of 0 says nothing: from G trajectories without one
 * that is unlike, their share is at most `1 - (alpha / 2)^(1 / G)` (Clopper & Pearson, Biometrika 26(4), 1934, for 0 of G), and the
 * worst is that those lie at an end of the scale. Undefined below `LEAST_CLUSTERS`, and where rows differ.
 */
function boundsOf(estimate: Estimate, [least, greatest]: Ends, alpha: number): Interval | undefined {
  const { value, clusters } = estimate;
  if (clusters < LEAST_CLUSTERS || !isUniform(estimate)) return undefined;
  const unlike = 1 - (alpha / 2) ** (1 / clusters);
  return { low: value - unlike * (value - least), high: value + unlike * (greatest - value) };
}

/** How probable a difference this high would be if there were none: one-sided, undefined below `LEAST_CLUSTERS`. */
export function chanceNotAbove(estimate: Estimate): number | undefined {
  return chanceAbove(estimate, 0) ?? chanceWhereUniform(estimate, estimate.value);
}

/** The same for a difference this low. */
export function chanceNotBelow(estimate: Estimate): number | undefined {
  return chanceBelow(estimate, 0) ?? chanceWhereUniform(estimate, -estimate.value);
}

/** Twice this is the level at which the interval of `boundsOf` ends at 0. */
function chanceWhereUniform(estimate: Estimate, distance: number): number | undefined {
  if (estimate.clusters < LEAST_CLUSTERS) return undefined;
  return distance <= 0 ? 1 : (100 / (100 + distance)) ** estimate.clusters;
}
