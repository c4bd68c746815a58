// A SQLite file opened only for reading: nothing on the disk is changed or made, whoever owns the folder and whoever writes.

import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { EXIT, UserError } from '../errors.js';
import { openSqlite, type Sqlite, sqliteCode } from './sqlite.js';

/** A file of at most so many bytes is read as a whole rather than through files beside it. */
const LARGEST_COPY_BYTES = 1 << 28;
const COPY_ATTEMPTS = 5;

/** Bytes 18 and 19 of a file say how it is written and read: 1 with a rollback journal, 2 with a write-ahead log (SQLite's file format, 1.3). */
const FORMAT_AT = 18;
const ROLLBACK = 1;
const WRITE_AHEAD = 2;

/**
 * Opens a SQLite file that is there. A reader of a write-ahead log makes files beside the database, which outlast it and
 * which a folder may refuse; so where no log holds anything, a copy in memory is read instead.
 * @param busyMs how long to wait, in milliseconds, for another process that is writing
 * @throws SQLite's errors, those of the file system, and UserError (66) where a log can only be read through files that this process may not make.
 */
export function openForReading(path: string, busyMs: number): Sqlite {
  if (!usesLog(path)) return openSqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
  const copy = statSync(path).size <= LARGEST_COPY_BYTES ? settledCopy(path) : undefined;
  if (copy !== undefined) return inMemory(copy);
  let database: Sqlite | undefined;
  try {
    database = openSqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
    // Opening alone reads nothing.
    database.value('SELECT count(*) FROM sqlite_schema');
    return database;
  } catch (error) {
    database?.close();
    if (!/^SQLITE_(READONLY|CANTOPEN|IOERR_SHM)/.test(sqliteCode(error) ?? '')) throw error;
    const settled = settledCopy(path);
    if (settled !== undefined) return inMemory(settled);
    throw new UserError(
      `cannot read ${path}: some of its rows stand in ${path}-wal alone, and reading that needs a folder that can be written; copy both files into one`,
      EXIT.inputMissing,
    );
  }
}

/** A database in memory with the content of a file, to which nothing is written back. */
export function inMemory(bytes: Buffer): Sqlite {
  // An empty file is an empty database.
  if (bytes.length === 0) return openSqlite(':memory:');
  // Memory has no log beside it.
  bytes.fill(ROLLBACK, FORMAT_AT, FORMAT_AT + 2);
  return openSqlite(bytes);
}

function usesLog(path: string): boolean {
  const header = Buffer.alloc(FORMAT_AT + 2);
  const file = openSync(path, 'r');
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  return header[FORMAT_AT] === WRITE_AHEAD;
}

function holdsLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** The file's bytes, where no other process wrote while they were read; undefined where a log holds more, or one never stopped. */
function settledCopy(path: string): Buffer | undefined {
  for (let attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
    const before = statSync(path, { bigint: true });
    if (holdsLog(path)) return undefined;
    const bytes = readFileSync(path);
    const after = statSync(path, { bigint: true });
    const isSettled = before.mtimeNs === after.mtimeNs && before.size === after.size && before.ino === after.ino;
    if (isSettled && !holdsLog(path)) return bytes;
  }
  return undefined;
}
