// A given reply scored by an endpoint: what is sent, what comes back, and what is said of servers that cannot do it.

import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import type { ModelRequest } from '../../../src/core/types.js';
import { closeAll, NEVER, open, serve } from '../../support/endpoint.js';

afterEach(closeAll);

const GIVEN: ModelRequest = {
  messages: [
    { role: 'user', content: 'what happens?' },
    { role: 'assistant', content: 'ok' },
  ],
  scored: true,
  seedOffset: 0,
};
const SETTINGS = { sampling: { maxTokens: 1, temperature: 0 }, stream: false };

/** As vLLM answers a chat completion with `prompt_logprobs`. */
const scoredReply = (prompt_logprobs: unknown) => ({
  status: 200,
  body: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'wm-35b',
    choices: [{ index: 0, message: { role: 'assistant', content: '!' }, finish_reason: 'length' }],
    usage: { prompt_tokens: 3, total_tokens: 4, completion_tokens: 1 },
    prompt_logprobs,
  },
});

describe('a given reply', () => {
  test('is sent as the last message, with no room for another, and comes back with the cost of each token', async () => {
    const { url, requests } = await serve([
      scoredReply([
        null,
        { '5': { logprob: -2, rank: 9, decoded_token: 'user' } },
        { '7': { logprob: -0.5, rank: 1, decoded_token: 'ok' } },
      ]),
    ]);
    const reply = await open(url, SETTINGS).endpoint.call(GIVEN, 0, NEVER);
    expect(requests[0]?.path).toBe('/v1/chat/completions');
    expect(requests[0]?.body).toEqual({
      model: 'wm-35b',
      messages: GIVEN.messages,
      max_tokens: 1,
      temperature: 0,
      add_generation_prompt: false,
      prompt_logprobs: 0,
    });
    expect(reply).toMatchObject({
      status: 'ok',
      promptScores: [
        { text: 'user', nats: 2 },
        { text: 'ok', nats: 0.5 },
      ],
      usage: { promptTokens: 3, completionTokens: 1 },
    });
  });

  test.each([
    ['leaves them out, as llama.cpp does', undefined],
    ['says that there are none', null],
  ])('stops the run where the server %s, with what it takes', async (_how, prompt_logprobs) => {
    const { url } = await serve([scoredReply(prompt_logprobs)]);
    const outcome = await open(url, SETTINGS).endpoint.call(GIVEN, 0, NEVER);
    expect(outcome).toMatchObject({
      status: 'failed',
      class: 'fatal',
      stop: {
        exitCode: EXIT.unavailable,
        message: expect.stringMatching(/no prompt_logprobs; .*vLLM.*awb serve.*--local/),
      },
    });
  });

  test('stops the run where the server rejects the question, and is not asked without it', async () => {
    const { url, requests } = await serve([
      {
        status: 400,
        body: { error: { message: 'Unrecognized request argument supplied: add_generation_prompt', param: null } },
      },
    ]);
    const outcome = await open(url, { ...SETTINGS, allowParamDrop: true }).endpoint.call(GIVEN, 0, NEVER);
    expect(outcome).toMatchObject({ class: 'fatal', stop: { message: expect.stringMatching(/vLLM.*awb serve/) } });
    expect(requests).toHaveLength(1);
  });

  test('is asked for again where its probabilities are nonsense', async () => {
    const { url } = await serve([scoredReply([null, { '5': { logprob: 'high' } }])]);
    const outcome = await open(url, SETTINGS).endpoint.call(GIVEN, 0, NEVER);
    expect(outcome).toMatchObject({ status: 'failed', class: 'malformed' });
  });
});
