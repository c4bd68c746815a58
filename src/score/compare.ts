// Two runs over the same rows -> how they differ, paired row by row, and how sure that is.

import {
  type Comparison,
  type Difference,
  type DifferenceSet,
  type DomainComparison,
  FIGURES,
  type Figure,
  type MovedRow,
} from '../comparison.js';
import { inTableOrder } from '../domains.js';
import { counted } from '../figures.js';
import { countedPoints } from '../points.js';
import type { Domain, Estimate, JudgedRow } from '../types.js';
import { clusteredEstimate, meanOfEstimates, type Observation } from './clusters.js';
import { smallestEffect } from './intervals.js';
import { mean } from './mean.js';
import { holm } from './multiple.js';
import { bootstrapInterval, type Resampling, type Strata, signFlipP } from './resampling.js';
import { type Generations, meanOfSplits, onTheseRows, samplingOf, splitVariance } from './sampling.js';

/** A run as a comparison takes it. */
export interface RunRows {
  /** Rows of one key are its repeats. */
  readonly rows: readonly JudgedRow[];
  /** Rows (times repeats) that the run chose, by domain; what the file holds counts where this is absent. */
  readonly chosen?: ReadonlyMap<Domain, number>;
}

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

type PointsOf = (row: JudgedRow, figure: Figure) => number | undefined;

/** Why two runs cannot be compared on any row. */
export interface NothingInCommon {
  readonly status: 'nothing-in-common';
  /** One sentence. */
  readonly reason: string;
}

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

/**
 * Compares two runs on the rows that either chose. Repeats of a row are averaged first, then each row's base is taken from its
 * candidate. A failure that the model caused counts as rating 1; a row that transport or judge failed, or that a run did not
 * choose, is missing and lowers the coverage. A rating of 0 leaves out its own figure alone, an impossible one the total, too.
 *
 * A domain's difference is a mean clustered by trajectory; Overall's is the unweighted mean of the domains'. Both follow
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
    macroOf: domains.filter((domain) => domain.compared > 0).length,
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

function comparedIn(pairs: readonly Pair[], figure: Figure, pointsOf: PointsOf): Compared[] {
  const compared: Compared[] = [];
  for (const pair of pairs) {
    const base = generationsOf(pair.base, figure, pointsOf);
    const candidate = generationsOf(pair.candidate, figure, pointsOf);
    if (base.length === 0 || candidate.length === 0) continue;
    const difference = mean(candidate) - mean(base);
    // Equal ratings in another order may differ in the last bit.
    compared.push({ pair, base, candidate, difference: Math.abs(difference) < 1e-9 ? 0 : difference });
  }
  return compared;
}

function generationsOf(rows: readonly JudgedRow[], figure: Figure, pointsOf: PointsOf): Generations {
  return rows.map((row) => pointsOf(row, figure)).filter((points) => points !== undefined);
}

/** One figure after the other, so that what is compared of one is gone before the next: of many rows it is large. */
function differencesOf(parts: readonly Part[], pointsOf: PointsOf, resampling: Resampling) {
  const domains: Partial<Record<Figure, Difference>>[] = parts.map(() => ({}));
  const overall: Partial<Record<Figure, Difference>> = {};
  for (const figure of FIGURES) {
    const having = parts.flatMap((part, index) => {
      const rows = figure === 'total' ? part.totals : comparedIn(part.pairs, figure, pointsOf);
      return rows.length === 0 ? [] : [{ index, rows }];
    });
    const found = having.map(({ rows }) => differenceOf(rows, figure, resampling));
    const tested = found.filter((difference) => difference.p !== undefined);
    const adjusted = holm(tested.flatMap((difference) => difference.p ?? []));
    for (const [place, { index }] of having.entries()) {
      const difference = found[place] as Difference;
      const adjustedP = adjusted[tested.indexOf(difference)];
      (domains[index] as Partial<Record<Figure, Difference>>)[figure] =
        adjustedP === undefined ? difference : { ...difference, adjustedP };
    }
    if (found.length > 0) {
      const strata = having.map(({ rows }) => observationsOf(rows));
      overall[figure] = meanOfDifferences(found, strata, figure, resampling);
    }
  }
  return { domains, overall };
}

function differenceOf(rows: readonly Compared[], figure: Figure, resampling: Resampling): Difference {
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
    ...(difference.se === undefined ? {} : { split: splitVariance(difference.se, sampling) }),
    ...(fixed === undefined ? {} : { onTheseRows: fixed }),
  };
}

function observationsOf(rows: readonly Compared[]): Observation[] {
  return rows.map((row) => ({ value: row.difference, cluster: row.pair.trajectory }));
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

/** Manifests count each repeat of a row. */
function chosenRows({ rows, chosen }: RunRows, domain: Domain): number {
  const asked = chosen?.get(domain) ?? 0;
  if (asked === 0) return 0;
  const repeats = new Set(rows.filter((row) => row.domain === domain).map((row) => row.repeat)).size;
  return Math.ceil(asked / Math.max(1, repeats));
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
