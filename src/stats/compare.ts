// Two runs over the same rows -> how they differ, paired row by row, and how sure that is.

import {
  type Comparison,
  type Difference,
  type DifferenceSet,
  type DomainComparison,
  FIGURES,
  type Figure,
  type MovedRow,
} from '../core/comparison.js';
import { coversBenchmark, domainsOfMean, inTableOrder, isPublished } from '../core/domains.js';
import { counted } from '../core/figures.js';
import { countedPoints } from '../core/points.js';
import type { Domain, Estimate, JudgedRow } from '../core/types.js';
import { clusteredEstimate, meanOfEstimates, type Observation } from './clusters.js';
import { smallestEffect } from './intervals.js';
import { aboveBy, mean } from './mean.js';
import { holm } from './multiple.js';
import { isJudgedAgain, meanFigure, predictionsOf } from './predictions.js';
import { bootstrapInterval, type Resampling, type Strata, signFlipP } from './resampling.js';
import {
  type Generations,
  generatingOf,
  type Judgings,
  judgingOf,
  meanOfSplits,
  onTheseRows,
  samplingOf,
  splitVariance,
} from './sampling.js';

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

/** Differences by domain, in the order of the parts, and over all; a figure that no compared row has is absent. */
interface Differences {
  readonly domains: readonly DifferenceSet[];
  readonly overall: DifferenceSet;
}

/** One figure after the other, so that what is compared of one is gone before the next: of many rows it is large. */
function differencesOf(parts: readonly Part[], pointsOf: PointsOf, resampling: Resampling): Differences {
  const domains: Partial<Record<Figure, Difference>>[] = parts.map(() => ({}));
  const overall: Partial<Record<Figure, Difference>> = {};
  const compared = parts.filter(({ totals }) => totals.length > 0).map(({ domain }) => domain);
  const isWhole = coversBenchmark(compared);
  for (const figure of FIGURES) {
    const having = parts.flatMap((part, index) => {
      const rows = figure === 'total' ? part.totals : comparedIn(part.pairs, figure, pointsOf);
      return rows.length === 0
        ? []
        : [{ set: domains[index], rows, isBehindMean: !isWhole || isPublished(part.domain) }];
    });
    const found = adjusted(having.map(({ rows }) => differenceOf(rows, figure, pointsOf, resampling)));
    for (const [place, difference] of found.entries()) {
      const set = having[place]?.set;
      if (set !== undefined) set[figure] = difference;
    }
    const behind = found.filter((_, place) => having[place]?.isBehindMean);
    if (behind.length > 0) {
      const strata = having.filter(({ isBehindMean }) => isBehindMean).map(({ rows }) => observationsOf(rows));
      overall[figure] = meanOfDifferences(behind, strata, figure, resampling);
    }
  }
  return { domains, overall };
}

/** The differences of one figure, each p adjusted over the domains that have one. */
function adjusted(found: readonly Difference[]): Difference[] {
  const levels = holm(found.flatMap(({ p }) => p ?? []));
  let next = 0;
  return found.map((difference) => {
    const adjustedP = difference.p === undefined ? undefined : levels[next++];
    return adjustedP === undefined ? difference : { ...difference, adjustedP };
  });
}

function differenceOf(
  rows: readonly Compared[],
  figure: Figure,
  pointsOf: PointsOf,
  resampling: Resampling,
): Difference {
  const observations = observationsOf(rows);
  const difference = clusteredEstimate(observations);
  const sampling = samplingOf([rows.map((row) => row.base), rows.map((row) => row.candidate)]);
  const fixed = onTheseRows(difference, sampling);
  return {
    difference,
    base: mean(rows.map((row) => mean(row.base))),
    candidate: mean(rows.map((row) => mean(row.candidate))),
    wins: rows.filter((row) => row.difference > 0).length,
    ties: rows.filter((row) => row.difference === 0).length,
    losses: rows.filter((row) => row.difference < 0).length,
    ...sureness(difference, [observations], figure, resampling),
    ...(difference.se === undefined
      ? {}
      : { split: splitVariance(difference.se, sampling, ...judgeVariances(rows, figure, pointsOf)) }),
    ...(fixed === undefined ? {} : { onTheseRows: fixed }),
  };
}

function meanOfDifferences(
  found: readonly Difference[],
  strata: Strata,
  figure: Figure,
  resampling: Resampling,
): Difference {
  const sum = (count: (difference: Difference) => number) => found.reduce((total, one) => total + count(one), 0);
  const difference = meanOfEstimates(found.map((one) => one.difference));
  const splits = found.flatMap((one) => one.split ?? []);
  const fixed = found.flatMap((one) => one.onTheseRows ?? []);
  return {
    difference,
    base: mean(found.map((one) => one.base)),
    candidate: mean(found.map((one) => one.candidate)),
    wins: sum((one) => one.wins),
    ties: sum((one) => one.ties),
    losses: sum((one) => one.losses),
    ...sureness(difference, strata, figure, resampling),
    ...(splits.length < found.length ? {} : { split: meanOfSplits(splits) }),
    ...(fixed.length < found.length ? {} : { onTheseRows: meanOfEstimates(fixed) }),
  };
}

function sureness(
  difference: Estimate,
  strata: Strata,
  figure: Figure,
  resampling: Resampling,
): Pick<Difference, 'p' | 'smallestEffect' | 'bootstrap'> {
  const least = smallestEffect(difference);
  const bootstrap =
    figure === 'total' && difference.low !== undefined ? bootstrapInterval(strata, resampling) : undefined;
  return {
    ...(resampling.draws === 0 || difference.se === undefined ? {} : { p: signFlipP(strata, resampling) }),
    ...(least === undefined ? {} : { smallestEffect: least }),
    ...(bootstrap === undefined ? {} : { bootstrap }),
  };
}

