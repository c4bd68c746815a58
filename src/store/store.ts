// The SQLite file: an index over judged files that `score` can rebuild at any time. All SQL statements are in this folder.

import { statSync } from 'node:fs';
import { badData, cannotWrite, codeOf, EXIT, inputMissing, UserError } from '../core/errors.js';
import { DamagedValue, openSqlite, type Sqlite, sqliteCode } from '../disk/sqlite.js';
import {
  bytesByRun,
  readCalibration,
  readCalibrations,
  readExcerpts,
  readJudgements,
  readRuns,
  readSpent,
  removeRuns,
  renameRun,
  saveCalibration,
  saveRun,
} from './runs.js';
import { hasSchema, makeSchema } from './schema.js';

/** A file open for reading. Its methods throw a UserError (65) if it is damaged. */
export type StoreReader = ReturnType<typeof reader>;

const BUSY_MS = 5000;

/**
 * Opens the SQLite file for reading and writing, creating it if missing. Its methods throw a UserError (74, 65) if the file cannot be
 * written or is damaged.
 * @param busyMs how long to wait, in milliseconds, for another process that is writing.
 * @throws UserError: 74 if it cannot be written, 65 if it is not a database of this program and this version of the schema.
 */
export function openStore(path: string, busyMs = BUSY_MS) {
  const { database, bound } = opened(path, busyMs, 'write', makeSchema);
  return {
    ...reader(database, bound),
    saveRun: bound(saveRun),
    saveCalibration: bound(saveCalibration),
    renameRun: bound(renameRun),
    removeRuns: bound(removeRuns),
  };
}

/** The same for an existing file: it is not created. @throws UserError as `openStore`, and 66 if there is no file. */
export function openStoreToChange(path: string, busyMs = BUSY_MS) {
  requireFile(path);
  return openStore(path, busyMs);
}

/** Performs an action on a file opened by one of the above, and closes it. */
export function withStore<Opened extends { close(): void }, T>(
  path: string,
  open: (path: string) => Opened,
  action: (store: Opened) => T,
): T {
  const store = open(path);
  try {
    return action(store);
  } finally {
    store.close();
  }
}

/**
 * Opens an existing SQLite file to read its runs; nothing is written.
 * @throws UserError: 66 if there is no file or it cannot be read, 65 if it is not a database of this program and this version of the
 * schema.
 */
export function openExistingStore(path: string, busyMs = BUSY_MS): StoreReader {
  requireFile(path);
  let isEmpty = false;
  // Not `readonly`: if a writer was killed, SQLite has to roll back its half-written changes before anything can be read.
  const { database, bound } = opened(path, busyMs, 'read', (found) => {
    found.exec('PRAGMA query_only = ON');
    isEmpty = !hasSchema(found, path);
  });
  if (!isEmpty) return reader(database, bound);
  database.close();
  return openStore(':memory:');
}

function reader(database: Sqlite, bound: Bound) {
  return {
    runs: bound(readRuns),
    judgements: bound(readJudgements),
    excerpts: bound(readExcerpts),
    spent: bound(readSpent),
    calibrations: bound(readCalibrations),
    calibration: bound(readCalibration),
    bytesByRun: bound(bytesByRun),
    close: database.close,
  };
}

/** Turns a function of a database into one of the open file, and explains its failures. */
type Bound = <Given extends unknown[], T>(action: (database: Sqlite, ...given: Given) => T) => (...given: Given) => T;
type Use = 'read' | 'write';

/** Opens a regular file and prepares it; closes it if that throws. */
function opened(path: string, busyMs: number, use: Use, ready: (database: Sqlite, path: string) => void) {
  const explained = <T>(action: () => T): T => {
    try {
      return action();
    } catch (error) {
      throw explain(error, path, use);
    }
  };
  const database = explained(() => {
    requireRegular(path);
    return openSqlite(path, { timeout: busyMs });
  });
  try {
    explained(() => ready(database, path));
    const bound: Bound =
      (action) =>
      (...given) =>
        explained(() => action(database, ...given));
    return { database, bound };
  } catch (error) {
    database.close();
    throw error;
  }
}

function requireFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw inputMissing(
    `there is no ${path}; awb score --predictions FILE --db ${path} creates it, or choose another file with --db`,
  );
}

/** Refuses special files: opening a FIFO would wait forever, and SQLite treats a device as an empty file. */
function requireRegular(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true) return;
  throw badData(`${path} is not a regular file, so it cannot be a database; choose another with --db`);
}

/** What keeps an intact file from being read or written. */
const OBSTACLE = /^(SQLITE_(BUSY|FULL|CANTOPEN|PERM|READONLY|IOERR)(_|$)|E[A-Z]+$)/;

/** Explains a failure of SQLite to a reader or writer; other errors are returned unchanged. */
export function explain(error: unknown, path: string, use: Use): unknown {
  if (error instanceof TypeError && error.message.includes('directory does not exist')) {
    return cannotWrite(`cannot ${use} ${path}: its folder does not exist; create it or choose another file with --db`);
  }
  const code = error instanceof DamagedValue ? 'damaged' : (sqliteCode(error) ?? codeOf(error));
  if (!(error instanceof Error) || code === undefined) return error;
  const what = `cannot ${use} ${path}: ${error.message} (${code})`;
  if (OBSTACLE.test(code)) {
    const text = `${what}; unlock it, free some space or fix its permissions and try again, or choose another with --db`;
    return new UserError(text, use === 'read' ? EXIT.inputMissing : EXIT.cannotWrite);
  }
  return badData(
    `${what}; choose another with --db, or move it away and score again: the judged files contain everything that was in it`,
  );
}
