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
 * pairs of raters, observed and expected disagreement are added up over them. Undefined where nothing is rated, and where all ratings
 * are the same one.
 */
export function quadraticKappa(pairs: readonly RatedPair[], resampling: Resampling): Coefficient | undefined {
  const raters = new Map([...new Set(pairs.map(({ who }) => who))].map((who, place) => [who, place]));
  const clusters = [...groupBy(pairs, ({ cluster }) => cluster).values()].map((own) => sumsOf(own, raters));
  const kappaOf = kappaOver(raters.size);
  const value = kappaOf(clusters);
  if (value === undefined) return undefined;
  const facts = { value, rows: pairs.length, clusters: clusters.length };
  if (clusters.length < LEAST_CLUSTERS) return facts;
  const interval = resampledInterval(clusters, resampling, kappaOf);
  return interval === undefined ? facts : { ...facts, interval };
}

/** The sums of one trajectory for one pair of raters: its place among them, then `SUMS` numbers. */
interface PairSums {
  readonly place: number;
  readonly sums: Float64Array;
}

/** How many ratings, their sums, the sum of the squares of both, and that of their products. */
const SUMS = 5;

function sumsOf(pairs: readonly RatedPair[], raters: ReadonlyMap<string, number>): PairSums[] {
  return [...groupBy(pairs, ({ who }) => who)].map(([who, own]) => {
    const sums = new Float64Array(SUMS);
    // Each place is below `SUMS`.
    const add = (at: number, value: number) => {
      sums[at] = (sums[at] as number) + value; // as above
    };
    for (const { a, b } of own) {
      for (const [at, value] of [1, a, b, a * a + b * b, a * b].entries()) add(at, value);
    }
    return { place: raters.get(who) ?? 0, sums };
  });
}

/** Reckons kappa over trajectories, of which there may be many and often: it makes no objects. */
function kappaOver(raters: number): (clusters: readonly (readonly PairSums[])[]) => number | undefined {
  const whole = new Float64Array(raters * SUMS);
  return (clusters) => {
    whole.fill(0);
    for (const cluster of clusters) {
      for (const { place, sums } of cluster) {
        // Every pair of raters has its place below `raters`.
        for (let at = 0; at < SUMS; at++) {
          whole[place * SUMS + at] = (whole[place * SUMS + at] as number) + (sums[at] as number); // as above
        }
      }
    }
    let [observed, expected] = [0, 0];
    for (let place = 0; place < raters; place++) {
      const [count = 0, a = 0, b = 0, squares = 0, products = 0] = whole.subarray(place * SUMS, (place + 1) * SUMS);
      // A draw may hold nothing of two raters.
      if (count === 0) continue;
      observed += squares - 2 * products;
      expected += squares - (2 * a * b) / count;
    }
    // What rounding leaves of nothing is nothing.
    return expected > 1e-9 ? 1 - observed / expected : undefined;
  };
}
