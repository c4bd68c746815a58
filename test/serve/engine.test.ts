// The engine with tiny real models: every claim is counted in tokens and batches, never in time.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { needsTwoThreads } from '../../src/serve/memory.js';
import type { GenerateEvent, GenerateOptions } from '../../src/serve/request.js';
import {
  ask,
  endless,
  evaluated,
  FREE,
  NO_THINKING,
  OPTIONS,
  random,
  SCRIPT,
  scripted,
  start,
  usageOf,
  user,
} from '../support/engine.js';

describe('a scripted model', () => {
  test('answers thinking and content apart, and the usage adds up', async () => {
    const { engine, batches } = await start(scripted);
    const { reasoning, content, end } = await ask(engine, user('What now?'), { maxTokens: undefined, ...FREE });
    expect({ thinking: reasoning, content }).toEqual(SCRIPT);
    expect(end?.finishReason).toBe('stop');
    const { promptTokens, completionTokens, reasoningTokens, cachedTokens } = usageOf(end);
    expect(cachedTokens).toBe(0);
    expect(reasoningTokens).toBeLessThan(completionTokens);
    // Every token but the last, which ends the reply, was evaluated once.
    expect(evaluated(batches)).toBe(promptTokens + completionTokens - 1);
  });

  test('with thinking off, gives only content', async () => {
    const { engine } = await start(scripted);
    expect(await ask(engine, user('What now?'), { maxTokens: undefined, ...NO_THINKING })).toMatchObject({
      reasoning: '',
      content: SCRIPT.content,
      end: { usage: { reasoningTokens: 0 } },
    });
  });

  test('stops before a stop string of its content, not of its thinking', async () => {
    const { engine } = await start(scripted);
    const stopped = await ask(engine, user('What now?'), { maxTokens: undefined, stop: ['exists', ': 3'] });
    expect(stopped).toMatchObject({
      reasoning: SCRIPT.thinking,
      content: '<predicted_observation>\nok',
      end: { finishReason: 'stop' },
    });
  });

  // Where one thread computes batches wrongly, the claim cannot be made with one.
  test.each([1, 2, 4].filter((parallel) => !needsTwoThreads(parallel)))(
    'serves twelve requests over %d slots, each whole, and then none is busy',
    async (parallel) => {
      const { engine } = await start(scripted, { slots: parallel });
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          ask(engine, user(`Question ${index} ${'and '.repeat(index * 9)}`), { maxTokens: undefined }),
        ),
      );
      expect(
        new Set(answers.map(({ reasoning, content }) => JSON.stringify({ thinking: reasoning, content }))),
      ).toEqual(new Set([JSON.stringify(SCRIPT)]));
      expect(engine.busy).toBe(0);
    },
  );

  test('reports what scores depend on', async () => {
    const { engine } = await start(scripted, { slots: 2, kvCache: 'q8_0' });
    const bytes = await readFile(scripted);
    expect(engine.facts).toMatchObject({
      name: 'tiny',
      sha256: createHash('sha256').update(bytes).digest('hex'),
      bytes: bytes.length,
      architecture: 'qwen35moe',
      quantization: 'Q8_0',
      kvCache: 'q8_0',
      contextSize: 4096,
      slots: 2,
      gpu: 'off',
      gpuLayers: 0,
      threads: 1,
    });
    expect(engine.facts.llamaCpp).toMatch(/^v\d/);
    expect((await ask(engine, user('What now?'), { maxTokens: undefined })).content).toBe(SCRIPT.content);
  });
});

