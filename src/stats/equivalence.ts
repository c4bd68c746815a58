// Judged rows of an agent's decisions -> decision equivalence: a ratio of means, with a joint bootstrap over trajectories.

import type { Interval } from '../core/comparison.js';
import { domainsOfMean, inTableOrder } from '../core/domains.js';
import { AGREEMENT } from '../core/equivalence.js';
import { groupBy, heldIn } from '../core/groups.js';
import { randomOf } from '../core/random.js';
import { type Domain, type JudgedRow, LEAST_CLUSTERS } from '../core/types.js';
import { observationsOf, predictionsOf, samplesOf } from './aggregate.js';
import { normalTail, studentTQuantile } from './distributions.js';
import { ALPHA, LEAST_UNIFORM, ROUNDING } from './intervals.js';
import { percentiles, type Resampling, redrawn } from './resampling.js';

/** Seeded, so that the same rows give the same intervals. */
const RESAMPLING: Resampling = { draws: 10_000, seed: 1 };

/** The means of the figures, or of a draw. A figure that none of the clusters has is NaN. */
type Means = Readonly<Record<'predicted' | 'ceiling' | 'floor', number>>;

/** A domain's rows: for each cluster the sum and the count of each figure, in sequence. */
type Sums = NonNullable<ReturnType<typeof sumsOf>>;

const FIGURES = [AGREEMENT.predicted, AGREEMENT.ceiling, AGREEMENT.floor];

/**
 * `100 (predicted - floor) / (ceiling - floor)` of the means over rows, by domain and of the unweighted means over domains. Repeats and
 * judgements of a row are averaged first; each mean is over the rows that have its figure. The 95 % intervals are percentiles of one
 * bootstrap: whole trajectories are drawn within their domains, and all figures of a draw come from the same trajectories (Efron &
 * Tibshirani 1993, ch. 13). The number of trajectories determines which percentiles (`tailOf`). There is no equivalence if the interval of
 * ceiling minus floor is not entirely above 0, or if a domain has fewer than five trajectories. Undefined if no domain has all the figures.
 */
export function equivalenceCard(rows: readonly JudgedRow[], { draws, seed }: Resampling = RESAMPLING) {
  const domains = [...groupBy(rows, ({ domain }) => domain)]
    .flatMap(([domain, own]) => sumsOf(domain, own) ?? [])
    .sort((a, b) => inTableOrder(a.domain, b.domain));
  if (domains.length === 0) return undefined;
  const names = domainsOfMean(domains.map(({ domain }) => domain));
  const random = randomOf(seed);
  const parts = domains.map((sums) => {
    const drawn = Array.from({ length: draws }, () => meansOf(redrawn(sums.clusters, random)));
    return { sums, means: meansOf(sums.clusters), drawn };
  });
  const behind = parts.filter(({ sums }) => names.includes(sums.domain));
  const macro = Array.from({ length: draws }, (_, draw) => meanOf(behind.flatMap(({ drawn }) => drawn[draw] ?? [])));
  const behindMean = behind.map(({ sums }) => sums);
  return {
    domains: parts.map(({ sums, means, drawn }) => ({ domain: sums.domain, ...equivalenceOf([sums], means, drawn) })),
    overall: equivalenceOf(behindMean, meanOf(behind.map(({ means }) => means)), macro),
    macroOf: behind.length,
  };
}

export type EquivalenceCard = NonNullable<ReturnType<typeof equivalenceCard>>;
/** For a domain or for all: the means over the rows that have each figure, 0 to 100, and the equivalence computed from them. */
export type Equivalence = ReturnType<typeof equivalenceOf>;

/** Undefined if no row has one of the figures. */
function sumsOf(domain: Domain, rows: readonly JudgedRow[]) {
  if (!rows.some(({ measures }) => measures?.[AGREEMENT.predicted] !== undefined)) return undefined;
  const samples = samplesOf(predictionsOf(rows));
  const figures = FIGURES.map((name) => observationsOf(samples, (row) => row.measures?.[name]));
  if (figures.some((found) => found.length === 0)) return undefined;
  const clusters = new Map<string, number[]>();
  for (const [figure, found] of figures.entries()) {
    for (const { value, cluster } of found) {
      const sums = heldIn(clusters, cluster, () => FIGURES.flatMap(() => [0, 0]));
      sums[2 * figure] = (sums[2 * figure] ?? 0) + value;
      sums[2 * figure + 1] = (sums[2 * figure + 1] ?? 0) + 1;
    }
  }
  return { domain, rows: Math.max(...figures.map(({ length }) => length)), clusters: [...clusters.values()] };
}

function meansOf(clusters: readonly (readonly number[])[]): Means {
  let [a, an, b, bn, c, cn] = [0, 0, 0, 0, 0, 0];
  // The hottest loop.
  for (const [a1 = 0, an1 = 0, b1 = 0, bn1 = 0, c1 = 0, cn1 = 0] of clusters) {
    [a, an, b, bn, c, cn] = [a + a1, an + an1, b + b1, bn + bn1, c + c1, cn + cn1];
  }
  return { predicted: a / an, ceiling: b / bn, floor: c / cn };
}

function meanOf(means: readonly Means[]): Means {
  const mean = (of: keyof Means) => means.reduce((sum, own) => sum + own[of], 0) / means.length;
  return { predicted: mean('predicted'), ceiling: mean('ceiling'), floor: mean('floor') };
}

/** What is always reported; `gap` is the 95 % interval of ceiling minus floor, absent with fewer than five trajectories. */
type Told = Means & Readonly<Record<'rows' | 'clusters', number>> & { readonly gap?: Interval };

/** `found` is the equivalence with its interval (absent if all draws are equal and there are few trajectories), or why there is none. */
function equivalenceOf(parts: readonly Sums[], means: Means, drawn: readonly Means[]) {
  const clusters = parts.reduce((sum, part) => sum + part.clusters.length, 0);
  const told: Told = { ...means, rows: parts.reduce((sum, part) => sum + part.rows, 0), clusters };
  if (parts.some((part) => part.clusters.length < LEAST_CLUSTERS)) return { ...told, found: 'few' } as const;
  const tail = tailOf(told.clusters, parts.length);
  // Draws that give no number are left out.
  const between = (values: readonly number[]) => percentiles(values.filter(Number.isFinite), tail, 1 - tail);
  const gap = between(drawn.map(({ ceiling, floor }) => ceiling - floor));
  if (gap === undefined) return { ...told, found: 'few' } as const;
  if (gap.low < ROUNDING) return { ...told, gap, found: 'does not look' } as const;
  const interval = between(drawn.map(ratioOf));
  const isKnown = interval !== undefined && (interval.high > interval.low || told.clusters >= LEAST_UNIFORM);
  return { ...told, gap, found: { value: ratioOf(means), ...(isKnown ? { interval } : {}) } };
}

function ratioOf({ predicted, ceiling, floor }: Means): number {
  return (100 * (predicted - floor)) / (ceiling - floor);
}

/**
 * The share of the draws beyond each end of the interval: less than 2.5 %, and smaller the fewer clusters there are, since a bootstrap of
 * few is too narrow. It is the expanded percentile interval of Hesterberg (The American Statistician 69(4), 2015): `Φ(-t √(n / df))`, with
 * t of Student's distribution at 97.5 % and df = n less one for each domain.
 */
function tailOf(clusters: number, domains: number): number {
  const df = clusters - domains;
  return normalTail(studentTQuantile(1 - ALPHA / 2, df) * Math.sqrt(clusters / df));
}
