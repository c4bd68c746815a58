// How far several raters of the same predictions agree beyond chance: Krippendorff's alpha.

import { z } from 'zod';
import { COUNT, FIGURE, keyed } from '../../core/document.js';
import { present } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { type Resampling, resampledEnds } from '../resampling.js';

/** How far raters agree beyond chance. */
export const ALPHA = z.strictObject({
  /** 1 is perfect agreement, 0 is chance; below 0 they disagree more than by chance. */
  alpha: z.number(),
  /** The 95 % interval; null below `LEAST_CLUSTERS`. */
  ...keyed(FIGURE, 'low', 'high'),
  /** Counts only predictions with at least two ratings: the rest carry no information. */
  ...keyed(COUNT, 'predictions', 'ratings', 'clusters'),
});
export type Alpha = z.infer<typeof ALPHA>;

/** `interval`: values differ by their distance. `ordinal`: only their order counts, so values differ by the ranks between them. */
export type AlphaMetric = 'interval' | 'ordinal';

/** The ratings of one item, by any number of raters. Missing ratings are left out. */
export interface RatedUnit {
  readonly values: readonly number[];
  /** Its trajectory. */
  readonly cluster: string;
}

/**
 * Krippendorff's alpha (Krippendorff, "Content Analysis", 4th ed., ch. 12) with the 95 % percentile interval of a bootstrap that draws
 * whole trajectories and recomputes the expected disagreement for each draw. Null if no unit has two ratings, or all ratings are equal:
 * chance is then undefined. Draws with the same problem are left out.
 */
export function agreementOf(units: readonly RatedUnit[], metric: AlphaMetric, resampling: Resampling): Alpha | null {
  const paired = units.filter(({ values }) => values.length > 1);
  const { places, clusters } = tally(paired);
  const alpha = alphaOf(clusters, places, metric);
  if (alpha === undefined) return null;
  return {
    alpha,
    ...resampledEnds(clusters, resampling, (drawn) => alphaOf(drawn, places, metric)),
    predictions: paired.length,
    ratings: paired.reduce((sum, { values }) => sum + values.length, 0),
    clusters: clusters.length,
  };
}

function tally(units: readonly RatedUnit[]) {
  const places = [...new Set(units.flatMap(({ values }) => values))].sort((a, b) => a - b);
  const placeOf = new Map(places.map((value, place) => [value, place]));
  const clusters = [...groupBy(units, ({ cluster }) => cluster).values()].map((members) =>
    tallyCluster(members.map(({ values }) => values.map((value) => present(placeOf.get(value))))),
  );
  return { places, clusters };
}

/** What a cluster's units contribute to the total. A value is represented by its index in the sorted list of all values. */
function tallyCluster(units: readonly (readonly number[])[]) {
  const counts = Array.from(groupBy(units.flat(), Number), ([place, given]) => [place, given.length] as const);
  /** Differing ratings of one unit, each pair with its weight: 1 / (ratings of the unit - 1), as in Krippendorff's coincidences. */
  const pairs = units.flatMap((unit) =>
    unit.flatMap((place, at) =>
      unit.slice(at + 1).flatMap((other) => (other === place ? [] : [[place, other, 1 / (unit.length - 1)] as const])),
    ),
  );
  return { counts, pairs };
}

/**
 * Observed and expected disagreement are sums of squared distances; in the ordinal metric these are distances between mid-ranks. So both
 * metrics share one formula over positions: the values themselves, or their mid-ranks.
 */
function alphaOf(clusters: readonly ReturnType<typeof tallyCluster>[], places: readonly number[], metric: AlphaMetric) {
  const counts = new Float64Array(places.length);
  // The hottest loops of the bootstrap. Places are below the number of places, so counts and positions are defined.
  for (const cluster of clusters) {
    for (const [place, count] of cluster.counts) counts[place] = (counts[place] as number) + count; // as above
  }
  const positions = metric === 'ordinal' ? midRanks(counts) : Float64Array.from(places);
  const ratings = counts.reduce((sum, count) => sum + count, 0);
  const centre = counts.reduce((sum, count, place) => sum + count * (positions[place] as number), 0) / ratings; // as above
  const spread = counts.reduce((sum, count, place) => sum + count * ((positions[place] as number) - centre) ** 2, 0); // as above
  if (!(spread > 0)) return undefined;
  let observed = 0;
  for (const cluster of clusters) {
    for (const [low, high, weight] of cluster.pairs) {
      const distance = (positions[high] as number) - (positions[low] as number); // as above
      observed += weight * distance * distance;
    }
  }
  return 1 - (observed * (ratings - 1)) / (spread * ratings);
}

function midRanks(counts: Float64Array): Float64Array {
  let below = 0;
  return counts.map((count) => {
    below += count;
    return below - count / 2;
  });
}
