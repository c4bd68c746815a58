// What a standard error says about a figure: its interval, and how probable it would be at a bound.
import type { Interval } from '../core/comparison.js';
import type { Measure } from '../core/measures.js';
import { type Estimate, LEAST_CLUSTERS } from '../core/types.js';
import { studentTQuantile, studentTTail } from './distributions.js';

/**
 * Where a figure ends: a difference nowhere, a score at 0 and 100, a measure at the ends of its range. The intervals of a figure with two
 * ends are computed on the logit scale between them.
 */
export type Scale = 'difference' | 'score' | Range;
export type Range = Measure['range'];

const SCORES: Range = [0, 100];

/** For intervals where no policy sets another level. */
export const ALPHA = 0.05;

/**
 * A standard error below this, in points, counts as 0: the remainder is rounding. From fewer clusters than `LEAST_UNIFORM` it only means
 * that chance brought no two different rows, so there is neither interval nor test.
 */
export const ROUNDING = 1e-9;
export const LEAST_UNIFORM = 50;

type Known = Estimate & { readonly se: number; readonly df: number };

/** Whether all rows are equal. */
export function isUniform({ se }: Estimate): boolean {
  return se !== undefined && se < ROUNDING;
}

/** Whether the standard error carries information. */
function isKnown(estimate: Estimate): estimate is Known {
  const { se, df, clusters } = estimate;
  return se !== undefined && df !== undefined && (!isUniform(estimate) || clusters >= LEAST_UNIFORM);
}

/** The estimate with its 95 % interval, if it has one. */
export function withInterval(estimate: Estimate, scale: Scale): Estimate {
  const { low: _low, high: _high, ...rest } = estimate;
  return { ...rest, ...intervalAt(rest, ALPHA, scale) };
}

/**
 * The two-sided interval of an estimate at level `1 - alpha`: `m ± t · SE`. For a figure that ends at a and b it is computed on the logit
 * scale, where `ln((m - a) / (b - m))` has the half-width `t · SE · (b - a) / ((m - a) (b - m))`, and transformed back; so it stays within
 * a and b, and near them it contains the truth more often than a symmetric one (Agresti, "Categorical Data Analysis", 2013, section 3.1.6).
 * Undefined without a standard error, if all rows are equal and clusters are few, and for a figure at an end or beyond.
 */
export function intervalAt(estimate: Estimate, alpha: number, scale: Scale = 'difference'): Interval | undefined {
  if (!isKnown(estimate)) return undefined;
  const { value, se, df } = estimate;
  const reach = studentTQuantile(1 - alpha / 2, df) * se;
  const range = endsOf(scale);
  if (range === undefined) return { low: value - reach, high: value + reach };
  const [at, slope] = [logit(value, range), logitSlope(value, range)];
  return Number.isFinite(slope)
    ? { low: fromLogit(at - reach * slope, range), high: fromLogit(at + reach * slope, range) }
    : undefined;
}

/**
 * How probable an estimate this low, or lower, would be if the truth were `bound`: the one-sided p of Student's t. Below `alpha / 2`
 * exactly if the interval of `intervalAt` lies entirely below the bound. If all rows are equal it is 0 or 1. Undefined if the standard
 * error carries no information.
 */
export function chanceBelow(estimate: Estimate, bound: number, scale: Scale = 'difference'): number | undefined {
  return chance(estimate, bound, scale, 1);
}

/** The same for an estimate this high, or higher; at most `alpha / 2` exactly if the interval lies entirely at or above the bound. */
export function chanceAbove(estimate: Estimate, bound: number, scale: Scale = 'difference'): number | undefined {
  return chance(estimate, bound, scale, -1);
}

function chance(estimate: Estimate, bound: number, scale: Scale, direction: 1 | -1): number | undefined {
  if (!isKnown(estimate)) return undefined;
  const { value, se, df } = estimate;
  if (isUniform(estimate)) return (direction === 1 ? value < bound : value >= bound) ? 0 : 1;
  const range = endsOf(scale);
  const distance =
    range === undefined ? bound - value : (logit(bound, range) - logit(value, range)) / logitSlope(value, range);
  const t = (direction * distance) / se;
  return t >= 0 ? studentTTail(t, df) : 1 - studentTTail(-t, df);
}

