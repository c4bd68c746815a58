// Means and their uncertainty: clustered standard errors and Student t intervals, resampling, and what a comparison needs.
import type { Interval, VarianceSplit } from '../comparison.js';
import type { Estimate } from '../types.js';
import { randomOf } from './random.js';

/** A figure and the cluster it belongs to. Figures of one cluster (turns of one trajectory) are not independent. */
export interface Observation {
  readonly value: number;
  readonly cluster: string;
}

const CONFIDENCE = 0.95;

/**
 * The arithmetic mean, correctly rounded: the exact sum, divided and rounded once, as Python's `statistics.mean` does it.
 * So it equals the official script's to the last digit, and does not depend on the order of the values.
 * Exact for values that are 0 or of a magnitude of 1e-100 to 1e100. Throws a RangeError where there are no values.
 */
export function mean(values: readonly number[]): number {
  if (values.length === 0) {
    throw new RangeError('there is no mean of no values');
  }
  if (values.length === 1) {
    // Most rows have one repeat; a sum with 0 turns -0 into 0, as the exact way does.
    return (values[0] as number) + 0;
  }
  return values.every(isOrdinary) ? exactMean(values) : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function isOrdinary(value: number): boolean {
  const magnitude = Math.abs(value);
  return magnitude === 0 || (magnitude >= 1e-100 && magnitude <= 1e100);
}

function exactMean(values: readonly number[]): number {
  // Every double of at least 1e-100 is a whole number of 2^-400.
  const scale = 2 ** 400;
  const sum = values.reduce((total, value) => total + BigInt(value * scale), 0n);
  // Division cuts off what is behind the last bit. With 64 bits more than the sum has, that can never hide on which side of
  // a tie the quotient lies, so the conversion, which rounds, rounds rightly.
  const quotient = (sum << 64n) / BigInt(values.length);
  return Number(quotient) / 2 ** 464;
}

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
  return t >= 0 ? upperTail(t, df) : 1 - upperTail(-t, df);
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

/**
 * p values adjusted for their number, so that the chance of even one false finding stays below the level they are held
 * against (Holm, Scandinavian Journal of Statistics 6(2), 1979). In the order given.
 */
export function holm(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const adjusted = [...values];
  let least = 0;
  for (const [rank, { value, index }] of order.entries()) {
    least = Math.max(least, Math.min(1, value * (values.length - rank)));
    adjusted[index] = least;
  }
  return adjusted;
}

/** Observations by stratum (domain): the figure is the unweighted mean of the strata's means, as in Overall. None is empty. */
export type Strata = readonly (readonly Observation[])[];

export interface Resampling {
  /** How many samples are drawn. */
  readonly draws: number;
  readonly seed: number;
}

/** A cluster as resampling needs it: what its observations add up to, and how many they are. */
interface ClusterSum {
  readonly sum: number;
  readonly size: number;
}

function clusterSums(observations: readonly Observation[]): ClusterSum[] {
  const sums = new Map<string, ClusterSum>();
  for (const { value, cluster } of observations) {
    const { sum, size } = sums.get(cluster) ?? { sum: 0, size: 0 };
    sums.set(cluster, { sum: sum + value, size: size + 1 });
  }
  return [...sums.values()];
}

/**
 * The 95 % percentile interval of a cluster bootstrap (Efron & Tibshirani 1993, ch. 13; Cameron, Gelbach & Miller 2008): whole
 * clusters are drawn with replacement, within each stratum. A cross-check of the t interval; with fewer than about 30
 * clusters it is too narrow. Undefined where a stratum has fewer than two clusters.
 */
export function bootstrapInterval(strata: Strata, { draws, seed }: Resampling): Interval | undefined {
  const sums = strata.map(clusterSums);
  if (draws < 1 || sums.some((clusters) => clusters.length < 2)) {
    return undefined;
  }
  const { uniform } = randomOf(seed);
  const means = new Float64Array(draws);
  for (let draw = 0; draw < draws; draw++) {
    let total = 0;
    for (const clusters of sums) {
      total += resampledMean(clusters, uniform);
    }
    means[draw] = total / sums.length;
  }
  means.sort();
  return { low: quantile(means, (1 - CONFIDENCE) / 2), high: quantile(means, (1 + CONFIDENCE) / 2) };
}

function resampledMean(clusters: readonly ClusterSum[], uniform: () => number): number {
  let sum = 0;
  let size = 0;
  for (let drawn = 0; drawn < clusters.length; drawn++) {
    const cluster = clusters[Math.floor(uniform() * clusters.length)] as ClusterSum;
    sum += cluster.sum;
    size += cluster.size;
  }
  return sum / size;
}

/** The quantile of sorted values, between neighbours in proportion (type 7 of Hyndman & Fan 1996, as R and NumPy). */
function quantile(sorted: Float64Array, p: number): number {
  const place = p * (sorted.length - 1);
  const below = sorted[Math.floor(place)] as number;
  const above = sorted[Math.ceil(place)] as number;
  return below + (above - below) * (place - Math.floor(place));
}

/** Up to how many clusters every pattern of signs is counted instead of a sample of them: 2^15 patterns, by symmetry. */
const EXACT_CLUSTERS = 16;

/**
 * The two-sided p of the hypothesis that differences are as likely up as down, by flipping the signs of whole clusters: the
 * share of sign patterns whose mean is at least as far from 0 as the observed one. Up to 16 clusters that differ from 0
 * every pattern is counted; beyond, `draws` are sampled and `(found + 1) / (draws + 1)` is given (Phipson & Smyth 2010).
 */
export function signFlipP(strata: Strata, { draws, seed }: Resampling): number {
  const parts = strata.flatMap((observations) =>
    clusterSums(observations).map(({ sum }) => sum / observations.length / strata.length),
  );
  const moved = parts.filter((part) => part !== 0);
  const observed = Math.abs(moved.reduce((sum, part) => sum + part, 0));
  // What rounding alone may set apart is equal.
  const least = observed - 1e-9 * moved.reduce((sum, part) => sum + Math.abs(part), 0);
  return moved.length <= EXACT_CLUSTERS ? exactFlips(moved, least) : sampledFlips(moved, least, draws, seed);
}

function exactFlips(parts: readonly number[], least: number): number {
  // A pattern and its mirror image are equally far from 0, so the last sign can stay.
  const patterns = 2 ** Math.max(0, parts.length - 1);
  let found = 0;
  for (let pattern = 0; pattern < patterns; pattern++) {
    let sum = 0;
    for (const [index, part] of parts.entries()) {
      sum += (pattern >> index) & 1 ? -part : part;
    }
    found += Math.abs(sum) >= least ? 1 : 0;
  }
  return found / patterns;
}

function sampledFlips(parts: readonly number[], least: number, draws: number, seed: number): number {
  const { bits } = randomOf(seed);
  const weights = Float64Array.from(parts);
  let found = 0;
  for (let draw = 0; draw < draws; draw++) {
    let sum = 0;
    let signs = 0;
    for (let index = 0; index < weights.length; index++) {
      signs = index % 32 === 0 ? bits() : signs >>> 1;
      sum += signs & 1 ? -(weights[index] as number) : (weights[index] as number);
    }
    found += Math.abs(sum) >= least ? 1 : 0;
  }
  return (found + 1) / (draws + 1);
}

/** What is known of one row in one run: for each generation (repeat) the values of its judgements. Nothing in it is empty. */
export type Generations = readonly (readonly number[])[];

/** A row's value: its judgements averaged for each generation, then its generations. */
export function rowValue(generations: Generations): number {
  return mean(generations.map(mean));
}

/** What of the variance of a mean over rows is sampling, as far as repeats tell. */
interface Sampling {
  readonly whole?: number;
  readonly judge?: number;
  readonly perRepeat?: number;
}

/**
 * Splits the variance `se²` of a difference (or, with one run, of a mean) over rows, from the repeats in each run; the runs
 * hold the same rows. The one-way and nested analysis of variance: the spread of generations within a row, and of judgements
 * within a generation, are pooled over the rows, since a row alone has too few. What they do not explain is the rows'.
 */
export function splitVariance(se: number, runs: readonly (readonly Generations[])[]): VarianceSplit {
  const parts = runs.map(samplingOf);
  const whole = sumOf(parts.map((part) => part.whole));
  const judge = sumOf(parts.map((part) => part.judge));
  const perRepeat = sumOf(parts.map((part) => part.perRepeat));
  return {
    row: Math.max(0, se ** 2 - (whole ?? judge ?? 0)),
    ...(whole === undefined ? {} : { generation: Math.max(0, whole - (judge ?? 0)) }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

/** The split of the unweighted mean of independent estimates; a part that one of them lacks is absent. Throws on none. */
export function meanOfSplits(splits: readonly VarianceSplit[]): VarianceSplit {
  const scaled = (part: (split: VarianceSplit) => number | undefined) => {
    const sum = sumOf(splits.map(part));
    return sum === undefined ? undefined : sum / splits.length ** 2;
  };
  const generation = scaled((split) => split.generation);
  const judge = scaled((split) => split.judge);
  const perRepeat = scaled((split) => split.perRepeat);
  // A part that is known of some domains only is the rows' again, so that the parts add up to the variance.
  const all = splits.reduce((sum, split) => sum + split.row + (split.generation ?? 0) + (split.judge ?? 0), 0);
  return {
    row: Math.max(0, all / splits.length ** 2 - (generation ?? 0) - (judge ?? 0)),
    ...(generation === undefined ? {} : { generation }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

function samplingOf(rows: readonly Generations[]): Sampling {
  const betweenGenerations = pooledVariance(rows.map((generations) => generations.map(mean)));
  const betweenJudgements = pooledVariance(rows.flat());
  const perRow = (share: (generations: Generations) => number) =>
    rows.reduce((sum, generations) => sum + share(generations), 0) / rows.length ** 2;
  const judgeShare = (generations: Generations) =>
    generations.reduce((sum, judgements) => sum + 1 / judgements.length, 0) / generations.length ** 2;
  return {
    ...(betweenGenerations === undefined
      ? {}
      : {
          whole: betweenGenerations * perRow((generations) => 1 / generations.length),
          perRepeat: betweenGenerations / rows.length,
        }),
    ...(betweenJudgements === undefined ? {} : { judge: betweenJudgements * perRow(judgeShare) }),
  };
}

/** The variance within groups; undefined where no group has two values. */
function pooledVariance(groups: readonly (readonly number[])[]): number | undefined {
  let squares = 0;
  let freedom = 0;
  for (const group of groups) {
    if (group.length > 1) {
      const centre = mean(group);
      squares += group.reduce((sum, value) => sum + (value - centre) ** 2, 0);
      freedom += group.length - 1;
    }
  }
  return freedom === 0 ? undefined : squares / freedom;
}

/** Undefined where any of them is, or there is none. */
function sumOf(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === values.length && known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : undefined;
}

/**
 * The quantile of Student's t distribution with `df` degrees of freedom (above 0, not necessarily whole), for `p` between
 * 0 and 1, to 10 digits up to 25,000 degrees of freedom. The upper tail `I_x(df / 2, 1 / 2) / 2` with `x = df / (df + t²)` (Abramowitz & Stegun
 * 26.5.27) is inverted by bisection. Throws a RangeError outside of the domain.
 */
export function studentTQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1 && df > 0 && df < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`there is no quantile for p ${p} with ${df} degrees of freedom`);
  }
  const tail = Math.min(p, 1 - p);
  let low = 0;
  let high = 1;
  while (upperTail(high, df) > tail) {
    low = high;
    high *= 2;
  }
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (upperTail(middle, df) > tail) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return p < 0.5 ? -high : high;
}

function upperTail(t: number, df: number): number {
  return incompleteBeta(df / (df + t ** 2), t ** 2 / (df + t ** 2), df / 2, 1 / 2) / 2;
}

/** The regularised incomplete beta function `I_x(a, b)`; `y` is `1 - x`, given apart so that none of its digits are lost. */
function incompleteBeta(x: number, y: number, a: number, b: number): number {
  if (x <= 0 || y <= 0) {
    return x <= 0 ? 0 : 1;
  }
  // The continued fraction converges fast on this side only; the other is reached by symmetry.
  if (x > (a + 1) / (a + b + 2)) {
    return 1 - incompleteBeta(y, x, b, a);
  }
  const logFactor = a * Math.log(x) + b * Math.log(y) + logGamma(a + b) - logGamma(a) - logGamma(b);
  return Math.exp(logFactor) / (a * betaFraction(x, a, b));
}

/** The continued fraction 8.17.22 of the NIST Digital Library of Mathematical Functions, by Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  let result = 1;
  let c = 1;
  let d = 0;
  for (let step = 1; step <= 10_000; step++) {
    const coefficient = betaCoefficient(step, x, a, b);
    d = 1 / (1 + coefficient * d);
    c = 1 + coefficient / c;
    result *= c * d;
    if (Math.abs(c * d - 1) < 1e-16) {
      break;
    }
  }
  return result;
}

function betaCoefficient(step: number, x: number, a: number, b: number): number {
  const m = Math.floor(step / 2);
  return step % 2 === 0
    ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
}

/** `ln Γ(z)` for z above 0: Stirling's series (DLMF 5.11.1), after the recurrence has lifted z to where it is exact. */
function logGamma(z: number): number {
  let shifted = z;
  let product = 1;
  while (shifted < 15) {
    product *= shifted;
    shifted++;
  }
  const inverse = 1 / shifted ** 2;
  const series =
    (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / shifted;
  return (shifted - 0.5) * Math.log(shifted) - shifted + Math.log(2 * Math.PI) / 2 + series - Math.log(product);
}
