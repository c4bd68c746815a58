// Weighted kappa: how far two who rated the same predictions agree, beyond what their own habits would give by chance.

import { groupBy } from '../../groups.js';
import type { Coefficient } from '../../people.js';
import { LEAST_CLUSTERS } from '../../types.js';
import type { Resampling } from '../resampling.js';
import { resampledInterval } from './resampled.js';

/** What one prediction was given by either of two. */
export interface RatedPair {
  readonly a: number;
  readonly b: number;
  /** Who the two are: chance is reckoned for each two by themselves. */
  readonly who: string;
  /** The prediction's trajectory. */
  readonly cluster: string;
}

/**
 * Cohen's kappa with quadratic weights (Cohen, Psychological Bulletin 70(4), 1968) with the 95 % percentile interval of a bootstrap
 * that draws whole trajectories: 1 minus the observed over the expected disagreement, where ratings disagree by the square of their
 * distance. Written in sums of squares it needs no categories, so that averaged ratings count as they are. Where there are several
 * pairs of raters, observed and expected disagreement are added up over them. Undefined where nothing is rated, and where all ratings are the same one.
 */
export function quadraticKappa(pairs: readonly RatedPair[], resampling: Resampling): Coefficient | undefined {
  const clusters = [...groupBy(pairs, ({ cluster }) => cluster).values()].map(sumsOf);
  const value = kappaOf(clusters);
  if (value === undefined) return undefined;
  const facts = { value, rows: pairs.length, clusters: clusters.length };
  if (clusters.length < LEAST_CLUSTERS) return facts;
  const interval = resampledInterval(clusters, resampling, kappaOf);
  return interval === undefined ? facts : { ...facts, interval };
}

/** The sums of one trajectory, for each two. */
type Sums = ReadonlyMap<string, PairSums>;

interface PairSums {
  readonly count: number;
  readonly a: number;
  readonly b: number;
  /** Of the squares of both. */
  readonly squares: number;
  readonly products: number;
}

const NONE: PairSums = { count: 0, a: 0, b: 0, squares: 0, products: 0 };

function sumsOf(pairs: readonly RatedPair[]): Sums {
  const sums = new Map<string, PairSums>();
  for (const { a, b, who } of pairs) {
    sums.set(who, added(sums.get(who) ?? NONE, { count: 1, a, b, squares: a * a + b * b, products: a * b }));
  }
  return sums;
}

function added(one: PairSums, other: PairSums): PairSums {
  return {
    count: one.count + other.count,
    a: one.a + other.a,
    b: one.b + other.b,
    squares: one.squares + other.squares,
    products: one.products + other.products,
  };
}

function kappaOf(clusters: readonly Sums[]): number | undefined {
  const whole = new Map<string, PairSums>();
  for (const sums of clusters) for (const [who, own] of sums) whole.set(who, added(whole.get(who) ?? NONE, own));
  let [observed, expected] = [0, 0];
  for (const { count, a, b, squares, products } of whole.values()) {
    observed += squares - 2 * products;
    expected += squares - (2 * a * b) / count;
  }
  // What rounding leaves of nothing is nothing.
  return expected > 1e-9 ? 1 - observed / expected : undefined;
}
