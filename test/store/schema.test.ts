// How a file of an earlier version is brought up to date: nothing in it is lost, whatever interrupts.

import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.js';
import { atOnce } from '../../src/steps.js';
import { APPLICATION_ID, MIGRATIONS } from '../../src/store/migrations.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { openExistingStore, openStore } from '../../src/store/store.js';
import { ROOT } from '../support/cli.js';
import { type Compiled, compileStore } from './compiled.js';

const FIXTURE = join(ROOT, 'fixtures/runs-0.1/runs.sqlite');

/** Each table of the first version with the columns that order it. */
const TABLES = {
  runs: 'id',
  judgements: 'run_id, key, repeat',
  measures: 'run_id, key, repeat, name',
  domain_counts: 'run_id, domain',
  domain_scores: 'run_id, domain, kind, dimension',
  overall_scores: 'run_id, kind, dimension',
};

/** The columns of each, whatever later versions add. */
const COLUMNS = columnsOfFirstVersion();

function columnsOfFirstVersion(): Readonly<Record<string, string>> {
  const database = openSqlite(':memory:');
  database.exec(MIGRATIONS[0] ?? '');
  const columns = Object.keys(TABLES).map((table) => {
    const names = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
    return [table, names.map(({ name }) => name).join(', ')];
  });
  database.close();
  return Object.fromEntries(columns);
}

let dir: string;
let path: string;
let compiled: Compiled;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'awb-schema-'));
  compiled = await compileStore();
});
afterAll(async () => {
  rmSync(dir, { recursive: true });
  await compiled.remove();
});
beforeEach(() => {
  path = join(mkdtempSync(join(dir, 'case-')), 'awb.sqlite');
});

/** Writes a file of the first version with three runs, each of so many rows with two repeats, and three measures a repeat. */
function writeFirstVersion(rows: number): void {
  const database = openSqlite(path);
  database.exec('PRAGMA journal_mode = wal');
  database.exec(`
    ${MIGRATIONS[0]}
    PRAGMA user_version = 1;
    PRAGMA application_id = ${APPLICATION_ID};
    INSERT INTO runs SELECT value, 'run ' || value, 'step-' || value, 'rubric', '/out/judged.jsonl', 'ab', 'world', 'judge', NULL, NULL,
      NULL, '{"step":"1"}', '{"schema":1}', NULL, NULL, '2026-01-01T00:00:00.000Z', '0.1.0', ${rows}, ${rows}, 0, 1, 2
      FROM json_each('[1, 2, 3]');
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows} - 1)
    INSERT INTO judgements SELECT runs.id, format('k%06d', i), repeat.value, 't' || (i / 3), iif(i % 2, 'mcp', 'os'), 1 + i % 5,
      iif(i % 7, 'ok', 'failed'), iif(i % 7, NULL, 'judge-timeout'), iif(i % 7, NULL, 'no token for 900 s'), i % 7 = 0,
      1 + i % 5, 2.5, NULL, 4, 5, 1 + i / 1e3, iif(i % 11, '[]', '["truncated"]'), 2, 19000 + i, NULL, 280, NULL, 4200.5
      FROM runs, n, json_each('[0, 1]') AS repeat;
    INSERT INTO measures SELECT run_id, judgements.key, repeat, name.value, turn_idx * 1.25
      FROM judgements, json_each('["chrf", "exact_match", "line_f1"]') AS name;
    INSERT INTO domain_counts SELECT runs.id, domain.value, 2, 2, 0, 1, '{}', '{"truncated":1}'
      FROM runs, json_each('["mcp", "os"]') AS domain;
    INSERT INTO domain_scores SELECT run_id, domain, 'official', 'total', 61.25, 2, 2, NULL, NULL, NULL, NULL FROM domain_counts;
    INSERT INTO overall_scores SELECT id, 'official', 'total', 61.25, 4, 4, 1.5, 3, 58, 64 FROM runs;
  `);
  database.close();
}

