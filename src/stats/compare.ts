// Two runs over the same rows -> how they differ, paired row by row, and how sure that is.

import { FIGURES, type Figure } from '../core/comparison.js';
import { coversBenchmark, domainsOfMean, inTableOrder, isPublished } from '../core/domains.js';
import { heldIn, sum } from '../core/groups.js';
import { countedPoints } from '../core/points.js';
import type { Domain, Estimate, JudgedRow } from '../core/types.js';
import { type Judgings, meanOfSplits, onTheseRows, predictionsOf, samplingOf, splitVariance } from './aggregate.js';
import { aboveBy, clusteredEstimate, mean, meanOfEstimates, type Observation } from './clusters.js';
import { holm } from './distributions.js';
import { smallestEffect } from './intervals.js';
import { bootstrapInterval, type Resampling, type Strata, signFlipP } from './resampling.js';

export interface CompareOptions {
  /** Samples of the permutation test and the bootstrap, 10,000 if absent; 0 skips both. */
  readonly draws?: number;
  /** Seed of both; 1 if absent. */
  readonly seed?: number;
  /** The points of a row in a figure, 0-100; undefined if it has none. `countedPoints` if absent. */
  readonly pointsOf?: PointsOf;
  /** How many of the rows that moved most are listed; 20 if absent. */
  readonly moved?: number;
}

/** The points of a judged row in a figure, 0-100; undefined if it has none. */
type PointsOf = (row: JudgedRow, figure: Figure) => number | undefined;

/** A run as the input of a comparison. */
export interface RunRows {
  /** Rows with one key are its repeats, each once for every judgement of it. */
  readonly rows: readonly JudgedRow[];
  /** Rows (times repeats) that the run chose, by domain; if absent, the file's own count is used. */
  readonly chosen?: ReadonlyMap<Domain, number> | undefined;
}

/**
 * Compares two runs on the rows that either chose. First the judgements of a prediction are averaged, then the predictions (repeats) of a
 * row, and then each row's base is subtracted from its candidate. A failure that the model caused counts as rating 1; a row that failed in
 * transport or at the judge, or that a run did not choose, is missing and lowers the coverage. A rating of 0 leaves out only its own
 * figure, an impossible one also the total.
 *
 * A domain's difference is a mean clustered by trajectory; Overall's is the unweighted mean of the domains', of the seven published ones
 * only if all were compared. Both follow Miller, "Adding Error Bars to Evals" (arXiv 2411.00640), section 4.2 on paired differences; the
 * formulas are in clusters.ts. The same rows and seed give the same numbers, in whatever order the rows come.
 */
