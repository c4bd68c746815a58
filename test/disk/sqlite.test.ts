// What the door to SQLite promises about better-sqlite3: none of its objects is garbage, and where it is missing, the error says what to do.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/cli.js';

const SQLITE = createRequire(import.meta.url).resolve('better-sqlite3');

test('the garbage collector gets no database, statement or iterator, since Node 24.19 aborts with them', () => {
  const script = `
    import Database from ${JSON.stringify(pathToFileURL(SQLITE).href)};
    import { openSqlite, rowsOf } from ${JSON.stringify(pathToFileURL(join(ROOT, 'dist/disk/sqlite.js')).href)};
    const collected = [];
    const registry = new FinalizationRegistry((kind) => collected.push(kind));
    const watched = (kind, object) => (registry.register(object, kind), object);
    const { prepare } = Database.prototype;
    const patched = new WeakSet();
    Database.prototype.prepare = function (sql) {
      const statement = watched('statement', prepare.call(this, sql));
      const prototype = Object.getPrototypeOf(statement);
      if (!patched.has(prototype)) {
        patched.add(prototype);
        const { iterate } = prototype;
        prototype.iterate = function (...values) { return watched('iterator', iterate.apply(this, values)); };
      }
      return statement;
    };
    for (let at = 0; at < 50; at++) {
      registry.register({}, 'nothing');
      const database = openSqlite(':memory:');
      database.exec('CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)');
      for (const row of rowsOf(database, 'SELECT a FROM t')) row.number('a');
      database.value('SELECT 1');
      database.close();
    }
    for (let at = 0; at < 5; at++) {
      gc();
      await new Promise((done) => setTimeout(done, 10));
    }
    console.log(JSON.stringify([...new Set(collected)]));`;
  const args = ['--expose-gc', '--input-type=module', '--eval', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: '["nothing"]\n', stderr: '' });
});

test.skipIf(process.platform === 'win32').each([
  ['was not installed', () => {}],
  [
    'has no native part',
    (folder: string) => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), '{"name":"better-sqlite3","main":"index.js"}');
      writeFileSync(
        join(folder, 'index.js'),
        'module.exports = class { constructor() { throw new Error("Could not locate the bindings file. Tried:\\n → a") } };',
      );
    },
  ],
])('if better-sqlite3 %s, the first command that needs it says what to do', async (_, put) => {
  const dir = await temporaryFolder();
  for (const name of ['dist', 'package.json', 'fixtures/recorded', 'rubrics', 'prompts']) {
    cpSync(join(ROOT, name), join(dir, name), { recursive: true });
  }
  mkdirSync(join(dir, 'node_modules'));
  const { dependencies } = createRequire(import.meta.url)(join(ROOT, 'package.json'));
  for (const name of Object.keys(dependencies)) {
    mkdirSync(join(dir, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(dir, 'node_modules', name));
  }
  put(join(dir, 'node_modules/better-sqlite3'));
  const awb = (...args: string[]) =>
    spawnSync(process.execPath, [join(dir, 'dist/bin.js'), ...args], { cwd: dir, encoding: 'utf8', env: {} });
  expect(awb('--version').status).toBe(0);
  const { status, stderr } = awb('infer', '--baseline', 'empty', '--data-dir', 'fixtures/recorded', '--quiet');
  expect(status).toBe(69);
  expect(stderr).toMatch(/^awb: cannot load better-sqlite3, which stores runs: \S[^\n]*\nIts binary for Node\.js v/);
  expect(stderr).toContain('uvx agentworldbench');
});
