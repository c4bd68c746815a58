// Means of rows that fall into clusters (turns of a trajectory), and how sure they are: standard errors, intervals, p values.
import type { Interval } from '../comparison.js';
import type { Estimate } from '../types.js';
import { mean } from './mean.js';
import { studentTQuantile, studentTTail } from './student.js';

/** A figure and the cluster it belongs to. Figures of one cluster (turns of one trajectory) are not independent. */
export interface Observation {
  readonly value: number;
  readonly cluster: string;
}

const CONFIDENCE = 0.95;

/**
 * The mean of clustered observations with its standard error and 95 % interval, all in the observations' unit, unclipped.
 *
 * The standard error is the bias-reduced CR2 of Bell & McCaffrey (Survey Methodology 28(2), 2002). With N observations, of which
 * cluster g holds n_g, and U_g the sum of its residuals: `SE² = Σ w_g U_g² / N²`, where `w_g = 1 / (1 - p_g)` and
 * `p_g = n_g / N`. For clusters of one size that is the familiar factor `G / (G - 1)`, and where every observation is a cluster
 * of its own the ordinary `s / √N`. The interval is `m ± t · SE` with the degrees of freedom of `freedom`. With fewer than
 * two clusters there is no standard error. Throws a RangeError where there are no observations.
 */
export function clusteredEstimate(observations: readonly Observation[]): Estimate {
  const value = mean(observations.map((observation) => observation.value));
  const byCluster = new Map<string, Residuals>();
  let squares = 0;
  for (const observation of observations) {
    const residual = observation.value - value;
    const { rows, sum } = byCluster.get(observation.cluster) ?? { rows: 0, sum: 0 };
    byCluster.set(observation.cluster, { rows: rows + 1, sum: sum + residual });
    squares += residual ** 2;
  }
  const rows = observations.length;
  const clusters = byCluster.size;
  if (clusters < 2) {
    return { value, rows, clusters };
  }
  const residuals = [...byCluster.values()];
  const variance = residuals.reduce((total, one) => total + one.sum ** 2 / (1 - one.rows / rows), 0) / rows ** 2;
  return { value, rows, clusters, ...interval(value, Math.sqrt(variance), freedom(residuals, rows, squares)) };
}

/** A cluster's observations: how many they are, and the sum of their residuals. */
interface Residuals {
  readonly rows: number;
  readonly sum: number;
}

/**
 * The degrees of freedom of a CR2 standard error of a mean (Imbens & Kolesár, Review of Economics and Statistics 98(4), 2016;
 * Pustejovsky & Tipton, Journal of Business & Economic Statistics 36(4), 2018): Satterthwaite's for the quadratic form that the
 * variance estimate is, were the rows of a cluster correlated by ρ, the same in all. They are G - 1 for clusters of one size, and
 * fewer the more unlike the sizes are.
 *
 * ρ is estimated by moments, `[(Σ U_g² - Σ u²) / (Σ n_g² - N)] / (Σ u² / N)`, and held within 0 and 1. A cluster's sum then varies by
 * `v_g = n_g (1 + (n_g - 1) ρ)` and the weighted sums of residuals by the matrix
 * `B_gh = √(w_g w_h) (δ_gh v_g + p_h x_g + p_g x_h)` with `x_g = p_g V / 2 - v_g` and `V = Σ v_g`. The result is `(tr B)² / tr B²`,
 * reached in one pass since what stands off B's diagonal is of rank two.
 */
