import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isAlive } from '../../src/run/alive.js';

test('a process is alive until it has ended', async () => {
  expect(isAlive(process.pid)).toBe(true);
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  expect(isAlive(child.pid)).toBe(true);
  child.stdin?.end();
  await once(child, 'close');
  expect(isAlive(child.pid)).toBe(false);
});

test('a process of somebody else is alive, and nobody is not', () => {
  expect(isAlive(1)).toBe(true);
  // 0 and what is below it stand for groups of processes, that of this one among them.
  for (const nobody of [undefined, 0, -1, Number.NaN, 1.5]) expect(isAlive(nobody)).toBe(false);
});
