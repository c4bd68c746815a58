// Reading changes nothing on the disk, wherever the file is.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import type { RunRecord, StoredJudgement } from '../../src/store/runs.js';
import { openExistingStore } from '../../src/store/store.js';
import { temporaryFolder } from '../support/cli.js';
import { runOf, saveIn } from '../support/stored-runs.js';
import { type Compiled, compileStore } from './compiled.js';

let path: string;
let compiled: Compiled;
beforeAll(async () => {
  compiled = await compileStore();
});
afterAll(() => compiled.remove());
beforeEach(async () => {
  path = join(await temporaryFolder(), 'awb.sqlite');
});

const save = (run: RunRecord, judgements?: readonly StoredJudgement[]) => saveIn(path, run, judgements);

describe('reading changes nothing on the disk', () => {
  const runsIn = (file: string, busyMs = 50) => {
    const store = openExistingStore(file, busyMs);
    try {
      return store.runs().map(({ label }) => label);
    } finally {
      store.close();
    }
  };
  const filesIn = (folder: string) =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));

  it('for a file with runs', () => {
    save(runOf('a'));
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual(['step-1']);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  it('for an empty file, which has no runs', () => {
    writeFileSync(path, '');
    expect(runsIn(path)).toEqual([]);
    expect(filesIn(dirname(path))).toEqual({ 'awb.sqlite': '' });
  });

  it('while another process writes, and returns the state before that', () => {
    save(runOf('a'));
    const other = openSqlite(path);
    other.exec('BEGIN IMMEDIATE');
    other.exec("UPDATE runs SET label = 'later'");
    try {
      expect(runsIn(path)).toEqual(['step-1']);
      other.exec('COMMIT');
      expect(runsIn(path)).toEqual(['later']);
    } finally {
      other.close();
    }
  });

  /** A file in the middle of a transaction, with its journal, as a kill leaves them. */
  const halfWritten = () => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec("PRAGMA cache_size = 5; BEGIN; UPDATE runs SET label = 'half'");
    database.exec('CREATE TABLE large (bytes); INSERT INTO large VALUES (zeroblob(1000000))');
    const kept = readdirSync(dirname(path)).map((name) => [name, readFileSync(join(dirname(path), name))] as const);
    database.close();
    for (const [name, bytes] of kept) writeFileSync(join(dirname(path), name), bytes);
  };

  it('while another process commits, and waits for it', async () => {
    save(runOf('a'));
    const script = await compiled.script(
      'committing.js',
      `import { openSqlite } from './disk/sqlite.js';
       const database = openSqlite(process.argv[2]);
       database.exec("BEGIN EXCLUSIVE; UPDATE runs SET label = 'later'");
       console.log('locked');
       setTimeout(() => database.exec('COMMIT'), 300);`,
    );
    const child = spawn(process.execPath, [script, path]);
    await once(child.stdout, 'data');
    expect(runsIn(path, 20_000)).toEqual(['later']);
  });

  it('except to roll back what a killed writer left half written', () => {
    halfWritten();
    expect(runsIn(path)).toEqual(['step-1']);
    expect(readdirSync(dirname(path))).toEqual(['awb.sqlite']);
  });

  // The superuser may write anywhere, so the reading process drops its rights once it is loaded (the checkout itself may be closed to other
  // users). Only the superuser can do this.
  describe.runIf(process.getuid?.() === 0)('for a user without write permission', () => {
    const asNobody = async (): Promise<unknown> => {
      const script = await compiled.script(
        'read.js',
        `import { openSqlite } from './disk/sqlite.js';
         import { openExistingStore } from './store/store.js';
         openSqlite(':memory:').close();
         process.setgroups([]);
         process.setgid(65534);
         process.setuid(65534);
         try {
           console.log(JSON.stringify(openExistingStore(process.argv[2]).runs().map(({ label }) => label)));
         } catch (error) {
           console.log(JSON.stringify(error.message));
         }`,
      );
      chmodSync(dirname(path), 0o555);
      const { stdout } = await promisify(execFile)(process.execPath, [script, path], { cwd: '/' });
      return JSON.parse(stdout);
    };

    it('and returns the runs', async () => {
      save(runOf('a'));
      expect(await asNobody()).toEqual(['step-1']);
    });

    it('and is refused next to the journal of a killed writer, since the file is half written', async () => {
      halfWritten();
      expect(await asNobody()).toMatch(/cannot read .*awb\.sqlite: .*SQLITE_READONLY_ROLLBACK/);
    });
  });
});
