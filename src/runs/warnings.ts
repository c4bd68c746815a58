// What a reader has to know of a run before believing its scores.

import { LEAST_COVERAGE, percent, shortDomains } from '../coverage.js';
import { domainName } from '../domains.js';
import { counted } from '../figures.js';
import { impossibleFigures } from '../points.js';
import type { ReadRun } from './read-run.js';

/** All warnings about a run, a sentence each. */
export function warningsOn(run: ReadRun): string[] {
  return [...coverageWarning(run), ...ratingWarning(run)];
}

/** The warning that too many rows of a run are missing. */
function coverageWarning({ name, card }: ReadRun): string[] {
  const short = shortDomains(card);
  if (short.length === 0) return [];
  const listed = short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ');
  return [
    `INCOMPLETE: ${name} has a coverage below ${percent(LEAST_COVERAGE)} (${listed}); its scores must not be compared with others.`,
  ];
}

/** How many rows have ratings that no judge can have meant. */
export function impossibleRows({ rows }: ReadRun): number {
  return rows.filter((row) => impossibleFigures(row).length > 0).length;
}

/** The warning that rows are left out because no judge can have meant their ratings. */
function ratingWarning(run: ReadRun): string[] {
  const rows = impossibleRows(run);
  if (rows === 0) return [];
  return [
    `LEFT OUT: ${counted(rows, 'row')} of ${run.name} with ratings outside 1 to 5, which no judge can have meant; awb score names their lines.`,
  ];
}
