// What is best in each column of a block, and what cannot be told from it.

import { canonicalJson } from '../../json.js';
import type { BoardRun, Entry, IsTied } from './board.js';
import { domainsOf, type FigureColumn } from './columns.js';
import { isWholeEntry } from './entries.js';

/** Marks the best run of each column and its ties; published rows, incomplete runs and runs over fewer rows are left out. */
export function marksOf(
  entries: readonly Entry[],
  columns: readonly FigureColumn[],
  measure: string | undefined,
  isTied: IsTied,
) {
  const marks = new Map<Entry, Set<string>>();
  /** Columns in which an entry could not be tested against the best. */
  const untested = new Map<Entry, Set<string>>();
  /** Columns in which an entry has a larger figure than the best, and is behind another on the rows of both. */
  const behind = new Map<Entry, Set<string>>();
  const tested = entries.filter((entry) => entry.isComplete && entry.fewer.length === 0);
  for (const { id, figure, isMean, isTested } of columns) {
    if (!isTested) continue;
    // A mean over fewer domains is another quantity: where there are runs with Overall, they are compared with each other.
    const comparable = isMean && id !== 'macro' && tested.some(isWholeEntry) ? tested.filter(isWholeEntry) : tested;
    // A figure of too few trajectories has no standard error: it takes no part, whether it is large or small.
    const having = comparable.filter((entry) => entry.figures.get(id)?.se !== undefined);
    for (const entry of comparable.filter((one) => one.figures.has(id) && !having.includes(one)))
      add(untested, entry, id);
    if (having.length < 2 || (isMean && !haveSameDomains(having, measure))) continue;
    const figureIn = (entry: Entry) => entry.figures.get(id)?.value as number;
    const isTiedWith = (best: Entry, entry: Entry) =>
      isTied(best.run as BoardRun, entry.run as BoardRun, figure, having.length);
    // Over other rows a run may have the largest figure, and be behind on those that it shares with another.
    const ranked = [...having].sort((a, b) => figureIn(b) - figureIn(a));
    const isBehind = (entry: Entry) => ranked.some((one) => one !== entry && isTiedWith(one, entry) === false);
    const best = ranked.find((entry) => !isBehind(entry)) ?? (ranked[0] as Entry);
    const others = ranked.filter((entry) => entry !== best);
    const ties = others.map((entry) => isTiedWith(best, entry));
    for (const [index, entry] of others.entries()) {
      if (ties[index] === undefined) add(untested, entry, id);
    }
    // The best of runs of which none can be tested is the largest number, and no more than that.
    if (ties.every((tied) => tied === undefined)) continue;
    const after = ranked.indexOf(best);
    for (const entry of ranked.slice(0, after)) add(behind, entry, id);
    for (const entry of [best, ...others.filter((_, index) => index >= after && ties[index] === true)]) {
      add(marks, entry, id);
    }
  }
  return { marks, untested, behind };
}

function add(columns: Map<Entry, Set<string>>, entry: Entry, id: string): void {
  columns.set(entry, (columns.get(entry) ?? new Set()).add(id));
}

function haveSameDomains(entries: readonly Entry[], measure: string | undefined): boolean {
  const sets = entries.map(({ run }) => canonicalJson([...domainsOf((run as BoardRun).card, measure)].sort()));
  return new Set(sets).size === 1;
}
