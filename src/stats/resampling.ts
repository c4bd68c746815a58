// What drawing again says of a mean over clusters: the bootstrap's interval and the sign-flip test's p.
import type { Interval } from '../core/comparison.js';
import { quantile } from '../core/quantile.js';
import { randomOf } from '../core/random.js';
import { LEAST_CLUSTERS } from '../core/types.js';
import type { Observation } from './clusters.js';
import { ALPHA } from './intervals.js';

const CONFIDENCE = 1 - ALPHA;

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
  const stratumSums = strata.map(clusterSums);
  if (draws < 1 || stratumSums.some((clusters) => clusters.length < 2)) {
    return undefined;
  }
  const sums = stratumSums.map((clusters) => ({
    sums: Float64Array.from(clusters, ({ sum }) => sum),
    sizes: Float64Array.from(clusters, ({ size }) => size),
  }));
  const { uniform } = randomOf(seed);
  const means = Array.from({ length: draws }, () => {
    let total = 0;
    for (const clusters of sums) {
      total += resampledMean(clusters, uniform);
    }
    return total / sums.length;
  });
  return percentiles(means, (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2);
}

function resampledMean(
  { sums, sizes }: { readonly sums: Float64Array; readonly sizes: Float64Array },
  uniform: () => number,
): number {
  let sum = 0;
  let size = 0;
  for (let drawn = 0; drawn < sums.length; drawn++) {
    const cluster = Math.floor(uniform() * sums.length);
    // The hottest loop of a comparison. Both casts hold: the cluster is below the lists' common length.
    sum += sums[cluster] as number;
    size += sizes[cluster] as number; // as above
  }
  return sum / size;
}

/**
 * The 95 % percentile interval of a cluster bootstrap: as many clusters as there are, drawn with replacement. Draws that give no
 * figure are left out; the ends are null where none gives one, and below `LEAST_CLUSTERS`.
 */
export function resampledEnds<T>(
  clusters: readonly T[],
  { draws, seed }: Resampling,
  figure: (drawn: readonly T[]) => number | undefined,
): Interval | { readonly low: null; readonly high: null } {
  if (clusters.length < LEAST_CLUSTERS) return { low: null, high: null };
  const { uniform } = randomOf(seed);
  const found: number[] = [];
  for (let draw = 0; draw < draws; draw++) {
    // The place lies below the list's length, so there is one.
    const value = figure(clusters.map(() => clusters[Math.floor(uniform() * clusters.length)] as T));
    if (value !== undefined) found.push(value);
  }
  return percentiles(found, ALPHA / 2, 1 - ALPHA / 2) ?? { low: null, high: null };
}

/** The values between which these shares of them lie; undefined where there are none. */
export function percentiles(values: readonly number[], from: number, to: number): Interval | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [quantile(sorted, from), quantile(sorted, to)];
  return low === undefined || high === undefined ? undefined : { low, high };
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
  // Means that only rounding sets apart count as equal.
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
  const sums = sumsOfPatterns(parts);
  let found = 0;
  for (let draw = 0; draw < draws; draw++) {
    let sum = 0;
    for (let at = 0; at < sums.length; at += 4 * PATTERNS) {
      const signs = bits();
      // A group that is not there adds nothing.
      sum +=
        (sums[at + (signs & 0xff)] as number) +
        (sums[at + PATTERNS + ((signs >>> 8) & 0xff)] ?? 0) +
        (sums[at + 2 * PATTERNS + ((signs >>> 16) & 0xff)] ?? 0) +
        (sums[at + 3 * PATTERNS + (signs >>> 24)] ?? 0);
    }
    found += Math.abs(sum) >= least ? 1 : 0;
  }
  return (found + 1) / (draws + 1);
}

const GROUP = 8;
const PATTERNS = 2 ** GROUP;

/**
 * The sum of each group of eight parts under each of the 256 patterns of signs, group after group. A draw then adds up an eighth of
 * the numbers, and adding them up is most of what a comparison of many clusters takes.
 */
function sumsOfPatterns(parts: readonly number[]): Float64Array {
  const groups = Math.ceil(parts.length / GROUP);
  const sums = new Float64Array(groups * PATTERNS);
  for (let group = 0; group < groups; group++) {
    for (let pattern = 0; pattern < PATTERNS; pattern++) {
      let sum = 0;
      for (let bit = 0; bit < GROUP; bit++) {
        const part = parts[group * GROUP + bit] ?? 0;
        sum += (pattern >> bit) & 1 ? -part : part;
      }
      sums[group * PATTERNS + pattern] = sum;
    }
  }
  return sums;
}
