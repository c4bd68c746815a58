// A single pass over all rows of a dataset, with one row in memory at a time: comparing a copy with the benchmark's release (awb data
// check), and the sizes of its rows (awb data stats).

import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inDomains, inTableOrder } from '../core/domains.js';
import { present, throwIfStopped } from '../core/errors.js';
import { groupBy, keysOf, quantile, recordOf } from '../core/groups.js';
import type { Domain, Sample } from '../core/types.js';
import type { BadRow, Dataset, RowRef } from './dataset.js';

/** A line of a data file. */
export interface Place {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
}

export interface SurveyedRow extends Place {
  readonly domain: Domain;
  readonly turnIdx: number;
  /** Rows of one trajectory have the same number. */
  readonly trajectory: number;
  /** The place of the row that it equals. */
  readonly equals?: Place;
  /** Of the world model's prompt under the official protocol. */
  readonly contextTokens: number;
  readonly truthTokens: number;
}

export interface Survey {
  readonly files: readonly string[];
  readonly rows: readonly SurveyedRow[];
  readonly unusable: readonly BadRow[];
}

/** Tokens in the world model's prompt for a row, and in the observation that it should predict. */
type SizesOf = (sample: Sample) => Pick<SurveyedRow, 'contextTokens' | 'truthTokens'>;

/**
 * @param onRow receives the number of rows read so far
 * @throws UserError: 65 if a file changes meanwhile, 130 or 143 once `stop` is aborted.
 */
export async function surveyRows(
  dataset: Dataset,
  sizesOf: SizesOf,
  stop: AbortSignal,
  onRow: (rows: number) => void,
): Promise<Survey> {
  const files = dataset.files.map((path) => basename(path));
  const placeOf = ({ file, line }: RowRef): Place => ({ file: present(files[file]), line });
  const rows: SurveyedRow[] = [];
  for (const row of dataset.rows) {
    // Lets a signal in: counting a row's tokens keeps the thread busy.
    await nextTurn();
    throwIfStopped(stop);
    const [hash = '', ordinal] = row.key.split('-');
    const first = ordinal === undefined ? undefined : dataset.find(hash);
    rows.push({
      ...placeOf(row),
      domain: row.domain,
      turnIdx: row.turnIdx,
      trajectory: row.trajectoryNumber,
      ...(first !== undefined && { equals: placeOf(first) }),
      ...sizesOf(await dataset.readSample(row)),
    });
    onRow(rows.length);
  }
  return { files, rows, unusable: dataset.bad };
}

const LONGEST = 5;

/** The parts of the release that a copy is compared with. */
interface Release {
  readonly rows: Readonly<Record<Domain, number>>;
  readonly contextTokens: number;
}

export type DataCheck = ReturnType<typeof checkRows>;

/** A copy compared with the release: its counts, and the lines worth noting, as in `awb data check --json`. */
export function checkRows({ files, rows, unusable }: Survey, release: Release) {
  const byDomain = groupBy(rows, ({ domain }) => domain);
  // Domains of the release have an entry even without rows.
  const names = [...new Set([...Object.keys(release.rows), ...byDomain.keys()])].sort(inTableOrder);
  const long = rows
    .map(({ file, line, domain, contextTokens }) => ({ file, line, domain, context_tokens: contextTokens }))
    .sort((a, b) => b.context_tokens - a.context_tokens);
  return {
    files,
    rows: rows.length,
    released: Object.values(release.rows).reduce((sum, count) => sum + count, 0),
    trajectories: trajectoriesIn(rows),
    domains: Object.fromEntries(
      names.map((domain) => [domain, domainCheck(byDomain.get(domain) ?? [], release.rows[domain])]),
    ),
    unusable,
    /** Rows that equal an earlier one in all fields. */
    equal_rows: rows.flatMap(({ file, line, equals }) => (equals === undefined ? [] : [{ file, line, equals }])),
    longest: long.slice(0, LONGEST),
    /** Longer than the model's context, the longest first. */
    beyond_context: long.filter((row) => row.context_tokens > release.contextTokens),
  };
}

/** @param released undefined for a domain that the release does not have */
function domainCheck(rows: readonly SurveyedRow[], released: number | undefined) {
  const tokens = rows.map(({ contextTokens }) => contextTokens).sort((a, b) => a - b);
  return {
    rows: rows.length,
    released: released ?? null,
    trajectories: trajectoriesIn(rows),
    context_tokens: { median: quantile(tokens, 0.5) ?? null, max: tokens.at(-1) ?? null },
  };
}

/** How many trajectories rows belong to. */
function trajectoriesIn(rows: readonly SurveyedRow[]): number {
  return new Set(rows.map(({ trajectory }) => trajectory)).size;
}

const BINS = 24;

/** A row's sizes, by their names in documents. */
const SIZES = {
  turn: ({ turnIdx }: SurveyedRow) => turnIdx,
  context_tokens: ({ contextTokens }: SurveyedRow) => contextTokens,
  truth_tokens: ({ truthTokens }: SurveyedRow) => truthTokens,
};
export type DataStats = ReturnType<typeof statsOf>;
export type RowStats = DataStats['all'];

/** Statistics of a survey with at least one row, as in `awb data stats --json`. There is one more edge than there are bins. */
export function statsOf({ rows }: Survey) {
  const edges = recordOf(keysOf(SIZES), (size) => edgesOf(rows.map(SIZES[size])));
  const byDomain = inDomains(rows);
  return {
    domains: Object.fromEntries(byDomain.map(([domain, own]) => [domain, rowStats(own, edges)])),
    all: rowStats(rows, edges),
    bin_edges: edges,
  };
}

/** In steps of equal ratio between two powers of two, so that they are readable. */
function edgesOf(sizes: readonly number[]): number[] {
  const powers = sizes.map((size) => Math.log2(Math.max(1, size))).sort((a, b) => a - b);
  const from = Math.floor(present(powers[0]));
  const to = Math.max(from + 1, Math.ceil(present(powers.at(-1))));
  return Array.from({ length: BINS + 1 }, (_, edge) => 2 ** (from + ((to - from) * edge) / BINS));
}

function rowStats(rows: readonly SurveyedRow[], edges: Readonly<Record<keyof typeof SIZES, readonly number[]>>) {
  const spreads = recordOf(keysOf(SIZES), (size) => spreadOf(rows.map(SIZES[size]), edges[size]));
  return { rows: rows.length, trajectories: trajectoriesIn(rows), ...spreads };
}

/**
 * Median, 90th percentile and maximum of at least one value, and the counts in bins of equal width on a logarithmic scale. Values below
 * the first edge (an empty observation) count in the first bin.
 */
function spreadOf(values: readonly number[], edges: readonly number[]) {
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
