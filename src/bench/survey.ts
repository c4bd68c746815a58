// One look at every row of a dataset, each forgotten before the next, and what comes of it: a copy held against the benchmark's release
// (awb data check), and how large its rows are (awb data stats).

import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTableOrder } from '../domains.js';
import { throwIfStopped } from '../errors.js';
import { groupBy } from '../groups.js';
import { present } from '../present.js';
import { quantile } from '../quantile.js';
import type {
  DataCheck,
  DataStats,
  DomainCheck,
  LongRow,
  Place,
  RowStats,
  SizeName,
  Spread,
  Survey,
  SurveyedRow,
} from '../survey.js';
import type { Domain, Sample } from '../types.js';
import type { Dataset, RowRef } from './dataset.js';

/** Tokens of what the world model is sent for a row, and of the observation that it should predict. */
export type SizesOf = (sample: Sample) => Pick<SurveyedRow, 'contextTokens' | 'truthTokens'>;

/**
 * @param onRow is told how many rows have been read
 * @throws UserError: 65 where a file changes meanwhile, 130 or 143 once `stop` is aborted.
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
    // Lets a signal in: to count the tokens of a row keeps the thread busy.
    await nextTurn();
    throwIfStopped(stop);
    const [hash = '', ordinal] = row.key.split('-');
    const first = ordinal === undefined ? undefined : dataset.find(hash);
    rows.push({
      ...placeOf(row),
      domain: row.domain,
      id: row.id,
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

/** The release, as far as a copy is held against it. */
interface Release {
  readonly rows: Readonly<Record<Domain, number>>;
  readonly contextTokens: number;
}

export function checkRows({ files, rows, unusable }: Survey, release: Release): DataCheck {
  const byDomain = groupBy(rows, ({ domain }) => domain);
  const names = [...new Set([...Object.keys(release.rows), ...byDomain.keys()])].sort(inTableOrder);
  const long = rows.map(longRow).sort((a, b) => b.contextTokens - a.contextTokens);
  return {
    files,
    domains: names.map((domain) => domainCheck(domain, byDomain.get(domain) ?? [], release.rows[domain])),
    rows: rows.length,
    released: Object.values(release.rows).reduce((sum, count) => sum + count, 0),
    trajectories: trajectoriesIn(rows),
    unusable,
    equal: rows.flatMap(({ file, line, equals }) => (equals === undefined ? [] : [{ file, line, equals }])),
    sameTurn: sameTurns(rows),
    longest: long.slice(0, LONGEST),
    beyond: long.filter(({ contextTokens }) => contextTokens > release.contextTokens),
  };
}

function domainCheck(domain: string, rows: readonly SurveyedRow[], released: number | undefined): DomainCheck {
  const tokens = rows.map(({ contextTokens }) => contextTokens).sort((a, b) => a - b);
  const [median, longest] = [quantile(tokens, 0.5), tokens.at(-1)];
  return {
    domain,
    rows: rows.length,
    ...(released !== undefined && { released }),
    trajectories: trajectoriesIn(rows),
    ...(median !== undefined && { medianTokens: median }),
    ...(longest !== undefined && { longestTokens: longest }),
  };
}

function longRow({ file, line, domain, contextTokens }: SurveyedRow): LongRow {
  return { file, line, domain, contextTokens };
}

/** How many trajectories rows belong to. */
function trajectoriesIn(rows: readonly SurveyedRow[]): number {
  return new Set(rows.map(({ trajectory }) => trajectory)).size;
}

/** Rows behind the first of their domain, id and turn, those aside that equal another one. */
function sameTurns(rows: readonly SurveyedRow[]): Place[] {
  const seen = new Set<string>();
  return rows.flatMap(({ domain, id, turnIdx, file, line, equals }) => {
    const turn = JSON.stringify([domain, id, turnIdx]);
    const isFurther = seen.has(turn) && equals === undefined;
    seen.add(turn);
    return isFurther ? [{ file, line }] : [];
  });
}

const BINS = 24;

const SIZES: Readonly<Record<SizeName, (row: SurveyedRow) => number>> = {
  turn: ({ turnIdx }) => turnIdx,
  context: ({ contextTokens }) => contextTokens,
  truth: ({ truthTokens }) => truthTokens,
};

/** Of a survey with at least one row. */
export function statsOf({ rows }: Survey): DataStats {
  const edges = { turn: edgesOf(rows, 'turn'), context: edgesOf(rows, 'context'), truth: edgesOf(rows, 'truth') };
  const byDomain = [...groupBy(rows, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
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
