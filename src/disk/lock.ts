// A lock held by the operating system, so that it ends with its process: for a run's folder, for a download.

import { type BigIntStats, rmSync, statSync } from 'node:fs';
import { cannotCreate, codeOf, messageOf, UserError } from '../core/errors.js';
import { openSqlite, type Sqlite } from './sqlite.js';

/**
 * Takes the exclusive lock on `path`, immediately or not at all. The file is created, stays empty, and is removed with the lock (but
 * remains if the process is killed, or on Windows). The actual lock is an open SQLite transaction on it, so it ends with its process, `kill
 * -9` included. Nothing else in this process may open the file: closing any handle on it would drop the lock (POSIX).
 * @param busy the complete message if another process holds the lock.
 * @throws UserError (73) if it is held, or if that place does not support locks.
 */
export async function lockFile(path: string, busy: string): Promise<() => void> {
  let database: Sqlite | undefined;
  try {
    for (;;) {
      const before = standing(path);
      database = openSqlite(path, { timeout: 0 });
      // Otherwise SQLite would create a journal file next to the lock.
      database.exec('PRAGMA journal_mode = MEMORY');
      database.exec('BEGIN EXCLUSIVE');
      // Between opening and locking, the previous holder may have removed the file, which then locks nothing.
      const after = standing(path);
      if (before !== undefined && before.ino === after?.ino && before.ctimeNs === after.ctimeNs) break;
      database.close();
    }
  } catch (error) {
    database?.close();
    throw error instanceof UserError ? error : cannotCreate(reasonOf(error, path, busy));
  }
  const { close } = database;
  let isHeld = true;
  return () => {
    try {
      // Removed while the lock is held, so that later openers get a new file.
      if (isHeld) rmSync(path);
    } catch {
      // An empty file that remains does no harm.
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
  return `cannot lock ${path} (${code ?? messageOf(error)}); move it away if it contains other data, or choose a folder on a writable local disk`;
}
