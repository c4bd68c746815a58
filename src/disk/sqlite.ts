// The only access to better-sqlite3, whose objects are never garbage-collected; and rows whose values are checked as they are read.

import Database from 'better-sqlite3';
import { isNumber, isText, parseJson } from '../core/json.js';

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
 * where that is fixed, does not run on Node 20. A closed database and a statement use almost no memory, so all of them are kept. For the
 * same reason nothing here uses `pragma` and `transaction`, which prepare statements of their own.
 */
const kept: unknown[] = [];

/** Opens a SQLite file, creating it unless `readonly`. `timeout`: milliseconds to wait for another process's lock. */
export function openSqlite(
  path: string,
  options: { readonly timeout?: number; readonly readonly?: boolean; readonly fileMustExist?: boolean } = {},
): Sqlite {
  const database = new Database(path, options);
  kept.push(database);
  const prepare = (sql: string) => {
    const statement = database.prepare<unknown[], Values>(sql);
    kept.push(statement);
    return statement;
  };
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

/** The code of an SQLite error, such as SQLITE_BUSY; undefined for any other error. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
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
  for (const values of database.prepare(sql).iterate(...parameters)) yield new Row(values);
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
