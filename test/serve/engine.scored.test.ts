// Probabilities of prompts and replies, under the model of a file.

import { describe, expect, test } from 'vitest';
import { ApiError } from '../../src/serve/http/wire.js';
import type { Engine, EnginePrompt, GenerateOptions, TokenScore } from '../../src/serve/request.js';
import { type Answer, endless, evaluated, FREE, OPTIONS, random, start } from '../support/engine.js';

describe('scores', () => {
  const TEXT = 'The file exists. héllo';

  async function scored(engine: Engine, prompt: EnginePrompt, changed: Partial<GenerateOptions>) {
    const prompts: TokenScore[] = [];
    const texts: { channel: string; text: string; scores: readonly TokenScore[] }[] = [];
    let end: Answer['end'];
    for await (const event of engine.generate(prompt, { ...OPTIONS, ...changed }, new AbortController().signal)) {
      if (event.type === 'prompt') prompts.push(...event.scores);
      if (event.type === 'text') texts.push({ ...event, scores: event.scores ?? [] });
      if (event.type === 'end') end = event;
    }
    return { prompts, texts, end };
  }

  test('at each position the probabilities of the whole vocabulary sum to 1', async () => {
    const { engine } = await start(random);
    const scores = { promptFrom: 1, reply: false, top: 10_000 };
    const { prompts, end } = await scored(engine, { text: TEXT }, { maxTokens: 0, scores });
    const tokens = await engine.tokenize({ text: TEXT }, { templateArguments: {}, addGenerationPrompt: true });
    expect(prompts.map(({ token }) => token)).toEqual(tokens.slice(1));
    for (const { token, logprob, top } of prompts) {
      expect(top.reduce((sum, likely) => sum + Math.exp(likely.logprob), 0)).toBeCloseTo(1, 9);
      expect(top.find((likely) => likely.token === token)?.logprob).toBe(logprob);
      expect(top.map((likely) => likely.logprob)).toEqual(top.map((likely) => likely.logprob).sort((a, b) => b - a));
    }
    expect(end).toMatchObject({ finishReason: 'length', usage: { promptTokens: tokens.length, completionTokens: 0 } });
    expect(prompts.map(({ text }) => text).join('')).toMatch(/^he file exists\. h.*llo$/);
  });

  test('greedy decoding gives the most likely token each time, and scoring its reply as a prompt agrees', async () => {
    const { engine } = await start(endless);
    const prompt = { text: 'Go on.' };
    const said = await scored(engine, prompt, { maxTokens: 12, scores: { reply: true, top: 3 } });
    const reply = said.texts.flatMap(({ scores }) => scores);
    expect(reply).toHaveLength(12);
    expect(reply.map(({ text }) => text).join('')).toBe(said.texts.map(({ text }) => text).join(''));
    for (const { token, logprob, top } of reply) expect(top[0]).toMatchObject({ token, logprob });
    const before = await engine.tokenize(prompt, { templateArguments: {}, addGenerationPrompt: true });
    const tokens = [...before, ...reply.map(({ token }) => token)];
    const again = await scored(
      engine,
      { tokens },
      { maxTokens: 0, scores: { promptFrom: before.length, reply: false, top: 3 } },
    );
    for (const [index, { token, logprob }] of again.prompts.entries()) {
      expect(token).toBe(reply[index]?.token);
      expect(logprob).toBeCloseTo(reply[index]?.logprob as number, 4);
    }
  });

  test('a reply is the same with and without scores, for any sampling', async () => {
    const { engine } = await start(random);
    const changed = { ...FREE, temperature: 0.7, topP: 0.9, presencePenalty: 1, seed: 11, maxTokens: 30 };
    const plain = await scored(engine, { text: 'Say something.' }, changed);
    const { texts, end } = await scored(
      engine,
      { text: 'Say something.' },
      { ...changed, scores: { reply: true, top: 0 } },
    );
    expect(texts.map(({ text }) => text).join('')).toBe(plain.texts.map(({ text }) => text).join(''));
    expect(end?.usage).toMatchObject({ completionTokens: plain.end?.usage.completionTokens });
  });

  test('only the positions asked for are evaluated alone; a prompt that was read before is not read again', async () => {
    const { engine, batches } = await start(random);
    const text = 'many words '.repeat(60);
    const tokens = await engine.tokenize({ text }, { templateArguments: {}, addGenerationPrompt: true });
    const { prompts } = await scored(
      engine,
      { tokens },
      { maxTokens: 0, scores: { promptFrom: tokens.length - 4, reply: false, top: 0 } },
    );
    expect(prompts).toHaveLength(4);
    expect(evaluated(batches)).toBe(tokens.length - 1);
    expect(batches.length).toBeLessThan(8);
  });

  test('a prompt of one token has nothing to score, and leaving frees the slot', async () => {
    const { engine, batches } = await start(random);
    const scores = { promptFrom: 1, reply: false, top: 1 };
    const one = await scored(engine, { tokens: [5] }, { maxTokens: 0, scores });
    expect([one.prompts, one.end?.usage.promptTokens]).toEqual([[], 1]);
    const leaving = new AbortController();
    const options = { ...OPTIONS, maxTokens: 0, scores };
    const events = engine
      .generate({ text: 'many words '.repeat(200) }, options, leaving.signal)
      [Symbol.asyncIterator]();
    const first = events.next();
    while (batches.length < 5) await new Promise(setImmediate);
    leaving.abort();
    expect((await first).done).toBe(true);
    expect(engine.busy).toBe(0);
  });

  test('numbers that are not tokens are refused', async () => {
    const { engine } = await start(random);
    await expect(scored(engine, { tokens: [1, 99_999] }, {})).rejects.toMatchObject({ param: 'prompt' });
    expect(() => engine.detokenize([99_999])).toThrow(ApiError);
  });
});
