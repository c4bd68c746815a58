// Estimates of calibration: those of every score, and bounds where all trajectories say the same.

import { type Estimate, LEAST_CLUSTERS } from '../../types.js';
import { clusteredEstimate } from '../clusters.js';
import { bounded, boundsOf, chanceAbove, chanceBelow, intervalAt, type Range } from '../intervals.js';
import { type FigureOf, type KnownRow, observed } from './points.js';

const SCORES: Range = [0, 100];
const DIFFERENCES: Range = [-100, 100];

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
