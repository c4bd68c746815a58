// Means and their uncertainty: clustered standard errors and Student t intervals.
import type { Estimate } from '../types.js';

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
 * With G clusters, N observations and mean m: `SE² = G / (G - 1) · Σ_g (Σ_{i in g} (y_i - m))² / N²`, the cluster-robust
 * variance of a mean (Miller, "Adding Error Bars to Evals", arXiv 2411.00640) with the finite-sample factor of Cameron &
 * Miller ("A Practitioner's Guide to Cluster-Robust Inference", J. Human Resources 50(2), 2015), whose `(N - 1) / (N - K)`
 * is 1 for a mean. Where every observation is a cluster of its own it is the ordinary `s / √N`. The interval is
 * `m ± t · SE` with G - 1 degrees of freedom (ibid., on few clusters). With fewer than two clusters there is no standard
 * error. Throws a RangeError where there are no observations.
 */
export function clusteredEstimate(observations: readonly Observation[]): Estimate {
  const value = mean(observations.map((observation) => observation.value));
  const residuals = new Map<string, number>();
  for (const observation of observations) {
    const residual = (residuals.get(observation.cluster) ?? 0) + (observation.value - value);
    residuals.set(observation.cluster, residual);
  }
  const rows = observations.length;
  const clusters = residuals.size;
  if (clusters < 2) {
    return { value, rows, clusters };
  }
  let squares = 0;
  for (const residual of residuals.values()) {
    squares += residual ** 2;
  }
  const se = Math.sqrt((clusters / (clusters - 1)) * squares) / rows;
  return { value, rows, clusters, ...interval(value, se, clusters - 1) };
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
