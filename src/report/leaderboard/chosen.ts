// Which of a group's runs a leaderboard shows, and which of them are whole: covered, and over as many rows as the others.

import { byStanding, isCovered } from '../../coverage.js';
import type { Domain } from '../../types.js';
import type { BoardOptions, BoardRun } from './board.js';
import { domainsOf, meanOf, rankBy, rowsOf } from './figures.js';
import { keyOfName } from './names.js';

/** One run for each name, or all. Names are compared as they are, not as they are shown. */
export function chosenRuns(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined): BoardRun[] {
  if (options.show === 'all') return [...runs];
  const byName = new Map<string, BoardRun>();
  const isBetter = betterOf(runs, options, measure);
  const goesFirst = (a: BoardRun, b: BoardRun) => byStanding(standing(a), standing(b), options.minCoverage) < 0;
  for (const run of runs) {
    const name = keyOfName(run, options.per);
    const before = byName.get(name);
    const wins = before === undefined || (options.show === 'best' ? isBetter(run, before) : goesFirst(run, before));
    if (wins) byName.set(name, run);
  }
  return [...byName.values()];
}

function standing({ card, at, number, judgedWith: { rates } }: BoardRun) {
  return { card, at, number, rates };
}

/** Whether one run is better than another: first by what it lacks, then by its domains, then by its figure. */
function betterOf(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined) {
  const most = mostRows(runs, measure);
  const rank = rankBy(options, measure);
  const value = ({ card }: BoardRun) => {
    const mean = meanOf(card, measure);
    return (mean && rank(mean)) ?? Number.NEGATIVE_INFINITY;
  };
  const isWholeRun = (run: BoardRun) => domainsWithFewer(run, most, options, measure).length === 0;
  return (a: BoardRun, b: BoardRun) => {
    const [isCoveredA, isCoveredB] = [a, b].map(({ card }) => isCovered(card, options.minCoverage));
    if (isCoveredA !== isCoveredB) return isCoveredA === true;
    if (isWholeRun(a) !== isWholeRun(b)) return isWholeRun(a);
    const domains = domainsOf(a.card, measure).length - domainsOf(b.card, measure).length;
    return domains === 0 ? value(a) > value(b) : domains > 0;
  };
}

/** The most rows that any of the runs has in a domain. */
export function mostRows(runs: readonly BoardRun[], measure: string | undefined): ReadonlyMap<Domain, number> {
  const most = new Map<Domain, number>();
  for (const { card } of runs) {
    for (const [domain, rows] of rowsOf(card, measure)) most.set(domain, Math.max(rows, most.get(domain) ?? 0));
  }
  return most;
}

/**
 * The domains in which a run has so many fewer rows than another that its figures are no longer comparable: its share of the most
 * rows is below the least coverage. Otherwise a run that was asked the easy rows alone would stand above all others.
 */
export function domainsWithFewer(
  { card }: BoardRun,
  most: ReadonlyMap<Domain, number>,
  { minCoverage }: BoardOptions,
  measure: string | undefined,
): Domain[] {
  return rowsOf(card, measure)
    .filter(([domain, rows]) => rows < minCoverage * (most.get(domain) ?? 0))
    .map(([domain]) => domain);
}
