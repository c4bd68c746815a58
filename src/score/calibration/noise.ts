// The judge's own noise: how far judgements of one prediction lie apart, and what two runs have to differ by to show in spite of it.

import type { Noise } from '../../calibration.js';
import { RELEASED } from '../../released.js';
import type { Domain, Estimate } from '../../types.js';
import { clusteredMean, type Observation } from '../clusters.js';
import { ALPHA, intervalAt } from '../intervals.js';
import { mean } from '../mean.js';
import { normalQuantile } from '../normal.js';
import { studentTQuantile } from '../student.js';
import type { KnownRow } from './points.js';

const POWER = 0.8;

/**
 * The SD of judgements of one prediction, from all predictions that have several: the root of their squared deviations over their
 * degrees of freedom, `√(Σ SS_p / Σ (k_p - 1))`; of two judgements each that is `√(Σ d² / 2n)`.
 *
 * The variance is the mean of `SS_p / (k_p - 1)`, weighted by `k_p - 1`, so its standard error is that of any clustered mean (CR2 by
 * trajectory), which asks neither for normal ratings nor for one noise in all predictions. Its interval is reckoned on the logarithm,
 * `ln s² ± t · SE / s²`, since the error of a variance grows with it. Undefined where nothing was judged twice.
 */
export function judgeNoiseOf(rows: readonly KnownRow[]): Noise | undefined {
  const predictions = rows.flatMap(({ trajectory, variants }) =>
    [...variants.values()]
      .filter(({ totals }) => totals.length > 1)
      .map(({ totals }) => ({ totals, cluster: trajectory })),
  );
  if (predictions.length === 0) return undefined;
  const found = clusteredMean(predictions.flatMap(({ totals, cluster }) => squaresOf(totals, cluster)));
  const sd = Math.sqrt(found.value);
  const judgements = predictions.reduce((sum, { totals }) => sum + totals.length, 0);
  return { sd, ...intervalOf(found), predictions: predictions.length, judgements };
}

function intervalOf(variance: Estimate): Pick<Noise, 'low' | 'high'> {
  const { value, se, df } = variance;
  // The same rule as everywhere says whether the standard error tells anything.
  if (se === undefined || df === undefined || intervalAt(variance, ALPHA) === undefined) {
    return { low: undefined, high: undefined };
  }
  const reach = value === 0 ? 0 : (studentTQuantile(1 - ALPHA / 2, df) * se) / value;
  return { low: Math.sqrt(value * Math.exp(-reach)), high: Math.sqrt(value * Math.exp(reach)) };
}

/** A prediction's variance of judgements, once for each degree of freedom that it has. */
function squaresOf(totals: readonly number[], cluster: string): Observation[] {
  const centre = mean(totals);
  const freedom = totals.length - 1;
  const value = totals.reduce((sum, total) => sum + (total - centre) ** 2, 0) / freedom;
  return Array.from({ length: freedom }, () => ({ value, cluster }));
}

/**
 * The smallest true difference of two runs over the released rows, each judged once, that a two-sided test at 5 % finds with a power of
 * 80 % where the judge's noise is all that varies: `(z(0.975) + z(0.8)) · SE`. A domain's score differs by `SE² = 2 s² / n_d`, and
 * Overall, the mean of K domains, by `SE² = 2 s² Σ (1 / n_d) / K²`. Undefined for a domain that was not released.
 * @param domain undefined for Overall
 */
export function smallestDifference({ sd }: Noise, domain?: Domain): number | undefined {
  const sizes = Object.entries(RELEASED.rows).filter(([name]) => domain === undefined || name === domain);
  if (sizes.length === 0) return undefined;
  const share = sizes.reduce((sum, [, rows]) => sum + 1 / rows, 0) / sizes.length ** 2;
  return (normalQuantile(1 - ALPHA / 2) + normalQuantile(POWER)) * sd * Math.sqrt(2 * share);
}