function freedom(clusters: readonly Residuals[], rows: number, squares: number): number {
  const total = (of: (cluster: Residuals) => number) => clusters.reduce((sum, cluster) => sum + of(cluster), 0);
  const pairs = total((cluster) => cluster.rows ** 2) - rows;
  const agreement = (total((cluster) => cluster.sum ** 2) - squares) / pairs / (squares / rows);
  // Undefined where no cluster has two rows, or no row differs from the mean.
  const rho = Number.isFinite(agreement) ? Math.min(1, Math.max(0, agreement)) : 0;
  const varianceOf = (cluster: Residuals) => cluster.rows * (1 + (cluster.rows - 1) * rho);
  const whole = total(varianceOf);
  let trace = 0;
  let diagonal = 0;
  let [xx, pp, xp] = [0, 0, 0];
  for (const cluster of clusters) {
    const p = cluster.rows / rows;
    const w = 1 / (1 - p);
    const v = varianceOf(cluster);
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
 * The mean of independent estimates with equal, fixed weights (the domains of Overall): with K estimates the variance is
 * the sum of theirs over K², and the degrees of freedom are Satterthwaite's `(Σ v)² / Σ (v² / df)` (Biometrics Bulletin
 * 2(6), 1946). Rows and clusters are added up. Where one estimate has no standard error the mean has none.
 * Throws a RangeError on none.
 */
export function meanOfEstimates(estimates: readonly Estimate[]): Estimate {
  const value = mean(estimates.map((estimate) => estimate.value));
  const rows = estimates.reduce((sum, estimate) => sum + estimate.rows, 0);
  const clusters = estimates.reduce((sum, estimate) => sum + estimate.clusters, 0);
  let variance = 0;
  let spread = 0;
  for (const { se, df } of estimates) {
    if (se === undefined || df === undefined) {
      return { value, rows, clusters };
    }
    variance += se ** 2;
    spread += se ** 4 / df;
  }
  // Without any variance every quantile gives the same interval: the point itself.
  const df = spread === 0 ? clusters - estimates.length : variance ** 2 / spread;
  return { value, rows, clusters, ...interval(value, Math.sqrt(variance) / estimates.length, df) };
}

/** The mean of `b - a` over pairs, clustered as in `clusteredEstimate`; negative where b is lower. */
export function pairedShift(
  pairs: readonly { readonly a: number; readonly b: number; readonly cluster: string }[],
): Estimate {
  return clusteredEstimate(pairs.map(({ a, b, cluster }) => ({ value: b - a, cluster })));
}

function interval(value: number, se: number, df: number): { se: number; df: number; low: number; high: number } {
  const reach = studentTQuantile((1 + CONFIDENCE) / 2, df) * se;
  return { se, df, low: value - reach, high: value + reach };
}

/** The two-sided interval of an estimate at level `1 - alpha`, unclipped; undefined where it has no standard error. */
export function intervalAt({ value, se, df }: Estimate, alpha: number): Interval | undefined {
  if (se === undefined || df === undefined) {
    return undefined;
  }
  const reach = studentTQuantile(1 - alpha / 2, df) * se;
  return { low: value - reach, high: value + reach };
}

/**
 * How probable an estimate this low, or lower, would be if the truth were `bound`: the one-sided p of Student's t. Below
 * `alpha / 2` exactly where the interval of `intervalAt` lies wholly below the bound. Undefined without a standard error.
 */
export function chanceBelow({ value, se, df }: Estimate, bound: number): number | undefined {
  if (se === undefined || df === undefined) {
    return undefined;
  }
  if (se === 0) {
    return value < bound ? 0 : 1;
  }
  const t = (bound - value) / se;
  return t >= 0 ? studentTTail(t, df) : 1 - studentTTail(-t, df);
}

/**
 * The smallest true effect, in the estimate's unit, that a two-sided test at `alpha` would have found with the given power:
 * `(t(1 - alpha/2) + t(power)) · SE`, the multiplier of Bloom ("Minimum Detectable Effects", Evaluation Review 19(5), 1995).
 * It approximates the exact noncentral t to within 1 % from 5 degrees of freedom on, and is too small by 5 % at 2 and by
 * 14 % at 1. Undefined without a standard error.
 */
export function smallestEffect({ se, df }: Estimate, alpha = 0.05, power = 0.8): number | undefined {
  return se === undefined || df === undefined
    ? undefined
    : (studentTQuantile(1 - alpha / 2, df) + studentTQuantile(power, df)) * se;
}
