// The SQLite file: an index over judged files that `score` can rebuild at any time. Every SQL statement stands in this folder.

import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import type { JudgedRow, ScoreCard } from '../types.js';
import { APPLICATION_ID, MIGRATIONS } from './migrations.js';
import { inMemory, openForReading } from './read-only.js';
import { DamagedValue, readJudgements, readRuns } from './reading.js';
import type { RunRecord, StoredJudgement, StoredRun } from './records.js';
import { saveRun } from './saving.js';
import { openSqlite, type Sqlite, sqliteCode } from './sqlite.js';

/** A file open for reading. Its methods throw a UserError (65) where it is damaged. */
export interface StoreReader {
  /** Every run with its scores, in the order of their ids. */
  runs(): readonly StoredRun[];
  /** A run's judged rows by key and repeat; none for an id that is not there. */
  judgements(runId: number): readonly JudgedRow[];
  close(): void;
}

export interface Store extends StoreReader {
  /**
   * Writes a run with its judgements and scores in one transaction: all of it is stored, or the file stays as it was.
   * @returns the run's id, which it keeps when it is replaced.
   * @throws UserError (74, 65) where the file cannot be written or is damaged.
   */
  saveRun(
    run: RunRecord,
    judgements: readonly StoredJudgement[],
    card: ScoreCard,
  ): { readonly id: number; readonly replaced: boolean };
}

const BUSY_MS = 5000;

/**
 * Opens the SQLite file, creating it and bringing its schema up to date where needed.
 * @param busyMs how long to wait, in milliseconds, for another process that is writing.
 * @throws UserError: 74 where it cannot be written, 65 where it is not a database of this program or of a later version.
 */
export function openStore(path: string, busyMs = BUSY_MS): Store {
  const explained = explainer((error) => explainWriting(error, path, busyMs));
  const database = explained(() => {
    refuseFifo(path);
    return openSqlite(path, { timeout: busyMs });
  });
  try {
    explained(() => prepare(database, path));
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    ...reader(database, explained),
    saveRun: (run, judgements, card) => explained(() => saveRun(database, run, judgements, card)),
  };
}

/**
 * Opens a SQLite file that is there, for its runs to be read. Nothing is written: the schema of an earlier version is brought
 * up to date in memory.
 * @throws UserError: 66 where there is no file or it cannot be read, 65 where it is not a database of this program or of a later version.
 */
