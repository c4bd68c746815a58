// How large the rows of a copy of the benchmark are, by domain and on scales that all domains share.

import { inTableOrder } from '../domains.js';
import { present } from '../present.js';
import { quantile } from '../quantile.js';
import type { DataStats, RowStats, SizeName, Spread, Survey, SurveyedRow } from '../survey.js';
import { rowsByDomain, trajectoriesIn } from './data-check.js';

const BINS = 24;

const SIZES: Readonly<Record<SizeName, (row: SurveyedRow) => number>> = {
  turn: ({ turnIdx }) => turnIdx,
  context: ({ contextTokens }) => contextTokens,
  truth: ({ truthTokens }) => truthTokens,
};

/** Of a survey with at least one row. */
export function statsOf({ rows }: Survey): DataStats {
  const edges = { turn: edgesOf(rows, 'turn'), context: edgesOf(rows, 'context'), truth: edgesOf(rows, 'truth') };
  const byDomain = [...rowsByDomain(rows)].sort(([a], [b]) => inTableOrder(a, b));
  return {
    domains: byDomain.map(([domain, own]) => ({ domain, ...rowStats(own, edges) })),
    all: rowStats(rows, edges),
    edges,
  };
}

/** From a power of two to a power of two, so that they can be read, in steps of equal ratio. */
function edgesOf(rows: readonly SurveyedRow[], size: SizeName): number[] {
  let [least, most] = [Number.POSITIVE_INFINITY, 1];
  for (const row of rows) {
    const value = Math.max(1, SIZES[size](row));
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const from = Math.floor(Math.log2(least));
  const to = Math.max(from + 1, Math.ceil(Math.log2(most)));
  return Array.from({ length: BINS + 1 }, (_, edge) => 2 ** (from + ((to - from) * edge) / BINS));
}

function rowStats(rows: readonly SurveyedRow[], edges: DataStats['edges']): RowStats {
  const spread = (size: SizeName) => spreadOf(rows.map(SIZES[size]), edges[size]);
  return {
    rows: rows.length,
    trajectories: trajectoriesIn(rows),
    turn: spread('turn'),
    context: spread('context'),
    truth: spread('truth'),
  };
}

/** Of at least one value. What is below the first edge (an empty observation) counts to the first bin. */
function spreadOf(values: readonly number[], edges: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const bins = Array.from({ length: edges.length - 1 }, () => 0);
  let bin = 0;
  for (const value of sorted) {
    while (bin < bins.length - 1 && value >= present(edges[bin + 1])) bin++;
    bins[bin] = present(bins[bin]) + 1;
  }
  return {
    median: present(quantile(sorted, 0.5)),
    p90: present(quantile(sorted, 0.9)),
    max: present(sorted.at(-1)),
    bins,
  };
}
