// The tables of the SQLite file back into runs. A value of another type than was stored is damage, and nothing is made of it.

import { inTableOrder } from '../domains.js';
import { isObject } from '../json.js';
import {
  DIMENSIONS,
  type DomainScore,
  type Estimate,
  type JudgedRow,
  type JudgementFailure,
  type ScoreCard,
} from '../types.js';
import type { RunRecord, StoredRun } from './records.js';
import type { Sqlite } from './sqlite.js';

/** What SQLite itself does not notice: a column holds what was never written there. */
export class DamagedValue extends Error {
  constructor(column: string) {
    super(`column ${column}`);
    this.name = 'DamagedValue';
  }
}

/** Every run with its scores, in the order of their ids. @throws DamagedValue */
export function readRuns(database: Sqlite): StoredRun[] {
  // One transaction, so that a run replaced meanwhile is read whole.
  return database.reading(() => {
    const runs = rowsOf(database.prepare('SELECT * FROM runs ORDER BY id').all());
    const counts = byRun(database, 'domain_counts');
    const scores = byRun(database, 'domain_scores');
    const overall = byRun(database, 'overall_scores');
    return runs.map((run) => {
      const id = run.number('id');
      const of = (rows: ReadonlyMap<number, Row[]>) => rows.get(id) ?? [];
      return { ...recordOf(run), id, card: cardOf(run, of(counts), of(scores), of(overall)) };
    });
  });
}

/** A run's judged rows by key and repeat; none for an id that is not there. @throws DamagedValue */
export function readJudgements(database: Sqlite, runId: number): JudgedRow[] {
  return database.reading(() => {
    const measures = new Map<string, Record<string, number>>();
    for (const row of rowsOfRun(database, 'measures', MEASURE_COLUMNS, ['key', 'repeat', 'name'], runId)) {
      const id = `${row.text('key')}#${row.number('repeat')}`;
      const own = measures.get(id) ?? {};
      own[row.text('name')] = row.number('value');
      measures.set(id, own);
    }
    const judged: JudgedRow[] = [];
    for (const row of rowsOfRun(database, 'judgements', JUDGED_COLUMNS, ['key', 'repeat'], runId)) {
      judged.push(judgedRowOf(row, measures));
    }
    return judged;
  });
}

const MEASURE_COLUMNS = ['key', 'repeat', 'name', 'value'];
const JUDGED_COLUMNS = [
  'key',
  'repeat',
  'trajectory',
  'domain',
  'turn_idx',
  'failure_class',
  'failure_reason',
  'failed',
  ...DIMENSIONS,
  'total',
  'flags',
];
const ROWS_AT_ONCE = 4096;

/** The rows of a run in the order of their key, some thousands at a time: as SQLite gives them they take ten times the memory. */
function* rowsOfRun(
  database: Sqlite,
  table: string,
  columns: readonly string[],
  key: readonly string[],
  runId: number,
): Generator<Row> {
  const order = key.join(', ');
  const from = `SELECT ${columns.join(', ')} FROM ${table} WHERE run_id = ?`;
  const first = database.prepare(`${from} ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`);
  const next = database.prepare(
    `${from} AND (${order}) > (${key.map(() => '?').join(', ')}) ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`,
  );
  const ends = new Set<string>();
  let page = first.all(runId) as Values[];
  for (;;) {
    for (const values of page) yield new Row(values);
    if (page.length < ROWS_AT_ONCE) return;
    const end = key.map((column) => page.at(-1)?.[column]);
    // In a damaged file the order may lead in a circle.
    if (ends.has(String(end))) throw new DamagedValue(order);
    ends.add(String(end));
    page = next.all(runId, end) as Values[];
  }
}

type Values = Readonly<Record<string, unknown>>;

/** A row whose values are checked as they are taken. */
class Row {
  constructor(private readonly values: Values) {}

  text(column: string): string {
    const value = this.values[column];
    if (typeof value !== 'string') throw new DamagedValue(column);
    return value;
  }

  number(column: string): number {
    const value = this.values[column];
    if (typeof value !== 'number') throw new DamagedValue(column);
    return value;
  }

  /** Undefined where the column holds none. */
  textIn(column: string): string | undefined {
    return this.values[column] === null ? undefined : this.text(column);
  }

  numberIn(column: string): number | undefined {
    return this.values[column] === null ? undefined : this.number(column);
  }

  /** A JSON object, whose values are checked one by one. */
  object<T>(column: string, isValue: (value: unknown) => value is T): Record<string, T> {
    const value = this.#json(column);
    if (!isObject(value)) throw new DamagedValue(column);
    for (const inner of Object.values(value)) if (!isValue(inner)) throw new DamagedValue(column);
    return value as Record<string, T>;
  }

  /** A JSON list of texts. */
  texts(column: string): string[] {
    const value = this.#json(column);
    if (!Array.isArray(value) || value.some((entry) => typeof entry !== 'string')) throw new DamagedValue(column);
    return value;
  }