export function openExistingStore(path: string, busyMs = BUSY_MS): StoreReader {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) {
    throw new UserError(
      `there is no ${path}; awb score --predictions FILE --db ${path} makes it, or name another file with --db`,
      EXIT.inputMissing,
    );
  }
  const explained = explainer((error) => explainReading(error, path, busyMs));
  const database = explained(() => {
    refuseFifo(path);
    return openForReading(path, busyMs);
  });
  try {
    return reader(
      explained(() => upToDate(database, path)),
      explained,
    );
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

function reader(database: Sqlite, explained: Explained): StoreReader {
  return {
    runs: () => explained(() => readRuns(database)),
    judgements: (runId) => explained(() => readJudgements(database, runId)),
    close: () => database.close(),
  };
}

function prepare(database: Sqlite, path: string): void {
  refuseForeign(database, path);
  chooseJournal(database, dirname(path));
  database.exec('PRAGMA foreign_keys = ON');
  migrate(database, path);
}

/** Opening a FIFO would wait for ever. */
function refuseFifo(path: string): void {
  if (!statSync(path, { throwIfNoEntry: false })?.isFIFO()) return;
  throw new UserError(`${path} is a FIFO and no SQLite file; name another with --db`, EXIT.badData);
}

/** Refuses a database of another program, before anything is changed in it. */
function refuseForeign(database: Sqlite, path: string): void {
  const tables = database.value('SELECT count(*) FROM sqlite_schema') as number;
  const applicationId = database.value('PRAGMA application_id');
  if (applicationId !== APPLICATION_ID && (tables > 0 || applicationId !== 0)) {
    throw new UserError(`${path} is a SQLite database of another program; name another file with --db`, EXIT.badData);
  }
}

/**
 * A write-ahead log lets others read while one writes. Its processes share memory, which those on two machines do not have: on
 * a network file system it is the rollback journal (sqlite.org/wal.html, "all processes ... must be on the same host").
 */
function chooseJournal(database: Sqlite, folder: string): void {
  const wanted = isOnNetwork(folder) ? 'delete' : 'wal';
  if (database.value('PRAGMA journal_mode') === wanted) return;
  try {
    database.exec(`PRAGMA journal_mode = ${wanted}`);
  } catch (error) {
    // What cannot share memory says so only here.
    if (!/^SQLITE_(IOERR_SHM|PROTOCOL|NOLFS)/.test(sqliteCode(error) ?? '')) throw error;
    database.exec('PRAGMA journal_mode = delete');
  }
}

/** Linux's numbers of file systems that other machines may write to as well (statfs(2)): NFS, SMB, CIFS, SMB2, 9p, FUSE, Lustre, GPFS, BeeGFS, Ceph, AFS, VirtualBox. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x0bd00bd0, 0x47504653, 0x19830326, 0x00c36400,
  0x5346414f, 0x786f4256,
]);

/** Whether a folder lies on a file system that machines share, as far as the system tells. */
export function isOnNetwork(folder: string, typeOf: (folder: string) => number = (at) => statfsSync(at).type): boolean {
  return process.platform === 'linux' && NETWORK_FILE_SYSTEMS.has(typeOf(folder) >>> 0);
}

function upToDate(database: Sqlite, path: string): Sqlite {
  refuseForeign(database, path);
  const version = database.value('PRAGMA user_version') as number;
  if (version > MIGRATIONS.length) throw fromTheFuture(path, version);
  if (version === MIGRATIONS.length) return database;
  const copy = inMemory(database.serialize());
  database.close();
  migrate(copy, path);
  return copy;
}

function migrate(database: Sqlite, path: string): void {
  for (;;) {
    const done = database.immediate(() => {
      // Read inside the transaction: another process may be at the same work.
      const version = database.value('PRAGMA user_version') as number;
      if (version > MIGRATIONS.length) throw fromTheFuture(path, version);
      const next = MIGRATIONS[version];
      if (next === undefined) return true;
      database.exec(next);
      database.exec(`PRAGMA user_version = ${version + 1}`);
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
      return false;
    });
    if (done) return;
  }
}

function fromTheFuture(path: string, version: number): UserError {
  return new UserError(
    `${path} has schema version ${version}, and this version of awb knows ${MIGRATIONS.length}: ` +
      'a later awb wrote it; use that one, or name another file with --db',
    EXIT.badData,
  );
}

/** What a failure of SQLite means to who writes; other errors come back as they are. */
function explainWriting(error: unknown, path: string, busyMs: number): unknown {
  const { message } = error as { message?: string };
  if (error instanceof TypeError && message?.includes('directory does not exist')) {
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

/** The same to who reads. */
function explainReading(error: unknown, path: string, busyMs: number): unknown {
  const code = sqliteCode(error) ?? (error as NodeJS.ErrnoException).code ?? '';
  if (code.startsWith('SQLITE_BUSY')) {
    const reason = `another process kept it locked for ${busyMs / 1000} s; try again when it is done`;
    return new UserError(`cannot read ${path}: ${reason}`, EXIT.inputMissing);
  }
  if (code === 'EISDIR') return new UserError(`${path} is a folder; name a SQLite file with --db`, EXIT.inputMissing);
  if (/^(SQLITE_(CANTOPEN|PERM|READONLY|IOERR)|E[A-Z]+$)/.test(code)) {
    return new UserError(`cannot read ${path} (${code}); mend that, or name another file with --db`, EXIT.inputMissing);
  }
  return explainDamage(error, path);
}

function explainDamage(error: unknown, path: string): unknown {
  const code = error instanceof DamagedValue ? error.message : sqliteCode(error);
  if (code === undefined) return error;
  if (code.startsWith('SQLITE_CONSTRAINT')) {
    return new UserError(`${path} does not take this run: ${(error as Error).message}`, EXIT.badData);
  }
  if (code === 'SQLITE_NOTADB') {
    return new UserError(`${path} is not a SQLite database; name another file with --db`, EXIT.badData);
  }
  return new UserError(
    `${path} is damaged (${code}); move it away and score again: the judged files hold all that was in it`,
    EXIT.badData,
  );
}
