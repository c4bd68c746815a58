// The door to better-sqlite3, whose objects are never given to the garbage collector.

import Database from 'better-sqlite3';
import type { Steps } from '../steps.js';

/** A row as SQLite gives it, by column. */
export type Values = Readonly<Record<string, unknown>>;

export interface Sqlite {
  exec(sql: string): void;
  prepare(sql: string): Database.Statement<unknown[], Values>;
  /** The first column of the first row. */
  value(sql: string): unknown;
  /** Runs an action in a transaction that takes the write lock at once; whatever it throws rolls back. */
  immediate<T>(action: () => T): T;
  /** The same in steps: the transaction stays open in between, and those who give up half-way roll it back. */
  immediateSteps<T>(action: () => Steps<T>): Steps<T>;
  /** Runs an action that only reads in a transaction, so that it sees one state of the file. */
  reading<T>(action: () => T): T;
  /** The database as a file would hold it. */
  serialize(): Buffer;
  close(): void;
}

/**
 * Node 24.19 and later abort the process when the collector takes an object of better-sqlite3 12 (nodejs/node#65446), and version 13,
 * where that is mended, does not run on Node 20. A closed database and a statement hold next to nothing, so all of them are kept.
 * For the same reason nothing here uses `pragma` and `transaction`, which prepare statements of their own.
 */
const kept: unknown[] = [];

/**
 * Opens a SQLite file, creating it unless `readonly`; or a copy of one in memory, from its bytes.
 * `timeout`: milliseconds to wait for another process's lock.
 */
export function openSqlite(
  file: string | Buffer,
  options: { readonly timeout?: number; readonly readonly?: boolean; readonly fileMustExist?: boolean } = {},
): Sqlite {
  const database = new Database(file, options);
  kept.push(database);
  const prepare = (sql: string) => {
    const statement = database.prepare<unknown[], Values>(sql);
    kept.push(statement);
    return statement;
  };
  const transaction = <T>(begin: string, action: () => T): T => {
    database.exec(begin);
    try {
      const result = action();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite has rolled back by itself where the disk was full.
      if (database.inTransaction) database.exec('ROLLBACK');
      throw error;
    }
  };
  return {
    exec(sql) {
      database.exec(sql);
    },
    prepare,
    value: (sql) => prepare(sql).pluck().get(),
    immediate: (action) => transaction('BEGIN IMMEDIATE', action),
    *immediateSteps(action) {
      // COMMIT writes what is still in the cache to the log, 16 MB of it by default, and copies the whole log into the file: both take
      // long after a large transaction. Here the cache is small, and the log stays for `copyLog`.
      database.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4000');
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = yield* action();
        database.exec('COMMIT');
        return result;
      } finally {
        if (database.inTransaction) database.exec('ROLLBACK');
      }
    },
    reading: (action) => transaction('BEGIN', action),
    serialize: () => database.serialize(),
    close() {
      database.close();
    },
  };
}

/** The code of an error of SQLite, such as SQLITE_BUSY; undefined for any other error. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
}
