// awb batch cancel: batches that have not ended are cancelled, and what was done by then can still be fetched.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer, type Trouble } from '../support/batch-server.js';
import { awb } from '../support/cli.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function submitted(parts: readonly number[], options: Parameters<typeof startBatchServer>[0] = {}) {
  const server = await startBatchServer({ looks: 1000, ...options });
  closers.push(server.close);
  const dir = await batchFolder(parts);
  await awb(['batch', 'submit', dir, '--base-url', server.url]);
  return { server, dir };
}

const states = (server: Awaited<ReturnType<typeof startBatchServer>>) => server.batches.map(({ status }) => status);

describe('awb batch cancel', () => {
  test('cancels what has not ended, and fetches the results that exist', async () => {
    const { server, dir } = await submitted([3, 2]);
    server.advance();
    const { code, stdout, stderr } = await awb(['batch', 'cancel', dir]);
    expect(code).toBe(EXIT.done);
    expect(stderr).toContain('2 batches cancelled');
    expect(stdout).toContain('cancelling');
    expect(states(server)).toEqual(['cancelling', 'cancelling']);
    server.finish();
    expect((await awb(['batch', 'fetch', dir])).code).toBe(EXIT.done);
    expect((await readFile(join(dir, 'outputs-0001.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(1);
  });

  test('leaves ended batches alone, even if one ends meanwhile', async () => {
    const troubles: (Trouble | undefined)[] = [];
    const { server, dir } = await submitted([1, 1], { trouble: () => troubles.shift() });
    // Between the look and the cancellation.
    troubles.push(undefined, undefined, {
      status: 409,
      body: { error: { message: 'Cannot cancel a batch that is completed' } },
    });
    const { code, stderr } = await awb(['batch', 'cancel', dir]);
    expect(code).toBe(EXIT.done);
    expect(stderr).toContain('1 batch cancelled');
    server.finish();
    expect((await awb(['batch', 'cancel', dir])).stderr).toContain('nothing to cancel');
    // A cancelled part is not submitted again automatically.
    await awb(['batch', 'submit', dir]);
    expect(server.batches).toHaveLength(2);
  });

  test('finds the batch of a submission whose answer was lost', async () => {
    let isLost = true;
    const server = await startBatchServer({
      looks: 1000,
      trouble({ method, path, index }) {
        if (index > 1 && isLost) return { status: 401 };
        return method === 'POST' && path === '/batches' && isLost ? 'reset-after' : undefined;
      },
    });
    closers.push(server.close);
    const dir = await batchFolder([1]);
    expect((await awb(['batch', 'submit', dir, '--base-url', server.url])).code).toBe(EXIT.authRefused);
    isLost = false;
    expect((await awb(['batch', 'cancel', dir])).stderr).toContain('1 batch cancelled');
    expect(states(server)).toEqual(['cancelling']);
  });

  test('sends no empty body declared as JSON, and needs no content type in the answer', async () => {
    const types: unknown[] = [];
    const plain = createServer((request, response) => {
      types.push(request.headers['content-type']);
      const isJson = request.headers['content-type'] !== undefined;
      response
        .writeHead(isJson ? 400 : 200)
        .end(isJson ? '' : JSON.stringify({ id: 'batch_0000', status: 'cancelling' }));
    });
    const { server, dir } = await submitted([1], {
      trouble: ({ path }) => (path.endsWith('/cancel') ? { to: plain } : undefined),
    });
    const { code, stderr } = await awb(['batch', 'cancel', dir]);
    expect([code, stderr]).toEqual([EXIT.done, expect.stringContaining('1 batch cancelled')]);
    expect(types).toEqual([undefined]);
    expect(server.requests.filter(({ path }) => path.endsWith('/cancel')).map(({ body }) => body.length)).toEqual([0]);
  });
});
