// What a server says of its models before anything is asked.

import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { closeAll, failure, KEY, listen, NEVER, open, REQUEST } from '../../support/endpoint.js';

afterEach(closeAll);

describe('what a server says of its model', () => {
  async function factsOf(models: string, apiKey = KEY) {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json').end(models);
    });
    return open(await listen(server), { apiKey }).endpoint.facts();
  }

  it('is kept without the key, which may be a number', async () => {
    const facts = { context: 123456, ids: [1234567], note: 'key 123456' };
    expect(await factsOf(JSON.stringify({ data: [{ id: 'm', agentworldbench: facts }] }), '123456')).toEqual({
      context: '[redacted]',
      ids: ['[redacted]'],
      note: 'key [redacted]',
    });
  });

  it.each([
    ['nothing', '{"data": []}'],
    ['no list', '{"data": "x"}'],
    ['null', 'null'],
    ['nonsense', '{"data": [null, 5, {"agentworldbench": 5}, {"agentworldbench": [1]}]}'],
    ['lists in lists', `{"data": [{"agentworldbench": {"a": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}]}`],
  ])('is nothing where it is %s', async (_name, models) => {
    expect(await factsOf(models)).toBeUndefined();
  });

  it('names no model that is not named by a text', async () => {
    const server = createServer((request, response) => {
      const ids = '[{"id": {"toString": 5}}, {"id": null}, {"id": "wm-36b"}]';
      if (request.method === 'GET') response.end(`{"data": ${ids}}`);
      else response.writeHead(404).end(JSON.stringify({ error: { code: 'model_not_found', message: 'no' } }));
    });
    const attempt = await open(await listen(server)).endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt).stop?.message).toContain('. It has wm-36b');
  });
});

describe('the context length, if the server reports it', () => {
  async function contextRead(
    models: unknown,
    more: { props?: unknown; maxTokens?: number; fitMaxTokens?: boolean } = {},
  ) {
    const { props, maxTokens = 32_768, fitMaxTokens = false } = more;
    const server = createServer((request, response) => {
      const body = request.url === '/props' ? props : { data: models };
      response.end(JSON.stringify(body ?? {}));
    });
    const { endpoint, notices } = open(await listen(server), { sampling: { maxTokens }, fitMaxTokens });
    const error: unknown = await endpoint.readContext().then(
      () => undefined,
      (error: unknown) => error,
    );
    return { error, notices };
  }

  it.each(['vllm', 'sglang'])('of %s ends the run before anything is asked where no row can fit', async (owned_by) => {
    const models = [
      { id: 'other', max_model_len: 999_999 },
      { id: 'wm-35b', owned_by, max_model_len: 8_192 },
    ];
    const { error } = await contextRead(models);
    expect(error).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringMatching(
        /^127\.0\.0\.1:\d+ has a context of 8,192 tokens, prompt included, and --max-tokens is 32768: no row can fit; add --fit-max-tokens/,
      ),
    });
    expect(await contextRead(models, { fitMaxTokens: true })).toEqual({ error: undefined, notices: [] });
    expect(await contextRead(models, { maxTokens: 4_096 })).toEqual({ error: undefined, notices: [] });
  });

  it.each<[string, Record<string, unknown>, unknown]>([
    ['awb serve', { owned_by: 'agentworldbench', max_model_len: 8_192 }, undefined],
    [
      'llama.cpp',
      { owned_by: 'llamacpp', meta: { n_ctx_train: 262_144 } },
      { default_generation_settings: { n_ctx: 8_192 } },
    ],
    ['a newer llama.cpp', { owned_by: 'llamacpp', meta: { n_ctx: 8_192 } }, undefined],
  ])('of %s, which ends replies there, is reported', async (_name, entry, props) => {
    expect(await contextRead([{ id: 'any', ...entry }], { props })).toEqual({
      error: undefined,
      notices: [
        expect.stringMatching(/a context of 8,192 tokens, prompt included.*: replies end where the context does$/),
      ],
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['nonsense', [{ id: 'wm-35b', owned_by: 'vllm', max_model_len: 'long' }]],
    [
      'another model’s',
      [
        { id: 'a', owned_by: 'vllm', max_model_len: 1 },
        { id: 'b', owned_by: 'vllm', max_model_len: 1 },
      ],
    ],
  ])('is left open if it reports %s', async (_name, models) => {
    expect(await contextRead(models)).toEqual({ error: undefined, notices: [] });
  });
});
