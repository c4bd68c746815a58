// The SQLite file: an index over judged files that `score` can rebuild at any time. Every SQL statement stands in this folder.

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

/** A file open for reading. Its methods throw a UserError (65) where it is damaged. */
export type StoreReader = ReturnType<typeof reader>;

const BUSY_MS = 5000;

/**
 * Opens the SQLite file for reading and writing, and creates it where it is not there. Its methods throw a UserError (74, 65) where the file cannot be written or is damaged.
 * @param busyMs how long to wait, in milliseconds, for another process that is writing.
 * @throws UserError: 74 where it cannot be written, 65 where it is not a database of this program and this version of the schema.
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

/** The same for a file that is there: it is not created. @throws UserError as `openStore`, and 66 where there is no file. */
export function openStoreToChange(path: string, busyMs = BUSY_MS) {
  requireFile(path);
  return openStore(path, busyMs);
}

/** Does something with a file that one of the above opens, and closes it. */
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
 * Opens a SQLite file that is there, for its runs to be read; nothing is written.
 * @throws UserError: 66 where there is no file or it cannot be read, 65 where it is not a database of this program and this version of the
 * schema.
 */
export function openExistingStore(path: string, busyMs = BUSY_MS): StoreReader {
  requireFile(path);
  let isEmpty = false;
  // Not `readonly`: where a writer was killed, SQLite has to roll back what it left half written before anything can be read.
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

/** Gives a function of a database as one of the file that is open, whose failures are explained. */
type Bound = <Given extends unknown[], T>(action: (database: Sqlite, ...given: Given) => T) => (...given: Given) => T;
type Use = 'read' | 'write';

/** Opens a regular file and makes it ready; it is closed where that throws. */
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
    `there is no ${path}; awb score --predictions FILE --db ${path} makes it, or name another file with --db`,
  );
}

/** Opening a FIFO would wait for ever, and SQLite takes a device for an empty file. */
function requireRegular(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() ?? true) return;
  throw badData(`${path} is not a regular file, as a SQLite file is; name another with --db`);
}

/** What keeps a sound file from being read or written. */
const OBSTACLE = /^(SQLITE_(BUSY|FULL|CANTOPEN|PERM|READONLY|IOERR)(_|$)|E[A-Z]+$)/;

/** What a failure of SQLite means to those who read or write; other errors come back as they are. */
export function explain(error: unknown, path: string, use: Use): unknown {
  if (error instanceof TypeError && error.message.includes('directory does not exist')) {
    return cannotWrite(`cannot ${use} ${path}: its folder does not exist; create it or name another with --db`);
  }
  const code = error instanceof DamagedValue ? 'damaged' : (sqliteCode(error) ?? codeOf(error));
  if (!(error instanceof Error) || code === undefined) return error;
  const what = `cannot ${use} ${path}: ${error.message} (${code})`;
  if (OBSTACLE.test(code)) {
    const text = `${what}; free it, some space or its permissions and try again, or name another with --db`;
    return new UserError(text, use === 'read' ? EXIT.inputMissing : EXIT.cannotWrite);
  }
  return badData(
    `${what}; name another with --db, or move it away and score again: the judged files hold all that was in it`,
  );
}
