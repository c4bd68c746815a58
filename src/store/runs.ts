// Runs and calibrations in the SQLite file: what is stored of them, and how they are written in full, read back, renamed and removed.

import { z } from 'zod';
import type { RowSpent, RunCosts, Spending, Spent } from '../core/costs.js';
import { keyed } from '../core/document.js';
import { inTableOrder } from '../core/domains.js';
import { UserError } from '../core/errors.js';
import { isObject } from '../core/json.js';
import { type Excerpt, isExcerpt } from '../core/judged-row.js';
import { rowId } from '../core/row-id.js';
import type { JudgedRow, ScoreCard, Usage } from '../core/types.js';
import { insert, insertion, Row, rowsOf, type Sqlite, sqliteCode } from '../disk/sqlite.js';
import { CALIBRATION, type CalibrationDocument, type JudgeTrust, TRUST } from '../stats/calibration/document.js';
import type { EquivalenceCard } from '../stats/equivalence.js';
import type { ScenarioFigures } from '../stats/scenarios.js';
import { columnOf, TOKENS } from './schema.js';

/** The texts of a run, each in its own column. */
const TEXTS = ['identity', 'kind', 'source', 'sourceSha256', 'scoredAt', 'toolVersion'] as const;
/** Texts that may be unknown. */
const FURTHER_TEXTS = [
  ...(['label', 'worldModel', 'judgeModel', 'rubricPack', 'rubricFingerprint', 'protocol'] as const),
  ...(['manifest', 'startedAt', 'endedAt'] as const),
];
type Texts = Readonly<Record<(typeof TEXTS)[number], string>> &
  Readonly<Partial<Record<(typeof FURTHER_TEXTS)[number], string | undefined>>>;

/**
 * What identifies and describes a run. An earlier one with the same identity is replaced. `kind` is how it was judged (`rubric`, `metrics`
 * ...), `source` the absolute path of the judged file, with the SHA-256 hex of its bytes, and `manifest` that file's manifest as JSON: its
 * readers check it, since a damaged one must not affect other runs. Times are in ISO 8601.
 */
export interface RunRecord extends Texts {
  readonly meta: Readonly<Record<string, unknown>>;
  /** What world model and judge took. */
  readonly costs: RunCosts;
  /** For an agent's decisions: how often predictions lead where the truth leads. */
  readonly equivalence?: EquivalenceCard | undefined;
  /** For a run on scenarios, its figures by scenario; they are not read back. */
  readonly scenarios?: ScenarioFigures | undefined;
}

/** A judged row with what it cost to judge and to predict, if journals say. */
export interface StoredJudgement {
  readonly row: JudgedRow;
  readonly log?: Spent['log'];
  /** US dollars for judging it. */
  readonly usd?: number | undefined;
  /** What its prediction took; the same for all judgements of one prediction. */
  readonly prediction?: Spent | undefined;
  readonly excerpt?: Excerpt | undefined;
}

/** The label of a run in the file, and the manifest it came with. */
export type StoredName = Pick<RunRecord, 'label' | 'manifest'>;

/** A run as stored in the file. */
export interface StoredRun extends RunRecord {
  readonly id: number;
  /** As it was saved, with measures sorted by name. */
  readonly card: ScoreCard;
}

/**
 * Writes a run with its judgements and scores in one transaction: either all of it is stored, or the file stays as it was.
 * @param labelOver the label to use when it replaces an earlier run; its own by default
 * @returns the run's id, which it keeps when it is replaced.
 */
export function saveRun(
  database: Sqlite,
  run: RunRecord,
  judgements: readonly StoredJudgement[],
  card: ScoreCard,
  labelOver: (before: StoredName) => string | undefined = () => run.label,
): { id: number; replaced: boolean } {
  return database.immediate(() => {
    const before = replacedIn(database, 'runs', run.identity);
    // Read in the transaction, so that a run does not get back a label that it is losing at this moment.
    const label = before
      ? labelOver({ label: before.textIn('label'), manifest: before.textIn('manifest') })
      : run.label;
    const { chosen, valid, failed, coverage, macroOf } = card;
    const domains = card.domains.map((score) => ({ ...score, measures: byName(score.measures) }));
    const id = insert(database, 'runs', {
      id: before?.number('id'),
      ...Object.fromEntries([...TEXTS, ...FURTHER_TEXTS].map((name) => [columnOf(name), run[name]])),
      ...{ label, chosen, valid, failed, coverage, macro_of: macroOf },
      meta: json(run.meta),
      card: json({ ...card, domains, overallMeasures: byName(card.overallMeasures) }),
      costs: json(run.costs),
      equivalence: json(run.equivalence),
      scenarios: json(run.scenarios),
    });
    saveJudgements(database, id, judgements);
    return { id, replaced: before !== undefined };
  });
}

