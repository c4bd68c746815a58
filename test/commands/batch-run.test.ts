// awb batch run: live calls answer a batch folder, each body is sent unchanged, and nothing written is lost.

import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { type Answer, type Handler, startLoopbackServer } from '../support/loopback-server.js';
import { keptModel, scriptedModel } from '../support/tiny-model/model.js';

const KEY = 'sk-secret-0123456789';
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(script?: Handler | readonly Answer[]) {
  const server = await startLoopbackServer(script);
  closers.push(server.close);
  return server;
}

function run(dir: string, url: string, ...flags: string[]) {
  return awb(['batch', 'run', dir, '--model-base-url', url, ...flags]);
}

// biome-ignore lint/suspicious/noExplicitAny: results of any shape
async function resultsIn(dir: string): Promise<Map<string, any>> {
  const lines = (await readFile(join(dir, 'answers.jsonl'), 'utf8')).trim().split('\n');
  return new Map(lines.map((line) => [JSON.parse(line).custom_id, JSON.parse(line)]));
}

/** The number of the row that a request asks about. */
const rowOf = (body: { messages: { content: string }[] }) => Number(/\d+/.exec(body.messages[0]?.content ?? '')?.[0]);

describe('awb batch run', () => {
  test("answers every request with its own body, and writes the results in OpenAI's format", async () => {
    const server = await serve();
    const odd = (number: number) => ({
      model: 'm',
      n: 1.5e-7,
      messages: [{ role: 'user', content: `row ${number} \u2028` }],
    });
    const dir = await batchFolder([2, 1], { bodyOf: odd });
    const { code, stdout, stderr } = await run(dir, server.url);
    expect(code).toBe(EXIT.done);
    expect(stderr).toContain('batch run 3/3 requests');
    expect(stdout).toContain('3 of 3 requests have results');
    expect(stdout).toContain('next: repeat the awb judge --batch-dir command');
    expect(server.requests.map(({ body }) => body).sort((a, b) => rowOf(a) - rowOf(b))).toEqual([
      odd(1),
      odd(2),
      odd(3),
    ]);
    expect(server.requests.every(({ path }) => path === '/v1/chat/completions')).toBe(true);
    const results = await resultsIn(dir);
    expect(results.get('row-2_0_abc')).toMatchObject({
      id: expect.stringMatching(/^batch_req_/),
      response: {
        status_code: 200,
        body: { object: 'chat.completion', choices: [{ message: { role: 'assistant' } }] },
      },
      error: null,
    });
  });

  test('sends the bytes of a body unchanged', async () => {
    const server = await serve();
    const body =
      '{"model":"m", "temperature":1.0,"seed":12345678901234567890,"messages":[{"role":"user","content":"row 1"}]}';
    const dir = await batchFolder([1], { bodyOf: () => body });
    await run(dir, server.url);
    expect(server.requests[0]?.headers['content-length']).toBe(String(body.length));
  });

  test('refuses an edited part, even if it has the same length', async () => {
    const server = await serve();
    const dir = await batchFolder([2]);
    const path = join(dir, 'requests-0001.jsonl');
    await writeFile(path, (await readFile(path, 'utf8')).replace('row 2', 'row 7'));
    const { code, stderr } = await run(dir, server.url);
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain('requests-0001.jsonl was changed');
    expect(server.count).toBe(0);
  });

  test('writes a refusal as the result of its request', async () => {
    const refusal = {
      error: { message: "This model's maximum context length is 4096 tokens", code: 'context_length_exceeded' },
    };
    const server = await serve(({ body }) => {
      const row = rowOf(body);
      if (row === 1) return { status: 400, body: refusal, headers: { 'x-request-id': 'req_1' } };
      if (row === 2)
        return { status: 400, body: { error: { message: 'Unknown parameter: max_tokens', param: 'max_tokens' } } };
      if (row === 3) return { status: 403, body: { error: { code: 'content_filter', message: 'no' } } };
      return { content: 'fine' };
    });
    const dir = await batchFolder([6]);
    const { code, stdout } = await run(dir, server.url);
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain('3 of them are errors');
    const results = await resultsIn(dir);
    expect(results.get('row-1_0_abc').response).toEqual({ status_code: 400, request_id: 'req_1', body: refusal });
    expect(results.get('row-2_0_abc').response.status_code).toBe(400);
    expect(results.get('row-3_0_abc').response.status_code).toBe(403);
  });

  test('retries transient failures, and then writes the final outcome', async () => {
    const server = await serve(({ body, index }) => {
      if (rowOf(body) === 1) return { status: 500, body: { error: { message: 'broken' } } };
      if (rowOf(body) === 2) return 'reset';
      if (index === 0) return { status: 429, headers: { 'retry-after-ms': '1' }, body: {} };
      return { content: 'fine' };
    });
    const dir = await batchFolder([8]);
    const { code } = await run(dir, server.url, '--max-attempts', '2', '--concurrency', '8');
    expect(code).toBe(EXIT.done);
    const results = await resultsIn(dir);
    expect(results.size).toBe(8);
    expect(results.get('row-1_0_abc').response).toMatchObject({
      status_code: 500,
      body: { error: { message: 'broken' } },
    });
    expect(results.get('row-2_0_abc')).toMatchObject({ response: null, error: { code: 'transient' } });
    expect([...results.values()].filter(({ response }) => response?.status_code === 200)).toHaveLength(6);
  });

  test.each([
    ['a key', { status: 401, body: { error: { message: 'no key' } } }, EXIT.authRefused, '--model-api-key'],
    ['another path', { status: 404, body: 'Not Found' }, EXIT.unavailable, 'check the base URL'],
    [
      'another model',
      { status: 404, body: { error: { message: 'The model `loopback` does not exist', code: 'model_not_found' } } },
      EXIT.unavailable,
      'serve it under that name',
    ],
  ])('stops if the server wants %s, and writes no result', async (_, answer, exitCode, remedy) => {
    const server = await serve([answer]);
    const dir = await batchFolder([3]);
    const { code, stderr } = await run(dir, server.url);
    expect(code).toBe(exitCode);
    expect(stderr).toContain(remedy);
    expect(await readFile(join(dir, 'answers.jsonl'), 'utf8')).toBe('');
  });

  test('skips requests that have a result, whatever its source', async () => {
    const server = await serve();
    const dir = await batchFolder([3]);
    await writeFile(join(dir, 'outputs-0001.jsonl'), `${JSON.stringify({ custom_id: 'row-2_0_abc', response: {} })}\n`);
    await run(dir, server.url);
    expect(server.requests.map(({ body }) => rowOf(body)).sort()).toEqual([1, 3]);
    const again = await run(dir, server.url);
    expect(again.code).toBe(EXIT.done);
    expect(again.stdout).toContain('nothing was left to ask');
    expect(server.count).toBe(2);
  });

  test('cuts a torn line off, and asks its request again', async () => {
    const server = await serve();
    const dir = await batchFolder([3]);
    await run(dir, server.url);
    const text = await readFile(join(dir, 'answers.jsonl'), 'utf8');
    await writeFile(join(dir, 'answers.jsonl'), text.slice(0, -20));
    await run(dir, server.url);
    expect(server.count).toBe(4);
    expect((await resultsIn(dir)).size).toBe(3);
    // A complete line without its line feed counts as torn.
    await appendFile(join(dir, 'answers.jsonl'), '{"custom_id":"row-9_0_abc","response":null,"error":{}}');
    await run(dir, server.url);
    expect((await readFile(join(dir, 'answers.jsonl'), 'utf8')).endsWith('}\n')).toBe(true);
  });

  test('asks nothing twice that it has written, even if it is killed again and again', async () => {
    const finished = new Set<number>();
    const askedAgain: number[] = [];
    const server = await serve(async ({ body }) => {
      const row = rowOf(body);
      if (finished.has(row)) askedAgain.push(row);
      await wait(10);
      return { content: `seen ${row}` };
    });
    const dir = await batchFolder([60, 60]);
    const args = ['batch', 'run', dir, '--model-base-url', server.url, '--concurrency', '4'];
    for (let kill = 1; kill <= 5; kill++) {
      const { child, ended } = startAwb(args);
      while (server.count < kill * 20) await wait(2);
      child.kill('SIGKILL');
      await ended;
      const whole = (await readFile(join(dir, 'answers.jsonl'), 'utf8')).split('\n').slice(0, -1);
      for (const line of whole) finished.add(Number(/^row-(\d+)/.exec(JSON.parse(line).custom_id)?.[1]));
    }
    expect(finished.size).toBeGreaterThan(60);
    expect((await startAwb(args).ended).code).toBe(EXIT.done);
    expect(askedAgain).toEqual([]);
    expect((await resultsIn(dir)).size).toBe(120);
  });

  test('if interrupted, ends after the calls in flight, and continues later', async () => {
    const stop = new AbortController();
    const server = await serve(async ({ index }) => {
      if (index === 3) stop.abort('SIGINT');
      await wait(20);
      return { content: 'fine' };
    });
    const dir = await batchFolder([20]);
    const args = ['batch', 'run', dir, '--model-base-url', server.url, '--concurrency', '2'];
    const { code, stdout } = await awb(args, { stop: stop.signal });
    expect(code).toBe(EXIT.interrupted);
    expect(stdout).toContain('next: repeat this command');
    const { size } = await resultsIn(dir);
    expect(size).toBeGreaterThanOrEqual(3);
    expect((await awb(args)).code).toBe(EXIT.done);
    expect(server.count).toBe(20);
  });

  test('writes no key that a server echoes', async () => {
    const server = await serve(({ headers }) => ({ content: `you sent ${headers.authorization}` }));
    const dir = await batchFolder([1]);
    await run(dir, server.url, '--model-api-key', KEY);
    expect(await readFile(join(dir, 'answers.jsonl'), 'utf8')).not.toContain(KEY);
  });

  test('does not pay for results awaited elsewhere', async () => {
    const api = await startBatchServer({ looks: 1000 });
    closers.push(api.close);
    const server = await serve();
    const dir = await batchFolder([1]);
    await awb(['batch', 'submit', dir, '--base-url', api.url]);
    const { code, stderr } = await run(dir, server.url);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain('awb batch fetch');
    expect(server.count).toBe(0);
  });

  test('reports the result as JSON with --json', async () => {
    const server = await serve();
    const dir = await batchFolder([2]);
    expect(JSON.parse((await run(dir, server.url, '--json')).stdout)).toEqual({
      schema: 'awb.batch-run/1',
      folder: dir,
      file: 'answers.jsonl',
      requests: 2,
      answered: 2,
      errors: 0,
      missing: 0,
    });
  });

  test('serves a local model under the name in the requests', async () => {
    const model = await keptModel(scriptedModel({ thinking: 'Well.', content: 'ok' }), await temporaryFolder());
    const dir = await batchFolder([3]);
    const env = { AWB_GPU: 'off', AWB_THREADS: '1' };
    const { code, stderr } = await startAwb(['batch', 'run', dir, '--local', model, '--quiet'], env).ended;
    expect([code, stderr]).toEqual([EXIT.done, '']);
    const results = await resultsIn(dir);
    const contents = [...results.values()].map(({ response }) => response.body.choices[0].message.content);
    expect(contents).toEqual(['ok', 'ok', 'ok']);
  });

  test('needs a batch folder and a model to ask', async () => {
    const empty = await temporaryFolder();
    await writeFile(join(empty, 'requests-0001.jsonl'), '');
    const none = await run(empty, 'http://127.0.0.1:1/v1');
    expect(none.code).toBe(EXIT.inputMissing);
    expect(none.stderr).toContain('no batch.json');
    expect(await readdir(empty)).toEqual(['requests-0001.jsonl']);
    const nobody = await awb(['batch', 'run', await batchFolder([1])]);
    expect(nobody.code).toBe(EXIT.usage);
    expect(nobody.stderr).toContain('--model-base-url');
    const both = await run(await batchFolder([1]), 'http://127.0.0.1:1/v1', '--local', 'a.gguf');
    expect(both.code).toBe(EXIT.usage);
  });
});
