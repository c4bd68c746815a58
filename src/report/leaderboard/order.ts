// The order in which the rows of a block stand.

import type { BoardOptions, BoardRun, Entry, Figure } from './board.js';
import { columnsById, TEXT_COLUMNS } from './columns.js';
import { isWholeEntry } from './entries.js';

export function orderOf({ sort }: BoardOptions, measure: string | undefined, runs: readonly BoardRun[]) {
  const text = TEXT_COLUMNS.find(({ id }) => id === sort);
  const isFigure = sort !== undefined && sort !== 'overall' && columnsById(runs, measure).has(sort);
  const byName = (a: Entry, b: Entry) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1);
  const fallen = (a: Figure | undefined, b: Figure | undefined) =>
    (b?.value ?? Number.NEGATIVE_INFINITY) - (a?.value ?? Number.NEGATIVE_INFINITY) || 0;
  const byMean = (a: Entry, b: Entry) =>
    Number(b.isComplete) - Number(a.isComplete) ||
    Number(a.fewer.length > 0) - Number(b.fewer.length > 0) ||
    Number(isWholeEntry(b)) - Number(isWholeEntry(a)) ||
    b.macroOf - a.macroOf ||
    fallen(a.mean, b.mean) ||
    byName(a, b);
  return (a: Entry, b: Entry) => {
    if (sort === 'name') return byName(a, b);
    if (text !== undefined) {
      const [first, second] = [text.of(a), text.of(b)];
      return first === second ? byMean(a, b) : first < second ? -1 : 1;
    }
    return (isFigure ? fallen(a.figures.get(sort), b.figures.get(sort)) : 0) || byMean(a, b);
  };
}
