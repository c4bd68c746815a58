// The lock is held by the operating system: between processes, and no longer than its process lives.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.js';
import { lockFile } from '../../src/store/lock.js';
import { type Compiled, compileStore } from './compiled.js';

const BUSY = 'another process works in this folder';

let compiled: Compiled;
let holder: string;
let dir: string;

beforeAll(async () => {
  compiled = await compileStore();
  holder = await compiled.script(
    'holder.js',
    `import { lockFile } from './store/lock.js';
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

  it('of several processes that start at once exactly one gets the lock', async () => {
    const path = join(dir, 'race.lock');
    const holders = await Promise.all([1, 2, 3, 4].map(() => hold(path)));
    expect(holders.map(({ said }) => said).sort()).toEqual(['busy', 'busy', 'busy', 'held']);
    await Promise.all(holders.map(({ child }) => end(child, 'SIGKILL')));
  });
});

describe('within a process', () => {
  it('a lock is not given twice, and again once it is released', async () => {
    const path = join(dir, 'twice.lock');
    const release = await lockFile(path, BUSY);
    await expect(lockFile(path, BUSY)).rejects.toThrow(BUSY);
    release();
    release();
    const second = await lockFile(path, BUSY);
    second();
  });

  it('a lock leaves one empty file and nothing beside it', async () => {
    const folder = await mkdtemp(join(dir, 'clean-'));
    const path = join(folder, 'run.lock');
    const release = await lockFile(path, BUSY);
    expect(await readdir(folder)).toEqual(['run.lock']);
    release();
    expect(await readdir(folder)).toEqual(['run.lock']);
    expect((await stat(path)).size).toBe(0);
  });
});

it.each([
  ['in a folder that does not exist', 'none/run.lock', /cannot create the lock file .*folder exists/],
  ['that is a folder', '.', /cannot create the lock file/],
  ['below a file', 'data.txt/run.lock', /cannot create the lock file/],
  ['that holds other data', 'data.txt', /should be a lock file but holds other data/],
])('a lock file %s is refused with its path', async (_name, place, message) => {
  await writeFile(join(dir, 'data.txt'), 'rows of text, much longer than any header\n'.repeat(100));
  const path = join(dir, place);
  const error = await lockFile(path, BUSY).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.cannotCreate });
  expect((error as Error).message).toMatch(message);
  expect((error as Error).message).toContain(path);
});