/** The judge's part and the generations' own; empty where a run judged nothing twice, as most do. */
function judgeVariances(
  rows: readonly Compared[],
  figure: Figure,
  pointsOf: PointsOf,
): [judge?: number | undefined, generating?: number | undefined] {
  const isAgain = (side: 'base' | 'candidate') => rows.some(({ pair }) => isJudgedAgain(pair[side]));
  if (!isAgain('base') || !isAgain('candidate')) return [];
  const judgings = (side: 'base' | 'candidate') => rows.map(({ pair }) => judgingsOf(pair[side], figure, pointsOf));
  const both = [judgings('base'), judgings('candidate')];
  return [judgingOf(both), generatingOf(both)];
}

function observationsOf(rows: readonly Compared[]): Observation[] {
  return rows.map((row) => ({ value: row.difference, cluster: row.pair.trajectory }));
}

/** A run as a comparison takes it. */
export interface RunRows {
  /** Rows of one key are its repeats, each once for every judgement of it. */
  readonly rows: readonly JudgedRow[];
  /** Rows (times repeats) that the run chose, by domain; what the file holds counts where this is absent. */
  readonly chosen?: ReadonlyMap<Domain, number> | undefined;
}

/** What a judged row counts as in a figure, 0-100; undefined where it has none. */
type PointsOf = (row: JudgedRow, figure: Figure) => number | undefined;

/** A row in both runs: what was judged of it in each; empty where a run lacks it. */
interface Pair {
  readonly key: string;
  readonly turnIdx: number;
  readonly trajectory: string;
  readonly base: readonly JudgedRow[];
  readonly candidate: readonly JudgedRow[];
}

/** A row whose figure both runs have, in points. */
interface Compared {
  readonly pair: Pair;
  readonly base: Generations;
  readonly candidate: Generations;
  readonly difference: number;
}

interface Part {
  readonly domain: Domain;
  readonly pairs: readonly Pair[];
  /** The rows whose total both runs have. */
  readonly totals: readonly Compared[];
  /** Rows with a total in each run. */
  readonly having: { readonly base: number; readonly candidate: number };
}

/** The rows of two runs by domain, in the order of the table; within a domain by key. */
function partsOf(base: RunRows, candidate: RunRows, pointsOf: PointsOf): Part[] {
  const pairs = new Map<Domain, Map<string, Pair & { base: JudgedRow[]; candidate: JudgedRow[] }>>();
  for (const [side, run] of [['base', base] as const, ['candidate', candidate] as const]) {
    for (const [domain, chosen] of run.chosen ?? []) {
      if (chosen > 0) entryOf(pairs, domain, () => new Map());
    }
    for (const row of run.rows) {
      const { key, turnIdx, trajectory } = row;
      const domain = entryOf(pairs, row.domain, () => new Map());
      entryOf(domain, key, () => ({ key, turnIdx, trajectory, base: [], candidate: [] }))[side].push(row);
    }
  }
  return [...pairs]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, byKey]) =>
      partOf(
        domain,
        [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
        pointsOf,
      ),
    );
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

function partOf(domain: Domain, pairs: readonly Pair[], pointsOf: PointsOf): Part {
  const having = (side: 'base' | 'candidate') =>
    pairs.filter((pair) => pair[side].some((row) => pointsOf(row, 'total') !== undefined)).length;
  return {
    domain,
    pairs,
    totals: comparedIn(pairs, 'total', pointsOf),
    having: { base: having('base'), candidate: having('candidate') },
  };
}

/** The rows whose figure both runs have: judgements are averaged within predictions, and these within rows. */
function comparedIn(pairs: readonly Pair[], figure: Figure, pointsOf: PointsOf): Compared[] {
  const compared: Compared[] = [];
  for (const pair of pairs) {
    const base = generationsOf(pair.base, figure, pointsOf);
    const candidate = base.length === 0 ? base : generationsOf(pair.candidate, figure, pointsOf);
    if (candidate.length === 0) continue;
    compared.push({ pair, base, candidate, difference: aboveBy(mean(candidate), mean(base)) });
  }
  return compared;
}

/** What a row without the figure has, one for all of them: a large run has many. */
const NONE: Generations = [];

function generationsOf(rows: readonly JudgedRow[], figure: Figure, pointsOf: PointsOf): Generations {
  const [first] = rows;
  if (first === undefined) return NONE;
  // Most rows have one generation, judged once.
  const points =
    rows.length === 1
      ? [pointsOf(first, figure)]
      : predictionsOf(rows).map((judgements) => meanFigure(judgements, (row) => pointsOf(row, figure)));
  return points.every((one) => one === undefined) ? NONE : points.filter((one) => one !== undefined);
}

/** What the judgements of each prediction of a row count as; those without the figure are left out. */
function judgingsOf(rows: readonly JudgedRow[], figure: Figure, pointsOf: PointsOf): Judgings {
  return predictionsOf(rows)
    .map((judgements) => judgements.map((row) => pointsOf(row, figure)).filter((points) => points !== undefined))
    .filter((points) => points.length > 0);
}

/** How many rows of a domain a run chose; manifests count each repeat of a row. */
function chosenRows({ rows, chosen }: RunRows, domain: Domain): number {
  const asked = chosen?.get(domain) ?? 0;
  if (asked === 0) return 0;
  const repeats = new Set(rows.filter((row) => row.domain === domain).map((row) => row.repeat)).size;
  return Math.ceil(asked / Math.max(1, repeats));
}
