// The SQLite file: an index over judged files that `score` can rebuild at any time. Every SQL statement stands here or in migrations.ts.

import { existsSync } from 'node:fs';
import { EXIT, UserError } from '../errors.js';
import {
  type CallLog,
  DIMENSIONS,
  DOMAINS,
  type Domain,
  type DomainScore,
  type Estimate,
  type JudgedRow,
  type JudgementFailure,
  type ScoreCard,
} from '../types.js';
import { APPLICATION_ID, MIGRATIONS } from './migrations.js';
import { openSqlite, type Sqlite, sqliteCode } from './sqlite.js';

/** What names and describes a run; texts that nobody knows are absent. */
export interface RunRecord {
  /** A run stored before under the same identity is replaced. */
  readonly identity: string;
  readonly label?: string | undefined;
  /** How it was judged: `rubric`, `metrics` ... */
  readonly kind: string;
  /** Absolute path of the judged file, and SHA-256 hex of its bytes. */
  readonly source: string;
  readonly sourceSha256: string;
  readonly worldModel?: string | undefined;
  readonly judgeModel?: string | undefined;
  readonly rubricPack?: string | undefined;
  readonly rubricFingerprint?: string | undefined;
  readonly protocol?: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  /** The judged file's manifest, as it stands on the disk. */
  readonly manifest?: string | undefined;
  /** ISO 8601 times. */
  readonly startedAt?: string | undefined;
  readonly endedAt?: string | undefined;
  readonly scoredAt: string;
  readonly toolVersion: string;
}

/** A judged row with what it cost to judge, where a journal tells. */
export interface StoredJudgement {
  readonly row: JudgedRow;
  readonly log?: CallLog | undefined;
}

/** A run as it stands in the file. */
export interface StoredRun extends RunRecord {
  readonly id: number;
  /** As it was saved; the measures of a domain come by name. */
  readonly card: ScoreCard;
}

export interface Store {
  /**
   * Writes a run with its judgements and scores in one transaction: all of it is stored, or the file stays as it was.
   * @returns the run's id, which it keeps when it is replaced.
   * @throws UserError (74, 65) where the file cannot be written or is damaged.
   */
  saveRun(
    run: RunRecord,
    judgements: readonly StoredJudgement[],
    card: ScoreCard,
  ): { readonly id: number; readonly replaced: boolean };
  /** Every run with its scores, in the order of their ids. */
  runs(): readonly StoredRun[];
  /** A run's judged rows by key and repeat; none for an id that is not there. */
  judgements(runId: number): readonly JudgedRow[];
  close(): void;
}

/**
 * Opens the SQLite file, creating it and bringing its schema up to date where needed.
 * @param busyMs how long to wait, in milliseconds, for another process that is writing.
 * @throws UserError: 74 where it cannot be written, 65 where it is not a database of this program or of a later version.
 */
export function openStore(path: string, busyMs = 5000): Store {
  return open(path, busyMs, false);
}

/**
 * Opens a SQLite file that is there, for its runs to be read; a schema of an earlier version is brought up to date.
 * @throws UserError as `openStore`, and 66 where there is no file.
 */
export function openExistingStore(path: string, busyMs = 5000): Store {
  if (!existsSync(path)) {
    throw new UserError(
      `there is no ${path}; awb score --predictions FILE --db ${path} makes it, or name another file with --db`,
      EXIT.inputMissing,
    );
  }
  return open(path, busyMs, true);
}

function open(path: string, busyMs: number, fileMustExist: boolean): Store {
  const explained = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw explain(error, path, busyMs);
    }
  };
  const database = explained(() => openSqlite(path, { timeout: busyMs, fileMustExist }));
  try {
    explained(() => prepare(database, path));
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    saveRun: (run, judgements, card) => explained(() => saveRun(database, run, judgements, card)),
    runs: () => explained(() => readRuns(database)),
    judgements: (runId) => explained(() => readJudgements(database, runId)),
    close: () => database.close(),
  };
}

function prepare(database: Sqlite, path: string): void {
  refuseForeign(database, path);
  if (database.value('PRAGMA journal_mode') !== 'wal') database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA foreign_keys = ON');
  migrate(database, path);
}

/** Refuses a database of another program, before anything is changed in it. */
function refuseForeign(database: Sqlite, path: string): void {
  const tables = database.value('SELECT count(*) FROM sqlite_schema') as number;
  const applicationId = database.value('PRAGMA application_id');
  if (applicationId !== APPLICATION_ID && (tables > 0 || applicationId !== 0)) {
    throw new UserError(`${path} is a SQLite database of another program; name another file with --db`, EXIT.badData);
  }
}

