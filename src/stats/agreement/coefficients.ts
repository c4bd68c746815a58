// How far those who rated the same predictions agree, beyond chance: Krippendorff's alpha, and weighted kappa, whose chance is that of two
// raters' own habits.

import { z } from 'zod';
import { COUNT, FIGURE, keyed } from '../../core/document.js';
import { present } from '../../core/errors.js';
import { groupBy, heldIn } from '../../core/groups.js';
import { type Resampling, resampledEnds } from '../resampling.js';

/** How far raters agree beyond what chance gives. */
export const ALPHA = z.strictObject({
  /** 1 is perfect agreement, 0 is what chance gives; below 0 they disagree more than by chance. */
  alpha: z.number(),
  /** The 95 % interval; null below `LEAST_CLUSTERS`. */
  ...keyed(FIGURE, 'low', 'high'),
  /** What has at least two ratings: the rest says nothing. */
  ...keyed(COUNT, 'predictions', 'ratings', 'clusters'),
});
export type Alpha = z.infer<typeof ALPHA>;

/** `interval`: values differ by their distance. `ordinal`: only their order counts, so values differ by the ranks between them. */
export type AlphaMetric = 'interval' | 'ordinal';

/** What one item was given, by however many raters. A rating that is missing is left out. */
export interface RatedUnit {
  readonly values: readonly number[];
  /** Its trajectory. */
  readonly cluster: string;
}

/**
 * Krippendorff's alpha (Krippendorff, "Content Analysis", 4th ed., ch. 12) with the 95 % percentile interval of a bootstrap that draws
 * whole trajectories and reckons the expected disagreement of each draw anew. Null where no unit has two ratings, and where all
 * ratings are the same one: nothing then says what chance would give. Draws in which that is so are left out.
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

/** What a cluster's units add to the whole. Values stand for themselves by their place among all values, which are sorted. */
type ClusterTally = ReturnType<typeof tallyCluster>;

function tallyCluster(units: readonly (readonly number[])[]) {
  const counts = new Map<number, number>();
  /** Unlike ratings of one unit, each pair with its weight: 1 / (ratings of the unit - 1), as Krippendorff's coincidences. */
  const pairs = new Map<string, readonly [place: number, other: number, weight: number]>();
  for (const unit of units) {
    const own = Array.from(groupBy(unit, Number), ([place, given]) => [place, given.length] as const);
    for (const [at, [place, count]] of own.entries()) {
      counts.set(place, (counts.get(place) ?? 0) + count);
      for (const [other, others] of own.slice(at + 1)) {
        const [low, high] = place < other ? [place, other] : [other, place];
        const [, , weight] = pairs.get(`${low} ${high}`) ?? [low, high, 0];
        pairs.set(`${low} ${high}`, [low, high, weight + (count * others) / (unit.length - 1)]);
      }
    }
  }
  return { counts: [...counts], pairs: [...pairs.values()] };
}

/**
 * Observed and expected disagreement are sums of squared distances, and those of the ordinal metric are distances between mid-ranks.
 * So both metrics are one formula over positions: the values themselves, or their mid-ranks.
 */
