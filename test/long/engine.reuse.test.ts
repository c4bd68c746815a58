// What the engine keeps from turn to turn along a recorded trajectory.

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { EngineMessage } from '../../src/serve/request.js';
import { ask, evaluated, random, start, usageOf } from '../support/engine.js';

describe('along a recorded trajectory', () => {
  /**
   * The prompts of its turns as infer sends them, without most of the system message; only the last message contains the request to
   * predict.
   */
  async function turns(withRequest: boolean): Promise<EngineMessage[][]> {
    const lines = (await readFile('fixtures/recorded/terminal_test.jsonl', 'utf8')).trim().split('\n');
    const row = lines.map((line) => JSON.parse(line)).find(({ turn_idx }) => turn_idx >= 5);
    const last: string = row.prompt.at(-1);
    const request = last.lastIndexOf('\n\nPlease analyze the input above');
    expect(request).toBeGreaterThan(0);
    const bare: string[] = [...row.prompt.slice(0, -1), last.slice(0, request)];
    return bare.map((prompt, turn) => [
      { role: 'system', content: row.system_str.slice(0, 400) },
      ...bare.slice(0, turn).flatMap((earlier, index): EngineMessage[] => [
        { role: 'user', content: earlier },
        { role: 'assistant', content: row.response[index] },
      ]),
      { role: 'user', content: prompt + (withRequest ? last.slice(request) : '') },
    ]);
  }

  test.each([
    ['with the request to predict', true],
    ['without it', false],
  ])('greedy and sampled replies in turn are the same with and without reuse, %s', async (_, withRequest) => {
    const reusing = await start(random);
    const fresh = await start(random, { checkpointBytes: 0 });
    const replies = new Set<string>();
    for (const [turn, messages] of (await turns(withRequest)).entries()) {
      reusing.batches.length = 0;
      fresh.batches.length = 0;
      const options = { temperature: turn % 2, seed: 7 + turn };
      const reused = await ask(reusing.engine, messages, options);
      const whole = await ask(fresh.engine, messages, options);
      expect(reused.end?.usage.cachedTokens).toBeGreaterThan(turn === 0 ? -1 : 0);
      expect(whole.end?.usage.cachedTokens).toBe(0);
      expect({ ...reused, end: undefined }).toEqual({ ...whole, end: undefined });
      // This is no luck: both evaluate the same tokens in the same batches, on which floating-point sums depend.
      expect(reusing.batches).toEqual(fresh.batches.slice(-reusing.batches.length));
      expect(evaluated(fresh.batches) - evaluated(reusing.batches)).toBe(usageOf(reused.end).cachedTokens);
      replies.add(reused.reasoning);
    }
    expect(replies.size).toBeGreaterThan(3);
  });

  test.each([1, 3])('a turn costs at most 1.1 times its own new tokens with %d slots', async (parallel) => {
    const { engine, batches } = await start(random, { slots: parallel });
    const other = await start(random);
    const bare = await turns(false);
    let before = 0;
    for (const [turn, messages] of (await turns(true)).entries()) {
      batches.length = 0;
      const { promptTokens, cachedTokens } = usageOf((await ask(engine, messages, { maxTokens: 1 })).end);
      expect(evaluated(batches)).toBe(promptTokens - cachedTokens);
      if (turn > 0) expect(evaluated(batches)).toBeLessThanOrEqual(1.1 * (promptTokens - before));
      // The part of the next turn's prompt that this one shares, and a few tokens after it.
      before = usageOf((await ask(other.engine, bare[turn] as EngineMessage[], { maxTokens: 1 })).end).promptTokens;
    }
  });

  test('trajectories that take turns keep their slots', async () => {
    const { engine } = await start(random, { slots: 2 });
    const one = await turns(true);
    const other = one.map((messages) =>
      messages.map(({ role, content }) => ({ role, content: role === 'system' ? `Other. ${content}` : content })),
    );
    for (const [turn, messages] of one.entries()) {
      for (const prompt of [messages, other[turn] as EngineMessage[]]) {
        const { end } = await ask(engine, prompt, { maxTokens: 1 });
        expect(end?.usage.cachedTokens).toBeGreaterThan(turn === 0 ? -1 : (end?.usage.promptTokens ?? 0) / 3);
      }
    }
  });

  test('turns sent in parallel wait for each other, even if a slot is free', async () => {
    const later = (await turns(true)).slice(2);
    const apart = await start(random, { slots: 2 });
    for (const messages of later) await ask(apart.engine, messages, { maxTokens: 8 });
    const together = await start(random, { slots: 2 });
    const answers = await Promise.all(later.map((messages) => ask(together.engine, messages, { maxTokens: 8 })));
    expect(evaluated(together.batches)).toBe(evaluated(apart.batches));
    expect(answers.map(({ end }) => usageOf(end).cachedTokens > 0)).toEqual(later.map((_, at) => at > 0));
  });

  test('a repeated request evaluates only its end', async () => {
    const { engine } = await start(random);
    const messages = (await turns(true))[3] as EngineMessage[];
    const first = await ask(engine, messages, { maxTokens: 4 });
    const again = await ask(engine, messages, { maxTokens: 4 });
    expect(again.reasoning).toBe(first.reasoning);
    const { promptTokens, cachedTokens } = usageOf(again.end);
    expect(promptTokens - cachedTokens).toBeLessThan(300);
  });

  test.each([
    ['no memory for checkpoints', 0, 0],
    ['memory for few', 400_000, 1],
  ])('with %s replies are the same', async (_, checkpointBytes, least) => {
    const tight = await start(random, { checkpointBytes });
    const ample = await start(random);
    let reused = 0;
    for (const messages of await turns(true)) {
      const [some, all] = [await ask(tight.engine, messages), await ask(ample.engine, messages)];
      expect(some.reasoning).toBe(all.reasoning);
      reused += some.end?.usage.cachedTokens ?? 0;
    }
    expect(Math.sign(reused)).toBe(least);
  });
});
