// Replies, whole and streamed, of one choice and of several, over loopback with a scripted engine and the client of OpenAI.

import { once } from 'node:events';
import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ModelFacts } from '../../../src/serve/load.js';
import type { GenerateEvent } from '../../../src/serve/request.js';
import {
  chunksOf,
  clientOf,
  END,
  ENDLESS,
  HELLO,
  post,
  REPLY,
  type Script,
  SEED,
  scripted,
  serve,
} from '../../support/scripted-server.js';

describe('replies', () => {
  test('a whole reply has thinking and content apart, counts and the reason of its end', async () => {
    const server = await serve(scripted(REPLY));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO });
    expect(reply).toMatchObject({
      object: 'chat.completion',
      model: 'tiny',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'Hi there', reasoning_content: 'hmm.', refusal: null },
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 7,
        total_tokens: 27,
        prompt_tokens_details: { cached_tokens: 12 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    });
    expect(reply.id).toMatch(/^chatcmpl-/);
    expect(reply.created).toBeGreaterThan(1.7e9);
  });

  test('a streamed reply gives the same pieces in order, then its end, then its counts', async () => {
    const server = await serve(scripted(REPLY));
    const stream = await clientOf(server).chat.completions.create({
      model: 'tiny',
      messages: HELLO,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'hm' },
      { reasoning_content: 'm.' },
      { content: 'Hi' },
      { content: ' there' },
      {},
      undefined,
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([
      null,
      null,
      null,
      null,
      null,
      'stop',
      undefined,
    ]);
    expect(chunks.map(({ usage }) => usage?.total_tokens)).toEqual([...Array(6).fill(undefined), 27]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test('a stream ends with [DONE] and holds no usage unless asked', async () => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const text = await response.text();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(text).not.toContain('usage');
  });

  test('a reply cut off at max_tokens says length', async () => {
    const cutOff: Script = async function* () {
      yield { ...END, finishReason: 'length' } as GenerateEvent;
    };
    const server = await serve(scripted(cutOff));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, max_tokens: 1 });
    expect(reply.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } });
    expect(reply.choices[0]?.message).not.toHaveProperty('reasoning_content');
  });

  test('the fingerprint is that of the configuration, not of the reply', async () => {
    const ask = async (facts: Partial<ModelFacts>) => {
      const client = clientOf(await serve(scripted(REPLY, facts)));
      return (await client.chat.completions.create({ model: 'tiny', messages: HELLO })).system_fingerprint;
    };
    const [first, second, other] = [await ask({}), await ask({ file: '/elsewhere' }), await ask({ kvCache: 'q8_0' })];
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  test('a stream that waits is kept alive by comments, which the client does not see', async () => {
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const server = await serve(
      scripted(async function* () {
        await held;
        yield* REPLY({} as never);
      }),
      { pingIntervalMs: 5 },
    );
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    expect(first).toMatch(/^: ping\n\n/);
    const stream = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, stream: true });
    go();
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hi there');
    await reader.cancel();
  });
});

test('streams leave no timers behind', async () => {
  const server = await serve(scripted(REPLY), { pingIntervalMs: 60_000 });
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  for (let i = 0; i < 20; i++) await (await post(server, { model: 'tiny', messages: HELLO, stream: true })).text();
  expect(timers() - before).toBeLessThan(20);
});

describe('several choices', () => {
  test('have an index and a seed each; the prompt counts once', async () => {
    const server = await serve(scripted(SEED));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, n: 3, seed: 7 });
    expect(reply.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'seed 7'],
      [1, 'seed 8'],
      [2, 'seed 9'],
    ]);
    expect(reply.usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 21, total_tokens: 41 });
  });

  test('are streamed side by side, each from its role to its end', async () => {
    const server = await serve(scripted(REPLY));
    const chunks = await chunksOf(server, { messages: HELLO, n: 3, stream_options: { include_usage: true } });
    for (const index of [0, 1, 2]) {
      const own = chunks.flatMap(({ choices }) =>
        choices.filter((choice: { index: number }) => choice.index === index),
      );
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('Hi there');
      expect([own[0].delta.role, own.at(-1).finish_reason]).toEqual(['assistant', 'stop']);
    }
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 21 } });
  });

  test.each([false, true])('free all their slots when the client hangs up (stream: %s)', async (stream) => {
    const engine = scripted(ENDLESS, { slots: 2 });
    const server = await serve(engine);
    const hangUp = new AbortController();
    const body = { messages: HELLO, n: 4, stream };
    const asked = post(server, body, { signal: hangUp.signal }).catch(() => undefined);
    while (engine.calls.length < 4) await once(engine.life, 'called');
    hangUp.abort();
    while (engine.busy > 0) await once(engine.life, 'ended');
    await asked;
    let health = { busy: 1, waiting: 1 };
    while (health.busy + health.waiting > 0) {
      health = (await (await fetch(`${server.url}/health`)).json()) as typeof health;
    }
    expect((await post(await serve(scripted(REPLY)), { messages: HELLO, n: 2 })).status).toBe(200);
  });

  test('end together where one of them fails', async () => {
    const engine = scripted(
      async function* (call) {
        if (call.options.seed === 6) throw new Error('broken');
        yield* ENDLESS(call);
      },
      { slots: 2 },
    );
    const server = await serve(engine);
    expect((await post(server, { messages: HELLO, n: 2, seed: 5 })).status).toBe(500);
    while (engine.busy > 0) await once(engine.life, 'ended');
  });
});
