// Which of a group's runs a leaderboard shows, and which of them are whole: covered, and over as many rows as the others.

import { shortDomains } from '../../coverage.js';
import type { Domain } from '../../types.js';
import type { BoardOptions, BoardRun } from './board.js';
import { domainsOf, meanOf, rowsOf } from './columns.js';
import { keyOfName } from './names.js';

/** One run for each name, or all. Names are compared as they are, not as they are shown. */
export function chosenRuns(runs: readonly BoardRun[], options: BoardOptions, measure: string | undefined): BoardRun[] {
  if (options.show === 'all') return [...runs];
  const byName = new Map<string, BoardRun>();
  const most = mostRows(runs, measure);
  const value = (run: BoardRun) => meanOf(run.card, measure)?.value ?? Number.NEGATIVE_INFINITY;
  const isBetter = (a: BoardRun, b: BoardRun) => {
    const [complete, otherComplete] = [a, b].map((run) => isCovered(run, options));
    if (complete !== otherComplete) return complete === true;
    const [whole, otherWhole] = [a, b].map((run) => domainsWithFewer(run, most, options, measure).length === 0);
    if (whole !== otherWhole) return whole === true;
    const domains = domainsOf(a.card, measure).length - domainsOf(b.card, measure).length;
    return domains === 0 ? value(a) > value(b) : domains > 0;
  };
  const isLater = (a: BoardRun, b: BoardRun) => (a.at === b.at ? a.number > b.number : a.at > b.at);
  for (const run of runs) {
    const name = keyOfName(run, options.per);
    const before = byName.get(name);
    const wins = before === undefined || (options.show === 'best' ? isBetter(run, before) : isLater(run, before));
    if (wins) byName.set(name, run);
  }
  return [...byName.values()];
}

/** Whether the run and each of its domains reach the least coverage. */
export function isCovered({ card }: BoardRun, { minCoverage }: BoardOptions): boolean {
  return card.coverage >= minCoverage && shortDomains(card, minCoverage).length === 0;
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
 * The domains in which a run has so many rows less than another that its figures say something else: its share of the most rows is
 * below the least coverage. A run that was asked the easy rows alone would otherwise stand above all others.
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