describe('batches', () => {
  test.each([1, 2, 4, 8])('%d replies cost as many evaluations as one, in ascending slot order', async (parallel) => {
    const { engine, batches } = await start(endless, { slots: parallel, contextSize: 1024 });
    const answers = await Promise.all(
      Array.from({ length: parallel }, (_, seed) => ask(engine, user('Go on.'), { ...FREE, seed })),
    );
    expect(answers.map(({ end }) => end?.usage.completionTokens)).toEqual(Array.from({ length: parallel }, () => 40));
    const slots = batches.map((batch) => batch.map(({ slot }) => slot));
    expect(slots).toEqual(slots.map((batch) => [...batch].sort((a, b) => a - b)));
    // 39 steps behind the prompts, which take a few of their own.
    expect(batches.length).toBeLessThan(39 + 6);
    expect(batches.filter((batch) => batch.length === parallel).length).toBeGreaterThan(36);
  });

  test('a long prompt stops neither a reply nor a short prompt after it', async () => {
    const { engine, batches } = await start(endless, { slots: 3, batchSize: 64 });
    const reply = ask(engine, user('Go on.'), { ...FREE, maxTokens: 60 });
    while (batches.length < 5) await new Promise(setImmediate);
    const long = ask(engine, user('many words '.repeat(200)), { ...FREE, maxTokens: 1 });
    const short = ask(engine, user('Go on.'), { ...FREE, maxTokens: 1 });
    const order: string[] = [];
    await Promise.all([
      long.then(() => order.push('long')),
      short.then(() => order.push('short')),
      reply.then(() => order.push('reply')),
    ]);
    expect(order.indexOf('short')).toBeLessThan(order.indexOf('long'));
    const whileLong = batches.filter((batch) => batch.some(({ slot, tokens }) => slot === 1 && tokens > 1));
    expect(whileLong.length).toBeGreaterThan(10);
    expect(whileLong.every((batch) => batch.some(({ slot, tokens }) => slot === 0 && tokens === 1))).toBe(true);
    for (const batch of batches) expect(evaluated([batch])).toBeLessThanOrEqual(64);
  });

  test('the text of a token is emitted while the next is evaluated', async () => {
    const { engine, batches } = await start(endless);
    const { signal } = new AbortController();
    const evaluatedAt: number[] = [];
    const asked = engine.generate({ messages: user('Begin.') }, { ...OPTIONS, ...NO_THINKING }, signal);
    for await (const event of asked) if (event.type === 'text') evaluatedAt.push(batches.length);
    const prompt = batches.findIndex((batch) => batch[0]?.tokens === 1);
    // The first token's text comes when its evaluation has begun, which is the one behind the prompt's.
    expect(evaluatedAt[0]).toBeGreaterThan(prompt);
  });

  test('the same requests in the same order give the same replies with one slot', async () => {
    const runs = [];
    for (const _ of [1, 2]) {
      const { engine } = await start(random);
      const replies = [];
      for (const seed of [3, 4, 5]) replies.push(await ask(engine, user('Say something.'), { ...FREE, seed }));
      runs.push(replies);
    }
    expect(runs[0]).toEqual(runs[1]);
    expect(new Set(runs[0]?.map(({ reasoning }) => reasoning)).size).toBe(3);
  });
});

