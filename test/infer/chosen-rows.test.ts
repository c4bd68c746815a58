// Without the benchmark's rows, infer says the one command that brings them.

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RELEASED } from '../../src/core/domains.js';
import { EXIT } from '../../src/core/errors.js';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { openHub } from '../support/hub.js';
import { rowText, writeText } from '../support/rows.js';

const infer = (cwd: string, ...args: string[]) => awb(['infer', '--baseline', 'oracle', ...args], { cwd });
/** The command line that a message shows, behind the program's name. */
const shownIn = (stderr: string) => /^ {2}(?:awb|node \S+) (.*)$/m.exec(stderr)?.[1];

describe('infer without data', () => {
  test.each<[string, readonly string[], string]>([
    ['no folder and no flag', [], 'data fetch'],
    ['a folder that is not there', ['--data-dir', 'my rows'], "data fetch --output-dir 'my rows'"],
    ['an empty folder', ['--data-dir', 'empty'], 'data fetch --output-dir empty'],
    ['a folder of other files', ['--data-dir', 'other'], 'data fetch --output-dir other'],
  ])('%s: says the one command to type', async (_, args, command) => {
    const cwd = await temporaryFolder();
    await mkdir(join(cwd, 'empty'));
    await writeText(cwd, 'other/rows.jsonl', [rowText()]);
    const { code, stdout, stderr } = await infer(cwd, ...args);
    expect([code, stdout, shownIn(stderr)]).toEqual([EXIT.inputMissing, '', command]);
    expect(await readdir(cwd)).toEqual(['empty', 'other']);
  });

  test('that command, and infer without a flag for the data, fit together', async () => {
    const cwd = await temporaryFolder();
    const hub = await openHub({ files: { 'mcp_test.jsonl': Buffer.from(`${rowText()}\n`) } });
    const command = shownIn((await infer(cwd)).stderr)?.split(' ') as string[];
    expect((await awb(command, { cwd, env: { HF_ENDPOINT: hub.url } })).code).toBe(EXIT.done);
    expect((await infer(cwd)).code).toBe(EXIT.done);
  });

  test('what else is wrong with a folder is said as before', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'data'), 'a file');
    const { code, stderr } = await infer(cwd);
    expect([code, stderr]).toEqual([EXIT.inputMissing, expect.stringMatching(/cannot read the data folder/)]);
  });
});

describe('a fetch that was cut off', () => {
  async function cutFetch(...args: string[]): Promise<string> {
    const cwd = await temporaryFolder();
    const rows = Buffer.from(`${rowText()}\n`);
    const hub = await openHub({
      files: { 'mcp_test.jsonl': rows, 'web_test.jsonl': Buffer.alloc(100_000) },
      send: (bytes, _, response) => {
        response.writeHead(200, { 'content-length': bytes.length });
        response.write(bytes.subarray(0, 1_000));
      },
    });
    const { child, ended } = startAwb(['data', 'fetch', ...args], { HF_ENDPOINT: hub.url }, cwd);
    while (!(await readdir(join(cwd, 'data')).catch((): string[] => [])).includes('mcp_test.jsonl')) {
      await new Promise((done) => setTimeout(done, 20));
    }
    child.kill('SIGKILL');
    await ended;
    return cwd;
  }

  test('is not a benchmark of fewer domains: infer refuses it with the command that continues it', async () => {
    const { code, stderr } = await infer(await cutFetch());
    expect([code, shownIn(stderr)]).toEqual([EXIT.inputMissing, 'data fetch']);
    expect(stderr).toMatch(/no complete benchmark in/);
  });

  test('continues with the revision that it was started with', async () => {
    const { stderr } = await infer(await cutFetch('--revision', 'main'));
    expect(shownIn(stderr)).toBe('data fetch --revision main');
    expect(stderr).not.toContain(RELEASED.commit);
  });
});
