// Files that cannot be used are refused with the next step.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.js';
import { MIGRATIONS } from '../../src/store/migrations.js';
import type { RunRecord, StoredJudgement } from '../../src/store/records.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { openExistingStore, openStore } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { refusal, runOf, saveIn } from '../support/stored-runs.js';

let path: string;
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

const save = (run: RunRecord, judgements?: readonly StoredJudgement[]) => saveIn(path, run, judgements);

describe('a file that cannot be used', () => {
  it('from a later version is refused with both versions, and left alone', () => {
    openStore(path).close();
    const database = openSqlite(path);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length + 6}`);
    database.close();
    const before = readFileSync(path);
    const error = refusal(() => openStore(path));
    expect(error.exitCode).toBe(EXIT.badData);
    expect(error.message).toContain(`version ${MIGRATIONS.length + 6}`);
    expect(error.message).toContain(`knows ${MIGRATIONS.length}`);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('of another program is refused, and left alone', () => {
    const database = openSqlite(path);
    database.exec('CREATE TABLE customers (id)');
    database.close();
    const before = readFileSync(path);
    const error = refusal(() => openStore(path));
    expect(error).toMatchObject({ exitCode: EXIT.badData, message: expect.stringContaining('another program') });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('that is no database is refused, and left alone', () => {
    writeFileSync(path, '{"task": "mcp"}\n'.repeat(100));
    expect(refusal(() => openStore(path))).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('not a SQLite database'),
    });
    expect(readFileSync(path, 'utf8')).toBe('{"task": "mcp"}\n'.repeat(100));
  });

  it('that is a FIFO is refused, and not waited for', () => {
    execFileSync('mkfifo', [path]);
    for (const open of [openStore, openExistingStore]) {
      expect(refusal(() => open(path))).toMatchObject({ exitCode: EXIT.badData });
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

  it('that another process keeps locked is given up after the time allowed', () => {
    openStore(path).close();
    const other = openSqlite(path);
    other.exec('BEGIN IMMEDIATE');
    const error = refusal(() => openStore(path, 50));
    other.close();
    expect(error).toMatchObject({ exitCode: EXIT.cannotWrite, message: expect.stringContaining('locked for 0.05 s') });
  });

  // Where there is no device that is always full (macOS, Windows), nothing plays a full disk.
  it.runIf(existsSync('/dev/full'))('on a full disk says so', () => {
    expect(refusal(() => openStore('/dev/full'))).toMatchObject({
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining('disk is full'),
    });
  });

  it.each([
    ['in a folder that does not exist', 'none/awb.sqlite', /folder does not exist/],
    ['that is a folder', '.', /cannot be written/],
  ])('%s is refused with its path', (_name, place, message) => {
    const error = refusal(() => openStore(join(dirname(path), place)));
    expect(error.exitCode).toBe(EXIT.cannotWrite);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(join(dirname(path), place));
  });
});
