// Runs in the SQLite file: written, read back, renamed and removed. A document that lacks what was stored in it is damage.

import { ASKED, type RunCosts, type Spending } from '../core/costs.js';
import { inTableOrder } from '../core/domains.js';
import { UserError } from '../core/errors.js';
import { type Check, isNumber, isObject, isText, listOf, mapOf, maybe, membersOf } from '../core/json.js';
import { isPrice } from '../core/price.js';
import type { ScoreCard } from '../core/types.js';
import { insert, Row, rowsOf, type Sqlite, sqliteCode } from '../disk/sqlite.js';
import { byName, saveJudgements } from './judgements.js';
import type { RunRecord, StoredJudgement, StoredName, StoredRun } from './records.js';

/**
 * Writes a run with its judgements and scores in one transaction: all of it is stored, or the file stays as it was.
 * @param labelOver the label under which it replaces an earlier one
 * @returns the run's id, which it keeps when it is replaced.
 */
export function saveRun(
  database: Sqlite,
  run: RunRecord,
  judgements: readonly StoredJudgement[],
  card: ScoreCard,
  labelOver: (before: StoredName) => string | undefined,
): { id: number; replaced: boolean } {
  return database.immediate(() => {
    const found = database.prepare('SELECT id, label, manifest FROM runs WHERE identity = ?').get(run.identity);
    const before = found && new Row(found);
    const id = before?.number('id');
    if (id !== undefined) database.prepare('DELETE FROM runs WHERE id = ?').run(id);
    // Read in the transaction, so that a run is not given back the label that it loses at this moment.
    const label = before && labelOver({ label: before.textIn('label'), manifest: before.textIn('manifest') });
    const values = { id, ...valuesOf(before === undefined ? run : { ...run, label }, card) };
    const runId = insert(database, 'runs', values);
    saveJudgements(database, runId, judgements);
    return { id: runId, replaced: id !== undefined };
  });
}

function valuesOf(run: RunRecord, card: ScoreCard) {
  return {
    identity: run.identity,
    label: run.label,
    kind: run.kind,
    source: run.source,
    source_sha256: run.sourceSha256,
    world_model: run.worldModel,
    judge_model: run.judgeModel,
    rubric_pack: run.rubricPack,
    rubric_fingerprint: run.rubricFingerprint,
    protocol: run.protocol,
    meta: JSON.stringify(run.meta),
    manifest: run.manifest,
    started_at: run.startedAt,
    ended_at: run.endedAt,
    scored_at: run.scoredAt,
    tool_version: run.toolVersion,
    chosen: card.chosen,
    valid: card.valid,
    failed: card.failed,
    coverage: card.coverage,
    macro_of: card.macroOf,
    card: JSON.stringify(cardDocument(card)),
    costs: JSON.stringify(costsDocument(run.costs)),
    equivalence: run.equivalence && JSON.stringify(run.equivalence),
    scenarios: run.scenarios && JSON.stringify(run.scenarios),
  };
}

function cardDocument(card: ScoreCard): ScoreCard {
  const domains = card.domains.map((score) => ({ ...score, measures: byName(score.measures) }));
  return { ...card, domains, overallMeasures: byName(card.overallMeasures) };
}

function costsDocument(costs: RunCosts) {
  const sides = ASKED.flatMap((asked) => {
    const spending = costs[asked];
    return spending === undefined ? [] : [[asked, { ...spending, domains: Object.fromEntries(spending.domains) }]];
  });
  return Object.fromEntries(sides);
}

/** Every run with its scores, in the order of their ids. @throws DamagedValue */
export function readRuns(database: Sqlite): StoredRun[] {
  return Array.from(rowsOf(database, 'SELECT * FROM runs ORDER BY id'), (run) => ({
    id: run.number('id'),
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
    meta: run.document('meta', isObject),
    manifest: run.textIn('manifest'),
    startedAt: run.textIn('started_at'),
    endedAt: run.textIn('ended_at'),
    scoredAt: run.text('scored_at'),
    toolVersion: run.text('tool_version'),
    costs: costsOf(run.document('costs', isCosts)),
    equivalence: run.documentIn('equivalence', isEquivalence),
    card: run.document('card', isCard),
  }));
}

type CostsDocument = Partial<
  Record<keyof RunCosts, Omit<Spending, 'domains'> & { domains: Record<string, Spending['total']> }>
>;

function costsOf(document: CostsDocument): RunCosts {
  const sides = ASKED.flatMap((asked) => {
    const spending = document[asked];
    if (spending === undefined) return [];
    const domains = Object.entries(spending.domains).sort(([a], [b]) => inTableOrder(a, b));
    return [[asked, { ...spending, domains: new Map(domains) }]];
  });
  return Object.fromEntries(sides);
}

const COST = membersOf({ rows: isNumber, unpriced: isNumber, usage: mapOf(isNumber), usd: maybe(isNumber) });
const SPENDING = membersOf({ total: COST, domains: mapOf(COST), price: maybe(isPrice) });

function isCosts(value: unknown): value is CostsDocument {
  return mapOf(SPENDING)(value);
}

const INTERVAL = membersOf({ low: isNumber, high: isNumber });
const WHY_NONE: Check = (value) => value === 'few' || value === 'does not look';
const FOUND = membersOf({ value: isNumber, interval: maybe(INTERVAL) });
const EQUIVALENCE = {
  predicted: isNumber,
  ceiling: isNumber,
  floor: isNumber,
  rows: isNumber,
  clusters: isNumber,
  gap: maybe(INTERVAL),
  found: (value: unknown) => WHY_NONE(value) || FOUND(value),
};

