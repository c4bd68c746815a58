// The schema of a SQLite file: whether it is ours, and how it is brought up to date.

import { EXIT, UserError } from '../errors.js';
import { APPLICATION_ID, MIGRATIONS } from './migrations.js';
import { inMemory } from './read-only.js';
import type { Sqlite } from './sqlite.js';

/** Refuses a database of another program, before anything is changed in it. @throws UserError (65) */
export function refuseForeign(database: Sqlite, path: string): void {
  const tables = database.value('SELECT count(*) FROM sqlite_schema');
  const applicationId = database.value('PRAGMA application_id');
  if (applicationId !== APPLICATION_ID && (tables !== 0 || applicationId !== 0)) {
    throw new UserError(`${path} is a SQLite database of another program; name another file with --db`, EXIT.badData);
  }
}

/** The database itself where its schema is the newest; else a copy in memory that is brought up to date, and the database is closed. */
export function upToDate(database: Sqlite, path: string): Sqlite {
  refuseForeign(database, path);
  if (versionOf(database, path) === MIGRATIONS.length) return database;
  const copy = inMemory(database.serialize());
  database.close();
  migrate(copy, path);
  return copy;
}

/**
 * Applies the migrations that the database lacks, each in a transaction of its own: whatever interrupts one leaves the version
 * before it. Foreign keys are off meanwhile, since dropping a table would delete what refers to it, and are checked before each
 * commit; afterwards they are on.
 * @returns how many were applied.
 * @throws UserError (65) where the file is of a later version, or holds rows that refer to none.
 */
export function migrate(database: Sqlite, path: string): number {
  // SQLite heeds this only outside of a transaction.
  database.exec('PRAGMA foreign_keys = OFF');
  let applied = 0;
  while (applyNext(database, path)) applied++;
  database.exec('PRAGMA foreign_keys = ON');
  return applied;
}

function applyNext(database: Sqlite, path: string): boolean {
  return database.immediate(() => {
    // Read inside the transaction: another process may be at the same work.
    const version = versionOf(database, path);
    const next = MIGRATIONS[version];
    if (next === undefined) return false;
    database.exec(next);
    requireReferences(database, path);
    database.exec(`PRAGMA user_version = ${version + 1}`);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    return true;
  });
}

function requireReferences(database: Sqlite, path: string): void {
  const table = database.value('PRAGMA foreign_key_check');
  if (table === undefined) return;
  throw new UserError(
    `${path} is damaged (rows of ${table} belong to nothing); move it away and score again: the judged files hold all that was in it`,
    EXIT.badData,
  );
}

function versionOf(database: Sqlite, path: string): number {
  const version = Number(database.value('PRAGMA user_version'));
  if (version <= MIGRATIONS.length) return version;
  throw new UserError(
    `${path} has schema version ${version}, and this version of awb knows ${MIGRATIONS.length}: ` +
      'a later awb wrote it; use that one, or name another file with --db',
    EXIT.badData,
  );
}
