// Unusable files are refused with the next step.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { RunRecord, StoredJudgement } from '../../src/store/runs.js';
import { SCHEMA_VERSION } from '../../src/store/schema.js';
import { explain, openExistingStore, openStore, openStoreToChange } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { card, refusal, runOf, saveIn } from '../support/stored-runs.js';

let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

const save = (run: RunRecord, judgements?: readonly StoredJudgement[]) => saveIn(path, run, judgements);

describe('an unusable file', () => {
  it.each([
    ['a later', SCHEMA_VERSION + 6, 'a later awb wrote it; use that one, or choose another file with --db'],
    [
      'an earlier',
      SCHEMA_VERSION - 1,
      'an earlier awb wrote it; move it away, and awb score RUN rebuilds it from each judged file',
    ],
  ])('from %s version is refused with both versions and what to do, and left unchanged', (_, version, remedy) => {
    openStore(path).close();
    const database = openSqlite(path);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    const before = readFileSync(path);
    for (const open of [openStore, openExistingStore, openStoreToChange]) {
      expect(refusal(() => open(path))).toMatchObject({
        exitCode: EXIT.badData,
        message: `${path} has schema version ${version}, but this version of awb needs ${SCHEMA_VERSION}: ${remedy}`,
      });
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('of another program is refused, and left unchanged', () => {
    const database = openSqlite(path);
    database.exec('CREATE TABLE customers (id)');
    database.close();
    const before = readFileSync(path);
    const error = refusal(() => openStore(path));
    expect(error).toMatchObject({ exitCode: EXIT.badData, message: expect.stringContaining('another program') });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('that is not a database is refused, and left unchanged', () => {
    writeFileSync(path, '{"task": "mcp"}\n'.repeat(100));
    expect(refusal(() => openStore(path))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('file is not a database (SQLITE_NOTADB); choose another with --db'),
    });
    expect(readFileSync(path, 'utf8')).toBe('{"task": "mcp"}\n'.repeat(100));
  });

  it.each([
    ['a FIFO', (at: string) => void execFileSync('mkfifo', [at])],
    ['a folder', (at: string) => mkdirSync(at)],
    ['a device', (at: string) => symlinkSync('/dev/zero', at)],
  ])('that is %s is refused without waiting for it', (_, make) => {
    make(path);
    for (const open of [openStore, openExistingStore, openStoreToChange]) {
      expect(refusal(() => open(path))).toMatchObject({
        exitCode: EXIT.badData,
        message: `${path} is not a regular file, so it cannot be a database; choose another with --db`,
      });
    }
  });

  it('that is damaged says that scoring again restores it', () => {
    save(runOf('a'));
    const bytes = readFileSync(path);
    bytes.fill(0xee, 4096);
    writeFileSync(path, bytes);
    expect(refusal(() => save(runOf('a')))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('score again'),
    });
  });

  it('that another process keeps locked is given up after the allowed time', () => {
    openStore(path).close();
    const [store, other] = [openStore(path, 50), openSqlite(path)];
    other.exec('BEGIN IMMEDIATE');
    const error = refusal(() => store.saveRun(runOf('a'), [], card));
    other.close();
    store.close();
    expect(error).toMatchObject({
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining('database is locked (SQLITE_BUSY); unlock it'),
    });
  });

  // Without a device that is always full (macOS, Windows), a full disk cannot be simulated.
  it('on a full disk says so', () => {
    const full = new Database.SqliteError('database or disk is full', 'SQLITE_FULL');
    expect(explain(full, path, 'write')).toMatchObject({
      exitCode: EXIT.cannotWrite,
      message: `cannot write ${path}: database or disk is full (SQLITE_FULL); unlock it, free some space or fix its permissions and try again, or choose another with --db`,
    });
  });

  it('in a missing folder is refused with its path', () => {
    const place = join(dirname(path), 'none/awb.sqlite');
    const error = refusal(() => openStore(place));
    expect(error.exitCode).toBe(EXIT.cannotWrite);
    expect(error.message).toMatch(/folder does not exist/);
    expect(error.message).toContain(place);
  });
});
