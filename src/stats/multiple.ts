// Several figures tested at once: what keeps the chance of a false finding among all of them at its level.
import { normalDensity, normalTail, studentTQuantile } from './distributions.js';

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

/**
 * How many standard errors the best of `runs` runs has to be ahead of another for the other not to count as tied with it, as a
 * function of the degrees of freedom of their paired difference, at a family-wise `alpha`. The run that is truly best then loses its
 * mark with a chance of at most `alpha`, although the apparent best was selected by the same figures: multiple comparisons with
 * the best (Hsu, Annals of Statistics 9(5), 1981). That is Dunnett's one-sided value, taken to the pair's degrees of freedom at
 * its tail probability, and never less than the pair's own two-sided t, so that no mark contradicts the pair's own interval.
 * @param runs at least 2.
 */
export function criticalBest(runs: number, alpha = 0.05): (df: number) => number {
  const tail = Math.min(alpha / 2, normalTail(dunnett(runs - 1, alpha)));
  return (df) => studentTQuantile(1 - tail, df);
}

/**
 * The one-sided critical value of Dunnett (Journal of the American Statistical Association 50(272), 1955) for the largest of
 * `count` differences from one run, correlated by 1/2, with infinitely many degrees of freedom: the c at which
 * `∫ φ(x) Φ(√2 c + x)^count dx` is `1 - alpha`.
 */
function dunnett(count: number, alpha: number): number {
  let low = 0;
  let high = 40;
  while (high - low > 1e-12) {
    const middle = (low + high) / 2;
    if (chanceThatNoneIsAbove(middle, count) < 1 - alpha) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return high;
}

function chanceThatNoneIsAbove(critical: number, count: number): number {
  // The trapezoidal rule gains digits without bound on a smooth function that vanishes at both ends.
  const step = 1 / 16;
  let sum = 0;
  for (let x = -10; x <= 10; x += step) {
    sum += normalDensity(x) * normalTail(-Math.SQRT2 * critical - x) ** count;
  }
  return sum * step;
}