export function compareRuns(
  base: RunRows,
  candidate: RunRows,
  { draws = 10_000, seed = 1, pointsOf = countedPoints, moved = 20 }: CompareOptions = {},
) {
  const parts = partsOf(base, candidate).map((part) => ({
    ...part,
    totals: comparedIn(part.pairs, 'total', pointsOf),
  }));
  const totals = parts.flatMap((part) => part.totals.map((row) => ({ ...row, domain: part.domain })));
  if (totals.length === 0) return NOTHING_IN_COMMON;
  const compared = parts.filter((part) => part.totals.length > 0).map(({ domain }) => domain);
  const isWhole = coversBenchmark(compared);
  const domains: DifferenceSet[] = parts.map(() => ({}));
  const overall: DifferenceSet = {};
  // One figure at a time, so that the data compared for it is freed before the next: for many rows it is large.
  for (const figure of FIGURES) {
    const found = parts.flatMap((part, at) => {
      const rows = figure === 'total' ? part.totals : comparedIn(part.pairs, figure, pointsOf);
      const own = { at, rows, isBehindMean: !isWhole || isPublished(part.domain) };
      return rows.length === 0 ? [] : [{ ...own, of: differenceOf(rows, figure, { draws, seed }) }];
    });
    // Each p is adjusted over the domains that have one.
    const levels = holm(found.flatMap(({ of }) => of.p ?? []));
    for (const { at, of } of found) {
      const set = domains[at];
      if (set !== undefined) set[figure] = of.p === undefined ? of : { ...of, pAdjusted: levels.shift() };
    }
    const behind = found.filter(({ isBehindMean }) => isBehindMean);
    if (behind.length === 0) continue;
    const strata = behind.map(({ rows }) => observationsOf(rows));
    const mean = meanOfDifferences(behind.map(({ of }) => of));
    overall[figure] = { ...mean, ...sureness(mean.difference, strata, figure, { draws, seed }) };
  }
  const described = parts.map(({ domain, pairs, totals: own }, at) => {
    const rows = Math.max(pairs.length, chosenRows(base, domain), chosenRows(candidate, domain));
    const missing = (side: (typeof SIDES)[number]) =>
      rows - pairs.filter((pair) => pair[side].some((row) => pointsOf(row, 'total') !== undefined)).length;
    return {
      domain,
      rows,
      compared: own.length,
      coverage: own.length / rows,
      missing: { base: missing('base'), candidate: missing('candidate') },
      figures: domains[at] ?? {},
    };
  });
  const rows = described.reduce((sum, domain) => sum + domain.rows, 0);
  return {
    status: 'ok' as const,
    /** In the published order, others after them by name; includes those in which nothing could be compared. */
    domains: described,
    /** Unweighted mean of the domains that have the figure. */
    overall,
    /** How many domains have a total. */
    macroOf: domainsOfMean(compared).length,
    rows,
    compared: totals.length,
    coverage: totals.length / rows,
    /** The rows whose total moved furthest, in either direction, furthest first. */
    moved: furthest(totals).slice(0, moved),
  };
}

export type Comparison = Extract<ReturnType<typeof compareRuns>, { status: 'ok' }>;
/** A row and how far its total moved, in points of 0-100; repeats are averaged. */
export type MovedRow = Comparison['moved'][number];
type Found = ReturnType<typeof differenceOf>;
/** What is not known for every difference. */
type Sureness = 'split' | 'onTheseRows' | keyof ReturnType<typeof sureness>;
/** How the candidate differs from the base in one figure; for a domain `p` is also adjusted over the domains by Holm's method. */
export type Difference = Omit<Found, Sureness> &
  Partial<Pick<Found, Sureness>> & { readonly pAdjusted?: number | undefined };
/** Differences of the five dimensions and of their mean (`total`); one that no compared row has is absent. */
export type DifferenceSet = Partial<Record<Figure, Difference>>;

const NOTHING_IN_COMMON = {
  status: 'nothing-in-common',
  reason: 'the two runs have no row in common that is rated in both',
} as const;

function furthest(totals: readonly (Compared & { readonly domain: Domain })[]) {
  return totals
    .filter((row) => row.difference !== 0)
    .sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference))
    .map(({ pair: { key, turnIdx }, domain, base, candidate, difference }) => {
      return { key, domain, turnIdx, base, candidate, difference };
    });
}

/** In points of 0-100, on the compared rows, failures that the model caused at rating 1. */
function differenceOf(rows: readonly Compared[], figure: Figure, drawing: Resampling) {
  const observations = observationsOf(rows);
  const difference = clusteredEstimate(observations);
  const sampling = samplingOf(SIDES.map((side) => rows.map(({ judgings }) => judgings[side])));
  return {
    difference,
    base: mean(rows.map((row) => row.base)),
    candidate: mean(rows.map((row) => row.candidate)),
    wins: rows.filter((row) => row.difference > 0).length,
    ties: rows.filter((row) => row.difference === 0).length,
    losses: rows.filter((row) => row.difference < 0).length,
    ...sureness(difference, [observations], figure, drawing),
    split: difference.se === undefined ? undefined : splitVariance(difference.se ** 2, sampling),
    onTheseRows: onTheseRows(difference, sampling),
  };
}

