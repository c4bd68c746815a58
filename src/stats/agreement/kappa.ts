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
