// Weighted kappa: how far two raters of the same predictions agree, beyond the chance given by their own habits.

import { z } from 'zod';
import { COUNT, FIGURE, keyed } from '../../core/document.js';
import { present } from '../../core/errors.js';
import { groupBy, sum } from '../../core/groups.js';
import { type Resampling, resampledEnds } from '../resampling.js';

/** 1 is perfect agreement, 0 is chance. */
export const KAPPA = z.strictObject({
  kappa: z.number(),
  /** The 95 % interval; null below `LEAST_CLUSTERS`. */
  ...keyed(FIGURE, 'low', 'high'),
  /** Pairs of ratings, and their trajectories. */
  ...keyed(COUNT, 'rows', 'clusters'),
});
type Kappa = z.infer<typeof KAPPA>;

/** The ratings that people gave a prediction, one per person. */
export interface RatedByPeople {
  readonly people: readonly { readonly rater: string; readonly rating: number }[];
  /** The prediction's trajectory. */
  readonly cluster: string;
}

/** Two ratings of one prediction; `sides` names the raters. */
type Pair = Readonly<Record<'sides' | 'cluster', string> & Record<'a' | 'b', number>>;

/**
 * Cohen's kappa with quadratic weights (Cohen, Psychological Bulletin 70(4), 1968) of a judge against each single person, with the 95 %
 * percentile interval of a bootstrap that draws whole trajectories: 1 minus the observed over the expected disagreement, where ratings
 * disagree by the square of their distance. Written in sums of squares it needs no categories, so averaged ratings count as they are.
 * Chance is computed for each pair of raters, and observed and expected disagreement are summed over the pairs. Null if nothing is rated,
 * or all ratings are equal.
 */
export function kappaOfJudge(
  predictions: readonly (RatedByPeople & { readonly judge: number })[],
  resampling: Resampling,
): Kappa | null {
  const pairs = predictions.flatMap(({ judge, people, cluster }) =>
    people.map(({ rater, rating }) => ({ sides: rater, a: judge, b: rating, cluster })),
  );
  return kappaOf(pairs, resampling);
}

/** The same for every two people who rated the same prediction. */
export function kappaOfPeople(predictions: readonly RatedByPeople[], resampling: Resampling): Kappa | null {
  const pairs = predictions.flatMap(({ people, cluster }) => {
    const sorted = people.toSorted((one, other) => (one.rater < other.rater ? -1 : 1));
    return sorted.flatMap(({ rater, rating: a }, at) =>
      sorted.slice(at + 1).map((other) => ({ sides: `${rater}\n${other.rater}`, a, b: other.rating, cluster })),
    );
  });
  return kappaOf(pairs, resampling);
}

function kappaOf(pairs: readonly Pair[], resampling: Resampling): Kappa | null {
  const sides = new Set(pairs.map((pair) => pair.sides));
  const places = new Map(Array.from(sides, (two, place) => [two, place]));
  const clusters = [...groupBy(pairs, ({ cluster }) => cluster).values()].map((own) => ({
    squares: sum(own, ({ a, b }) => a ** 2 + b ** 2),
    products: sum(own, ({ a, b }) => a * b),
    // Four numbers for each pair of raters: its index among all, how many predictions both rated, and the sum of each one's ratings.
    sides: Float64Array.from(
      [...groupBy(own, (pair) => pair.sides)].flatMap(([two, both]) => [
        present(places.get(two)),
        ...[both.length, sum(both, ({ a }) => a), sum(both, ({ b }) => b)],
      ]),
    ),
  }));
  const whole = new Float64Array(sides.size * 3);
  const kappa = kappaOver(clusters, whole);
  if (kappa === undefined) return null;
  const ends = resampledEnds(clusters, resampling, (drawn) => kappaOver(drawn, whole));
  return { kappa, ...ends, rows: pairs.length, clusters: clusters.length };
}

/**
 * Computes kappa over trajectories without allocating objects, since it is called often and on many. @param whole room for three numbers
 * per place
 */
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
    // A draw may contain nothing of a pair of raters.
    if (count > 0) chance += ((whole[at + 1] as number) * (whole[at + 2] as number)) / count; // as above
  }
  const expected = all - 2 * chance;
  // A remainder from rounding counts as 0.
  return expected > 1e-12 * all ? 1 - (all - 2 * products) / expected : undefined;
}