function meanOfDifferences(found: readonly Difference[]) {
  const splits = found.flatMap((one) => one.split ?? []);
  const fixed = found.flatMap((one) => one.onTheseRows ?? []);
  return {
    difference: meanOfEstimates(found.map((one) => one.difference)),
    base: mean(found.map((one) => one.base)),
    candidate: mean(found.map((one) => one.candidate)),
    wins: sum(found, (one) => one.wins),
    ties: sum(found, (one) => one.ties),
    losses: sum(found, (one) => one.losses),
    split: splits.length < found.length ? undefined : meanOfSplits(splits),
    onTheseRows: fixed.length < found.length ? undefined : meanOfEstimates(fixed),
  };
}

function sureness(difference: Estimate, strata: Strata, figure: Figure, resampling: Resampling) {
  const isTotal = figure === 'total' && difference.low !== undefined;
  return {
    p: resampling.draws === 0 || difference.se === undefined ? undefined : signFlipP(strata, resampling),
    smallestEffect: smallestEffect(difference),
    bootstrap: isTotal ? bootstrapInterval(strata, resampling) : undefined,
  };
}

function observationsOf(rows: readonly Compared[]): Observation[] {
  return rows.map((row) => ({ value: row.difference, cluster: row.pair.trajectory }));
}

const SIDES = ['base', 'candidate'] as const;
/** A row in both runs: its judgements in each; empty if a run lacks it. */
interface Pair {
  readonly key: string;
  readonly turnIdx: number;
  readonly trajectory: string;
  readonly base: JudgedRow[];
  readonly candidate: JudgedRow[];
}

/** A row whose figure both runs have, in points. */
type Compared = ReturnType<typeof comparedIn>[number];

/** The rows of two runs by domain, in the order of the table; within a domain by key. */
function partsOf(base: RunRows, candidate: RunRows) {
  const domains = new Map<Domain, Map<string, Pair>>();
  const pairsOf = (domain: Domain) => heldIn(domains, domain, () => new Map<string, Pair>());
  for (const [side, { rows, chosen = [] }] of [['base', base] as const, ['candidate', candidate] as const]) {
    for (const [domain, count] of chosen) if (count > 0) pairsOf(domain);
    for (const row of rows) {
      const { key, turnIdx, trajectory } = row;
      const made = () => ({ key, turnIdx, trajectory, base: [], candidate: [] });
      heldIn(pairsOf(row.domain), key, made)[side].push(row);
    }
  }
  return [...domains]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, pairs]) => ({ domain, pairs: [...pairs.values()].sort((a, b) => (a.key < b.key ? -1 : 1)) }));
}

/** The rows whose figure both runs have: judgements are averaged within predictions, and these within rows. */
function comparedIn(pairs: readonly Pair[], figure: Figure, pointsOf: PointsOf) {
  return pairs.flatMap((pair) => {
    const before = judgingsOf(pair.base, figure, pointsOf);
    const after = before.length === 0 ? before : judgingsOf(pair.candidate, figure, pointsOf);
    if (after.length === 0) return [];
    const [base, candidate] = [mean(before.map(mean)), mean(after.map(mean))];
    const judgings = { base: before, candidate: after };
    return [{ pair, judgings, base, candidate, difference: aboveBy(candidate, base) }];
  });
}

/** The points of the judgements of each prediction of a row; those without the figure are left out. */
function judgingsOf(rows: readonly JudgedRow[], figure: Figure, pointsOf: PointsOf): Judgings {
  const pointsIn = (judgements: readonly JudgedRow[]) =>
    judgements.map((row) => pointsOf(row, figure)).filter((points) => points !== undefined);
  return predictionsOf(rows)
    .map(pointsIn)
    .filter(({ length }) => length > 0);
}

/** How many rows of a domain a run chose; manifests count each repeat of a row. */
function chosenRows({ rows, chosen }: RunRows, domain: Domain): number {
  const asked = chosen?.get(domain) ?? 0;
  if (asked === 0) return 0;
  const repeats = new Set(rows.filter((row) => row.domain === domain).map((row) => row.repeat)).size;
  return Math.ceil(asked / Math.max(1, repeats));
}
