// How much room the SQLite file takes, and how room that nothing uses is given back to the disk.

import { rowsOf, type Sqlite, sqliteCode } from './sqlite.js';

/** How much room a database takes. */
export interface Space {
  /** Bytes of the file. */
  readonly bytes: number;
  /** Of these, the bytes that nothing uses; the next runs take them first. */
  readonly freeBytes: number;
}

export function spaceOf(database: Sqlite): Space {
  const pageBytes = Number(database.value('PRAGMA page_size'));
  const pages = Number(database.value('PRAGMA page_count'));
  return { bytes: pages * pageBytes, freeBytes: Number(database.value('PRAGMA freelist_count')) * pageBytes };
}

/**
 * Writes the database anew without what nothing uses, so that its file shrinks. That takes as much room again for a moment, and
 * nobody else may be writing. Where it cannot be done, the database stays as it is, and its free room serves the next runs.
 */
export function giveBackSpace(database: Sqlite): void {
  if (spaceOf(database).freeBytes === 0) return;
  try {
    database.exec('VACUUM');
  } catch (error) {
    if (!/^SQLITE_(BUSY|LOCKED|FULL|IOERR|NOMEM|CANTOPEN|READONLY)/.test(sqliteCode(error) ?? '')) throw error;
  }
}

/** The tables that hold something of runs, and where they have a run's number. */
const TABLES_OF_RUNS = { runs: 'id', judgements: 'run_id', predictions: 'run_id' };

/** About how many bytes each run takes, by its id: of every table that holds something of runs, the part of its rows. @throws DamagedValue */
export function bytesByRun(database: Sqlite): ReadonlyMap<number, number> {
  const bytes = new Map<number, number>();
  for (const [table, id] of Object.entries(TABLES_OF_RUNS)) {
    const parts = [...rowsOf(database, `SELECT ${id} AS run, count(*) AS rows FROM ${table} GROUP BY ${id}`)];
    const whole = parts.reduce((sum, part) => sum + part.number('rows'), 0);
    // As a constraint, "aggregate" alone is not enough for SQLite to add the pages up.
    const used = Number(database.value(`SELECT pgsize FROM dbstat WHERE name = '${table}' AND aggregate = TRUE`) ?? 0);
    for (const part of parts) {
      const run = part.number('run');
      bytes.set(run, (bytes.get(run) ?? 0) + (used * part.number('rows')) / whole);
    }
  }
  return bytes;
}