describe('leaving', () => {
  test('an aborted reply frees its slot for the next request', async () => {
    const { engine, batches } = await start(endless);
    const leaving = new AbortController();
    const events: GenerateEvent[] = [];
    for await (const event of engine.generate(
      { messages: user('Go on.') },
      { ...OPTIONS, ...FREE, maxTokens: undefined },
      leaving.signal,
    )) {
      events.push(event);
      if (events.length === 3) leaving.abort();
    }
    const atAbort = batches.length;
    expect(events.every(({ type }) => type === 'text')).toBe(true);
    expect((await ask(engine, user('Another?'), { ...FREE, maxTokens: 2 })).end?.finishReason).toBe('length');
    expect(engine.busy).toBe(0);
    // At most the batch under way, then the next request's prompt and its second token.
    expect(batches.length - atAbort).toBeLessThanOrEqual(4);
  });

  test('a long prompt is left within a batch', async () => {
    const { engine, batches } = await start(random, { batchSize: 64 });
    const leaving = new AbortController();
    const reply = ask(engine, user('many words '.repeat(600)), {}, leaving.signal);
    while (batches.length < 3) await new Promise(setImmediate);
    leaving.abort();
    expect((await reply).end).toBeUndefined();
    await ask(engine, user('Go on.'), { maxTokens: 1 });
    expect(batches.length).toBeLessThan(8);
  });

  test('a reader that stops reading, a request that waits, and one aborted before it starts leave no trace', async () => {
    const { engine } = await start(endless);
    const leaving = new AbortController();
    const waiting = ask(engine, user('Go on.'), FREE, leaving.signal);
    for await (const _ of engine.generate(
      { messages: user('Go on.') },
      { ...OPTIONS, ...FREE, maxTokens: undefined },
      new AbortController().signal,
    )) {
      leaving.abort();
      break;
    }
    await waiting;
    expect((await ask(engine, user('Go on.'), FREE, AbortSignal.abort())).end).toBeUndefined();
    expect((await ask(engine, user('Go on.'), { ...FREE, maxTokens: 3 })).end?.usage.completionTokens).toBe(3);
    expect(engine.busy).toBe(0);
  });

  test('closing ends work in progress', async () => {
    const { engine, batches } = await start(endless, { slots: 2 });
    const replies = Array.from({ length: 3 }, () => ask(engine, user('Go on.'), { ...FREE, maxTokens: undefined }));
    while (batches.length < 3) await new Promise(setImmediate);
    await engine.close();
    expect((await Promise.all(replies)).map(({ end }) => end)).toEqual([undefined, undefined, undefined]);
  });
});

describe('limits', () => {
  test('a prompt longer than the context is refused with both numbers, and the next one is served', async () => {
    const { engine, batches } = await start(random, { contextSize: 256 });
    await expect(ask(engine, user('many words '.repeat(300)))).rejects.toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringMatching(/\d+ tokens.* 256 tokens/),
    });
    expect(batches).toEqual([]);
    expect((await ask(engine, user('Go on.'))).end).toBeDefined();
  });

  test('a reply ends with the context, and nothing is shifted out', async () => {
    const { engine, batches } = await start(endless, { contextSize: 256 });
    const { end } = await ask(engine, user('Go on.'), { ...FREE, maxTokens: undefined });
    expect(end?.finishReason).toBe('length');
    expect((end?.usage.promptTokens ?? 0) + (end?.usage.completionTokens ?? 0)).toBe(256);
    expect(evaluated(batches)).toBe(255);
  });

  test('thinking ends at its budget and the answer follows', async () => {
    const { engine } = await start(endless);
    const { reasoning, content, end } = await ask(engine, user('Go on.'), { ...FREE, thinkingBudget: 10 });
    expect(end?.usage).toMatchObject({ reasoningTokens: 11, completionTokens: 40 });
    expect(reasoning).not.toBe('');
    expect(content).not.toBe('');
  });

  test.each([
    ['presence', { presencePenalty: 2 }],
    ['frequency', { frequencyPenalty: 2 }],
    ['repetition', { repetitionPenalty: 1.5 }],
  ])('a %s penalty makes replies less repetitive', async (_, penalty) => {
    const { engine } = await start(endless);
    const distinct = async (changed: Partial<GenerateOptions>): Promise<number> => {
      const { reasoning } = await ask(engine, user('Go on.'), { maxTokens: 60, ...changed });
      return new Set(reasoning.match(/\w+|\W/g)).size;
    };
    expect(await distinct(penalty)).toBeGreaterThan(await distinct({}));
  });

  test('presence and repetition penalties work together: each makes the other stricter', async () => {
    const { engine } = await start(endless);
    const distinct = async (changed: Partial<GenerateOptions>): Promise<number> => {
      const { reasoning } = await ask(engine, user('Go on.'), { maxTokens: 60, ...changed });
      return new Set(reasoning.match(/\w+|\W/g)).size;
    };
    const alone = await distinct({ repetitionPenalty: 1.05 });
    expect(await distinct({ repetitionPenalty: 1.05, presencePenalty: 2 })).toBeGreaterThan(alone);
    expect(await distinct({ repetitionPenalty: 1.05, frequencyPenalty: 2 })).toBeGreaterThan(alone);
  });
});
