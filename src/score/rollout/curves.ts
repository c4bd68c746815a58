// Scores of a rollout by step and by distance: single ones where they have rows enough, else ranges.

import { groupBy } from '../../groups.js';
import type { RolloutBin, RolloutPart } from '../../rollout-card.js';
import { rowId } from '../../row-id.js';
import { LEAST_CLUSTERS } from '../../types.js';
import { clusteredEstimate } from '../clusters.js';
import { isOnScript, type RolloutFigure, type RowPair, type SteppedRow, valuesOf } from './placed.js';

/** Fewest rows of a bin, and most bins of a curve. */
const LEAST_ROWS = 10;
const MOST_BINS = 12;

/** The counts and curves of these rows; beside those of the teacher-forced partners that they have. */
export function rolloutPart(
  rows: readonly SteppedRow[],
  figure: RolloutFigure,
  pairs: readonly RowPair[],
): RolloutPart {
  const all = [...valuesOf(rows, figure).values()];
  const offScript = countPredictions(rows.filter((row) => !isOnScript(row)));
  const onScript = offScript === 0 ? [] : [...valuesOf(rows.filter(isOnScript), figure).values()];
  const curve = (placeOf: (row: SteppedRow) => number): RolloutBin[] =>
    rangesOf(all.map(({ row }) => ({ place: placeOf(row), cluster: row.trajectory }))).map(({ from, to }) => {
      const within = (some: typeof all) =>
        some
          .filter(({ row }) => placeOf(row) >= from && placeOf(row) <= to)
          .map(({ row, value }) => ({ value, cluster: row.trajectory }));
      const left = within(onScript);
      const partners = pairs.filter(({ row }) => placeOf(row) >= from && placeOf(row) <= to);
      return {
        ...{ from, to, score: clusteredEstimate(within(all), figure.scale) },
        ...(left.length === 0 ? {} : { onScript: clusteredEstimate(left, figure.scale) }),
        ...(partners.length === 0 ? {} : { paired: pairedIn(partners, figure) }),
      };
    });
  return {
    predictions: countPredictions(rows),
    offScript,
    chains: new Set(rows.map(({ rollout }) => rollout.chain)).size,
    distances: curve(({ rollout }) => rollout.distance),
    steps: curve(({ rollout }) => rollout.step),
  };
}

function pairedIn(pairs: readonly RowPair[], { scale }: RolloutFigure): NonNullable<RolloutBin['paired']> {
  const forced = pairs.map(({ row, forced: value }) => ({ value, cluster: row.trajectory }));
  const differences = pairs.map(({ row, difference: value }) => ({ value, cluster: row.trajectory }));
  return { forced: clusteredEstimate(forced, scale), difference: clusteredEstimate(differences) };
}

function countPredictions(rows: readonly SteppedRow[]): number {
  return new Set(rows.map(({ key, repeat }) => rowId(key, repeat))).size;
}

/** A row's step or distance, and its trajectory. */
interface Placed {
  readonly place: number;
  readonly cluster: string;
}

/**
 * Neighbouring places in ranges, from the lowest on: each as short as it can be with rows and trajectories enough for an interval. What
 * is left at the end goes with the last.
 */
function rangesOf(placed: readonly Placed[]): { readonly from: number; readonly to: number }[] {
  const least = Math.max(LEAST_ROWS, Math.ceil(placed.length / MOST_BINS));
  const ranges: { from: number; to: number }[] = [];
  let open: Placed[] = [];
  for (const [place, here] of [...groupBy(placed, (one) => one.place)].sort(([a], [b]) => a - b)) {
    const [first = { place }] = open;
    open = [...open, ...here];
    if (open.length < least || new Set(open.map(({ cluster }) => cluster)).size < LEAST_CLUSTERS) continue;
    ranges.push({ from: first.place, to: place });
    open = [];
  }
  const [first, last] = [open[0], open.at(-1)];
  if (first === undefined || last === undefined) return ranges;
  const before = ranges.pop();
  return [...ranges, { from: before?.from ?? first.place, to: last.place }];
}
