// Reading changes nothing on the disk, wherever the file lies.

import { execFile } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunRecord, StoredJudgement } from '../../src/store/records.js';
import { openSqlite } from '../../src/store/sqlite.js';
import { openExistingStore, openStore } from '../../src/store/store.js';
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
  const runsIn = (file: string) => {
    const store = openExistingStore(file, 50);
    try {
      return store.runs().map(({ label }) => label);
    } finally {
      store.close();
    }
  };
  const filesIn = (folder: string) =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('base64')]));

  it('in the newest schema', () => {
    save(runOf('a'));
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual(['step-1']);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  it('in an earlier one, which is brought up to date in memory', () => {
    openStore(path).close();
    const database = openSqlite(path);
    database.exec('PRAGMA foreign_keys = OFF');
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables) database.exec(`DROP TABLE ${name}`);
    database.exec('PRAGMA user_version = 0');
    database.close();
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual([]);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  it('where another process is writing, and sees what stood before', () => {
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

  it('where it has a rollback journal', () => {
    save(runOf('a'));
    const database = openSqlite(path);
    database.exec('PRAGMA journal_mode = delete');
    database.close();
    const before = filesIn(dirname(path));
    expect(runsIn(path)).toEqual(['step-1']);
    expect(filesIn(dirname(path))).toEqual(before);
  });

  // The superuser may write anywhere, so a process reads that gives its rights up once it is loaded: the checkout itself may be
  // closed to other users. Only the superuser's can.
  describe.runIf(process.getuid?.() === 0)('by a user who may not write there', () => {
    const asNobody = async (): Promise<unknown> => {
      const script = await compiled.script(
        'read.js',
        `import { openSqlite } from './store/sqlite.js';
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

    it('with a write-ahead log that is empty', async () => {
      save(runOf('a'));
      expect(await asNobody()).toEqual(['step-1']);
    });

    it('with one that a killed writer left', async () => {
      save(runOf('a'));
      const database = openSqlite(path);
      database.exec("UPDATE runs SET label = 'in the log'");
      const kept = readdirSync(dirname(path)).map((name) => [name, readFileSync(join(dirname(path), name))] as const);
      database.close();
      for (const [name, bytes] of kept) writeFileSync(join(dirname(path), name), bytes);
      expect(await asNobody()).toEqual(['in the log']);
    });

    it('with one whose index is lost, which is refused', async () => {
      save(runOf('a'));
      const database = openSqlite(path);
      database.exec("UPDATE runs SET label = 'in the log'");
      const [main, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
      database.close();
      writeFileSync(path, main);
      writeFileSync(`${path}-wal`, log);
      expect(await asNobody()).toMatch(/some of its rows stand in .*awb\.sqlite-wal alone/);
    });
  });
});
