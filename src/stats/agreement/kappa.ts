// Weighted kappa: how far two who rated the same predictions agree, beyond what their own habits would give by chance.

import { z } from 'zod';
import { COUNT, FIGURE, keyed } from '../../core/document.js';
import { groupBy, heldIn } from '../../core/groups.js';
import { type Resampling, resampledEnds } from '../resampling.js';

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
  const sums = clusterSums();
  const groupsIn = groupsOver(predictions);
  let rows = 0;
  for (const { judge, people, cluster } of predictions) {
    rows += people.length;
    sums.addSquares(cluster, squaresOf(people) + people.length * judge ** 2, judge * sumOf(people));
    for (const [group, members] of groupsIn(people)) sums.add(cluster, group, judge, sumOf(members));
  }
  return kappaIn(sums, rows, resampling);
}

/**
 * The same of every two people who rated the same prediction. Pairs grow with the square of the raters, so those who rated the same
 * predictions are reckoned together: chance takes the product of two raters' sums over the number of predictions that both rated, and
 * such products add up to the product of the sums of both groups; within one group to half of `(Σ a)² - Σ a²`.
 */
export function kappaOfPeople(predictions: readonly RatedByPeople[], resampling: Resampling): Kappa | null {
  const sums = clusterSums();
  const shared = predictions.filter(({ people }) => people.length > 1);
  const groupsIn = groupsOver(shared);
  let rows = 0;
  for (const { people, cluster } of shared) {
    rows += (people.length * (people.length - 1)) / 2;
    const squares = squaresOf(people);
    sums.addSquares(cluster, (people.length - 1) * squares, (sumOf(people) ** 2 - squares) / 2);
    const groups = groupsIn(people);
    for (const [at, [group, members]] of groups.entries()) {
      const sum = sumOf(members);
      for (const [other, others] of groups.slice(at + 1)) sums.add(cluster, `${group} ${other}`, sum, sumOf(others));
      if (members.length === 1) continue;
      sums.add(cluster, group, sum, sum / 2);
      for (const { rater, rating } of members) sums.add(cluster, `rater ${rater}`, rating, -rating / 2);
    }
  }
  return kappaIn(sums, rows, resampling);
}

type People = RatedByPeople['people'];

/** Groups the people of a prediction by which of the predictions they rated, in the same order everywhere. */
function groupsOver(predictions: readonly RatedByPeople[]): (people: People) => (readonly [string, People])[] {
  /** In which predictions each rater stands. */
  const rated = new Map<string, string>();
  for (const [at, { people }] of predictions.entries()) {
    for (const { rater } of people) rated.set(rater, `${rated.get(rater) ?? ''} ${at}`);
  }
  const alike = [...groupBy(rated, ([, places]) => places).values()];
  const groupOf = new Map(alike.flatMap((group, at) => group.map(([rater]) => [rater, at])));
  return (people) =>
    [...groupBy(people, ({ rater }) => groupOf.get(rater) ?? 0)]
      .sort(([one], [other]) => one - other)
      .map(([group, members]) => [String(group), members]);
}

function sumOf(people: People): number {
  return people.reduce((sum, { rating }) => sum + rating, 0);
}

function squaresOf(people: People): number {
  return people.reduce((sum, { rating }) => sum + rating ** 2, 0);
}

function kappaIn(sums: ReturnType<typeof clusterSums>, rows: number, resampling: Resampling): Kappa | null {
  const clusters = sums.clusters();
  const whole = new Float64Array(sums.places.size * 3);
  const kappa = kappaOver(clusters, whole);
  if (kappa === undefined) return null;
  const ends = resampledEnds(clusters, resampling, (drawn) => kappaOver(drawn, whole));
  return { kappa, ...ends, rows, clusters: clusters.length };
}

/** What one trajectory adds. */
interface ClusterTally {
  /** The squares of both ratings of each pair, and their products. */
  squares: number;
  products: number;
  /** By the place of two sides among all: that place, how many predictions both rated, and the sums of either. */
  readonly sides: Map<number, [place: number, count: number, a: number, b: number]>;
}

function clusterSums() {
  const places = new Map<string, number>();
  const tallies = new Map<string, ClusterTally>();
  const tallyOf = (cluster: string) => heldIn(tallies, cluster, () => ({ squares: 0, products: 0, sides: new Map() }));
  return {
    places,
    /** Adds the pairs of one prediction. */
    addSquares(cluster: string, squares: number, products: number): void {
      const tally = tallyOf(cluster);
      tally.squares += squares;
      tally.products += products;
    },
    /** Adds one prediction that two sides have rated, with the sum of either's ratings. */
    add(cluster: string, sides: string, a: number, b: number): void {
      const place = places.get(sides) ?? places.size;
      places.set(sides, place);
      const own = tallyOf(cluster).sides;
      const [, count, first, second] = own.get(place) ?? [place, 0, 0, 0];
      own.set(place, [place, count + 1, first + a, second + b]);
    },
    clusters: () =>
      Array.from(tallies.values(), ({ squares, products, sides }) => {
        return { squares, products, sides: Float64Array.from([...sides.values()].flat()) };
      }),
  };
}

/** Computes kappa over trajectories, which may be many and often: it makes no objects. @param whole room for three numbers of each place */
function kappaOver(
  clusters: readonly { readonly squares: number; readonly products: number; readonly sides: Float64Array }[],
  whole: Float64Array,
): number | undefined {
  whole.fill(0);
  let [all, products] = [0, 0];
  // Each place has its room, and each side the numbers that are read.
  for (const cluster of clusters) {
    all += cluster.squares;
    products += cluster.products;
    const { sides } = cluster;
    for (let from = 0; from < sides.length; from += 4) {
      const to = (sides[from] as number) * 3; // as above
      for (let at = 0; at < 3; at++) whole[to + at] = (whole[to + at] as number) + (sides[from + 1 + at] as number); // as above
    }
  }
  let chance = 0;
  for (let at = 0; at < whole.length; at += 3) {
    const count = whole[at] as number; // as above
    // A draw may hold nothing of two sides.
    if (count > 0) chance += ((whole[at + 1] as number) * (whole[at + 2] as number)) / count; // as above
  }
  const expected = all - 2 * chance;
  // What rounding leaves of nothing is nothing.
  return expected > 1e-12 * all ? 1 - (all - 2 * products) / expected : undefined;
}
