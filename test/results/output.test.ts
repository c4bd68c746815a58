// The format in which a command writes.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { formatOf, openInBrowser, pageLink } from '../../src/results/output.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';

const FORMATS = {
  terminal: { endings: [] },
  md: { endings: ['.md', '.markdown'] },
  csv: { endings: ['.csv'] },
  json: { endings: ['.json'] },
};

test.each([
  [{ json: true, output: 'x.md' }, 'json'],
  [{ json: true, format: 'json' as const }, 'json'],
  [{ json: false, format: 'csv' as const, output: 'x.md' }, 'csv'],
  [{ json: false, output: 'x.MD' }, 'md'],
  [{ json: false, output: 'x.markdown' }, 'md'],
  [{ json: false, output: 'x.txt' }, 'terminal'],
  [{ json: false }, 'terminal'],
])('%j is written as %s', (settings, format) => {
  expect(formatOf(settings, FORMATS)).toBe(format);
});

test('two formats at once are refused', () => {
  expect(() => formatOf({ json: true, format: 'md' }, FORMATS)).toThrow('--json and --format md cannot be combined');
});

test.each([
  ['report', '--run'],
  ['rate', '--run'],
])('%s does not let its page replace the judged file', async (command, flag) => {
  const cwd = await temporaryFolder();
  const { code, stderr } = await awb([command, flag, 'judged.jsonl', '--output', 'judged.jsonl'], { cwd });
  expect(stderr).toContain('--output judged.jsonl: a page would replace that file');
  expect(code).toBe(2);
});

/** A folder with a program of this name, which writes its arguments, one per line, to `shown`. */
async function fakeProgram(name: string) {
  const dir = await temporaryFolder();
  const shown = join(dir, 'shown');
  const program = join(dir, name);
  await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > '${shown}.part' && mv '${shown}.part' '${shown}'\n`, {
    mode: 0o755,
  });
  return { program, path: `${dir}:/usr/bin:/bin`, shown: () => vi.waitFor(() => readFile(shown, 'utf8'), 5000) };
}

/** An `Io` that collects stderr. */
function ioWith(env: Record<string, string>, cwd = '/') {
  const said: string[] = [];
  const sink = { isTTY: false, columns: 80, write: (text: string) => void said.push(text) };
  const rest = { stop: new AbortController().signal, setLastWords() {}, stdinClosed: async () => undefined };
  return { said, io: { env, cwd, stdout: sink, stderr: sink, ...rest } };
}

describe.skipIf(process.platform === 'win32')('the browser', () => {
  test('is the command named by BROWSER, which gets the address as one argument without a shell', async () => {
    const { program, path, shown } = await fakeProgram('my browser');
    const { io, said } = ioWith({ BROWSER: program, PATH: path });
    await openInBrowser('http://127.0.0.1:1/?token=a&b=$(id)', io);
    expect(await shown()).toBe('http://127.0.0.1:1/?token=a&b=$(id)\n');
    expect(said).toEqual([]);
  });

  test.each([
    ['linux', 'xdg-open', 'http://h/\n'],
    ['freebsd', 'xdg-open', 'http://h/\n'],
    ['darwin', 'open', 'http://h/\n'],
    ['win32', 'rundll32', 'url.dll,FileProtocolHandler\nhttp://h/\n'],
  ])('of %s is opened by %s', async (platform, opener, args) => {
    const { path, shown } = await fakeProgram(opener);
    const own = process.platform;
    onTestFinished(() => void Object.defineProperty(process, 'platform', { value: own }));
    Object.defineProperty(process, 'platform', { value: platform });
    await openInBrowser('http://h/', ioWith({ PATH: path, BROWSER: '' }).io);
    expect(await shown()).toBe(args);
  });

  test('that cannot be started causes a note with the address', async () => {
    const dir = await temporaryFolder();
    const { io, said } = ioWith({ PATH: dir, BROWSER: 'no\u0007ne' });
    await openInBrowser('file:///a.html', io);
    expect(said).toEqual(['note: cannot start none (ENOENT); open file:///a.html yourself\n']);
    await openInBrowser('file:///a.html', { ...io, env: { BROWSER: dir } });
    expect(said[1]).toMatch(/^note: cannot start .* \(EACCES\); open file:\/\/\/a\.html yourself\n$/);
  });

  test("shows a page that a command has written, and its failure is not the command's", async () => {
    const { program, path, shown } = await fakeProgram('browser');
    const cwd = await temporaryFolder();
    const db = join(cwd, 'runs.sqlite');
    await awb(['score', join(ROOT, 'fixtures/judged/official.jsonl'), '--db', db]);
    const board = ['leaderboard', '--db', db, '--quiet', '--open', '-o', 'my board.html'];
    const run = await awb(board, { cwd, env: { BROWSER: program, PATH: path } });
    expect(run).toEqual({ code: EXIT.done, stdout: '', stderr: '' });
    expect(await shown()).toBe(`${pathToFileURL(join(cwd, 'my board.html')).href}\n`);
    const failed = await awb(board, { cwd, env: { BROWSER: 'nothing-of-this-name', PATH: path } });
    expect(failed).toMatchObject({ code: EXIT.done, stderr: expect.stringMatching(/^note: cannot start nothing-of/) });
  });
});

test('the link to a page is plain text without spaces, whatever its path contains', async () => {
  const cwd = join(await temporaryFolder(), 'a b#c?\u001b[2J\u202e%');
  await mkdir(cwd);
  const link = await pageLink('päge.html', { open: false }, ioWith({}, cwd).io);
  expect(link).toMatch(/^file:\/\/\/[\w./-]+\/a%20b%23c%3F%1B\[?(%5B)?2J%E2%80%AE%25\/p%C3%A4ge\.html$/);
  expect(link).toBe(pathToFileURL(join(cwd, 'päge.html')).href);
});

test.each([
  [['leaderboard', '--with-published', '--open'], '--output'],
  [['leaderboard', '--with-published', '--open', '--output', 'board.md'], '--output'],
  [
    ['calibrate', '--data-dir', 'd', '--judge-base-url', 'http://localhost:1', '--judge-model', 'j', '--open'],
    '--html',
  ],
])('%j is refused, since no page is written', async (args, flag) => {
  const { code, stderr } = await awb(args, { cwd: await temporaryFolder() });
  expect(code).toBe(EXIT.usage);
  expect(stderr).toContain(`--open needs a page; name one with ${flag} FILE.html, or leave --open out`);
});