type Rows = readonly Readonly<Record<string, unknown>>[];

function query(sql: string): Rows {
  const database = openSqlite(path, { readonly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** Every row of every table, in the columns of the first version. */
function contents(): Readonly<Record<string, Rows>> {
  const tables = Object.entries(TABLES);
  return Object.fromEntries(
    tables.map(([table, key]) => [table, query(`SELECT ${COLUMNS[table]} FROM ${table} ORDER BY ${key}`)]),
  );
}

/** How many judgements and measures are not of index 0. */
const laterJudgements = () =>
  ['judgements', 'measures'].flatMap((table) => query(`SELECT * FROM ${table} WHERE judgement_index <> 0`)).length;

const versionOf = () => query('PRAGMA user_version')[0]?.user_version;

const counts = (rows: Readonly<Record<string, Rows>>) =>
  Object.fromEntries(Object.entries(rows).map(([table, { length }]) => [table, length]));

/** Columns, keys and references of every table. */
function shape(): unknown {
  const tables = query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").map(({ name }) => name);
  expect(tables).toEqual(
    expect.arrayContaining([...Object.keys(TABLES), 'calibrations', 'domain_costs', 'predictions', 'run_costs']),
  );
  return tables.map((table) => [
    table,
    query(`SELECT name, strict, wr FROM pragma_table_list WHERE name = '${table}'`),
    query(`SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info('${table}') ORDER BY cid`),
    query(`SELECT "table", "from", "to", on_delete FROM pragma_foreign_key_list('${table}') ORDER BY id, seq`),
  ]);
}

describe('a file of the first version', () => {
  it.each([
    ['that version 0.1 wrote', () => copyFileSync(FIXTURE, path), { runs: 3, judgements: 24, measures: 32 }],
    ['with many rows', () => writeFirstVersion(1000), { runs: 3, judgements: 6000, measures: 18_000 }],
  ])('%s keeps every row of every table', (_name, write, expected) => {
    write();
    const before = contents();
    expect(counts(before)).toMatchObject(expected);
    expect(versionOf()).toBe(1);

    openStore(path).close();

    expect(versionOf()).toBe(MIGRATIONS.length);
    const after = contents();
    expect(counts(after)).toEqual(counts(before));
    expect(JSON.stringify(after)).toBe(JSON.stringify(before));
    expect(laterJudgements()).toBe(0);
    expect(query('PRAGMA foreign_key_check')).toEqual([]);
    expect(query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const migrated = shape();
    path = `${path}.new`;
    openStore(path).close();
    expect(migrated).toEqual(shape());
  });

  it('still loses all that belongs to a run when that is deleted, and nothing else', () => {
    writeFirstVersion(50);
    const before = counts(contents());
    openStore(path).close();
    const database = openSqlite(path);
    database.exec('PRAGMA foreign_keys = ON');
    database.exec('DELETE FROM runs WHERE id = 2');
    database.close();
    const left = Object.fromEntries(Object.entries(before).map(([table, count]) => [table, (count * 2) / 3]));
    expect(counts(contents())).toEqual(left);
  });

  it('keeps foreign keys on for whoever opened it', () => {
    writeFirstVersion(5);
    const store = openStore(path);
    const [run] = store.runs();
    if (run === undefined) throw new Error('there is no run');
    expect(atOnce(store.saveRun(run, [], run.card))).toMatchObject({ id: 1, replaced: true });
    store.close();
    expect(query('SELECT count(*) AS n FROM judgements WHERE run_id = 1')).toEqual([{ n: 0 }]);
    expect(query('SELECT count(*) AS n FROM measures WHERE run_id = 1')).toEqual([{ n: 0 }]);
  });

  it('is read as it is, without a change on the disk', () => {
    writeFirstVersion(2500);
    const before = readFileSync(path);
    const store = openExistingStore(path);
    expect(store.runs().map(({ label }) => label)).toEqual(['step-1', 'step-2', 'step-3']);
    const judged = store.judgements(2);
    store.close();
    expect(judged).toHaveLength(5000);
    expect(judged.every(({ index }) => index === 0)).toBe(true);
    expect(judged[3]).toMatchObject({
      key: 'k000001',
      repeat: 1,
      measures: { chrf: 2.5, exact_match: 2.5, line_f1: 2.5 },
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('is brought up to date once when several processes open it together', async () => {
    writeFirstVersion(300);
    const before = contents();
    const script = await compiled.script(
      'migrate-together.js',
      `import { openStore } from './store/store.js';
       openStore(process.argv[2], 20000).close();`,
    );
    const open = () => promisify(execFile)(process.execPath, [script, path]);
    await Promise.all(Array.from({ length: 4 }, open));
    expect(versionOf()).toBe(MIGRATIONS.length);
    expect(JSON.stringify(contents())).toBe(JSON.stringify(before));
  });

  it.each([
    [1, 'INSERT INTO measures_anew'],
    [1, 'DROP TABLE judgements'],
    [1, 'ALTER TABLE measures_anew'],
    [1, 'PRAGMA user_version = 2'],
    [1, 'COMMIT'],
    [2, 'ALTER TABLE judgements ADD'],
    [2, 'CREATE TABLE predictions'],
    [2, 'CREATE TABLE domain_costs'],
    [2, 'PRAGMA user_version = 3'],
    [2, 'COMMIT'],
    [3, 'CREATE TABLE calibrations'],
    [3, 'CREATE TABLE calibration_figures'],
    [3, 'PRAGMA user_version = 4'],
    [3, 'COMMIT'],
  ])('is left whole in version %i by a process that is killed before %s', async (version, statement) => {
    writeFirstVersion(100);
    const before = contents();
    // With a small cache the unfinished migration stands in the log on the disk by then.
    const script = await compiled.script(
      'killed-migration.js',
      `import Database from 'better-sqlite3';
         import { MIGRATIONS } from './store/migrations.js';
         import { openStore } from './store/store.js';
         const [path, version, statement] = process.argv.slice(2);
         const exec = Database.prototype.exec;
         let isMigrating = false;
         Database.prototype.exec = function (sql) {
           if (sql.startsWith('BEGIN')) exec.call(this, 'PRAGMA cache_size = 5');
           isMigrating ||= sql === MIGRATIONS[version];
           const at = isMigrating ? sql.indexOf(statement) : -1;
           if (at < 0) return exec.call(this, sql);
           exec.call(this, sql.slice(0, at));
           process.kill(process.pid, 'SIGKILL');
         };
         openStore(path);`,
    );
    const ended = promisify(execFile)(process.execPath, [script, path, String(version), statement]);
    await expect(ended).rejects.toMatchObject({ signal: 'SIGKILL' });
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(50_000);
    expect(versionOf()).toBe(version);
    expect(JSON.stringify(contents())).toBe(JSON.stringify(before));

    openStore(path).close();
    expect(versionOf()).toBe(MIGRATIONS.length);
    expect(JSON.stringify(contents())).toBe(JSON.stringify(before));
  });

  it('with rows that belong to nothing is refused, and left as it is', () => {
    writeFirstVersion(5);
    const database = openSqlite(path);
    database.exec('PRAGMA foreign_keys = OFF');
    database.exec("DELETE FROM judgements WHERE run_id = 2 AND key = 'k000003'");
    database.close();
    const before = contents();
    for (const open of [openStore, openExistingStore]) {
      expect(() => open(path)).toThrow(
        expect.objectContaining({
          exitCode: EXIT.badData,
          message: expect.stringMatching(/rows of measures belong to nothing/),
        }),
      );
    }
    expect(versionOf()).toBe(1);
    expect(contents()).toEqual(before);
  });
});
