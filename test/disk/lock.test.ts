// The operating system holds the lock: across processes, and no longer than its process lives.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { lockFile } from '../../src/disk/lock.js';
import { type Compiled, compileStore } from '../store/compiled.js';

const BUSY = 'another process works in this folder';

let compiled: Compiled;
let holder: string;
let dir: string;

beforeAll(async () => {
  compiled = await compileStore();
  holder = await compiled.script(
    'holder.js',
    `import { lockFile } from './disk/lock.js';
     const said = await lockFile(process.argv[2], 'busy').then(() => 'held', (error) => error.message);
     setTimeout(() => { gc(); console.log(said); });
     process.stdin.resume();`,
  );
  dir = await mkdtemp(join(tmpdir(), 'awb-lock-'));
});

afterAll(async () => {
  await compiled.remove();
  await rm(dir, { recursive: true });
});

async function hold(path: string): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, ['--expose-gc', holder, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, said: chunk.toString().trim() };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

describe('between processes', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'a lock ends with its process (%s), and blocks until then',
    async (signal) => {
      const path = join(dir, `${signal}.lock`);
      const { child, said } = await hold(path);
      expect(said).toBe('held');
      await expect(lockFile(path, BUSY)).rejects.toMatchObject({ message: BUSY, exitCode: EXIT.cannotCreate });
      await end(child, signal);
      const release = await lockFile(path, BUSY);
      release();
    },
  );

  it('if several processes start at once, exactly one gets the lock', async () => {
    const path = join(dir, 'race.lock');
    const holders = await Promise.all([1, 2, 3, 4].map(() => hold(path)));
    expect(holders.map(({ said }) => said).sort()).toEqual(['busy', 'busy', 'busy', 'held']);
    await Promise.all(holders.map(({ child }) => end(child, 'SIGKILL')));
  });

  it('releasing the lock removes its file, yet two processes never hold it together', async () => {
    const taker = await compiled.script(
      'taker.js',
      `import { closeSync, openSync, rmSync } from 'node:fs';
       import { lockFile } from './disk/lock.js';
       const [, , path] = process.argv;
       let [held, together] = [0, 0];
       for (const end = Date.now() + 2_000; Date.now() < end; ) {
         const release = await lockFile(path, 'busy').catch(() => undefined);
         if (release === undefined) continue;
         held++;
         try {
           closeSync(openSync(path + '.held', 'wx'));
           rmSync(path + '.held');
         } catch {
           together++;
         }
         release();
       }
       console.log(JSON.stringify({ held, together }));`,
    );
    const path = join(dir, 'often.lock');
    const said = await Promise.all(
      [1, 2, 3].map(async () => {
        const child = spawn(process.execPath, [taker, path], { stdio: ['ignore', 'pipe', 'inherit'] });
        const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
        return JSON.parse(chunk.toString()) as { held: number; together: number };
      }),
    );
    expect(said.reduce((sum, { held }) => sum + held, 0)).toBeGreaterThan(10);
    expect(said.map(({ together }) => together)).toEqual([0, 0, 0]);
  });
});

describe('within a process', () => {
  it('a lock is not granted twice, and is granted again after its release', async () => {
    const path = join(dir, 'twice.lock');
    const release = await lockFile(path, BUSY);
    await expect(lockFile(path, BUSY)).rejects.toThrow(BUSY);
    release();
    release();
    const second = await lockFile(path, BUSY);
    second();
  });

  it('a lock is one empty file, and leaves nothing behind', async () => {
    const folder = await mkdtemp(join(dir, 'clean-'));
    const path = join(folder, 'run.lock');
    const release = await lockFile(path, BUSY);
    expect(await readdir(folder)).toEqual(['run.lock']);
    expect((await stat(path)).size).toBe(0);
    release();
    expect(await readdir(folder)).toEqual([]);
  });
});

it.each([
  ['in a folder that does not exist', 'none/run.lock', /cannot lock .*writable local disk/],
  ['that is a folder', '.', /cannot lock/],
  ['below a file', 'data.txt/run.lock', /cannot lock/],
  ['that contains other data', 'data.txt', /SQLITE_NOTADB.*move it away if it contains other data/],
])('a lock file %s is refused with its path', async (_name, place, message) => {
  await writeFile(join(dir, 'data.txt'), 'rows of text, much longer than any header\n'.repeat(100));
  const path = join(dir, place);
  const error = await lockFile(path, BUSY).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.cannotCreate });
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).toContain(path);
});
