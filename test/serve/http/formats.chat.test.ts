// Probabilities of a chat's tokens.

import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { chunksOf, HELLO, post, SCORED, scripted, serve } from '../../support/scripted-server.js';

describe('logprobs of a chat', () => {
  const asked = { messages: HELLO, logprobs: true, top_logprobs: 2 };
  const tokens = [
    {
      token: 'é',
      logprob: Math.log(0.5),
      bytes: [195, 169],
      top_logprobs: [
        { token: 'é', logprob: Math.log(0.5), bytes: [195, 169] },
        { token: '!', logprob: Math.log(0.25), bytes: [33] },
      ],
    },
    expect.objectContaining({ token: 'x', bytes: [120] }),
  ];

  test("come token by token in OpenAI's shape, whole and streamed", async () => {
    const server = await serve(scripted(SCORED));
    const reply = (await (await post(server, asked)).json()) as OpenAI.ChatCompletion;
    expect(reply.choices[0]?.logprobs).toEqual({ content: tokens, refusal: null });
    const chunks = await chunksOf(server, asked);
    const streamed = chunks.flatMap(({ choices }) => choices[0].logprobs?.content ?? []);
    expect(streamed).toEqual(tokens);
  });

  test('are null unless asked for', async () => {
    const server = await serve(scripted(SCORED));
    const reply = (await (await post(server, { messages: HELLO })).json()) as OpenAI.ChatCompletion;
    expect(reply.choices[0]?.logprobs).toBeNull();
  });
});
