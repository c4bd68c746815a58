// SQLite's write-ahead log after a large transaction: copied into the file without the event loop waiting for it.

import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { type Sqlite, sqliteCode } from './sqlite.js';

/** Compiled code alone can be started as a thread. Tests run the sources, and what they start is what they have compiled before. */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/store/log-thread.js' : './log-thread.js',
  import.meta.url,
);

/** A smaller log is copied in less time than the event loop may be blocked for; a thread alone takes fifty milliseconds to start. */
const LARGE_BYTES = 8 * 2 ** 20;

/**
 * Copies the log of an open database into its file, a large one in a thread. What was committed stands in the log, too: where it cannot
 * be copied now, SQLite does so later, so that nothing is told of it.
 */
export async function copyLog(database: Sqlite): Promise<void> {
  // The log lies beside the file that a symbolic link leads to.
  const path = String(database.value("SELECT file FROM pragma_database_list WHERE name = 'main'"));
  const size = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (size >= LARGE_BYTES) {
    await new Promise<void>((done) => {
      new Worker(PROGRAM, { workerData: path }).on('error', () => {}).once('exit', () => done());
    });
    return;
  }
  try {
    database.exec('PRAGMA wal_checkpoint');
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
  }
}
