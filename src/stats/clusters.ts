// Means: of values, exactly rounded; and of rows in clusters (turns of a trajectory), with their standard errors.

import { groupBy } from '../core/groups.js';
import { type Estimate, LEAST_CLUSTERS } from '../core/types.js';
import { isUniform, LEAST_UNIFORM, type Scale, unseenVariance, withInterval } from './intervals.js';

/**
 * The arithmetic mean, correctly rounded: the exact sum, divided and rounded once, as in Python's `statistics.mean`. So it equals the
 * official script's to the last digit, and does not depend on the order of the values. Exact for values that are 0 or of a magnitude of
 * 1e-100 to 1e100. Throws a RangeError if there are no values.
 */
export function mean(values: readonly number[]): number {
  const [first] = values;
  if (first === undefined) throw new RangeError('there is no mean of no values');
  // Most rows have one repeat. Adding 0 turns -0 into 0, as the exact way does.
  if (values.length === 1) return first + 0;
  return values.every(isOrdinary) ? exactMean(values) : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** By how much one mean exceeds another; 0 if they differ by no more than the rounding of equal values averaged in another order. */
export function aboveBy(a: number, b: number): number {
  return Math.abs(a - b) < 1e-9 ? 0 : a - b;
}

function isOrdinary(value: number): boolean {
  const magnitude = Math.abs(value);
  return magnitude === 0 || (magnitude >= 1e-100 && magnitude <= 1e100);
}

function exactMean(values: readonly number[]): number {
  // Every double of at least 1e-100 is a whole number of 2^-400.
  const scale = 2 ** 400;
  const sum = values.reduce((total, value) => total + BigInt(value * scale), 0n);
  // Division truncates what follows the last bit. With 64 bits more than the sum has, this can never hide on which side of a tie the
  // quotient lies, so the conversion rounds correctly.
  const quotient = (sum << 64n) / BigInt(values.length);
  return Number(quotient) / 2 ** 464;
}

/** A figure and the cluster it belongs to. Figures of one cluster (turns of one trajectory) are not independent. */
export interface Observation {
  readonly value: number;
  readonly cluster: string;
}

/**
 * The mean of clustered observations with its standard error, its degrees of freedom and the 95 % interval of `intervalAt`, all in the
 * observations' unit. Throws a RangeError if there are no observations.
 */
export function clusteredEstimate(observations: readonly Observation[], scale: Scale = 'difference'): Estimate {
  return withInterval(clusteredMean(observations), scale);
}

/**
 * The same without the interval. The standard error is the bias-reduced CR2 of Bell & McCaffrey (Survey Methodology 28(2), 2002). With N
 * observations, of which cluster g has n_g, and U_g the sum of its residuals: `SE² = Σ w_g U_g² / N²`, where `w_g = 1 / (1 - p_g)` and `p_g
 * = n_g / N`. For clusters of one size that is the familiar factor `G / (G - 1)`, and if every observation is its own cluster, the ordinary
 * `s / √N`. With fewer than five clusters there is no standard error.
 */
export function clusteredMean(observations: readonly Observation[]): Estimate {
  const value = mean(observations.map((observation) => observation.value));
  const rows = observations.length;
  const residuals = Array.from(groupBy(observations, ({ cluster }) => cluster).values(), (own) => {
    return { rows: own.length, sum: own.reduce((sum, one) => sum + (one.value - value), 0) };
  });
  const clusters = residuals.length;
  if (clusters < LEAST_CLUSTERS) return { value, rows, clusters };
  const squares = observations.reduce((sum, one) => sum + (one.value - value) ** 2, 0);
  const variance = residuals.reduce((total, one) => total + one.sum ** 2 / (1 - one.rows / rows), 0) / rows ** 2;
  return { value, rows, clusters, se: Math.sqrt(variance), df: freedom(residuals, rows, squares) };
}

/** A cluster's observations: their number, and the sum of their residuals. */
type Residuals = Readonly<Record<'rows' | 'sum', number>>;

/**
 * The degrees of freedom of a CR2 standard error of a mean (Imbens & Kolesár, Review of Economics and Statistics 98(4), 2016; Pustejovsky &
 * Tipton, Journal of Business & Economic Statistics 36(4), 2018): Satterthwaite's for the quadratic form of the variance estimate, assuming
 * that the rows of a cluster are correlated by ρ, the same in all. They are G - 1 for clusters of one size, and fewer the more the sizes
 * differ.
 *
 * ρ is estimated by moments, `[(Σ U_g² - Σ u²) / (Σ n_g² - N)] / (Σ u² / N)`, and clamped to 0 to 1. A cluster's sum then varies by `v_g =
 * n_g (1 + (n_g - 1) ρ)` and the weighted sums of residuals by the matrix `B_gh = √(w_g w_h) (δ_gh v_g + p_h x_g + p_g x_h)` with `x_g =
 * p_g V / 2 - v_g` and `V = Σ v_g`.
 */
function freedom(clusters: readonly Residuals[], rows: number, squares: number): number {
  const total = (of: (cluster: Residuals) => number) => clusters.reduce((sum, cluster) => sum + of(cluster), 0);
  const pairs = total((cluster) => cluster.rows ** 2) - rows;
  const agreement = (total((cluster) => cluster.sum ** 2) - squares) / pairs / (squares / rows);
  // Undefined if no cluster has two rows, or no row differs from the mean.
  const rho = Number.isFinite(agreement) ? Math.min(1, Math.max(0, agreement)) : 0;
  return satterthwaite(
    clusters.map((cluster) => ({ p: cluster.rows / rows, v: cluster.rows * (1 + (cluster.rows - 1) * rho) })),
  );
}

/**
 * `(tr B)² / tr B²` of the matrix B above, computed in one pass since its off-diagonal part has rank two.
 * @param shares of each cluster its share `p` in the estimate, and the variance `v` of its weighted sum
 */
export function satterthwaite(shares: readonly Readonly<Record<'p' | 'v', number>>[]): number {
  const whole = shares.reduce((sum, { v }) => sum + v, 0);
  let trace = 0;
  let diagonal = 0;
  let [xx, pp, xp] = [0, 0, 0];
  for (const { p, v } of shares) {
    const w = 1 / (1 - p);
    const x = (p * whole) / 2 - v;
    const onDiagonal = w * (v + 2 * p * x);
    trace += onDiagonal;
    diagonal += onDiagonal ** 2 - (2 * w * p * x) ** 2;
    xx += w * x ** 2;
    pp += w * p ** 2;
    xp += w * x * p;
  }
  return trace ** 2 / (diagonal + 2 * (xx * pp + xp ** 2));
}

/**
 * The mean of independent estimates with equal, fixed weights (the domains of Overall): with K estimates the variance is the sum of theirs
 * over K², and the degrees of freedom are Satterthwaite's `(Σ v)² / Σ (v² / df)` (Biometrics Bulletin 2(6), 1946). Rows and clusters are
 * added up. The mean has no standard error if one of the estimates has none: Overall is only a number if a domain has fewer than five
 * trajectories. An error of 0 proves little: in a mean of differences `unseenVariance` takes its place, and a mean of anything else then
 * has no standard error if it covers fewer than 50 clusters. Throws a RangeError if there are no estimates.
 */
export function meanOfEstimates(estimates: readonly Estimate[], scale: Scale = 'difference'): Estimate {
  const value = mean(estimates.map((estimate) => estimate.value));
  const rows = estimates.reduce((sum, estimate) => sum + estimate.rows, 0);
  const clusters = estimates.reduce((sum, estimate) => sum + estimate.clusters, 0);
  if (scale !== 'difference' && estimates.some((each) => isUniform(each) && each.clusters < LEAST_UNIFORM)) {
    return { value, rows, clusters };
  }
  const unseen = scale === 'difference' ? unseenVariance(estimates) : undefined;
  let variance = unseen?.variance ?? 0;
  let spread = unseen === undefined ? 0 : unseen.variance ** 2 / unseen.df;
  for (const { se, df } of estimates) {
    if (se === undefined || df === undefined) return { value, rows, clusters };
    variance += se ** 2;
    spread += se ** 4 / df;
  }
  // Without any variance every quantile gives the same interval: the point itself.
  const df = spread === 0 ? clusters - estimates.length : variance ** 2 / spread;
  return withInterval({ value, rows, clusters, se: Math.sqrt(variance) / estimates.length, df }, scale);
}

/** The mean of `b - a` over pairs, clustered as in `clusteredEstimate`; negative if b is lower. */
export function pairedShift(pairs: readonly { readonly a: number; readonly b: number; readonly cluster: string }[]) {
  return clusteredEstimate(pairs.map(({ a, b, cluster }) => ({ value: b - a, cluster })));
}
