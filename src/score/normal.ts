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

/** The value that is exceeded with the chance `1 - p`, for `p` between 0 and 1, by Newton's method from the middle outwards. */
export function normalQuantile(p: number): number {
  if (p < 0.5) {
    return -normalQuantile(1 - p);
  }
  let z = 0;
  // The tail is convex here, so that each step stays on this side of the quantile.
  for (let step = 1; step > 1e-13 * (1 + z); z += step) {
    step = (normalTail(z) - (1 - p)) / normalDensity(z);
  }
  return z;
}
