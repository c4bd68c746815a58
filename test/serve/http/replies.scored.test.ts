// A given reply scored by the server: over loopback, with a tiny real model, against the echo of a completion.

import { describe, expect, test } from 'vitest';
import { random, start } from '../../support/engine.js';
import { errorOf, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

const MESSAGES = [
  { role: 'user', content: 'What is in the folder?' },
  { role: 'assistant', content: '<predicted_observation>\nok: 3 files\n</predicted_observation>' },
];
const SCORING = { max_tokens: 1, temperature: 0, add_generation_prompt: false, prompt_logprobs: 0 };

type Position = Record<string, { logprob: number; decoded_token: string }> | null;

describe('prompt_logprobs of a chat', () => {
  test('are those that a completion echoes for the same tokens, of the last message alone', async () => {
    const server = await serve((await start(random)).engine);
    const ask = async (body: object, path?: string) => (await post(server, body, {}, path)).json();
    const scored = (await ask({ messages: MESSAGES, ...SCORING })) as { prompt_logprobs: Position[]; usage: object };
    const rendered = { messages: MESSAGES, add_generation_prompt: false };
    const { tokens, count } = (await ask(rendered, '/tokenize')) as { tokens: number[]; count: number };
    const echoed = (await ask({ prompt: tokens, echo: true, logprobs: 0, max_tokens: 0 }, '/v1/completions')) as {
      choices: [{ logprobs: { token_logprobs: (number | null)[]; tokens: string[] } }];
    };
    const { token_logprobs: expected, tokens: texts } = echoed.choices[0].logprobs;
    const from = scored.prompt_logprobs.findIndex((position) => position !== null);
    expect(scored.prompt_logprobs).toHaveLength(count);
    expect(texts.slice(from).join('')).toBe(
      `<|im_start|>assistant\n<think>\n\n</think>\n\n${MESSAGES[1]?.content}<|im_end|>\n`,
    );
    for (const [place, position] of scored.prompt_logprobs.entries()) {
      if (place < from) expect(position).toBeNull();
      else {
        expect(Object.keys(position ?? {})).toEqual([String(tokens[place])]);
        expect(position?.[String(tokens[place])]?.logprob).toBeCloseTo(expected[place] ?? Number.NaN, 1);
      }
    }
    expect(scored.usage).toMatchObject({ prompt_tokens: count, completion_tokens: 1 });
  });

  test.each([
    ['the reply is still open', { add_generation_prompt: true }, 'add_generation_prompt'],
    ['the last message is no reply', { messages: MESSAGES.slice(0, 1) }, 'assistant'],
    ['nothing stands before it', { messages: MESSAGES.slice(1) }, 'after others'],
    ['it is to be streamed', { stream: true }, 'stream'],
    ['several choices are wanted', { n: 2 }, "'n'"],
  ])('are refused where %s', async (_what, changed, said) => {
    const response = await post(await serve(scripted(REPLY)), { messages: MESSAGES, ...SCORING, ...changed });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).message).toContain(said);
  });

  test('alone close a reply: without them it cannot be left open', async () => {
    const response = await post(await serve(scripted(REPLY)), { messages: MESSAGES, add_generation_prompt: false });
    expect(response.status).toBe(400);
  });
});