function migrate(database: Sqlite, path: string): void {
  for (;;) {
    const done = database.immediate(() => {
      // Read inside the transaction: another process may be at the same work.
      const version = database.value('PRAGMA user_version') as number;
      if (version > MIGRATIONS.length) throw fromTheFuture(path, version);
      const next = MIGRATIONS[version];
      if (next === undefined) return true;
      database.exec(next);
      database.exec(`PRAGMA user_version = ${version + 1}`);
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      return false;
    });
    if (done) return;
  }
}

function fromTheFuture(path: string, version: number): UserError {
  return new UserError(
    `${path} has schema version ${version}, and this version of awb knows ${MIGRATIONS.length}: ` +
      'a later awb wrote it; use that one, or name another file with --db',
    EXIT.badData,
  );
}

function saveRun(
  database: Sqlite,
  run: RunRecord,
  judgements: readonly StoredJudgement[],
  card: ScoreCard,
): { id: number; replaced: boolean } {
  return database.immediate(() => {
    const before = database.prepare('SELECT id FROM runs WHERE identity = ?').pluck().get(run.identity);
    const id = (before as number | undefined) ?? null;
    if (id !== null) database.prepare('DELETE FROM runs WHERE id = ?').run(id);
    const values = runValues(run, card);
    const inserted = insert(database, 'runs', ['id', ...Object.keys(values)]).run({ id, ...values });
    const runId = Number(inserted.lastInsertRowid);
    saveJudgements(database, runId, judgements);
    saveScores(database, runId, card);
    return { id: runId, replaced: id !== null };
  });
}

function runValues(run: RunRecord, card: ScoreCard) {
  return {
    identity: run.identity,
    label: run.label ?? null,
    kind: run.kind,
    source: run.source,
    source_sha256: run.sourceSha256,
    world_model: run.worldModel ?? null,
    judge_model: run.judgeModel ?? null,
    rubric_pack: run.rubricPack ?? null,
    rubric_fingerprint: run.rubricFingerprint ?? null,
    protocol: run.protocol ?? null,
    meta: JSON.stringify(run.meta),
    manifest: run.manifest ?? null,
    started_at: run.startedAt ?? null,
    ended_at: run.endedAt ?? null,
    scored_at: run.scoredAt,
    tool_version: run.toolVersion,
    chosen: card.chosen,
    valid: card.valid,
    failed: card.failed,
    coverage: card.coverage,
    macro_of: card.macroOf,
  };
}

const JUDGEMENT_COLUMNS = [
  'run_id',
  'key',
  'repeat',
  'trajectory',
  'domain',
  'turn_idx',
  'status',
  'failure_class',
  'failure_reason',
  'failed',
  'format',
  'factuality',
  'consistency',
  'realism',
  'quality',
  'total',
  'flags',
  'attempts',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'ms',
] as const;

function saveJudgements(database: Sqlite, runId: number, judgements: readonly StoredJudgement[]): void {
  const judgement = insert(database, 'judgements', JUDGEMENT_COLUMNS);
  const measure = insert(database, 'measures', ['run_id', 'key', 'repeat', 'name', 'value']);
  for (const stored of judgements) {
    judgement.run(judgementValues(runId, stored));
    const { key, repeat, measures } = stored.row;
    for (const [name, value] of Object.entries(measures ?? {})) {
      measure.run({ run_id: runId, key, repeat, name, value });
    }
  }
}

function judgementValues(runId: number, { row, log }: StoredJudgement) {
  const values: Record<(typeof JUDGEMENT_COLUMNS)[number], string | number | null> = {
    run_id: runId,
    key: row.key,
    repeat: row.repeat,
    trajectory: row.trajectory,
    domain: row.domain,
    turn_idx: row.turnIdx,
    status: row.failure === undefined ? 'ok' : 'failed',
    failure_class: row.failure?.class ?? null,
    failure_reason: row.failure?.reason ?? null,
    failed: row.failed ?? null,
    format: row.ratings.format ?? null,
    factuality: row.ratings.factuality ?? null,
    consistency: row.ratings.consistency ?? null,
    realism: row.ratings.realism ?? null,
    quality: row.ratings.quality ?? null,
    total: row.total,
    flags: JSON.stringify(row.flags),
    attempts: log?.attempts ?? null,
    prompt_tokens: log?.usage.promptTokens ?? null,
    cached_tokens: log?.usage.cachedTokens ?? null,
    completion_tokens: log?.usage.completionTokens ?? null,
    reasoning_tokens: log?.usage.reasoningTokens ?? null,
    ms: log?.ms ?? null,
  };
  return values;
}