/** Both ends of a scale; undefined if it is unbounded on a side. */
function endsOf(scale: Scale): Range | undefined {
  if (scale === 'difference') return undefined;
  if (scale === 'score') return SCORES;
  return scale.every(Number.isFinite) ? scale : undefined;
}

/** Infinite for a figure at an end of its range, or beyond. */
function logit(value: number, [low, high]: Range): number {
  if (value <= low || value >= high) return value <= low ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return Math.log((value - low) / (high - value));
}

function fromLogit(logit: number, [low, high]: Range): number {
  return low + (high - low) / (1 + Math.exp(-logit));
}

function logitSlope(value: number, [low, high]: Range): number {
  return value <= low || value >= high ? Number.POSITIVE_INFINITY : (high - low) / ((value - low) * (high - value));
}

/**
 * The minimum detectable effect, in the estimate's unit: the smallest true effect that a two-sided test at `alpha` would have found with
 * the given power, `(t(1 - alpha/2) + t(power)) · SE`, with the multiplier of Bloom ("Minimum Detectable Effects", Evaluation Review 19(5),
 * 1995). It approximates the exact noncentral t to within 1 % from 5 degrees of freedom on, and is too small by 5 % at 2 and by 14 % at 1.
 * Undefined if the standard error carries no information.
 */
export function smallestEffect(estimate: Estimate, alpha = 0.05, power = 0.8): number | undefined {
  return isKnown(estimate)
    ? (studentTQuantile(1 - alpha / 2, estimate.df) + studentTQuantile(power, estimate.df)) * estimate.se
    : undefined;
}

/** The estimate with its interval, or else with these bounds. */
export function bounded(estimate: Estimate, ends: Range): Estimate {
  return estimate.low === undefined ? { ...estimate, ...boundsOf(estimate, ends, ALPHA) } : estimate;
}

/**
 * The interval of a figure that is the same in all rows, where a standard error of 0 says nothing: if none of G trajectories differs, the
 * share of differing ones is at most `1 - (alpha / 2)^(1 / G)` (Clopper & Pearson, Biometrika 26(4), 1934, for 0 of G), and in the worst
 * case they lie at an end of the scale. Undefined below `LEAST_CLUSTERS`, and if rows differ.
 */
export function boundsOf(estimate: Estimate, [least, greatest]: Range, alpha: number): Interval | undefined {
  const { value, clusters } = estimate;
  if (clusters < LEAST_CLUSTERS || !isUniform(estimate)) return undefined;
  const unlike = 1 - (alpha / 2) ** (1 / clusters);
  return { low: value - unlike * (value - least), high: value + unlike * (greatest - value) };
}

/**
 * What uniform differences add to the variance of a sum of independent differences, and its degrees of freedom; undefined if there are
 * none. The shares of differing clusters in n of them, the smallest with G clusters, add up to at most `n (1 - (alpha / 2)^(1 / nG))`: with
 * n = 1 the bound above, with more the greatest sum that leaves a chance of `alpha / 2` of seeing no differing cluster. In the worst case
 * they lie at an end of the scale. That half-width over the t of G - 1 is the standard error.
 */
export function unseenVariance(differences: readonly Estimate[]) {
  const uniform = differences.filter(isUniform);
  if (uniform.length === 0) return undefined;
  const clusters = Math.min(...uniform.map((difference) => difference.clusters));
  const unlike = uniform.length * (1 - (ALPHA / 2) ** (1 / (uniform.length * clusters)));
  const furthest = 100 + Math.max(...uniform.map(({ value }) => Math.abs(value)));
  const df = clusters - 1;
  return { variance: ((unlike * furthest) / studentTQuantile(1 - ALPHA / 2, df)) ** 2, df };
}
