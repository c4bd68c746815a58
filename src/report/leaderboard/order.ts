// The order in which the rows of a block stand.

import type { BoardFigure, BoardOptions, BoardRun, Entry } from './board.js';
import { columnsById, TEXT_COLUMNS } from './columns.js';
import { isWholeEntry } from './entries.js';
import { rankBy } from './figures.js';

type Order = (a: Entry, b: Entry) => number;

/** By the column that is asked for, then by the mean: whole and complete runs first, then from the best on. */
export function orderOf(options: BoardOptions, measure: string | undefined, runs: readonly BoardRun[]): Order {
  const { sort } = options;
  const rank = rankBy(options, measure);
  // Where neither way is better, figures fall.
  const place = (figure: BoardFigure | undefined) =>
    figure === undefined ? Number.NEGATIVE_INFINITY : (rank(figure) ?? figure.value);
  const fromBest = (a: BoardFigure | undefined, b: BoardFigure | undefined) => place(b) - place(a) || 0;
  const byMean: Order = (a, b) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(isWholeEntry(b)) - Number(isWholeEntry(a)) ||
    b.macroOf - a.macroOf ||
    fromBest(a.mean, b.mean) ||
    byName(a, b);
  if (sort === undefined || sort === 'overall') return byMean;
  if (sort === 'name') return byName;
  const text = TEXT_COLUMNS.find(({ id }) => id === sort);
  if (text !== undefined) return (a, b) => compared(text.of(a), text.of(b)) || byMean(a, b);
  const column = columnsById(runs, measure).get(sort);
  if (column === undefined) return byMean;
  const order = column.isLowerBetter ? fromLeast : fromBest;
  return (a, b) => order(a.figures.get(sort), b.figures.get(sort)) || byMean(a, b);
}

/** From the least on. What is not known whole stands behind what is, whatever is known of it. */
function fromLeast(a: BoardFigure | undefined, b: BoardFigure | undefined): number {
  const unknown = (figure: BoardFigure | undefined) => (figure === undefined ? 2 : figure.isLeast ? 1 : 0);
  return unknown(a) - unknown(b) || (a?.value ?? 0) - (b?.value ?? 0);
}

function byName(a: Entry, b: Entry): number {
  return compared(a.name, b.name);
}

function compared(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
