// Resampling for a mean over clusters: the bootstrap's interval and the sign-flip test's p.
import type { Interval } from '../core/comparison.js';
import { groupBy, quantile, sum } from '../core/groups.js';
import { drawn, type Random, randomOf } from '../core/random.js';
import { LEAST_CLUSTERS } from '../core/types.js';
import type { Observation } from './clusters.js';
import { ALPHA } from './intervals.js';

/** Observations by stratum (domain): the figure is the unweighted mean of the strata's means, as in Overall. None is empty. */
export type Strata = readonly (readonly Observation[])[];

/** How many samples are drawn, and from which seed. */
export type Resampling = Readonly<Record<'draws' | 'seed', number>>;

/** The sum and the number of each cluster's observations. */
function clusterSums(observations: readonly Observation[]) {
  return Array.from(groupBy(observations, ({ cluster }) => cluster).values(), (found) => {
    return { sum: sum(found, ({ value }) => value), size: found.length };
  });
}

/** As many clusters as there are, drawn with replacement. */
export function redrawn<T>(clusters: readonly T[], random: Random): T[] {
  return clusters.map(() => drawn(clusters, random));
}

/**
 * The 95 % percentile interval of a cluster bootstrap (Efron & Tibshirani 1993, ch. 13; Cameron, Gelbach & Miller 2008): whole clusters are
 * drawn with replacement, within each stratum. A cross-check of the t interval; with fewer than about 30 clusters it is too narrow.
 * Undefined if a stratum has fewer than two clusters.
 */
export function bootstrapInterval(strata: Strata, { draws, seed }: Resampling): Interval | undefined {
  const parts = strata.map(clusterSums);
  if (draws < 1 || parts.some(({ length }) => length < 2)) return undefined;
  const random = randomOf(seed);
  const drawnMean = (clusters: ReturnType<typeof clusterSums>) => {
    const some = redrawn(clusters, random);
    return sum(some, (one) => one.sum) / sum(some, (one) => one.size);
  };
  const means = Array.from({ length: draws }, () => sum(parts, drawnMean) / parts.length);
  return percentiles(means, ALPHA / 2, 1 - ALPHA / 2);
}

/**
 * The 95 % percentile interval of a cluster bootstrap: as many clusters as there are, drawn with replacement. Draws that give no figure are
 * left out; the ends are null if none gives one, and below `LEAST_CLUSTERS`.
 */
export function resampledEnds<T>(
  clusters: readonly T[],
  { draws, seed }: Resampling,
  figure: (drawn: readonly T[]) => number | undefined,
): Interval | { readonly low: null; readonly high: null } {
  if (clusters.length < LEAST_CLUSTERS) return { low: null, high: null };
  const random = randomOf(seed);
  const found = Array.from({ length: draws }, () => figure(redrawn(clusters, random)) ?? []).flat();
  return percentiles(found, ALPHA / 2, 1 - ALPHA / 2) ?? { low: null, high: null };
}

/** The values between which these shares of them lie; undefined if there are none. */
export function percentiles(values: readonly number[], from: number, to: number): Interval | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [quantile(sorted, from), quantile(sorted, to)];
  return low === undefined || high === undefined ? undefined : { low, high };
}

/** Up to this many clusters every pattern of signs is counted instead of a sample: 2^15 patterns, by symmetry. */
const EXACT_CLUSTERS = 16;

/**
 * The two-sided p of the hypothesis that differences are as likely up as down, by flipping the signs of whole clusters: the share of sign
 * patterns whose mean is at least as far from 0 as the observed one. Up to 16 clusters that differ from 0, every pattern is counted;
 * beyond, `draws` are sampled and the result is `(found + 1) / (draws + 1)` (Phipson & Smyth 2010).
 */
export function signFlipP(strata: Strata, { draws, seed }: Resampling): number {
  const parts = strata.flatMap((observations) =>
    clusterSums(observations).map(({ sum }) => sum / observations.length / strata.length),
  );
  const moved = parts.filter((part) => part !== 0);
  const observed = Math.abs(moved.reduce((sum, part) => sum + part, 0));
  // Means that differ only by rounding count as equal.
  const least = observed - 1e-9 * moved.reduce((sum, part) => sum + Math.abs(part), 0);
  const isExact = moved.length <= EXACT_CLUSTERS;
  // A pattern and its mirror image are equally far from 0, so the last sign can stay.
  const patterns = isExact ? 2 ** Math.max(0, moved.length - 1) : draws;
  const { bits } = randomOf(seed);
  let found = 0;
  for (let pattern = 0; pattern < patterns; pattern++) {
    let [sum, signs] = [0, pattern];
    for (let index = 0; index < moved.length; index++) {
      const part = moved[index] ?? 0;
      if (!isExact && index % 32 === 0) signs = bits();
      sum += (signs >>> (index % 32)) & 1 ? -part : part;
    }
    found += Math.abs(sum) >= least ? 1 : 0;
  }
  return isExact ? found / patterns : (found + 1) / (draws + 1);
}
