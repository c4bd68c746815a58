// A lock that the operating system holds, so that it dies with its process: on a run's folder, on a download.

import { type BigIntStats, rmSync, statSync } from 'node:fs';
import { cannotCreate, codeOf, messageOf } from '../core/errors.js';
import { openSqlite, type Sqlite } from './sqlite.js';

/** Gives the lock back. Calling it again does nothing. */
type Release = () => void;

/**
 * Takes the exclusive lock that `path` stands for, at once or not at all. The file is created, stays empty, and goes with the lock
 * (where the process is killed, or on Windows, it is left behind);
 * what locks is an open SQLite transaction on it, so a lock ends with its process, `kill -9` included. Nothing else in this
 * process may open the file: closing any handle on it would drop the lock (POSIX).
 * @param busy the whole message for when another process holds the lock.
 * @throws UserError (73) where it is held, or where no lock can be had at that place.
 */
export async function lockFile(path: string, busy: string): Promise<Release> {
  let database: Sqlite | undefined;
  try {
    for (;;) {
      const before = standing(path);
      database = openSqlite(path, { timeout: 0 });
      // Without it SQLite would put a journal file beside the lock.
      database.exec('PRAGMA journal_mode = MEMORY');
      database.exec('BEGIN EXCLUSIVE');
      // Between opening and locking whoever held it may have removed the file, which then locks nobody out.
      const after = standing(path);
      if (before !== undefined && before.ino === after?.ino && before.ctimeNs === after.ctimeNs) break;
      database.close();
    }
  } catch (error) {
    database?.close();
    throw cannotCreate(reasonOf(error, path, busy));
  }
  const { close } = database;
  let isHeld = true;
  return () => {
    try {
      // While the lock is held: whoever opens the file afterwards opens another.
      if (isHeld) rmSync(path);
    } catch {
      // An empty file that stays does no harm.
    }
    isHeld = false;
    close();
  };
}

function standing(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

function reasonOf(error: unknown, path: string, busy: string): string {
  const code = codeOf(error);
  if (code === 'SQLITE_BUSY') return busy;
  return `cannot lock ${path} (${code ?? messageOf(error)}); move away what other data it holds, or choose a folder on a local disk that can be written`;
}
