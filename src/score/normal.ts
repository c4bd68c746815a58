// The standard normal distribution.

/** The density at `z`. */
export function normalDensity(z: number): number {
  return Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);
}

/**
 * How probable a value above `z` is, to 14 digits of the smaller tail: the series of Marsaglia (Journal of Statistical Software
 * 11(4), 2004) near 0, the continued fraction of Laplace (Abramowitz & Stegun 26.2.14) in the tails.
 */
export function normalTail(z: number): number {
  if (z < 0) {
    return 1 - normalTail(-z);
  }
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
  for (let step = 100; step >= 1; step--) {
    fraction = z + step / fraction;
  }
  return normalDensity(z) / fraction;
}
