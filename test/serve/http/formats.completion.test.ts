// Text completions: prompts echoed and scored.

import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import {
  chunksOf,
  clientOf,
  errorOf,
  post,
  REPLY,
  SCORED,
  SEED,
  scripted,
  serve,
} from '../../support/scripted-server.js';

describe('text completions', () => {
  const path = '/v1/completions';

  test('answer a text, through the client of OpenAI', async () => {
    const engine = scripted(SEED);
    const asked = { model: 'tiny', prompt: 'Once ', echo: true, seed: 4 };
    const reply = await clientOf(await serve(engine)).completions.create(asked);
    expect(reply.object).toBe('text_completion');
    expect(reply.choices).toEqual([{ index: 0, text: 'Once seed 4', logprobs: null, finish_reason: 'stop' }]);
    expect(engine.calls[0]).toMatchObject({ prompt: { tokens: [79, 110, 99, 101, 32] }, options: { maxTokens: 16 } });
  });

  const LOGPROBS = {
    tokens: ['ü', 'b', 'c', 'é', 'x'],
    token_logprobs: [null, Math.log(0.5), Math.log(0.5), Math.log(0.5), Math.log(0.5)],
    top_logprobs: [null, { b: Math.log(0.5) }, { c: Math.log(0.5) }, { é: Math.log(0.5) }, { x: Math.log(0.5) }],
    text_offset: [0, 1, 2, 3, 4],
  };

  test('echo the prompt with its logprobs, the first token without, whole and streamed', async () => {
    const server = await serve(scripted(SCORED));
    const body = { prompt: 'übc', echo: true, logprobs: 1 };
    const reply = (await (await post(server, body, {}, path)).json()) as OpenAI.Completion;
    expect(reply.choices[0]).toMatchObject({ text: 'übcéx', logprobs: LOGPROBS });
    const chunks = await chunksOf(server, body, path);
    const parts = chunks.map(({ choices }) => choices[0]);
    expect(parts.map(({ text }) => text).join('')).toBe('übcéx');
    for (const key of ['tokens', 'token_logprobs', 'top_logprobs', 'text_offset'] as const) {
      expect(parts.flatMap(({ logprobs }) => logprobs?.[key] ?? [])).toEqual(LOGPROBS[key]);
    }
    expect(parts.at(-1).finish_reason).toBe('stop');
  });

  test('score the prompt without generating anything', async () => {
    const engine = scripted(SCORED);
    const body = { prompt: [97, 98, 99], echo: true, logprobs: 0, max_tokens: 0 };
    const reply = (await (await post(await serve(engine), body, {}, path)).json()) as OpenAI.Completion;
    expect(reply.choices[0]).toMatchObject({
      text: 'abc',
      logprobs: {
        tokens: ['a', 'b', 'c'],
        token_logprobs: [null, Math.log(0.5), Math.log(0.5)],
        text_offset: [0, 1, 2],
      },
    });
    expect(engine.calls[0]?.options).toMatchObject({ maxTokens: 0, scores: { promptFrom: 1, top: 0 } });
  });

  test.each<[Record<string, unknown>, string]>([
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: [1, 'a'] }, 'prompt'],
    [{ prompt: [1.5] }, 'prompt'],
    [{ prompt: ['a', 'b'] }, 'prompt'],
    [{ prompt: 'a', max_tokens: 0 }, 'max_tokens'],
    [{ prompt: 'a', logprobs: true }, 'logprobs'],
    [{ prompt: 'a', logprobs: 21 }, 'logprobs'],
    [{ prompt: 'a', echo: 'yes' }, 'echo'],
    [{ prompt: 'a', suffix: 'b' }, 'suffix'],
    [{ prompt: 'a', best_of: 2 }, 'best_of'],
    [{ prompt: 'a', messages: [] }, 'messages'],
  ])('%j is refused by name', async (body, param) => {
    const response = await post(await serve(scripted(REPLY)), body, {}, path);
    expect([response.status, (await errorOf(response)).param]).toEqual([400, param]);
  });
});
