// Which predictions people are given to rate: as many of each domain and trajectory as can be, drawn by a seed.

import { inTableOrder } from '../../domains.js';
import { groupBy } from '../../groups.js';
import { isRated } from '../../points.js';
import { type Random, randomOf, shuffled } from '../../random.js';
import { rowId } from '../../row-id.js';
import { type Judgements, predictionsOf } from '../../score/predictions.js';
import type { JudgedRow } from '../../types.js';

/** A prediction that was drawn. */
export interface Drawn {
  readonly judgements: Judgements;
  /** Which of two runs it is of. */
  readonly run: 0 | 1;
}

/** How many predictions are drawn, and by which seed. */
interface Draw {
  readonly samples: number;
  readonly seed: number;
}

/**
 * Predictions of a run, in turn from each domain and within a domain from each trajectory, so that any start of the list is spread as
 * widely as the whole. Only predictions that the judge has rated are drawn.
 */
export function drawSamples(rows: readonly JudgedRow[], { samples, seed }: Draw): Drawn[] {
  return spread(ratedIn(rows), samples, randomOf(seed)).map((judgements) => ({ judgements, run: 0 }));
}

/**
 * Predictions of two runs, both of every row that is drawn. Chance says which run's comes first; the other one follows when every row
 * has had its turn, so that the two stand far apart.
 */
export function drawBlind(rows: readonly JudgedRow[], others: readonly JudgedRow[], { samples, seed }: Draw): Drawn[] {
  const random = randomOf(seed);
  const partners = new Map(ratedIn(others).map((judgements) => [idOf(judgements), judgements]));
  const both = ratedIn(rows).filter((judgements) => partners.has(idOf(judgements)));
  const pairs = spread(both, Math.max(1, Math.floor(samples / 2)), random).flatMap((judgements) => {
    const other = partners.get(idOf(judgements));
    if (other === undefined) return [];
    const sides: Drawn[] = [
      { judgements, run: 0 },
      { judgements: other, run: 1 },
    ];
    return [random.uniform() < 0.5 ? sides : sides.reverse()];
  });
  return [0, 1].flatMap((place) => pairs.flatMap((sides) => sides[place] ?? []));
}

function ratedIn(rows: readonly JudgedRow[]): Judgements[] {
  return predictionsOf(rows).filter((judgements) => judgements.some(isRated));
}

function idOf([{ key, repeat }]: Judgements): string {
  return rowId(key, repeat);
}

function spread(predictions: readonly Judgements[], count: number, random: Random): Judgements[] {
  const domains = [...groupBy(predictions, ([{ domain }]) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  const queues = domains.map(([, own]) => {
    const trajectories = [...groupBy(own, ([{ trajectory }]) => trajectory).values()];
    return inTurn(shuffled(trajectories, random).map((members) => shuffled(members, random)));
  });
  return inTurn(queues).slice(0, count);
}

/** The first item of each list, then the second of each, and so on. */
function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}
