import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from './support/cli.js';

/** Uses the pool, then prints how many threads the process has, what it was called with and the setting. */
const SCRIPTED = `
import { promises, readdirSync } from 'node:fs';
await Promise.all(Array.from({ length: 20 }, () => promises.stat('.')));
const threads = readdirSync('/proc/self/task').length;
console.log(JSON.stringify({ threads, args: process.argv.slice(2), size: process.env.UV_THREADPOOL_SIZE ?? null }));
`;

// Only Linux shows a process's threads. What they are is told by how many fewer there are than with the usual four in the pool.
describe.skipIf(process.platform !== 'linux')('the thread pool', () => {
  const dir = mkdtempSync(join(tmpdir(), 'awb-launch-'));
  afterAll(() => rmSync(dir, { recursive: true }));

  beforeAll(() => {
    cpSync(join(ROOT, 'dist/launch.cjs'), join(dir, 'launch.cjs'));
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    writeFileSync(join(dir, 'bin.js'), SCRIPTED);
  });

  function started(cores: number, args: readonly string[], size?: string, platform: string = process.platform) {
    const preload = join(dir, `cores-${cores}-${platform}.cjs`);
    const preloaded = [
      `require('node:os').availableParallelism = () => ${cores};`,
      `Object.defineProperty(process, 'platform', { value: '${platform}' });`,
    ];
    writeFileSync(preload, preloaded.join('\n'));
    const env = { PATH: process.env.PATH, ...(size === undefined ? {} : { UV_THREADPOOL_SIZE: size }) };
    const run = ['--require', preload, join(dir, 'launch.cjs'), ...args];
    return JSON.parse(execFileSync(process.execPath, run, { env, encoding: 'utf8', cwd: dir }));
  }

  const usual = started.bind(null, 8, ['infer', '--x']);

  test('has one thread where serve computes with one', () => {
    const { threads } = usual();
    expect(started(1, ['serve', '--x'])).toEqual({ threads: threads - 3, args: ['serve', '--x'], size: '1' });
    expect(started(2, ['serve'])).toMatchObject({ threads: threads - 3 });
  });

  test('is left as it is on more cores, for other commands, and where somebody has set it', () => {
    const { threads } = usual();
    expect(usual()).toEqual({ threads, args: ['infer', '--x'], size: null });
    expect(started(3, ['serve'])).toMatchObject({ threads, size: null });
    expect(started(2, ['infer', '--label', 'serve'])).toMatchObject({ threads, size: null });
    expect(started(2, ['serve'], '3')).toMatchObject({ threads: threads - 1, size: '3' });
  });

  test('is not said to have one thread on Windows, where it would have four all the same', () => {
    expect(started(2, ['serve'], undefined, 'win32')).toMatchObject({ size: null });
    expect(started(2, ['serve'], '1', 'win32')).toMatchObject({ size: '1' });
  });
});

test('a Node too old to say how many cores there are gets as far as the program', () => {
  const dir = mkdtempSync(join(tmpdir(), 'awb-launch-'));
  cpSync(join(ROOT, 'dist/launch.cjs'), join(dir, 'launch.cjs'));
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(join(dir, 'bin.js'), "console.log('here');");
  writeFileSync(join(dir, 'old.cjs'), "delete require('node:os').availableParallelism;");
  const run = ['--require', join(dir, 'old.cjs'), join(dir, 'launch.cjs'), 'serve'];
  expect(execFileSync(process.execPath, run, { encoding: 'utf8' })).toBe('here\n');
  rmSync(dir, { recursive: true });
});
