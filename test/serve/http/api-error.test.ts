// What a client sees if the engine refuses or fails.

import { describe, expect, test } from 'vitest';
import { contextOverflow, invalid } from '../../../src/serve/http/wire.js';
import type { GenerateEvent } from '../../../src/serve/request.js';
import {
  clientOf,
  content,
  errorOf,
  HELLO,
  post,
  REPLY,
  reasoning,
  type Script,
  scripted,
  serve,
} from '../../support/scripted-server.js';

describe('what the engine refuses or does wrong', () => {
  // biome-ignore lint/correctness/useYield: it refuses before the first event
  const overflow: Script = async function* () {
    throw contextOverflow(9_000, 2_048);
  };

  test.each([false, true])('a prompt that is too long gets both numbers (stream: %s)', async (stream) => {
    const server = await serve(scripted(overflow));
    const response = await post(server, { model: 'tiny', messages: HELLO, stream });
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages' });
    expect(error.message).toMatch(/9000 tokens.*2048 tokens/);
  });

  test("the engine's own refusal keeps its parameter", async () => {
    // biome-ignore lint/correctness/useYield: it refuses before the first event
    const refusing: Script = async function* () {
      throw invalid('system must be first', 'messages');
    };
    const response = await post(await serve(scripted(refusing)), { model: 'tiny', messages: HELLO });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ message: 'system must be first', param: 'messages' });
  });

  const breaksAfter = (...events: GenerateEvent[]): Script =>
    async function* () {
      yield* events;
      throw new Error('secret cause');
    };

  test.each([false, true])(
    'a failure before the first token is a 500 that keeps the cause here (stream: %s)',
    async (stream) => {
      const causes: unknown[] = [];
      const server = await serve(scripted(breaksAfter()), { onError: (error) => causes.push(error) });
      const response = await post(server, { model: 'tiny', messages: HELLO, stream });
      expect(response.status).toBe(500);
      const text = await response.text();
      expect(JSON.parse(text).error).toMatchObject({ type: 'server_error', code: 'engine_failed' });
      expect(text).not.toContain('secret');
      expect(String(causes)).toContain('secret cause');
    },
  );

  test('a failure in the middle of a stream is an error event without an end, and the server goes on', async () => {
    let isBroken = true;
    const broken = breaksAfter(reasoning('a'), content('b'));
    const server = await serve(scripted((call) => (isBroken ? broken(call) : REPLY(call))));
    const client = clientOf(server);
    const ask = () => client.chat.completions.create({ model: 'tiny', messages: HELLO, stream: true });
    const seen: unknown[] = [];
    await expect(
      (async () => {
        for await (const chunk of await ask()) seen.push(chunk);
      })(),
    ).rejects.toMatchObject({ code: 'engine_failed' });
    expect(seen).toHaveLength(3);
    const text = await (await post(server, { model: 'tiny', messages: HELLO, stream: true })).text();
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('"finish_reason":"stop"');
    isBroken = false;
    expect((await client.chat.completions.create({ model: 'tiny', messages: HELLO })).choices[0]?.message.content).toBe(
      'Hi there',
    );
  });

  test.each([false, true])('a reply without an end is a failure, never half a reply (stream: %s)', async (stream) => {
    const server = await serve(
      scripted(async function* () {
        yield content('half');
      }),
    );
    const text = await (await post(server, { model: 'tiny', messages: HELLO, stream })).text();
    expect(text).toContain('engine_failed');
    expect(text).not.toContain('finish_reason":"');
  });
});
