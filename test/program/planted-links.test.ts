// Links planted where the program makes a temporary file: their targets stay unchanged.

import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

let root: string;
let victim: string;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  root = await temporaryFolder();
  victim = join(root, 'victim');
  await writeFile(victim, 'precious\n');
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function plant(dir: string, ...names: readonly string[]) {
  for (const name of names) await symlink(victim, join(dir, name));
}

async function expectUntouched(dir: string) {
  expect(await readFile(victim, 'utf8')).toBe('precious\n');
  expect((await readdir(dir)).filter((name) => /\.(tmp|part)$/.test(name))).toEqual([]);
}

describe('a link in a batch folder', () => {
  test('is not written through by the run that writes its requests', async () => {
    const data = await writeDataset(join(root, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 3) });
    const dir = join(root, 'batch');
    await mkdir(dir);
    await plant(dir, 'requests-0001.jsonl.tmp');
    const out = ['--output-dir', join(root, 'out'), '--batch-dir', dir];
    const { code } = await awb(['infer', '--data-dir', data, '--model-name', 'm', '--assume-params', ...out]);
    expect(code).toBe(EXIT.later);
    expect((await readFile(join(dir, 'requests-0001.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(3);
    await expectUntouched(dir);
  });

  test('is not written through by a run that continues', async () => {
    const data = await writeDataset(join(root, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 3) });
    const dir = join(root, 'batch');
    const out = ['--output-dir', join(root, 'out'), '--batch-dir', dir];
    const infer = ['infer', '--data-dir', data, '--model-name', 'm', '--assume-params', ...out];
    await awb([...infer, '--limit', '1']);
    await plant(dir, 'batch.json.tmp');
    expect((await awb(infer)).code).toBe(EXIT.later);
    expect(JSON.parse(await readFile(join(dir, 'batch.json'), 'utf8')).parts).toHaveLength(2);
    expect(await readFile(victim, 'utf8')).toBe('precious\n');
  });

  test('is not written through by awb batch fetch', async () => {
    const server = await startBatchServer();
    closers.push(server.close);
    const dir = await batchFolder([2]);
    await awb(['batch', 'submit', dir, '--base-url', server.url]);
    server.finish();
    await plant(dir, 'outputs-0001.jsonl.part');
    expect((await awb(['batch', 'fetch', dir])).code).toBe(EXIT.done);
    expect((await readFile(join(dir, 'outputs-0001.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(2);
    await expectUntouched(dir);
  });

  test('keeps awb batch run from writing its answers through it', async () => {
    const server = await startLoopbackServer();
    closers.push(server.close);
    const dir = await batchFolder([1]);
    await plant(dir, 'answers.jsonl');
    const { code, stderr } = await awb(['batch', 'run', dir, '--model-base-url', server.url]);
    expect(code).toBe(EXIT.cannotWrite);
    expect(stderr).toContain('answers.jsonl');
    expect(await readFile(victim, 'utf8')).toBe('precious\n');
  });
});
