import { copyFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { copyLog } from '../../src/store/log.js';
import { openSqlite, type Sqlite } from '../../src/store/sqlite.js';
import { temporaryFolder } from '../support/cli.js';

const KILOBYTE_ROWS = 10_000;

describe('a log', () => {
  let path: string;
  beforeEach(async () => {
    path = join(await temporaryFolder(), 'a.sqlite');
  });

  function withRows(rows: number): Sqlite {
    const database = openSqlite(path);
    database.exec('PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (text)');
    database.exec('PRAGMA wal_checkpoint');
    fill(database, rows);
    return database;
  }

  function fill(database: Sqlite, rows: number): void {
    database.exec('BEGIN');
    const insertion = database.prepare('INSERT INTO t VALUES (?)');
    for (let row = 0; row < rows; row++) insertion.run('x'.repeat(1000));
    database.exec('COMMIT');
  }

  /** What the file holds without its log. */
  async function rowsInFile(): Promise<unknown> {
    const copy = `${path}.copy`;
    await copyFile(path, copy);
    const database = openSqlite(copy);
    const rows = database.value('SELECT count(*) FROM t');
    database.close();
    await rm(copy);
    return rows;
  }

  test('of more than some megabytes is copied into the file, which stays open', async () => {
    const database = withRows(KILOBYTE_ROWS);
    expect(await rowsInFile()).toBe(0);
    const copied = copyLog(database);
    expect(await rowsInFile()).toBe(0);
    await copied;
    expect(await rowsInFile()).toBe(KILOBYTE_ROWS);
    database.exec("INSERT INTO t VALUES ('later')");
    database.close();
    expect(await rowsInFile()).toBe(KILOBYTE_ROWS + 1);
  });

  test('of a file behind a symbolic link is copied likewise', async () => {
    const link = `${path}.link`;
    withRows(0).close();
    await symlink(path, link);
    const database = openSqlite(link);
    database.exec('PRAGMA wal_autocheckpoint = 0');
    fill(database, KILOBYTE_ROWS);
    const copied = copyLog(database);
    expect(await rowsInFile()).toBe(0);
    await copied;
    expect(await rowsInFile()).toBe(KILOBYTE_ROWS);
    database.close();
  });

  test('that is small is copied at once', async () => {
    const database = withRows(10);
    expect(await rowsInFile()).toBe(0);
    const copied = copyLog(database);
    expect(await rowsInFile()).toBe(10);
    await copied;
    database.close();
  });

  test.each([10, KILOBYTE_ROWS])(
    'of %d rows that another holds back stays, and nothing is told of it',
    async (rows) => {
      const database = withRows(0);
      const reader = openSqlite(path);
      reader.exec('BEGIN');
      expect(reader.value('SELECT count(*) FROM t')).toBe(0);
      fill(database, rows);
      await copyLog(database);
      expect(await rowsInFile()).toBe(0);
      expect(database.value('SELECT count(*) FROM t')).toBe(rows);
      reader.exec('COMMIT');
      reader.close();
      database.close();
      expect(await rowsInFile()).toBe(rows);
    },
  );
});
