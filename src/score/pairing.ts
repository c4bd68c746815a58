// Two runs side by side: the rows of both by domain, and what each row counts as in a figure.

import type { Figure } from '../comparison.js';
import { inTableOrder } from '../domains.js';
import type { Domain, JudgedRow } from '../types.js';
import { mean } from './mean.js';
import { meanFigure, predictionsOf } from './predictions.js';
import type { Generations, Judgings } from './sampling.js';

/** A run as a comparison takes it. */
export interface RunRows {
  /** Rows of one key are its repeats, each once for every judgement of it. */
  readonly rows: readonly JudgedRow[];
  /** Rows (times repeats) that the run chose, by domain; what the file holds counts where this is absent. */
  readonly chosen?: ReadonlyMap<Domain, number>;
}

/** What a judged row counts as in a figure, 0-100; undefined where it has none. */
export type PointsOf = (row: JudgedRow, figure: Figure) => number | undefined;

/** A row in both runs: what was judged of it in each; empty where a run lacks it. */
interface Pair {
  readonly key: string;
  readonly turnIdx: number;
  readonly trajectory: string;
  readonly base: readonly JudgedRow[];
  readonly candidate: readonly JudgedRow[];
}

/** A row whose figure both runs have, in points. */
export interface Compared {
  readonly pair: Pair;
  readonly base: Generations;
  readonly candidate: Generations;
  readonly difference: number;
}

export interface Part {
  readonly domain: Domain;
  readonly pairs: readonly Pair[];
  /** The rows whose total both runs have. */
  readonly totals: readonly Compared[];
  /** Rows with a total in each run. */
  readonly having: { readonly base: number; readonly candidate: number };
}

/** The rows of two runs by domain, in the order of the table; within a domain by key. */
export function partsOf(base: RunRows, candidate: RunRows, pointsOf: PointsOf): Part[] {
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
export function comparedIn(pairs: readonly Pair[], figure: Figure, pointsOf: PointsOf): Compared[] {
  const compared: Compared[] = [];
  for (const pair of pairs) {
    const base = generationsOf(pair.base, figure, pointsOf);
    const candidate = base.length === 0 ? base : generationsOf(pair.candidate, figure, pointsOf);
    if (candidate.length === 0) continue;
    const difference = mean(candidate) - mean(base);
    // Equal ratings in another order may differ in the last bit.
    compared.push({ pair, base, candidate, difference: Math.abs(difference) < 1e-9 ? 0 : difference });
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
export function judgingsOf(rows: readonly JudgedRow[], figure: Figure, pointsOf: PointsOf): Judgings {
  return predictionsOf(rows)
    .map((judgements) => judgements.map((row) => pointsOf(row, figure)).filter((points) => points !== undefined))
    .filter((points) => points.length > 0);
}

/** How many rows of a domain a run chose; manifests count each repeat of a row. */
export function chosenRows({ rows, chosen }: RunRows, domain: Domain): number {
  const asked = chosen?.get(domain) ?? 0;
  if (asked === 0) return 0;
  const repeats = new Set(rows.filter((row) => row.domain === domain).map((row) => row.repeat)).size;
  return Math.ceil(asked / Math.max(1, repeats));
}
