// Renaming and removing runs: the right ones, completely, while others use the file.

import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { openSqlite, type Sqlite } from '../../src/disk/sqlite.js';
import type { StoredJudgement } from '../../src/store/runs.js';
import { openStoreToChange } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { queryIn, rated, refusal, runOf, saveIn } from '../support/stored-runs.js';
import { type Compiled, compileStore } from './compiled.js';

let path: string;
let compiled: Compiled;
beforeAll(async () => {
  compiled = await compileStore();
});
afterAll(() => compiled.remove());
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

const save = (identity: string, judgements?: readonly StoredJudgement[]) => ({
  ...saveIn(path, runOf(identity), judgements),
  identity,
});
const query = (sql: string) => queryIn(path, sql);

/** The given number of judgements, each in its own row. */
function many(count: number): StoredJudgement[] {
  return Array.from({ length: count }, (_, row) => ({ ...rated, row: { ...rated.row, key: `key-${row}` } }));
}

/** Changes the file through the store. */
function changing<T>(action: (store: ReturnType<typeof openStoreToChange>) => T, busyMs?: number): T {
  const store = openStoreToChange(path, busyMs);
  try {
    return action(store);
  } finally {
    store.close();
  }
}

/** Every table and view about runs, with the ids of the runs that it has rows of. */
function runsByTable(): Record<string, unknown[]> {
  const tables = query(
    `SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type IN ('table', 'view') AND c.name = 'run_id'`,
  );
  return Object.fromEntries(
    tables.map(({ name }) => [name, query(`SELECT DISTINCT run_id AS id FROM ${name} ORDER BY 1`).map(({ id }) => id)]),
  );
}

/** A second process as far as SQLite can tell: a connection that shares only the file. */
function beside<T>(action: (other: Sqlite) => T): T {
  const other = openSqlite(path);
  try {
    return action(other);
  } finally {
    other.close();
  }
}

describe('a renamed run', () => {
  it('has the new label, and nothing else in the file changes', () => {
    const runs = [save('a'), save('b')];
    const before = query('SELECT * FROM runs ORDER BY id');
    changing((store) => store.renameRun(runs[1] as (typeof runs)[1], 'new'));
    expect(query('SELECT * FROM runs ORDER BY id')).toEqual([before[0], { ...before[1], label: 'new' }]);
  });

  it('is not the run that has since been given its number', () => {
    const gone = save('a');
    changing((store) => store.removeRuns([gone]));
    expect(save('other').id).toBe(gone.id);
    expect(refusal(() => changing((store) => store.renameRun(gone, 'new')))).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining('no longer exists'),
    });
    expect(query('SELECT label FROM runs')).toEqual([{ label: 'step-1' }]);
  });
});

describe('removed runs', () => {
  it('leave no row in any table, and the others keep every row', () => {
    const [first, , third] = [save('a'), save('b'), save('c')];
    changing((store) => store.removeRuns([first, third]));
    const tables = runsByTable();
    expect(Object.keys(tables)).toEqual(
      expect.arrayContaining(['judgements', 'measures', 'predictions', 'domain_costs']),
    );
    for (const ids of Object.values(tables)) expect(ids).toEqual([2]);
    expect(query('SELECT identity FROM runs')).toEqual([{ identity: 'b' }]);
    expect(query('PRAGMA foreign_key_check')).toEqual([]);
    expect(query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  it('all stay if one of them no longer exists', () => {
    const [first, second] = [save('a'), save('b')];
    changing((store) => store.removeRuns([second]));
    expect(refusal(() => changing((store) => store.removeRuns([first, second]))).exitCode).toBe(EXIT.usage);
    expect(query('SELECT identity FROM runs')).toEqual([{ identity: 'a' }]);
  });

  it.each(['before it is decided', 'before their room is given back'])(
    'leave a consistent file if the process is killed %s',
    async (when) => {
      const [first, second] = [save('a', many(2000)), save('b', many(2000))];
      // With a small cache, most of what is deleted has left the file by then, and is in the journal next to it.
      const script = await compiled.script(
        'killed-removal.js',
        `import Database from 'better-sqlite3';
       import { openStoreToChange } from './store/store.js';
       const [path, statement, runs] = process.argv.slice(2);
       const store = openStoreToChange(path);
       const exec = Database.prototype.exec;
       Database.prototype.exec = function (sql) {
         if (sql.startsWith('BEGIN')) exec.call(this, 'PRAGMA cache_size = 5');
         if (sql === statement) process.kill(process.pid, 'SIGKILL');
         return exec.call(this, sql);
       };
       store.removeRuns(JSON.parse(runs));`,
      );
      const isDecided = when === 'before their room is given back';
      const ended = promisify(execFile)(process.execPath, [
        script,
        path,
        isDecided ? 'VACUUM' : 'COMMIT',
        JSON.stringify([first]),
      ]);
      await expect(ended).rejects.toMatchObject({ signal: 'SIGKILL' });
      const journal = statSync(`${path}-journal`, { throwIfNoEntry: false })?.size ?? 0;
      expect(journal > 50_000).toBe(!isDecided);
      const left = isDecided ? [second.id] : [first.id, second.id];
      for (const ids of Object.values(runsByTable())) expect(ids).toEqual(left);
      expect(query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      changing((store) => store.removeRuns([second]));
      expect(query('SELECT count(*) AS n FROM judgements')).toEqual([{ n: isDecided ? 0 : 2000 }]);
    },
  );

  it('give their space back to the disk', () => {
    save('small', many(10));
    const small = statSync(path).size;
    const large = save('large', many(5000));
    const before = statSync(path).size;
    expect(before).toBeGreaterThan(10 * small);
    const room = changing((store) => store.removeRuns([large]));
    expect(room).toMatchObject({ before: { bytes: before }, after: { freeBytes: 0 } });
    expect(statSync(path).size).toBe(room.after.bytes);
    expect(statSync(path).size).toBeLessThanOrEqual(small + 4096);
    expect(query('PRAGMA user_version')).not.toEqual([{ user_version: 0 }]);
  });

  it('stay while another process reads, and that process sees all of them to the end', () => {
    save('a', many(10));
    const large = save('large', many(5000));
    const reading = openSqlite(path);
    reading.exec('BEGIN');
    const rows = () => reading.value('SELECT count(*) FROM judgements');
    expect(rows()).toBe(5010);
    const error = refusal(() => changing((store) => store.removeRuns([large]), 20));
    expect(error).toMatchObject({ exitCode: EXIT.cannotWrite, message: expect.stringContaining('database is locked') });
    expect(rows()).toBe(5010);
    reading.exec('COMMIT');
    changing((store) => store.removeRuns([large]));
    expect(rows()).toBe(10);
    reading.close();
  });

  it('stay while another process keeps the file locked', () => {
    const run = save('a');
    const error = beside((other) => {
      const store = openStoreToChange(path, 50);
      other.exec('BEGIN IMMEDIATE');
      try {
        return refusal(() => store.removeRuns([run]));
      } finally {
        store.close();
      }
    });
    expect(error).toMatchObject({ exitCode: EXIT.cannotWrite, message: expect.stringContaining('database is locked') });
    expect(query('SELECT identity FROM runs')).toEqual([{ identity: 'a' }]);
  });
});

it('changing a missing file does not create it', () => {
  expect(refusal(() => openStoreToChange(path)).exitCode).toBe(EXIT.inputMissing);
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
});
