import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { present } from '../../src/core/errors.js';
import { isAlive } from '../../src/run/run.js';
import { processOf } from '../support/processes.js';

test('a process is alive until it has ended', async () => {
  expect(isAlive(process.pid)).toBe(true);
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  expect(isAlive(child.pid)).toBe(true);
  child.stdin?.end();
  await once(child, 'close');
  expect(isAlive(child.pid)).toBe(false);
});

test.runIf(process.platform === 'linux')(
  'a process that has ended is not alive, even if its parent has not asked for its exit status',
  async () => {
    // The shell turns into a program that never asks how its child ended.
    const script = 'cat <&3 & echo $!; exec sleep 60';
    const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore', 'pipe'] });
    // Both are pipes, as requested above.
    const [, output, , held] = parent.stdio as [null, Readable, null, Writable, undefined];
    try {
      const pid = Number(await once(output, 'data'));
      while (!processOf(present(parent.pid)).command.startsWith('sleep')) await wait(10);
      expect(isAlive(pid)).toBe(true);
      held.end();
      while (isAlive(pid)) await wait(10);
      // It still has its number.
      expect(process.kill(pid, 0)).toBe(true);
    } finally {
      parent.kill('SIGKILL');
    }
  },
);

test("another user's process is alive; an id that names no process is not", () => {
  expect(isAlive(1)).toBe(true);
  // 0 and negative numbers address process groups, including the one of this process.
  for (const nobody of [undefined, 0, -1, Number.NaN, 1.5]) expect(isAlive(nobody)).toBe(false);
});
