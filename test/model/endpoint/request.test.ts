// What is sent: the body of a request, its headers, and the seed of each try.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { UserError } from '../../../src/core/errors.js';
import { bodyText, seedOf } from '../../../src/model/endpoint/request.js';
import { ask, closeAll, closers, KEY, MESSAGES, NEVER, open, REQUEST, reply, serve } from '../../support/endpoint.js';

afterEach(closeAll);

describe('a request', () => {
  it('holds what is set, and nothing that is not', async () => {
    const { body, headers, server } = await ask(undefined, { stream: false });
    expect(body).toEqual({ model: 'wm-35b', messages: MESSAGES, max_tokens: 32768, temperature: 0.6 });
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
  });

  it('asks for token counts where it streams', async () => {
    const { body } = await ask(undefined);
    expect(body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it('carries every sampling parameter under its name, the extra body last', async () => {
    const sampling = {
      maxTokens: 9,
      topP: 0.95,
      topK: 20,
      minP: 0.1,
      presencePenalty: 1.5,
      reasoningEffort: 'high',
      seed: 7,
      extraBody: { top_k: 40, chat_template_kwargs: { enable_thinking: false } },
    };
    const { body } = await ask(undefined, { stream: false, sampling, responseFormat: { type: 'json_object' } });
    expect(body).toEqual({
      model: 'wm-35b',
      messages: MESSAGES,
      max_tokens: 9,
      top_p: 0.95,
      top_k: 40,
      min_p: 0.1,
      presence_penalty: 1.5,
      reasoning_effort: 'high',
      seed: 7,
      chat_template_kwargs: { enable_thinking: false },
      response_format: { type: 'json_object' },
    });
  });

  it('without a key says EMPTY', async () => {
    const { headers } = await ask(undefined, { apiKey: '' });
    expect(headers?.authorization).toBe('Bearer EMPTY');
  });

  it('keeps the query of the base URL, and its user as basic authentication', async () => {
    const server = await serve();
    const url = server.url.replace('http://', 'http://me:hunter2hunter2@');
    const { endpoint } = open(`${url}/?api-version=2024-10-21`, { apiKey: '' });
    reply(await endpoint.call(REQUEST, 0, NEVER));
    expect(server.requests[0]?.path).toBe('/v1/chat/completions?api-version=2024-10-21');
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${btoa('me:hunter2hunter2')}`);
    expect(endpoint.host).toBe(`127.0.0.1:${server.port}`);
  });

  it('does not send what OPENAI_… variables hold for OpenAI to other hosts', async () => {
    vi.stubEnv('OPENAI_ORG_ID', 'org-secret');
    closers.push(() => vi.unstubAllEnvs());
    const { headers } = await ask(undefined);
    expect(JSON.stringify(headers)).not.toContain('org-secret');
  });

  it.each(['localhost:8000', 'ftp://host/v1', ''])('is refused for the base URL %j', (baseUrl) => {
    expect(() => open(baseUrl)).toThrow(UserError);
  });

  it('is refused for a key with a line end', () => {
    expect(() => open('http://localhost/v1', { apiKey: 'sk-abcdef\n' })).toThrow(/API key/);
  });
});

describe('the text of a body', () => {
  it.each([
    ['half of a surrogate pair', 'a\ud800b\udfff', 'a\ufffdb\ufffd'],
    ['the halves of a pair the wrong way round', '\udc00\ud83d', '\ufffd\ufffd'],
    ['a whole pair', '🙂', '🙂'],
    ['a backslash in front of the letters of an escape', 'C:\\ud800 \\\\udc00', 'C:\\ud800 \\\\udc00'],
    ['a backslash in front of half a pair', '\\\ud800', '\\\ufffd'],
  ])('has a form in UTF-8 where a message holds %s', (_, content, sent) => {
    const text = Buffer.from(bodyText({ messages: [{ role: 'user', content }] })).toString();
    expect(JSON.parse(text).messages[0].content).toBe(sent);
  });
});

describe('the seed sent', () => {
  it('is the run’s own on the first try of the first repeat', () => {
    expect(seedOf(42, 0, 0)).toBe(42);
  });

  it('differs between all repeats and tries that a run makes, and fits in 31 bits', () => {
    const seeds = new Set<number>();
    for (let offset = 0; offset < 100; offset++) {
      for (let attempt = 0; attempt < 100; attempt++) seeds.add(seedOf(2 ** 40 - 5, offset, attempt));
    }
    expect(seeds.size).toBe(10_000);
    for (const seed of [...seeds, seedOf(-7, 3, 1)]) {
      expect(Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 31).toBe(true);
    }
  });

  it('follows the try', async () => {
    const server = await serve();
    const { endpoint } = open(server.url, { sampling: { seed: 42 } });
    await endpoint.call(REQUEST, 2, NEVER);
    await endpoint.call({ ...REQUEST, seedOffset: 1 }, 2, NEVER);
    expect(server.requests.map(({ body }) => body.seed)).toEqual([seedOf(42, 0, 2), seedOf(42, 1, 2)]);
  });
});
