// The SQLite file: an index over judged files that `score` can rebuild at any time. Every SQL statement stands in this folder.

import { statSync } from 'node:fs';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import type { ScoreCard } from '../core/types.js';
import { DamagedValue, openSqlite, type Sqlite, sqliteCode } from '../disk/sqlite.js';
import { readCalibrations, saveCalibration } from './calibrations.js';
import { readJudgements } from './judgements.js';
import type { CalibrationRecord, RunRecord, StoredJudgement, StoredName } from './records.js';
import { bytesByRun, type FoundRun, readRuns, removeRuns, renameRun, saveRun } from './runs.js';
import { hasSchema, makeSchema } from './schema.js';

/** A file open for reading. Its methods throw a UserError (65) where it is damaged. */
export type StoreReader = ReturnType<typeof reader>;

/** A file open for writing, too. Its methods throw a UserError (74, 65) where it cannot be written or is damaged. */
export type Store = ReturnType<typeof open>;

const BUSY_MS = 5000;

/**
 * Opens the SQLite file, creating it where it is not there.
 * @param busyMs how long to wait, in milliseconds, for another process that is writing.
 * @throws UserError: 74 where it cannot be written, 65 where it is not a database of this program and this version of the schema.
 */
export function openStore(path: string, busyMs = BUSY_MS) {
  return open(path, busyMs, false);
}

/** The same for a file that is there: it is not created. @throws UserError as `openStore`, and 66 where there is no file. */
export function openStoreToChange(path: string, busyMs = BUSY_MS) {
  requireFile(path);
  return open(path, busyMs, true);
}

function open(path: string, busyMs: number, fileMustExist: boolean) {
  const explained = explainer((error) => explainWriting(error, path, busyMs));
  const database = opened(path, { timeout: busyMs, fileMustExist }, explained, makeSchema);
  return {
    ...reader(database, explained),
    /** See `saveRun` in runs.ts; without `labelOver` a run that is replaced gets its own label. */
    saveRun: (
      run: RunRecord,
      judgements: readonly StoredJudgement[],
      card: ScoreCard,
      labelOver: (before: StoredName) => string | undefined = () => run.label,
    ) => explained(() => saveRun(database, run, judgements, card, labelOver)),
    saveCalibration: (record: CalibrationRecord) => explained(() => saveCalibration(database, record)),
    renameRun: (run: FoundRun, label: string) => explained(() => renameRun(database, run, label)),
    removeRuns: (runs: readonly FoundRun[]) => explained(() => removeRuns(database, runs)),
  };
}

/**
 * Opens a SQLite file that is there, for its runs to be read; nothing is written.
 * @throws UserError: 66 where there is no file or it cannot be read, 65 where it is not a database of this program and this version of the
 * schema.
 */
export function openExistingStore(path: string, busyMs = BUSY_MS): StoreReader {
  requireFile(path);
  const explained = explainer((error) => explainReading(error, path, busyMs));
  let isEmpty = false;
  // Not `readonly`: where a writer was killed, SQLite has to roll back what it left half written before anything can be read.
  const database = opened(path, { timeout: busyMs, fileMustExist: true }, explained, (found) => {
    found.exec('PRAGMA query_only = ON');
    isEmpty = !hasSchema(found, path);
  });
  if (!isEmpty) return reader(database, explained);
  database.close();
  return { runs: () => [], judgements: () => [], calibrations: () => [], bytesByRun: () => new Map(), close() {} };
}

/** Opens a regular file and makes it ready; it is closed where that throws. */
function opened(
  path: string,
  options: Parameters<typeof openSqlite>[1],
  explained: Explained,
  ready: (database: Sqlite, path: string) => void,
): Sqlite {
  const database = explained(() => {
    requireRegular(path);
    return openSqlite(path, options);
  });
  try {
    explained(() => ready(database, path));
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

type Explained = <T>(action: () => T) => T;

function explainer(explain: (error: unknown) => unknown): Explained {
  return (action) => {
    try {
      return action();
    } catch (error) {
      throw explain(error);
    }
  };
}

function reader(database: Sqlite, explained: Explained) {
  return {
    runs: () => explained(() => readRuns(database)),
    judgements: (runId: number) => explained(() => readJudgements(database, runId)),
    calibrations: () => explained(() => readCalibrations(database)),
    bytesByRun: () => explained(() => bytesByRun(database)),
    close: () => database.close(),
  };
}

function requireFile(path: string): void {
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return;
  throw new UserError(
    `there is no ${path}; awb score --predictions FILE --db ${path} makes it, or name another file with --db`,
    EXIT.inputMissing,
  );
}

/** Opening a FIFO would wait for ever, and SQLite takes a device for an empty file. */
function requireRegular(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  const kind = found.isDirectory()
    ? 'a folder'
    : found.isFIFO()
      ? 'a FIFO'
      : found.isSocket()
        ? 'a socket'
        : 'a device';
  throw new UserError(`${path} is ${kind}, not a SQLite file; name another file with --db`, EXIT.badData);
}

/** What a failure of SQLite means to those who write; other errors come back as they are. */
export function explainWriting(error: unknown, path: string, busyMs: number): unknown {
  if (error instanceof TypeError && error.message.includes('directory does not exist')) {
    return new UserError(
      `cannot write ${path}: its folder does not exist; create it or name another with --db`,
      EXIT.cannotWrite,
    );
  }
  const code = sqliteCode(error) ?? '';
  const reason = writeFailure(code, busyMs);
  return reason === undefined
    ? explainDamage(error, path)
    : new UserError(`cannot write ${path}: ${reason}`, EXIT.cannotWrite);
}

function writeFailure(code: string, busyMs: number): string | undefined {
  if (code.startsWith('SQLITE_BUSY')) {
    return `another process kept it locked for ${busyMs / 1000} s; try again when it is done`;
  }
  if (code === 'SQLITE_FULL') return 'the disk is full, and nothing in it was changed; free some space, or use --db';
  if (/^SQLITE_(READONLY|CANTOPEN|PERM)/.test(code)) {
    return `it or its folder cannot be written (${code}); mend the permissions, or use --db`;
  }
  if (code.startsWith('SQLITE_IOERR')) return `the disk reports an error (${code}); use --db for another place`;
  return undefined;
}

/** The same to those who read. */
function explainReading(error: unknown, path: string, busyMs: number): unknown {
  const code = sqliteCode(error) ?? codeOf(error) ?? '';
  if (code.startsWith('SQLITE_BUSY')) {
    const reason = `another process kept it locked for ${busyMs / 1000} s; try again when it is done`;
    return new UserError(`cannot read ${path}: ${reason}`, EXIT.inputMissing);
  }
  if (/^(SQLITE_(CANTOPEN|PERM|READONLY|IOERR)|E[A-Z]+$)/.test(code)) {
    return new UserError(`cannot read ${path} (${code}); mend that, or name another file with --db`, EXIT.inputMissing);
  }
  return explainDamage(error, path);
}

function explainDamage(error: unknown, path: string): unknown {
  const code = error instanceof DamagedValue ? error.message : sqliteCode(error);
  if (!(error instanceof Error) || code === undefined) return error;
  if (code.startsWith('SQLITE_CONSTRAINT')) {
    return new UserError(`${path} does not take this run: ${error.message}`, EXIT.badData);
  }
  if (code === 'SQLITE_NOTADB') {
    return new UserError(`${path} is not a SQLite database; name another file with --db`, EXIT.badData);
  }
  return new UserError(
    `${path} is damaged (${code}); move it away and score again: the judged files hold all that was in it`,
    EXIT.badData,
  );
}