const ESTIMATE_COLUMNS = ['run_id', 'kind', 'dimension', 'value', 'n', 'clusters', 'se', 'df', 'low', 'high'] as const;

function saveScores(database: Sqlite, runId: number, card: ScoreCard): void {
  const counts = insert(database, 'domain_counts', [
    'run_id',
    'domain',
    'chosen',
    'valid',
    'failed',
    'coverage',
    'failures',
    'flags',
  ]);
  const domainScore = insert(database, 'domain_scores', ['domain', ...ESTIMATE_COLUMNS]);
  for (const score of card.domains) {
    const { domain, chosen, valid, failed, coverage } = score;
    const failures = JSON.stringify(score.failures);
    const flags = JSON.stringify(score.flags);
    counts.run({ run_id: runId, domain, chosen, valid, failed, coverage, failures, flags });
    const kinds = { official: score.scores, with_failures: score.withFailures, measure: score.measures };
    for (const values of estimateValues(runId, kinds)) domainScore.run({ domain, ...values });
  }
  const overallScore = insert(database, 'overall_scores', ESTIMATE_COLUMNS);
  const kinds = {
    official: card.overall,
    with_failures: card.overallWithFailures,
    micro: card.overallMicro,
    measure: card.overallMeasures,
  };
  for (const values of estimateValues(runId, kinds)) overallScore.run(values);
}

function* estimateValues(runId: number, kinds: Readonly<Record<string, Readonly<Record<string, Estimate>>>>) {
  for (const [kind, estimates] of Object.entries(kinds)) {
    for (const [dimension, estimate] of Object.entries(estimates)) {
      const { value, rows: n, clusters, se = null, df = null, low = null, high = null } = estimate;
      yield { run_id: runId, kind, dimension, value, n, clusters, se, df, low, high };
    }
  }
}

function insert(database: Sqlite, table: string, columns: readonly string[]): ReturnType<Sqlite['prepare']> {
  const names = columns.map((column) => `"${column}"`).join(', ');
  const slots = columns.map((column) => `@${column}`).join(', ');
  return database.prepare(`INSERT INTO ${table} (${names}) VALUES (${slots})`);
}

type Values = Readonly<Record<string, string | number | null>>;

function readRuns(database: Sqlite): StoredRun[] {
  // One transaction, so that a run replaced meanwhile is read whole.
  return database.reading(() => {
    const runs = database.prepare('SELECT * FROM runs ORDER BY id').all() as Values[];
    const counts = byRun(database, 'domain_counts');
    const scores = byRun(database, 'domain_scores');
    const overall = byRun(database, 'overall_scores');
    return runs.map((run) => {
      const of = (rows: ReadonlyMap<number, Values[]>) => rows.get(run.id as number) ?? [];
      return { ...recordOf(run), id: run.id as number, card: cardOf(run, of(counts), of(scores), of(overall)) };
    });
  });
}

function byRun(database: Sqlite, table: string): ReadonlyMap<number, Values[]> {
  const found = new Map<number, Values[]>();
  for (const row of database.prepare(`SELECT * FROM ${table}`).all() as Values[]) {
    const id = row.run_id as number;
    const rows = found.get(id);
    if (rows === undefined) found.set(id, [row]);
    else rows.push(row);
  }
  return found;
}

function recordOf(run: Values): RunRecord {
  const text = (column: string) => (run[column] as string | null) ?? undefined;
  return {
    identity: run.identity as string,
    label: text('label'),
    kind: run.kind as string,
    source: run.source as string,
    sourceSha256: run.source_sha256 as string,
    worldModel: text('world_model'),
    judgeModel: text('judge_model'),
    rubricPack: text('rubric_pack'),
    rubricFingerprint: text('rubric_fingerprint'),
    protocol: text('protocol'),
    meta: JSON.parse(run.meta as string),
    manifest: text('manifest'),
    startedAt: text('started_at'),
    endedAt: text('ended_at'),
    scoredAt: run.scored_at as string,
    toolVersion: run.tool_version as string,
  };
}

function cardOf(
  run: Values,
  counts: readonly Values[],
  scores: readonly Values[],
  overall: readonly Values[],
): ScoreCard {
  return {
    domains: counts
      .map((count) => domainScoreOf(count, scores))
      .sort((a, b) => placeOf(a.domain) - placeOf(b.domain) || (a.domain < b.domain ? -1 : 1)),
    overall: estimatesOf(overall, 'official'),
    macroOf: run.macro_of as number,
    overallMicro: estimatesOf(overall, 'micro'),
    overallWithFailures: estimatesOf(overall, 'with_failures'),
    overallMeasures: estimatesOf(overall, 'measure'),
    chosen: run.chosen as number,
    valid: run.valid as number,
    failed: run.failed as number,
    coverage: run.coverage as number,
  };
}

