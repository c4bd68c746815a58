// The normal distribution, and Student's t; and corrections for testing several figures at once, which keep the chance of a false finding
// at its level.

/** The density at `z`. */
export function normalDensity(z: number): number {
  return Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);
}

/**
 * The probability of a value above `z`, to 14 digits of the smaller tail: the series of Marsaglia (Journal of Statistical Software 11(4),
 * 2004) near 0, the continued fraction of Laplace (Abramowitz & Stegun 26.2.14) in the tails.
 */
export function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  if (z < 3) {
    let term = z;
    let sum = z;
    for (let odd = 3; term > 1e-18; odd += 2) {
      term *= z ** 2 / odd;
      sum += term;
    }
    return 0.5 - normalDensity(z) * sum;
  }
  let fraction = z;
  for (let step = 100; step >= 1; step--) fraction = z + step / fraction;
  return normalDensity(z) / fraction;
}

/** The value that is exceeded with probability `1 - p`, for `p` between 0 and 1. */
export function normalQuantile(p: number): number {
  return p < 0.5 ? -normalQuantile(1 - p) : whereFallen(normalTail, 1 - p);
}

/**
 * The quantile of Student's t distribution with `df` degrees of freedom (above 0, not necessarily whole), for `p` between 0 and 1, to 10
 * digits up to 25,000 degrees of freedom. The upper tail `I_x(df / 2, 1 / 2) / 2` with `x = df / (df + t²)` (Abramowitz & Stegun 26.5.27)
 * is inverted by bisection. Throws a RangeError outside of the domain.
 */
export function studentTQuantile(p: number, df: number): number {
  if (!(p > 0 && p < 1 && df > 0 && df < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`there is no quantile for p ${p} with ${df} degrees of freedom`);
  }
  const tail = Math.min(p, 1 - p);
  const quantile = whereFallen((t) => studentTTail(t, df), tail);
  return p < 0.5 ? -quantile : quantile;
}

/** The point above 0 at which a decreasing function reaches a value, by bisection. */
function whereFallen(of: (at: number) => number, value: number): number {
  let [low, high] = [0, 1];
  while (of(high) > value) [low, high] = [high, 2 * high];
  for (let middle = (low + high) / 2; middle > low && middle < high; middle = (low + high) / 2) {
    if (of(middle) > value) low = middle;
    else high = middle;
  }
  return high;
}

/** The probability of a value above `t`, for `t` of at least 0. */
export function studentTTail(t: number, df: number): number {
  return incompleteBeta(df / (df + t ** 2), t ** 2 / (df + t ** 2), df / 2, 1 / 2) / 2;
}

/** The regularised incomplete beta function `I_x(a, b)`; `y` is `1 - x`, passed separately so that none of its digits are lost. */
function incompleteBeta(x: number, y: number, a: number, b: number): number {
  if (x <= 0 || y <= 0) return x <= 0 ? 0 : 1;
  // The continued fraction converges fast only on this side; symmetry covers the other.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(y, x, b, a);
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
    if (Math.abs(c * d - 1) < 1e-16) break;
  }
  return result;
}

function betaCoefficient(step: number, x: number, a: number, b: number): number {
  const m = Math.floor(step / 2);
  return step % 2 === 0
    ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
}

/** `ln Γ(z)` for z above 0: Stirling's series (DLMF 5.11.1), after the recurrence has raised z to where it is exact. */
function logGamma(z: number): number {
  let shifted = z;
  let product = 1;
  for (; shifted < 15; shifted++) product *= shifted;
  const inverse = 1 / shifted ** 2;
  const series =
    (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / shifted;
  return (shifted - 0.5) * Math.log(shifted) - shifted + Math.log(2 * Math.PI) / 2 + series - Math.log(product);
}

/**
 * p values adjusted for their number, so that the chance of even one false finding stays below the level they are tested at (Holm,
 * Scandinavian Journal of Statistics 6(2), 1979). In the order given.
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

/**
 * How many standard errors the best of `runs` runs must be ahead of another for the other not to count as tied with it, as a function of
 * the degrees of freedom of their paired difference, at a family-wise `alpha`. The run that is truly best then loses its mark with a chance
 * of at most `alpha`, although the apparent best was selected by the same figures: multiple comparisons with the best (Hsu, Annals of
 * Statistics 9(5), 1981). That is Dunnett's one-sided value, converted to the pair's degrees of freedom at its tail probability, and never
 * less than the pair's own two-sided t, so that no mark contradicts the pair's own interval.
 * @param runs at least 2.
 */
export function criticalBest(runs: number, alpha = 0.05): (df: number) => number {
  const tail = Math.min(alpha / 2, normalTail(dunnett(runs - 1, alpha)));
  return (df) => studentTQuantile(1 - tail, df);
}

/**
 * The one-sided critical value of Dunnett (Journal of the American Statistical Association 50(272), 1955) for the largest of `count`
 * differences from one run, correlated by 1/2, with infinitely many degrees of freedom: the c at which `∫ φ(x) Φ(√2 c + x)^count dx` is `1
 * - alpha`.
 */
function dunnett(count: number, alpha: number): number {
  return whereFallen((critical) => 1 - chanceThatNoneIsAbove(critical, count), alpha);
}

function chanceThatNoneIsAbove(critical: number, count: number): number {
  // The trapezoidal rule converges exponentially for a smooth function that vanishes at both ends.
  const step = 1 / 16;
  let sum = 0;
  for (let x = -10; x <= 10; x += step) sum += normalDensity(x) * normalTail(-Math.SQRT2 * critical - x) ** count;
  return sum * step;
}
