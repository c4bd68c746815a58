// Two runs over the same rows -> how they differ, paired row by row, and how sure that is.

import type { Comparison, DifferenceSet, DomainComparison, MovedRow } from '../comparison.js';
import { domainsOfMean } from '../domains.js';
import { counted } from '../figures.js';
import { countedPoints } from '../points.js';
import type { Domain } from '../types.js';
import { differencesOf } from './differences.js';
import { mean } from './mean.js';
import { type Compared, chosenRows, type Part, type PointsOf, partsOf, type RunRows } from './pairing.js';

export interface CompareOptions {
  /** Samples of the permutation test and the bootstrap, 10,000 where absent; 0 leaves both out. */
  readonly draws?: number;
  /** Seed of both; 1 where absent. */
  readonly seed?: number;
  /** What a row counts as in a figure, 0-100; undefined where it has none. `countedPoints` where absent. */
  readonly pointsOf?: PointsOf;
  /** How many of the rows that moved most are listed; 20 where absent. */
  readonly moved?: number;
}

/** Why two runs cannot be compared on any row. */
export interface NothingInCommon {
  readonly status: 'nothing-in-common';
  /** One sentence. */
  readonly reason: string;
}

/**
 * Compares two runs on the rows that either chose. The judgements of a prediction are averaged first, then the predictions (repeats)
 * of a row, and then each row's base is taken from its candidate. A failure that the model caused counts as rating 1; a row that transport or judge failed, or that a run did not
 * choose, is missing and lowers the coverage. A rating of 0 leaves out its own figure alone, an impossible one the total, too.
 *
 * A domain's difference is a mean clustered by trajectory; Overall's is the unweighted mean of the domains', of the seven published
 * ones alone where all were compared. Both follow
 * Miller, "Adding Error Bars to Evals" (arXiv 2411.00640), section 4.2 on paired differences; the formulas stand in
 * clusters.ts. The same rows and seed give the same numbers, in whatever order the rows come.
 */
export function compareRuns(
  base: RunRows,
  candidate: RunRows,
  options: CompareOptions = {},
): Comparison | NothingInCommon {
  const pointsOf = options.pointsOf ?? countedPoints;
  const parts = partsOf(base, candidate, pointsOf);
  const totals = parts.flatMap((part) => part.totals.map((row) => ({ domain: part.domain, ...row })));
  if (totals.length === 0) {
    return nothingInCommon(parts);
  }
  const resampling = { draws: options.draws ?? 10_000, seed: options.seed ?? 1 };
  const figures = differencesOf(parts, pointsOf, resampling);
  const domains = parts.map((part, index) => describe(part, base, candidate, figures.domains[index] ?? {}));
  const rows = domains.reduce((sum, domain) => sum + domain.rows, 0);
  return {
    status: 'ok',
    domains,
    overall: figures.overall,
    macroOf: domainsOfMean(domains.filter(({ compared }) => compared > 0).map(({ domain }) => domain)).length,
    rows,
    compared: totals.length,
    coverage: totals.length / rows,
    moved: furthest(totals).slice(0, options.moved ?? 20),
  };
}

function nothingInCommon(parts: readonly Part[]): NothingInCommon {
  const pairs = parts.flatMap((part) => part.pairs);
  const shared = pairs.filter((pair) => pair.base.length > 0 && pair.candidate.length > 0).length;
  const reason =
    shared === 0
      ? 'the two runs have no row in common'
      : `the two runs have ${counted(shared, 'row')} in common, but none that is rated in both`;
  return { status: 'nothing-in-common', reason };
}

function describe(part: Part, base: RunRows, candidate: RunRows, figures: DifferenceSet): DomainComparison {
  const { domain, pairs, having } = part;
  const rows = Math.max(pairs.length, chosenRows(base, domain), chosenRows(candidate, domain));
  const compared = part.totals.length;
  return {
    domain,
    rows,
    compared,
    coverage: compared / rows,
    missing: { base: rows - having.base, candidate: rows - having.candidate },
    figures,
  };
}

function furthest(totals: readonly (Compared & { readonly domain: Domain })[]): MovedRow[] {
  return totals
    .filter((row) => row.difference !== 0)
    .map(({ pair, domain, base, candidate, difference }) => ({
      key: pair.key,
      domain,
      turnIdx: pair.turnIdx,
      base: mean(base),
      candidate: mean(candidate),
      difference,
    }))
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}
