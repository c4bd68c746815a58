// Files that commands write: an existing file is replaced completely or not at all, and only if it is a regular file.

import { execFileSync, spawn } from 'node:child_process';
import { lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

let base: string;
let candidate: string;
let db: string;
let dir: string;
beforeAll(async () => {
  const runs = await temporaryFolder();
  db = join(runs, 'runs.sqlite');
  base = await judgedRun(join(runs, 'base'), { label: 'base', rating: around(3) }, db);
  candidate = await judgedRun(join(runs, 'candidate'), { label: 'candidate', rating: around(3.2, 1) }, db);
});
beforeEach(async () => {
  dir = await temporaryFolder();
});

const WRITERS: readonly (readonly [string, (output: string) => string[]])[] = [
  ['compare --output', (output) => ['compare', base, candidate, '--format', 'md', '--output', output]],
  ['leaderboard --output', (output) => ['leaderboard', '--db', db, '--format', 'md', '--output', output]],
  ['gate --junit', (output) => ['gate', base, candidate, '--junit', output]],
  ['gate --json-report', (output) => ['gate', base, candidate, '--json-report', output]],
  ['gate --summary', (output) => ['gate', base, candidate, '--summary', output]],
];

describe.each(WRITERS)('%s', (_name, argsFor) => {
  test('refuses a FIFO instead of replacing it or waiting for its reader', async () => {
    const fifo = join(dir, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const { code, stderr } = await awb(argsFor(fifo));
    expect(stderr).toContain(`cannot write ${fifo}: it is a FIFO; `);
    expect(code).toBe(74);
    expect((await lstat(fifo)).isFIFO()).toBe(true);
  });

  test('follows a link instead of replacing it', async () => {
    await writeFile(join(dir, 'real'), 'old');
    await symlink('real', join(dir, 'link'));
    const { code } = await awb(argsFor(join(dir, 'link')));
    expect([0, 4, 5]).toContain(code);
    expect((await lstat(join(dir, 'link'))).isSymbolicLink()).toBe(true);
    expect((await readFile(join(dir, 'real'), 'utf8')).length).toBeGreaterThan(100);
  });

  test('leaves the old file unchanged if the disk is full', async () => {
    await writeFile(join(dir, 'out'), 'old');
    const { code, stderr } = await withFileLimit(argsFor(join(dir, 'out')));
    expect(stderr).toContain(`cannot write ${join(dir, 'out')}: `);
    expect(code).toBe(74);
    expect(await readFile(join(dir, 'out'), 'utf8')).toBe('old');
    expect(await readdir(dir)).toEqual(['out']);
  });
});

test('report refuses a FIFO behind a link', async () => {
  const page = join(dir, 'page');
  const real = join(ROOT, 'fixtures/runs-awb-2/step-100/judged.jsonl');
  execFileSync('mkfifo', [page]);
  await symlink(page, join(dir, 'link'));
  const { code } = await awb(['report', '--run', real, '--output', join(dir, 'link')]);
  expect(code).toBe(74);
  expect((await lstat(join(dir, 'link'))).isSymbolicLink()).toBe(true);
  expect((await lstat(page)).isFIFO()).toBe(true);
});

/** The program with files limited to one kilobyte, which fails during a write like a full disk. */
async function withFileLimit(args: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const command = 'ulimit -f 1; exec "$0" "$@"';
  const child = spawn('sh', ['-c', command, process.execPath, join(ROOT, 'dist/bin.js'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  return new Promise((done) => child.on('close', (code) => done({ code, stderr })));
}
