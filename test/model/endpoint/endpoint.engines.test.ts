// What real engines answered, word for word (recorded by bench/engines.mjs), and what an endpoint makes of it.

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, test } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import type { ModelRequest } from '../../../src/core/types.js';
import { ask, closeAll, failure, type Overrides, open, REQUEST, reply, serve } from '../../support/endpoint.js';

afterEach(closeAll);

const ENGINES = ['vllm', 'transformers', 'llama'] as const;
type Engine = (typeof ENGINES)[number];

interface Recorded {
  readonly status: number;
  readonly body: string;
}

const recorded = Object.fromEntries(
  ENGINES.map((name) => [name, JSON.parse(readFileSync(`fixtures/endpoints/${name}.json`, 'utf8'))]),
) as Record<Engine, Record<string, Recorded>>;

function said(engine: Engine, probe: string) {
  const answer = recorded[engine][probe];
  if (answer === undefined) throw new Error(`${engine} has no answer to "${probe}"`);
  const isStream = answer.body.startsWith('data:');
  return { ...answer, headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' } };
}

const asked = async (engine: Engine, probe: string, overrides?: Overrides, request?: ModelRequest) =>
  (await ask([said(engine, probe)], { sampling: { maxTokens: 12 }, ...overrides }, request)).attempt;

const OBSERVATION = '<predicted_observation>ok</predicted_observation>';

describe.each(ENGINES)('%s', (engine) => {
  it.each(['ordinary', 'streamed'])(
    'is read with its thought, its end and its tokens where the reply is %s',
    async (probe) => {
      const { content, reasoning, finishReason, usage } = reply(await asked(engine, probe));
      expect({ content, reasoning, finishReason }).toEqual({
        content: OBSERVATION,
        reasoning: 'hm',
        finishReason: 'stop',
      });
      expect(usage).toMatchObject({ promptTokens: 19, completionTokens: 7 });
    },
  );

  it.each(['cut by max_tokens', 'streamed, cut by max_tokens'])('reports that a reply is %s', async (probe) => {
    expect(reply(await asked(engine, probe))).toMatchObject({ finishReason: 'length', usage: { completionTokens: 3 } });
  });

  it('is read where it completes a text', async () => {
    const request: ModelRequest = { prompt: 'root@host:/app#', seedOffset: 0 };
    expect(reply(await asked(engine, 'completion', {}, request))).toMatchObject({
      finishReason: 'length',
      usage: { promptTokens: 8, completionTokens: 4 },
    });
  });
});

describe('a prompt that is too long', () => {
  test.each([
    ['vllm', 'prompt over context', { contextTokens: 32_768 }],
    ['vllm', 'prompt over context, streamed', { contextTokens: 32_768 }],
    ['llama', 'prompt over context', { contextTokens: 32_768, promptTokens: 35_013 }],
    ['llama', 'prompt over context, streamed', { contextTokens: 32_768, promptTokens: 35_013 }],
  ] as const)('is told as such by %s: %s', async (engine, probe, overflow) => {
    const { attempt } = await ask(() => said(engine, probe), { sampling: { maxTokens: 12 } });
    expect(failure(attempt)).toMatchObject({ class: 'context-overflow', overflow });
  });
});

describe('a budget that only vLLM refuses, since it is larger than the context', () => {
  const answers = () => [said('vllm', 'max_tokens over context'), said('vllm', 'ordinary'), said('vllm', 'ordinary')];

  test('is an overflow, whose prompt is then counted, and not a parameter that vLLM does not know', async () => {
    const { attempt, server } = await ask(answers(), { sampling: { maxTokens: 40_000 } });
    expect(failure(attempt)).toMatchObject({ class: 'context-overflow', overflow: { contextTokens: 32_768 } });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([40_000, 1]);
  });

  test('is lowered to what the context leaves where budgets are fitted', async () => {
    const { attempt, server } = await ask(answers(), { sampling: { maxTokens: 40_000 }, fitMaxTokens: true });
    expect(reply(attempt)).toMatchObject({ content: OBSERVATION, fittedMaxTokens: 32_768 - 19 - 16 });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([40_000, 1, 32_768 - 19 - 16]);
  });
});

describe('a model that the server does not have', () => {
  test.each(['vllm', 'transformers'] as const)('stops the run at the first reply of %s', async (engine) => {
    const attempt = failure(await asked(engine, 'unknown model', { model: 'no-such-model' }));
    expect(attempt).toMatchObject({ class: 'fatal', unknownModel: true });
    expect(attempt.stop?.exitCode).toBe(EXIT.unavailable);
    expect(attempt.stop?.message).toContain('--model-name');
  });

  test('is answered by llama.cpp all the same, under the name of the model that it has', async () => {
    expect(reply(await asked('llama', 'unknown model')).servedModel).toBe('tiny');
  });
});

test.each(['vllm', 'llama'] as const)('a wrong key is refused by %s', async (engine) => {
  expect(failure(await asked(engine, 'wrong key')).class).toBe('auth');
});

describe('transformers serve, which refuses parameters that it does not know', () => {
  test('has each of them left out in turn under --allow-param-drop', async () => {
    const sampling = { maxTokens: 12, topK: 20, minP: 0.01, extraBody: { repetition_penalty: 1.1 } };
    const unknown = said('transformers', 'sampling parameters');
    const known = said('transformers', 'ordinary');
    const { attempt, dialect } = await ask(
      ({ body }) => ('top_k' in body || 'min_p' in body || 'repetition_penalty' in body ? unknown : known),
      { sampling, allowParamDrop: true },
    );
    expect(reply(attempt).content).toBe(OBSERVATION);
    expect(dialect.dropped()).toEqual(['min_p', 'repetition_penalty', 'top_k']);
  });

  test('scores no reply, and the run stops with what does', async () => {
    const request: ModelRequest = { ...REQUEST, scored: true };
    const attempt = failure(await asked('transformers', 'prompt_logprobs of a reply', { stream: false }, request));
    expect(attempt.stop?.message).toContain('use an endpoint that can score a given reply');
  });
});

test('a reply that vLLM scores is read with every token of it, except for the first', async () => {
  const request: ModelRequest = { ...REQUEST, scored: true };
  const { promptScores, usage } = reply(await asked('vllm', 'prompt_logprobs of a reply', { stream: false }, request));
  expect(promptScores).toHaveLength((usage.promptTokens ?? 0) - 1);
  expect(promptScores?.map(({ text }) => text).join('')).toContain('total 0');
  expect(promptScores?.every(({ nats }) => nats >= 0)).toBe(true);
});

test('llama.cpp leaves the scores out, and the run stops with an endpoint that has them', async () => {
  const request: ModelRequest = { ...REQUEST, scored: true };
  const attempt = failure(await asked('llama', 'prompt_logprobs of a reply', { stream: false }, request));
  expect(attempt.stop?.message).toContain('use an endpoint that can score a given reply');
});

test.each([
  ['vllm', 32_768, true],
  ['llama', 32_768, false],
  ['transformers', undefined, undefined],
] as const)('the context that %s tells at /models is %s', async (engine, tokens, refusesBudgets) => {
  const { status, body } = said(engine, 'models');
  const { url } = await serve(() => said(engine, 'ordinary'), { models: status === 200 ? JSON.parse(body).data : [] });
  const { endpoint } = open(url, { model: 'tiny', sampling: { maxTokens: 12 } });
  const told = await endpoint.readContext();
  expect(told?.tokens).toBe(tokens);
  expect(told?.refusesBudgets).toBe(refusesBudgets);
});
