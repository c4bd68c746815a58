// awb batch status: the progress of a folder's batches, for people and programs, whatever the server calls it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb } from '../support/cli.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function submitted(parts: readonly number[], options: Parameters<typeof startBatchServer>[0] = {}) {
  const server = await startBatchServer(options);
  closers.push(server.close);
  const dir = await batchFolder(parts);
  await awb(['batch', 'submit', dir, '--base-url', server.url]);
  return { server, dir };
}

describe('awb batch status', () => {
  test('shows the state of each part in 80 columns, and exits with 75 until all have ended', async () => {
    const { server, dir } = await submitted([1200, 3], { looks: 1000 });
    server.advance();
    const before = await awb(['batch', 'status', dir]);
    expect(before.code).toBe(EXIT.later);
    expect(before.stdout).toMatch(/requests-0001\.jsonl +1,200 +in_progress +0 +0 +\d+ s +in 2[34] h/);
    for (const line of before.stdout.split('\n').slice(1, 4)) expect(line.length).toBeLessThanOrEqual(80);
    server.finish();
    const after = await awb(['batch', 'status', dir]);
    expect(after.code).toBe(EXIT.done);
    expect(after.stdout).toMatch(/requests-0001\.jsonl +1,200 +completed +1,200 +0 +\d+ s +-/);
    expect(after.stdout).toContain(`batch fetch ${dir}`);
  });

  test('changes nothing in the folder', async () => {
    const { server, dir } = await submitted([1]);
    const before = await readFile(join(dir, 'submission.json'), 'utf8');
    server.finish();
    await awb(['batch', 'status', dir]);
    expect(await readFile(join(dir, 'submission.json'), 'utf8')).toBe(before);
  });

  test('is one document under --json', async () => {
    const { server, dir } = await submitted([2]);
    server.finish();
    const { stdout, code } = await awb(['batch', 'status', dir, '--json']);
    expect(code).toBe(EXIT.done);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'awb.batch-status/1',
      folder: dir,
      ended: true,
      fetched: false,
      parts: [{ file: 'requests-0001.jsonl', requests: 2, state: 'completed', batch_id: 'batch_0000', completed: 2 }],
    });
  });

  test('waits in an unknown state, and shows no control characters from it', async () => {
    const odd = (status: string) => ({
      status: 200,
      body: { id: 'batch_0000', status, request_counts: 'many', errors: [], metadata: 7, more: true },
    });
    let body = odd('sum\u001b[31mmoned');
    const { dir } = await submitted([1], {
      trouble: ({ method, path }) => (method === 'GET' && path === '/batches/batch_0000' ? body : undefined),
    });
    const { code, stdout } = await awb(['batch', 'status', dir]);
    expect(code).toBe(EXIT.later);
    expect(stdout).toMatch(/requests-0001\.jsonl +1 +summoned/);
    body = { status: 200, body: { ...body.body, status: 'done', completed_at: 1 } as never };
    expect((await awb(['batch', 'status', dir])).code).toBe(EXIT.incomplete);
  });

  test('says that a batch unknown to the server is gone', async () => {
    const { dir } = await submitted([1], { unknown: /^GET \/batches\// });
    const { code, stdout } = await awb(['batch', 'status', dir]);
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toContain('no longer knows this batch');
  });

  test('says what to do with a folder from which nothing was submitted', async () => {
    const { code, stderr } = await awb(['batch', 'status', await batchFolder([1])]);
    expect(code).toBe(EXIT.inputMissing);
    expect(stderr).toContain('batch submit');
  });

  test('names the folder if it is missing, and the word if it is mistyped', async () => {
    const missing = await awb(['batch', 'status']);
    expect(missing.code).toBe(EXIT.usage);
    expect(missing.stderr).toContain('batch-dir');
    const mistyped = await awb(['batch', 'stauts', 'B']);
    expect(mistyped.code).toBe(EXIT.usage);
    expect(mistyped.stderr).toContain('batch status');
  });
});
