// A run under nohup, and what happens to it when its terminal closes.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { outlivesHangUp } from '../../src/cli/hang-up.js';
import { ROOT, temporaryFolder } from '../support/cli.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** Starts `awb infer` through a shell that prints its process id, sends SIGHUP after its first request, and returns how it ended. */
async function hungUp(script: string): Promise<{ code: number | null; count: number }> {
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  const server = await startLoopbackServer(async () => {
    await released;
    return { content: 'x' };
  });
  servers.push(server);
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 6) });
  const model = ['--model-base-url', server.url, '--model-name', 'wm', '--concurrency', '2'];
  const args = [join(ROOT, 'dist/bin.js'), 'infer', '--data-dir', data, '--output-dir', join(folder, 'out'), ...model];
  const shell = spawn('bash', ['-c', script, process.execPath, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    cwd: folder,
    env: { PATH: process.env.PATH },
  });
  const pid = await firstLineOf(shell);
  await expect.poll(() => server.count, { timeout: 25_000 }).toBeGreaterThan(0);
  process.kill(pid, 'SIGHUP');
  const ended = new Promise<number | null>((done) => shell.on('close', done));
  // A process that obeys the signal has said so by now; one that ignores it continues once it gets its answers.
  await new Promise((done) => setTimeout(done, 300));
  release();
  return { code: await ended, count: server.count };
}

function firstLineOf(child: ChildProcess): Promise<number> {
  return new Promise((done) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
      if (text.includes('\n')) done(Number(text.slice(0, text.indexOf('\n'))));
    });
  });
}

// Windows has no real hang-up, and bash represents whatever starts a program.
describe.runIf(existsSync('/bin/bash'))('a hang-up', () => {
  test('ends a run cleanly', async () => {
    const { code, count } = await hungUp('"$0" "$@" > run.out & echo $!; wait $!');
    expect(code).toBe(143);
    expect(count).toBeLessThan(6);
  });

  test('does not end a run under nohup', async () => {
    expect(await hungUp('nohup "$0" "$@" > run.out 2>&1 & echo $!; wait $!')).toEqual({ code: 0, count: 6 });
  });

  test.runIf(existsSync('/proc/self/status'))('does not end a run of a shell that ignores it', async () => {
    const script = 'trap "" HUP; "$0" "$@" > run.out 2>&1 & echo $!; wait $!';
    expect(await hungUp(script)).toEqual({ code: 0, count: 6 });
  });
});

describe('the traces of nohup', () => {
  const nothing = () => {
    throw new Error('ENOENT');
  };
  const status = (mask: string) => () => `Name:\tsh\nSigIgn:\t${mask}\nSigCgt:\t0000000000000001\n`;

  test.each([
    ['none, on another system', {}, nothing, nothing, false],
    ['its name', { _: '/usr/bin/nohup' }, nothing, nothing, true],
    ['another name like it', { _: '/usr/bin/not-nohup' }, nothing, nothing, false],
    ['its output', {}, nothing, () => '/home/u/nohup.out', true],
    ['a parent that ignores hang-ups', {}, status('0000000000001001'), nothing, true],
    ['a parent that ignores other signals', {}, status('0000000000001000'), nothing, false],
  ])('%s', (_what, env, file, link, expected) => {
    expect(outlivesHangUp(env, file, link)).toBe(expected);
  });
});
