// The Files and Batches API as OpenAI's own Python client uses it: the loopback serves that client, and this program sends the same
// requests.

import { execFile, spawnSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { batchFolder } from '../support/batch-folder.js';
import { type ApiRequest, type BatchServer, batchReply, startBatchServer } from '../support/batch-server.js';
import { awb, ROOT } from '../support/cli.js';

const PYTHON = process.env.AWB_OPENAI_PYTHON ?? 'python3';
const hasOpenAi = spawnSync(PYTHON, ['-c', 'import openai']).status === 0;
const WITHOUT = 'pip install openai, and name its Python by AWB_OPENAI_PYTHON';
const KEY = 'sk-secret-0123456789';

function start(): Promise<BatchServer> {
  return startBatchServer({
    key: KEY,
    page: 1,
    answer: (body) =>
      JSON.stringify(body).includes('row 2')
        ? { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } }
        : batchReply('fine'),
  });
}

/** A request without what differs from one to the next: ids, boundaries, file names. */
async function shapeOf({ method, path, headers, body }: ApiRequest) {
  // Python also sets a content type without a body; OpenAI's JavaScript client does not.
  const type = body.length === 0 ? '' : String(headers['content-type']).replace(/;.*/, '');
  const shape = {
    method,
    path: path.replace(/\/(file-|batch_)\d+/, '/$1').replace(/\?.*/, ''),
    authorization: headers.authorization,
    type,
  };
  if (type !== 'multipart/form-data')
    return { ...shape, fields: Object.keys(body.length > 0 ? JSON.parse(String(body)) : {}) };
  const form = await new Response(new Uint8Array(body), {
    headers: { 'content-type': String(headers['content-type']) },
  }).formData();
  const fields = [...form].map(([name, value]) => [name, value instanceof File ? 'a file' : value]).sort();
  return { ...shape, fields, isMeasured: headers['content-length'] === String(body.length) };
}

describe.skipIf(!hasOpenAi)(`OpenAI's own client (${hasOpenAi ? PYTHON : WITHOUT})`, () => {
  let server: BatchServer;
  let dir: string;
  // biome-ignore lint/suspicious/noExplicitAny: what Python saw
  let seen: any;

  beforeAll(async () => {
    server = await start();
    dir = await batchFolder([3]);
    const script = join(ROOT, 'test/support/batch-client.py');
    const { stdout } = await promisify(execFile)(PYTHON, [script, server.url, KEY, join(dir, 'requests-0001.jsonl')]);
    seen = JSON.parse(stdout);
  });

  afterAll(() => server.close());

  test('drives the loopback from upload to results', async () => {
    const { size } = await stat(join(dir, 'requests-0001.jsonl'));
    expect(seen.uploaded).toMatchObject({
      object: 'file',
      purpose: 'batch',
      filename: 'requests-0001.jsonl',
      bytes: size,
    });
    expect(seen.states).toEqual(['validating', 'in_progress', 'finalizing', 'completed']);
    expect(seen.counts).toEqual({ total: 3, completed: 2, failed: 1 });
    expect(seen.metadata).toEqual({ of: 'python' });
    expect(seen.outputs.map(({ custom_id }: { custom_id: string }) => custom_id)).toEqual([
      'row-3_0_abc',
      'row-1_0_abc',
    ]);
    expect(seen.errors).toMatchObject([{ custom_id: 'row-2_0_abc', response: { status_code: 400 } }]);
    // Its own paging asks for the next page by the last id.
    expect(seen.listed).toEqual(['batch_0001', 'batch_0000']);
    expect(seen.files).toEqual(['requests-0001.jsonl']);
    expect(seen).toMatchObject({ cancelling: 'cancelling', late: 409, stranger: 'invalid_api_key' });
  });

  test('sends what this program sends: the same paths, fields and form', async () => {
    const own = await start();
    try {
      const args = [dir, '--api-key', KEY, '--base-url', own.url];
      await awb(['batch', 'submit', ...args]);
      await awb(['batch', 'cancel', ...args]);
      own.finish();
      await awb(['batch', 'fetch', ...args]);
      const theirs = new Map<string, unknown>();
      for (const request of server.requests.filter(({ headers }) => headers.authorization === `Bearer ${KEY}`)) {
        const shape = await shapeOf(request);
        const key = `${shape.method} ${shape.path}`;
        // The batch with metadata came first.
        if (!theirs.has(key)) theirs.set(key, shape);
      }
      const asked = new Set<string>();
      for (const request of own.requests) {
        const shape = await shapeOf(request);
        const key = `${shape.method} ${shape.path}`;
        asked.add(key);
        if (key === 'GET /files/file-') continue;
        const sorted = { ...shape, fields: [...shape.fields].sort() };
        const other = theirs.get(key) as typeof shape;
        expect(sorted).toEqual({ ...other, fields: [...other.fields].sort() });
      }
      expect([...asked].sort()).toEqual([
        'GET /batches/batch_',
        'GET /files/file-',
        'GET /files/file-/content',
        'POST /batches',
        'POST /batches/batch_/cancel',
        'POST /files',
      ]);
    } finally {
      await own.close();
    }
  });
});
