// What is best in each column of a block, and what cannot be told from it.

import { canonicalJson } from '../../core/json.js';
import { keysOf } from '../../core/keys.js';
import type { Entry, IsTied, OwnEntry } from './board.js';
import type { FigureColumn } from './columns.js';
import { domainsOf, type Rank } from './runs.js';

/** What became of the entries in one column. */
interface Outcome {
  /** Those that are best, or cannot be told from the best. */
  readonly marks: readonly OwnEntry[];
  /** Those that could not be tested against the best. */
  readonly untested: readonly OwnEntry[];
  /** Those whose figures are better than the best's, and which are behind another on the rows of both. */
  readonly behind: readonly OwnEntry[];
}

/** Ids of columns by entry. */
type Marks = Readonly<Record<keyof Outcome, ReadonlyMap<Entry, ReadonlySet<string>>>>;

/**
 * Marks the best run of each column and its ties. Incomplete runs and runs over fewer rows are left out, and so are all where
 * neither way of a measure is better.
 */
export function marksOf(
  entries: readonly OwnEntry[],
  columns: readonly FigureColumn[],
  measure: string | undefined,
  rank: Rank,
  isTied: IsTied,
): Marks {
  const tested = entries.filter((entry) => entry.isComplete && entry.fewer.length === 0);
  const marks: Record<keyof Outcome, Map<Entry, Set<string>>> = {
    marks: new Map(),
    untested: new Map(),
    behind: new Map(),
  };
  for (const column of columns.filter(({ isTested }) => isTested)) {
    const outcome = outcomeIn(column, tested, measure, rank, isTied);
    for (const kind of keysOf(marks)) {
      for (const entry of outcome[kind]) {
        marks[kind].set(entry, (marks[kind].get(entry) ?? new Set()).add(column.id));
      }
    }
  }
  return marks;
}

function outcomeIn(
  column: FigureColumn,
  tested: readonly OwnEntry[],
  measure: string | undefined,
  rank: Rank,
  isTied: IsTied,
): Outcome {
  const { id, figure, isMean } = column;
  // A mean over fewer domains is another quantity: where there are runs with Overall, they are compared with each other.
  const isOfWhole = isMean && id !== 'macro' && tested.some(isWholeEntry);
  const ranked = (isOfWhole ? tested.filter(isWholeEntry) : tested).flatMap((entry) => {
    const own = entry.figures.get(id);
    const place = own && rank(own);
    return own === undefined || place === undefined ? [] : [{ entry, place, hasError: own.se !== undefined }];
  });
  // A figure of too few trajectories has no standard error: it takes no part, whether it is large or small.
  const lacking = ranked.filter(({ hasError }) => !hasError).map(({ entry }) => entry);
  const having = ranked
    .filter(({ hasError }) => hasError)
    .sort((a, b) => b.place - a.place)
    .map(({ entry }) => entry);
  const [first] = having;
  if (first === undefined || having.length < 2 || (isMean && !haveSameDomains(having, measure))) {
    return { marks: [], untested: lacking, behind: [] };
  }
  const isTiedWith = (best: OwnEntry, entry: OwnEntry) => isTied(best.run, entry.run, figure, having.length);
  // Over other rows a run may have the best figure, and be behind on those that it shares with another.
  const isBehind = (entry: OwnEntry) => having.some((one) => one !== entry && isTiedWith(one, entry) === false);
  const best = having.find((entry) => !isBehind(entry)) ?? first;
  const place = having.indexOf(best);
  const others = having.filter((entry) => entry !== best).map((entry) => ({ entry, tied: isTiedWith(best, entry) }));
  const untested = [...lacking, ...others.filter(({ tied }) => tied === undefined).map(({ entry }) => entry)];
  // The best of runs of which none can be tested is the best number, and no more than that.
  if (others.every(({ tied }) => tied === undefined)) return { marks: [], untested, behind: [] };
  const ties = others.slice(place).filter(({ tied }) => tied === true);
  return { marks: [best, ...ties.map(({ entry }) => entry)], untested, behind: having.slice(0, place) };
}

function haveSameDomains(entries: readonly OwnEntry[], measure: string | undefined): boolean {
  const sets = entries.map(({ run }) => canonicalJson([...domainsOf(run.card, measure)].sort()));
  return new Set(sets).size === 1;
}

/** Whether its mean is over the seven published domains and no other. */
export function isWholeEntry({ figures }: Entry): boolean {
  return figures.has('overall');
}