/** Deletes what is stored under an identity, and returns it. */
function replacedIn(database: Sqlite, table: string, identity: string): Row | undefined {
  const found = database.prepare(`SELECT * FROM ${table} WHERE identity = ?`).get(identity);
  database.prepare(`DELETE FROM ${table} WHERE identity = ?`).run(identity);
  return found && new Row(found);
}

/** A document as JSON: a map becomes an object, and undefined stays undefined. */
function json(document: object | undefined): string | undefined {
  return document && JSON.stringify(document, (_, value) => (value instanceof Map ? Object.fromEntries(value) : value));
}

/** Sorts measures by name, whatever their order in the file: tables of a stored run keep their order. */
function byName<T>(measures: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(measures).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const CALL = ['attempts', ...TOKENS.map(columnOf), 'ms', 'usd'];

function callOf({ log, usd }: Spent) {
  const { attempts, ms, usage = {} } = log ?? {};
  const tokens = Object.fromEntries(TOKENS.map((kind) => [columnOf(kind), usage[kind]]));
  return { attempts, ...tokens, ms, usd };
}

/** Writes the judgements of a run that has none in the file, and each prediction once, if anything is known about it. */
function saveJudgements(database: Sqlite, run_id: number, judgements: readonly StoredJudgement[]): void {
  const saveRow = insertion(database, 'judgements', [
    ...['run_id', 'key', 'repeat', 'judgement_index', 'row', 'excerpt'],
    ...CALL,
  ]);
  const predictionColumns = ['run_id', 'key', 'repeat', 'domain', ...CALL];
  const savePrediction = insertion(database, 'predictions', predictionColumns, 'ON CONFLICT DO NOTHING');
  for (const { row, prediction, excerpt, ...judged } of judgements) {
    const { key, repeat, index, measures, ...rest } = row;
    const said = json({ ...rest, measures: measures && byName(measures) });
    saveRow({ run_id, key, repeat, judgement_index: index, row: said, excerpt: json(excerpt), ...callOf(judged) });
    if (prediction !== undefined) savePrediction({ run_id, key, repeat, domain: row.domain, ...callOf(prediction) });
  }
}

/** Every run with its scores, in the order of their ids. @throws DamagedValue */
export function readRuns(database: Sqlite): StoredRun[] {
  return Array.from(rowsOf(database, 'SELECT * FROM runs ORDER BY id'), (run) => ({
    // The schema guarantees the texts that the record requires.
    ...(Object.fromEntries([...TEXTS, ...FURTHER_TEXTS].map((name) => [name, run.textIn(columnOf(name))])) as Texts),
    id: run.number('id'),
    meta: run.document('meta', isObject),
    costs: costsIn(run.document('costs', isCosts)),
    equivalence: run.documentIn('equivalence', isEquivalence),
    card: run.document('card', isCard),
  }));
}

/** Costs in JSON, where domains are an object. */
type CostsDocument = Readonly<Record<string, Spending & { readonly domains: object }>>;

function costsIn(document: CostsDocument): RunCosts {
  const sides = Object.entries(document).map(([asked, one]) => {
    const domains = Object.entries(one.domains).sort(([a], [b]) => inTableOrder(a, b));
    return [asked, { ...one, domains: new Map(domains) }];
  });
  return Object.fromEntries(sides);
}

// The minimum contents of a document: files get edited, and disks fail.

/** Figures by name, which contain only numbers. */
const FIGURES = z.record(z.string(), z.object({ value: z.number() }).catchall(z.number()));
const OBJECT = z.looseObject({});
const COUNTED = { chosen: z.number(), valid: z.number(), failed: z.number(), coverage: z.number() };
const DOMAIN_SCORE = z.object({
  ...{ ...COUNTED, domain: z.string(), failures: OBJECT, flags: OBJECT },
  ...keyed(FIGURES, 'scores', 'withFailures', 'measures'),
});
const CARD = z.object({
  ...{ ...COUNTED, domains: z.array(DOMAIN_SCORE) },
  ...keyed(FIGURES, 'overall', 'overallMicro', 'overallWithFailures', 'overallMeasures'),
});
const COSTS = z.record(z.string(), z.object({ total: OBJECT, domains: z.record(z.string(), OBJECT) }));
const EQUIVALENCE = z.object({ domains: z.array(OBJECT), overall: OBJECT });
const ROW = z.object({ flags: z.array(z.string()), ratings: OBJECT });

const STORED_CALIBRATION = CALIBRATION.partial({ run: true });

const isCard = holding<ScoreCard>(CARD);
const isCosts = holding<CostsDocument>(COSTS);
const isEquivalence = holding<EquivalenceCard>(EQUIVALENCE);
const isRow = holding<Omit<JudgedRow, 'key' | 'repeat' | 'index'>>(ROW);
const isCalibration = holding<CalibrationDocument>(STORED_CALIBRATION);
const isTrust = holding<JudgeTrust>(TRUST);

function holding<T>(least: z.ZodType) {
  return (value: unknown): value is T => least.safeParse(value).success;
}

/** A run's judged rows by key, repeat and index; none for an unknown id. @throws DamagedValue */
export function readJudgements(database: Sqlite, runId: number): readonly JudgedRow[] {
  const sql =
    'SELECT key, repeat, judgement_index, row FROM judgements WHERE run_id = ? ORDER BY key, repeat, judgement_index';
  return Array.from(rowsOf(database, sql, runId), (row) =>
    // Assigned to the parsed row itself: spreading it would take twice the memory.
    Object.assign(row.document('row', isRow), {
      key: row.text('key'),
      repeat: row.number('repeat'),
      index: row.number('judgement_index'),
    }),
  );
}

/** What a list shows of a run's judged rows without their file, by record id; empty for an unknown id. @throws DamagedValue */
export function readExcerpts(database: Sqlite, runId: number): ReadonlyMap<string, Excerpt> {
  const sql = 'SELECT key, repeat, judgement_index, excerpt FROM judgements WHERE run_id = ? AND excerpt IS NOT NULL';
  return new Map(Array.from(rowsOf(database, sql, runId), (row) => [idIn(row), row.document('excerpt', isExcerpt)]));
}

/** What each judged row of a run took, by record id; empty for an unknown id. @throws DamagedValue */
export function readSpent(database: Sqlite, runId: number): ReadonlyMap<string, RowSpent> {
  const columns = ['judgements', 'predictions'].flatMap((table) =>
    CALL.map((name) => `${table}.${name} AS ${table}_${name}`),
  );
  const sql = `SELECT key, repeat, judgement_index, ${columns.join(', ')}
    FROM judgements LEFT JOIN predictions USING (run_id, key, repeat) WHERE run_id = ?`;
  const tokens = TOKENS.map((kind) => [kind, columnOf(kind)] as const);
  const spentIn = (row: Row, table: string) => {
    const usage: Usage = {};
    for (const [kind, column] of tokens) {
      const count = row.numberIn(`${table}_${column}`);
      if (count !== undefined) usage[kind] = count;
    }
    return { log: { usage }, usd: row.numberIn(`${table}_usd`), ms: row.numberIn(`${table}_ms`) };
  };
  return new Map(
    Array.from(rowsOf(database, sql, runId), (row) => [
      idIn(row),
      { prediction: spentIn(row, 'predictions'), judgement: spentIn(row, 'judgements') },
    ]),
  );
}

function idIn(row: Row): string {
  return rowId(row.text('key'), row.number('repeat'), row.number('judgement_index'));
}

/** A run as it was found. Its number does not suffice to identify it: once a run is removed, another may get its number. */
type FoundRun = Pick<StoredRun, 'id' | 'identity'>;

/** Gives a run another label. @throws UserError (2) if it no longer exists. */
export function renameRun(database: Sqlite, run: FoundRun, label: string): void {
  database.immediate(() => change(database, 'UPDATE runs SET label = ?', run, label));
}

/**
 * Removes runs with everything that belongs to them, and returns their space to the disk where possible: either all of these runs or, if
 * one no longer exists, none.
 * @returns the space before and after.
 * @throws UserError (2)
 */
export function removeRuns(database: Sqlite, runs: readonly FoundRun[]) {
  const before = spaceOf(database);
  database.immediate(() => {
    for (const run of runs) change(database, 'DELETE FROM runs', run);
  });
  giveBackSpace(database);
  return { before, after: spaceOf(database) };
}

function change(database: Sqlite, sql: string, { id, identity }: FoundRun, ...values: string[]): void {
  if (database.prepare(`${sql} WHERE id = ? AND identity = ?`).run(...values, id, identity).changes > 0) return;
  throw new UserError(
    `run ${id} no longer exists: another process removed it, and nothing was changed; awb runs list shows the existing runs`,
  );
}

/** How much space a database takes: the bytes of its file, and how many of these are unused; the next runs fill them first. */
export function spaceOf(database: Sqlite) {
  const bytesIn = (pages: string) =>
    Number(database.value(`PRAGMA ${pages}`)) * Number(database.value('PRAGMA page_size'));
  return { bytes: bytesIn('page_count'), freeBytes: bytesIn('freelist_count') };
}
export type Space = ReturnType<typeof spaceOf>;

/**
 * Rewrites the database without its unused space, so that its file shrinks. This temporarily takes the same amount of space again, and
 * needs that no other process is writing. If it fails, the database stays as it is, and its free space serves the next runs.
 */
export function giveBackSpace(database: Sqlite): void {
  if (spaceOf(database).freeBytes === 0) return;
  try {
    database.exec('VACUUM');
  } catch (error) {
    if (!/^SQLITE_(BUSY|LOCKED|FULL|IOERR|NOMEM|CANTOPEN|READONLY)/.test(sqliteCode(error) ?? '')) throw error;
  }
}

/** Roughly how many bytes each run takes, by its id: its share of every table with rows of runs. @throws DamagedValue */
export function bytesByRun(database: Sqlite): ReadonlyMap<number, number> {
  // As a bare constraint, "aggregate" does not make SQLite add the pages up.
  const part = ([table, id]: readonly [string, string]) =>
    `SELECT ${id} AS run, count(*) * (SELECT pgsize FROM dbstat WHERE name = '${table}' AND aggregate = TRUE)
      / CAST((SELECT count(*) FROM ${table}) AS REAL) AS bytes FROM ${table} GROUP BY ${id}`;
  const parts = Object.entries({ runs: 'id', judgements: 'run_id', predictions: 'run_id' }).map(part);
  const sql = `SELECT run, sum(bytes) AS bytes FROM (${parts.join(' UNION ALL ')}) GROUP BY run`;
  return new Map(Array.from(rowsOf(database, sql), (row) => [row.number('run'), row.number('bytes')]));
}

/** The texts that every calibration has, and those that may be unknown. */
type CalibrationText =
  | 'identity'
  | 'judgeKey'
  | 'judgeModel'
  | 'source'
  | 'manifest'
  | 'startedAt'
  | 'savedAt'
  | 'toolVersion';
type FurtherText = 'judgeSnapshot' | 'rubricPack' | 'rubricFingerprint' | 'verdicts' | 'endedAt';

/**
 * What identifies and describes a calibration of a judge. An earlier one with the same identity is replaced. Judgings with the same key
 * were made by the same judge in the same way; `verdicts` is how they were read, with versions, `source` the absolute path of
 * calibration.jsonl, and `manifest` its manifest as JSON.
 */
export interface CalibrationRecord
  extends Readonly<Record<CalibrationText, string>>,
    Readonly<Partial<Record<FurtherText, string | undefined>>> {
  /** Request parameters sent to the judge besides the messages. */
  readonly sampling: Readonly<Record<string, unknown>>;
  readonly document: CalibrationDocument;
}

/** What is read back of a calibration: the judgings it applies to, when it was made, and its result. */
export interface StoredCalibration {
  readonly judgeKey: string;
  readonly trust: JudgeTrust;
  /** When it ended, or else began; in ISO 8601. */
  readonly at: string;
}

/** Writes a calibration in one transaction. One with the same identity is replaced, and keeps its number. */
export function saveCalibration(database: Sqlite, record: CalibrationRecord): { id: number; replaced: boolean } {
  return database.immediate(() => {
    const before = replacedIn(database, 'calibrations', record.identity);
    const { sampling, document, ...texts } = record;
    const id = insert(database, 'calibrations', {
      id: before?.number('id'),
      ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [columnOf(name), text])),
      sampling: json(sampling),
      document: json(document),
    });
    return { id, replaced: before !== undefined };
  });
}

/** The newest complete calibration of a judge asked in this way; undefined if there is none. @throws DamagedValue */
export function readCalibration(database: Sqlite, judgeKey: string): CalibrationDocument | undefined {
  const sql = `SELECT document FROM calibrations WHERE judge_key = ? ORDER BY coalesce(ended_at, started_at) DESC LIMIT 1`;
  const [found] = Array.from(rowsOf(database, sql, judgeKey), (row) => row.document('document', isCalibration));
  return found;
}

/** Every calibration, in the order of their ids. @throws DamagedValue */
export function readCalibrations(database: Sqlite): StoredCalibration[] {
  const sql = `SELECT judge_key, coalesce(ended_at, started_at) AS at,
    json_remove(document, '$.trust.line') -> '$.trust' AS trust FROM calibrations ORDER BY id`;
  return Array.from(rowsOf(database, sql), (row) => ({
    judgeKey: row.text('judge_key'),
    at: row.text('at'),
    trust: row.document('trust', isTrust),
  }));
}
