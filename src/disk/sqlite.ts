// The only access to better-sqlite3, whose objects are never garbage-collected; and rows whose values are checked as they are read.

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { codeOf, messageOf, unavailable } from '../core/errors.js';
import { isNumber, isText, parseJson } from '../core/json.js';
import { oneLine } from '../core/printable.js';

/** A row as SQLite returns it, by column. */
type Values = Readonly<Record<string, unknown>>;

export interface Sqlite {
  exec(sql: string): void;
  prepare(sql: string): Database.Statement<unknown[], Values>;
  /** The first column of the first row. */
  value(sql: string): unknown;
  /** Runs an action in a transaction that takes the write lock at once; any error rolls back. */
  immediate<T>(action: () => T): T;
  close(): void;
}

/**
 * Node 24.19 and later abort the process when an object of better-sqlite3 12 is garbage-collected (nodejs/node#65446), and version 13,
 * where that is fixed, does not run on Node 20. A closed database, a statement and an iterator use almost no memory, so all of them are
 * kept. For the same reason nothing here uses `pragma` and `transaction`, which prepare statements of their own.
 */
const kept: unknown[] = [];

function keep<T>(object: T): T {
  kept.push(object);
  return object;
}

/** Opens a SQLite file, creating it unless `readonly`. `timeout`: milliseconds to wait for another process's lock. */
export function openSqlite(
  path: string,
  options: { readonly timeout?: number; readonly readonly?: boolean; readonly fileMustExist?: boolean } = {},
): Sqlite {
  const database = keep(openDatabase(path, options));
  const prepare = (sql: string) => keep(database.prepare<unknown[], Values>(sql));
  return {
    exec(sql) {
      database.exec(sql);
    },
    prepare,
    value: (sql) => prepare(sql).pluck().get(),
    immediate(action) {
      database.exec('BEGIN IMMEDIATE');
      try {
        const result = action();
        database.exec('COMMIT');
        return result;
      } catch (error) {
        // SQLite has already rolled back if the disk was full.
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    close() {
      database.close();
    },
  };
}

/** @throws UserError if better-sqlite3 cannot be loaded: it is optional for npm, so that npx fails here and not in pages of compiler output */
function openDatabase(path: string, options: Database.Options): Database.Database {
  try {
    // Its types are those of the package.
    return new (createRequire(import.meta.url)('better-sqlite3') as typeof Database)(path, options);
  } catch (error) {
    if (error instanceof TypeError || sqliteCode(error) !== undefined) throw error;
    throw unavailable(`cannot load better-sqlite3, which stores runs: ${oneLine(String(messageOf(error).split('\nReq')[0]), 200)}
Its binary for Node.js ${process.version} comes from github.com, or npm compiles it with headers from nodejs.org. Without those, either
  - use the package for Python, which contains it (Linux x64): uvx agentworldbench, or
  - set npm_config_nodedir to a folder with include/node of this version (try ${dirname(dirname(process.execPath))}) if there is a compiler, or
  - set npm_config_better_sqlite3_binary_host to a mirror of its binaries;
and for the last two, install again: rm -r "$(npm config get cache)/_npx" before npx; npm ci in a clone; npm install -g again. See docs/install.md`);
  }
}

/** The code of an SQLite error, such as SQLITE_BUSY; undefined for any other error. */
export function sqliteCode(error: unknown): string | undefined {
  const code = codeOf(error);
  return code?.startsWith('SQLITE_') ? code : undefined;
}

/** Damage that SQLite itself does not notice: a column contains a value that was never written there. */
export class DamagedValue extends Error {
  constructor(column: string) {
    super(`column ${column}`);
    this.name = 'DamagedValue';
  }
}

/** A row; a value of another type than was stored counts as damage. Its methods throw DamagedValue. */
export class Row {
  constructor(private readonly values: Values) {}

  text(column: string): string {
    return sound(column, this.values[column], isText);
  }

  number(column: string): number {
    return sound(column, this.values[column], isNumber);
  }

  /** Undefined if the column is empty. */
  textIn(column: string): string | undefined {
    return this.values[column] === null ? undefined : this.text(column);
  }

  numberIn(column: string): number | undefined {
    return this.values[column] === null ? undefined : this.number(column);
  }

  /** A JSON value. */
  document<T>(column: string, isDocument: (value: unknown) => value is T): T {
    return sound(column, parseJson(this.text(column)), isDocument);
  }

  /** Undefined if the column is empty. */
  documentIn<T>(column: string, isDocument: (value: unknown) => value is T): T | undefined {
    return this.values[column] === null ? undefined : this.document(column, isDocument);
  }
}

function sound<T>(column: string, value: unknown, is: (value: unknown) => value is T): T {
  if (is(value)) return value;
  throw new DamagedValue(column);
}

/** The rows of a query, yielded as they are read. */
export function* rowsOf(database: Sqlite, sql: string, ...parameters: unknown[]): Generator<Row> {
  for (const values of keep(database.prepare(sql).iterate(...parameters))) yield new Row(values);
}

/** The values of a row by column; undefined is stored as NULL. */
type Stored = Readonly<Record<string, string | number | null | undefined>>;

/** Inserts a row, and returns its number. */
export function insert(database: Sqlite, table: string, values: Stored): number {
  return Number(insertion(database, table, Object.keys(values))(values).lastInsertRowid);
}

/** A function that inserts rows into these columns of a table. */
export function insertion(database: Sqlite, table: string, columns: readonly string[], end = '') {
  const slots = columns.map(() => '?').join(', ');
  const statement = database.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${slots}) ${end}`);
  return (values: Stored) => statement.run(columns.map((column) => values[column] ?? null));
}