function isEquivalence(value: unknown): value is NonNullable<RunRecord['equivalence']> {
  const domains = listOf(membersOf({ ...EQUIVALENCE, domain: isText }));
  return membersOf({ domains, overall: membersOf(EQUIVALENCE), macroOf: isNumber })(value);
}

const COUNTS = { chosen: isNumber, valid: isNumber, failed: isNumber, coverage: isNumber };
const ESTIMATES = mapOf(
  membersOf({
    ...{ value: isNumber, rows: isNumber, clusters: isNumber },
    ...{ se: maybe(isNumber), df: maybe(isNumber), low: maybe(isNumber), high: maybe(isNumber) },
  }),
);
const DOMAIN = membersOf({
  ...COUNTS,
  domain: isText,
  failures: mapOf(isNumber),
  flags: mapOf(isNumber),
  scores: ESTIMATES,
  withFailures: ESTIMATES,
  measures: ESTIMATES,
  variance: maybe(mapOf(isNumber)),
});
const CARD = membersOf({
  ...COUNTS,
  domains: listOf(DOMAIN),
  overall: ESTIMATES,
  macroOf: isNumber,
  overallMicro: ESTIMATES,
  overallWithFailures: ESTIMATES,
  overallMeasures: ESTIMATES,
  variance: maybe(mapOf(isNumber)),
  judgements: maybe(membersOf({ count: isNumber, failures: mapOf(isNumber) })),
});

function isCard(value: unknown): value is ScoreCard {
  return CARD(value);
}

/** A run as it was found. Its number alone does not name it: once a run is removed, another may get its number. */
export type FoundRun = Pick<StoredRun, 'id' | 'identity'>;

/** Gives a run another label. @throws UserError (2) where it is not there any more. */
export function renameRun(database: Sqlite, { id, identity }: FoundRun, label: string): void {
  database.immediate(() => {
    const rename = database.prepare('UPDATE runs SET label = ? WHERE id = ? AND identity = ?');
    requireThere(rename.run(label, id, identity).changes, id);
  });
}

/**
 * Removes runs with all that belongs to them, and gives their room back to the disk as far as can be: all of these runs or, where one is
 * not there any more, none.
 * @returns the room before and after.
 * @throws UserError (2)
 */
export function removeRuns(database: Sqlite, runs: readonly FoundRun[]): { before: Space; after: Space } {
  const before = spaceOf(database);
  database.immediate(() => {
    const remove = database.prepare('DELETE FROM runs WHERE id = ? AND identity = ?');
    for (const { id, identity } of runs) requireThere(remove.run(id, identity).changes, id);
  });
  giveBackSpace(database);
  return { before, after: spaceOf(database) };
}

function requireThere(changes: number, id: number): void {
  if (changes > 0) return;
  throw new UserError(
    `run ${id} is not there any more: another process removed it, and nothing was changed; awb runs list shows what is there`,
  );
}

/** How much room a database takes. */
export interface Space {
  /** Bytes of the file. */
  readonly bytes: number;
  /** Of these, the bytes that nothing uses; the next runs take them first. */
  readonly freeBytes: number;
}

export function spaceOf(database: Sqlite): Space {
  const pageBytes = Number(database.value('PRAGMA page_size'));
  const pages = Number(database.value('PRAGMA page_count'));
  return { bytes: pages * pageBytes, freeBytes: Number(database.value('PRAGMA freelist_count')) * pageBytes };
}

/**
 * Writes the database anew without what nothing uses, so that its file shrinks. That takes as much room again for a moment, and
 * nobody else may be writing. Where it cannot be done, the database stays as it is, and its free room serves the next runs.
 */
export function giveBackSpace(database: Sqlite): void {
  if (spaceOf(database).freeBytes === 0) return;
  try {
    database.exec('VACUUM');
  } catch (error) {
    if (!/^SQLITE_(BUSY|LOCKED|FULL|IOERR|NOMEM|CANTOPEN|READONLY)/.test(sqliteCode(error) ?? '')) throw error;
  }
}

/** The tables that hold something of runs, and where they have a run's number. */
const TABLES_OF_RUNS = { runs: 'id', judgements: 'run_id', predictions: 'run_id' };

/** About how many bytes each run takes, by its id: of every table that holds something of runs, the part of its rows. @throws DamagedValue */
export function bytesByRun(database: Sqlite): ReadonlyMap<number, number> {
  const bytes = new Map<number, number>();
  for (const [table, id] of Object.entries(TABLES_OF_RUNS)) {
    const parts = [...rowsOf(database, `SELECT ${id} AS run, count(*) AS rows FROM ${table} GROUP BY ${id}`)];
    const whole = parts.reduce((sum, part) => sum + part.number('rows'), 0);
    // As a constraint, "aggregate" alone is not enough for SQLite to add the pages up.
    const used = Number(database.value(`SELECT pgsize FROM dbstat WHERE name = '${table}' AND aggregate = TRUE`) ?? 0);
    for (const part of parts) {
      const run = part.number('run');
      bytes.set(run, (bytes.get(run) ?? 0) + (used * part.number('rows')) / whole);
    }
  }
  return bytes;
}