function alphaOf(clusters: readonly ClusterTally[], places: readonly number[], metric: AlphaMetric) {
  const counts = new Float64Array(places.length);
  // The hottest loops of the bootstrap. A place is below the number of places, so the counts and positions are there.
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

/** 1 is perfect agreement, 0 what chance gives. */
export const KAPPA = z.strictObject({
  kappa: z.number(),
  /** The 95 % interval; null below `LEAST_CLUSTERS`. */
  ...keyed(FIGURE, 'low', 'high'),
  /** Pairs of ratings, and the trajectories behind them. */
  ...keyed(COUNT, 'rows', 'clusters'),
});
type Kappa = z.infer<typeof KAPPA>;

/** What a prediction was given by people, each once. */
export interface RatedByPeople {
  readonly people: readonly { readonly rater: string; readonly rating: number }[];
  /** The prediction's trajectory. */
  readonly cluster: string;
}

type People = RatedByPeople['people'];

/** What two gave one prediction; `sides` names the two. */
interface Pair {
  readonly sides: string;
  readonly a: number;
  readonly b: number;
  readonly cluster: string;
}

/**
 * Cohen's kappa with quadratic weights (Cohen, Psychological Bulletin 70(4), 1968) of a judge against each single person, with the
 * 95 % percentile interval of a bootstrap that draws whole trajectories: 1 minus the observed over the expected disagreement, where
 * ratings disagree by the square of their distance. Written in sums of squares it needs no categories, so that averaged ratings count
 * as they are. Chance is reckoned for each two by themselves, and observed and expected disagreement are added up over them. Null
 * where nothing is rated, and where all ratings are the same one.
 */
export function kappaOfJudge(
  predictions: readonly (RatedByPeople & { readonly judge: number })[],
  resampling: Resampling,
): Kappa | null {
  return kappaOf(
    predictions.flatMap(({ judge, people, cluster }) =>
      people.map(({ rater, rating }) => ({ sides: rater, a: judge, b: rating, cluster })),
    ),
    resampling,
  );
}

/** The same of every two people who rated the same prediction. */
export function kappaOfPeople(predictions: readonly RatedByPeople[], resampling: Resampling): Kappa | null {
  return kappaOf(
    predictions.flatMap(({ people, cluster }) => pairsOf(people).map((pair) => ({ ...pair, cluster }))),
    resampling,
  );
}

/** Every two of them, in the same order wherever they stand. */
function pairsOf(people: People) {
  const sorted = people.toSorted((one, other) => (one.rater < other.rater ? -1 : 1));
  return sorted.flatMap((one, at) =>
    sorted.slice(at + 1).map((other) => {
      return { sides: JSON.stringify([one.rater, other.rater]), a: one.rating, b: other.rating };
    }),
  );
}

function kappaOf(pairs: readonly Pair[], resampling: Resampling): Kappa | null {
  const clusters = [...groupBy(pairs, ({ cluster }) => cluster).values()].map(tallyOf);
  const kappa = kappaOver(clusters);
  if (kappa === undefined) return null;
  return { kappa, ...resampledEnds(clusters, resampling, kappaOver), rows: pairs.length, clusters: clusters.length };
}

/** What one trajectory adds: the squares of both ratings of each pair, their products, and for each two the sums of either. */
type Tally = ReturnType<typeof tallyOf>;

function tallyOf(pairs: readonly Pair[]) {
  const sum = (own: readonly Pair[], of: (pair: Pair) => number) => own.reduce((total, pair) => total + of(pair), 0);
  return {
    squares: sum(pairs, ({ a, b }) => a ** 2 + b ** 2),
    products: sum(pairs, ({ a, b }) => a * b),
    sides: Array.from(
      groupBy(pairs, ({ sides }) => sides),
      ([name, own]) => {
        return { name, count: own.length, a: sum(own, ({ a }) => a), b: sum(own, ({ b }) => b) };
      },
    ),
  };
}

function kappaOver(clusters: readonly Tally[]): number | undefined {
  let [squares, products] = [0, 0];
  const whole = new Map<string, { count: number; a: number; b: number }>();
  for (const cluster of clusters) {
    squares += cluster.squares;
    products += cluster.products;
    for (const { name, count, a, b } of cluster.sides) {
      const sums = heldIn(whole, name, () => ({ count: 0, a: 0, b: 0 }));
      sums.count += count;
      sums.a += a;
      sums.b += b;
    }
  }
  const chance = [...whole.values()].reduce((sum, { count, a, b }) => sum + (a * b) / count, 0);
  const expected = squares - 2 * chance;
  // What rounding leaves of nothing is nothing.
  return expected > 1e-12 * squares ? 1 - (squares - 2 * products) / expected : undefined;
}