function placeOf(domain: Domain): number {
  const published: readonly Domain[] = DOMAINS;
  return published.includes(domain) ? published.indexOf(domain) : published.length;
}

function domainScoreOf(count: Values, scores: readonly Values[]): DomainScore {
  const own = scores.filter((score) => score.domain === count.domain);
  return {
    domain: count.domain as string,
    chosen: count.chosen as number,
    valid: count.valid as number,
    failed: count.failed as number,
    failures: JSON.parse(count.failures as string),
    coverage: count.coverage as number,
    scores: estimatesOf(own, 'official'),
    withFailures: estimatesOf(own, 'with_failures'),
    measures: estimatesOf(own, 'measure'),
    flags: JSON.parse(count.flags as string),
  };
}

function estimatesOf(rows: readonly Values[], kind: string): Record<string, Estimate> {
  return Object.fromEntries(
    rows.filter((row) => row.kind === kind).map((row) => [row.dimension as string, estimateOf(row)]),
  );
}

function estimateOf({ value, n, clusters, se, df, low, high }: Values): Estimate {
  const point = { value, rows: n, clusters } as Estimate;
  return se === null ? point : ({ ...point, se, df, low, high } as Estimate);
}

function readJudgements(database: Sqlite, runId: number): JudgedRow[] {
  return database.reading(() => {
    const measures = new Map<string, Record<string, number>>();
    const named = database.prepare('SELECT key, repeat, name, value FROM measures WHERE run_id = ?');
    for (const { key, repeat, name, value } of named.all(runId) as Values[]) {
      const id = `${key}#${repeat}`;
      measures.set(id, { ...measures.get(id), [name as string]: value as number });
    }
    const rows = database.prepare('SELECT * FROM judgements WHERE run_id = ? ORDER BY key, repeat').all(runId);
    return (rows as Values[]).map((row) => judgedRowOf(row, measures.get(`${row.key}#${row.repeat}`)));
  });
}

function judgedRowOf(row: Values, measures: Record<string, number> | undefined): JudgedRow {
  const ratings = DIMENSIONS.flatMap((name) => (row[name] === null ? [] : [[name, row[name] as number] as const]));
  const failure = { class: row.failure_class as JudgementFailure, reason: row.failure_reason as string };
  return {
    key: row.key as string,
    trajectory: row.trajectory as string,
    repeat: row.repeat as number,
    domain: row.domain as string,
    turnIdx: row.turn_idx as number,
    ...(row.failed === null ? {} : { failed: row.failed as number }),
    total: row.total as number,
    ratings: Object.fromEntries(ratings),
    ...(row.failure_class === null ? {} : { failure }),
    ...(measures === undefined ? {} : { measures }),
    flags: JSON.parse(row.flags as string),
  };
}

/** What a failure of SQLite means to the user; other errors come back as they are. */
function explain(error: unknown, path: string, busyMs: number): unknown {
  const { message } = error as { message?: string };
  if (error instanceof TypeError && message?.includes('directory does not exist')) {
    return new UserError(
      `cannot write ${path}: its folder does not exist; create it or name another with --db`,
      EXIT.cannotWrite,
    );
  }
  const code = sqliteCode(error);
  if (code === undefined) return error;
  if (code === 'SQLITE_NOTADB') {
    return new UserError(`${path} is not a SQLite database; name another file with --db`, EXIT.badData);
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return new UserError(
      `${path} is damaged (${code}); move it away and score again: the judged files hold all that was in it`,
      EXIT.badData,
    );
  }
  const reason = writeFailure(code, busyMs);
  return reason === undefined ? error : new UserError(`cannot write ${path}: ${reason}`, EXIT.cannotWrite);
}

function writeFailure(code: string, busyMs: number): string | undefined {
  if (code.startsWith('SQLITE_BUSY')) {
    return `another process kept it locked for ${busyMs / 1000} s; try again when it is done`;
  }
  if (code === 'SQLITE_FULL') return 'the disk is full, and nothing in it was changed; free some space, or use --db';
  if (/^SQLITE_(READONLY|CANTOPEN|PERM)/.test(code)) {
    return `it or its folder cannot be written (${code}); mend the permissions, or use --db`;
  }
  if (code.startsWith('SQLITE_IOERR')) return `the disk reports an error (${code}); use --db for another place`;
  return undefined;
}