  #json(column: string): unknown {
    const text = this.text(column);
    // Most rows have no flags.
    if (text === '[]') return [];
    try {
      return JSON.parse(text);
    } catch {
      throw new DamagedValue(column);
    }
  }
}

function rowsOf(rows: unknown[]): Row[] {
  return rows.map((row) => new Row(row as Values));
}

function byRun(database: Sqlite, table: string): ReadonlyMap<number, Row[]> {
  const found = new Map<number, Row[]>();
  for (const row of rowsOf(database.prepare(`SELECT * FROM ${table}`).all())) {
    const id = row.number('run_id');
    const rows = found.get(id);
    if (rows === undefined) found.set(id, [row]);
    else rows.push(row);
  }
  return found;
}

function recordOf(run: Row): RunRecord {
  const manifest = run.textIn('manifest');
  if (manifest !== undefined) run.object('manifest', isAnything);
  return {
    identity: run.text('identity'),
    label: run.textIn('label'),
    kind: run.text('kind'),
    source: run.text('source'),
    sourceSha256: run.text('source_sha256'),
    worldModel: run.textIn('world_model'),
    judgeModel: run.textIn('judge_model'),
    rubricPack: run.textIn('rubric_pack'),
    rubricFingerprint: run.textIn('rubric_fingerprint'),
    protocol: run.textIn('protocol'),
    meta: run.object('meta', isAnything),
    manifest,
    startedAt: run.textIn('started_at'),
    endedAt: run.textIn('ended_at'),
    scoredAt: run.text('scored_at'),
    toolVersion: run.text('tool_version'),
  };
}

function isAnything(_value: unknown): _value is unknown {
  return true;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function cardOf(run: Row, counts: readonly Row[], scores: readonly Row[], overall: readonly Row[]): ScoreCard {
  return {
    domains: counts.map((count) => domainScoreOf(count, scores)).sort((a, b) => inTableOrder(a.domain, b.domain)),
    overall: estimatesOf(overall, 'official'),
    macroOf: run.number('macro_of'),
    overallMicro: estimatesOf(overall, 'micro'),
    overallWithFailures: estimatesOf(overall, 'with_failures'),
    overallMeasures: estimatesOf(overall, 'measure'),
    chosen: run.number('chosen'),
    valid: run.number('valid'),
    failed: run.number('failed'),
    coverage: run.number('coverage'),
  };
}

function domainScoreOf(count: Row, scores: readonly Row[]): DomainScore {
  const domain = count.text('domain');
  const own = scores.filter((score) => score.text('domain') === domain);
  return {
    domain,
    chosen: count.number('chosen'),
    valid: count.number('valid'),
    failed: count.number('failed'),
    failures: count.object('failures', isNumber),
    coverage: count.number('coverage'),
    scores: estimatesOf(own, 'official'),
    withFailures: estimatesOf(own, 'with_failures'),
    measures: estimatesOf(own, 'measure'),
    flags: count.object('flags', isNumber),
  };
}

function estimatesOf(rows: readonly Row[], kind: string): Record<string, Estimate> {
  const own = rows.filter((row) => row.text('kind') === kind);
  return Object.fromEntries(own.map((row) => [row.text('dimension'), estimateOf(row)]));
}

function estimateOf(row: Row): Estimate {
  const [se, df, low, high] = [row.numberIn('se'), row.numberIn('df'), row.numberIn('low'), row.numberIn('high')];
  return {
    value: row.number('value'),
    rows: row.number('n'),
    clusters: row.number('clusters'),
    ...(se === undefined ? {} : { se }),
    ...(df === undefined ? {} : { df }),
    ...(low === undefined ? {} : { low }),
    ...(high === undefined ? {} : { high }),
  };
}

function judgedRowOf(row: Row, measures: ReadonlyMap<string, Record<string, number>>): JudgedRow {
  const [key, repeat, failed] = [row.text('key'), row.number('repeat'), row.numberIn('failed')];
  const ratings: JudgedRow['ratings'] = {};
  for (const name of DIMENSIONS) {
    const rating = row.numberIn(name);
    if (rating !== undefined) ratings[name] = rating;
  }
  const failure = row.textIn('failure_class');
  const own = measures.get(`${key}#${repeat}`);
  return {
    key,
    trajectory: row.text('trajectory'),
    repeat,
    index: 0,
    domain: row.text('domain'),
    turnIdx: row.number('turn_idx'),
    ...(failed === undefined ? {} : { failed }),
    total: row.number('total'),
    ratings,
    ...(failure === undefined
      ? {}
      : { failure: { class: failure as JudgementFailure, reason: row.text('failure_reason') } }),
    ...(own === undefined ? {} : { measures: own }),
    flags: row.texts('flags'),
  };
}
