// What a standard error says of a figure: its interval, and how probable it would be at a bound.
import type { Interval } from '../comparison.js';
import type { Estimate } from '../types.js';
import { studentTQuantile, studentTTail } from './student.js';

/** A difference has no ends; a score ends at 0 and 100, where its intervals are reckoned on the logit scale. */
export type Scale = 'difference' | 'score';

const CONFIDENCE = 0.95;

/**
 * A standard error below this, in points, is 0: what is left of it is rounding. From fewer clusters than `LEAST_UNIFORM` it
 * says only that chance brought no two unlike rows, so there is neither interval nor test.
 */
const ROUNDING = 1e-9;
export const LEAST_UNIFORM = 50;

type Known = Estimate & { readonly se: number; readonly df: number };

/** Whether all rows say the same. */
export function isUniform({ se }: Estimate): boolean {
  return se !== undefined && se < ROUNDING;
}

/** Whether the standard error says anything. */
function isKnown(estimate: Estimate): estimate is Known {
  const { se, df, clusters } = estimate;
  return se !== undefined && df !== undefined && (!isUniform(estimate) || clusters >= LEAST_UNIFORM);
}

/** The estimate with its 95 % interval, where it has one. */
export function withInterval(estimate: Estimate, scale: Scale): Estimate {
  const { low: _low, high: _high, ...rest } = estimate;
  return { ...rest, ...intervalAt(rest, 1 - CONFIDENCE, scale) };
}

/**
 * The two-sided interval of an estimate at level `1 - alpha`: `m ± t · SE`. Of a score on the logit scale, where
 * `ln(m / (100 - m))` has the half-width `t · SE · 100 / (m (100 - m))`, transformed back; so it stays within 0 and 100, and near the
 * ends it holds the truth more often than a symmetric one (Agresti, "Categorical Data Analysis", 2013, section 3.1.6).
 * Undefined without a standard error, where all rows say the same and clusters are few, and for a score of exactly 0 or 100.
 */
export function intervalAt(estimate: Estimate, alpha: number, scale: Scale = 'difference'): Interval | undefined {
  if (!isKnown(estimate)) {
    return undefined;
  }
  const { value, se, df } = estimate;
  const reach = studentTQuantile(1 - alpha / 2, df) * se;
  if (scale === 'difference') {
    return { low: value - reach, high: value + reach };
  }
  const slope = logitSlope(value);
  return Number.isFinite(slope)
    ? { low: fromLogit(logit(value) - reach * slope), high: fromLogit(logit(value) + reach * slope) }
    : undefined;
}

/**
 * How probable an estimate this low, or lower, would be if the truth were `bound`: the one-sided p of Student's t. Below
 * `alpha / 2` exactly where the interval of `intervalAt` lies wholly below the bound. Where all rows say the same it is 0 or
 * 1. Undefined where the standard error says nothing.
 */
export function chanceBelow(estimate: Estimate, bound: number, scale: Scale = 'difference'): number | undefined {
  return chance(estimate, bound, scale, 1);
}

/** The same for an estimate this high, or higher; at most `alpha / 2` exactly where the interval lies wholly at or above the bound. */
export function chanceAbove(estimate: Estimate, bound: number, scale: Scale = 'difference'): number | undefined {
  return chance(estimate, bound, scale, -1);
}

function chance(estimate: Estimate, bound: number, scale: Scale, direction: 1 | -1): number | undefined {
  if (!isKnown(estimate)) {
    return undefined;
  }
  const { value, se, df } = estimate;
  if (isUniform(estimate)) {
    return (direction === 1 ? value < bound : value >= bound) ? 0 : 1;
  }
  const distance = scale === 'difference' ? bound - value : (logit(bound) - logit(value)) / logitSlope(value);
  const t = (direction * distance) / se;
  return t >= 0 ? studentTTail(t, df) : 1 - studentTTail(-t, df);
}

/** No end of points for a score of 0 or less, or of 100 or more. */
function logit(score: number): number {
  if (score <= 0 || score >= 100) {
    return score <= 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  return Math.log(score / (100 - score));
}

function fromLogit(logit: number): number {
  return 100 / (1 + Math.exp(-logit));
}

function logitSlope(score: number): number {
  return score <= 0 || score >= 100 ? Number.POSITIVE_INFINITY : 100 / (score * (100 - score));
}

/**
 * The smallest true effect, in the estimate's unit, that a two-sided test at `alpha` would have found with the given power:
 * `(t(1 - alpha/2) + t(power)) · SE`, the multiplier of Bloom ("Minimum Detectable Effects", Evaluation Review 19(5), 1995).
 * It approximates the exact noncentral t to within 1 % from 5 degrees of freedom on, and is too small by 5 % at 2 and by
 * 14 % at 1. Undefined where the standard error says nothing.
 */
export function smallestEffect(estimate: Estimate, alpha = 0.05, power = 0.8): number | undefined {
  return isKnown(estimate)
    ? (studentTQuantile(1 - alpha / 2, estimate.df) + studentTQuantile(power, estimate.df)) * estimate.se
    : undefined;
}
