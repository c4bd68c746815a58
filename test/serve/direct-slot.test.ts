// Slots on llama.cpp's own calls beside slots on node-llama-cpp's queue: the same replies from the same evaluations.

import { LlamaContextSequence } from 'node-llama-cpp';
import { expect, test, vi } from 'vitest';
import type { Engine, GenerateEvent, GenerateOptions } from '../../src/serve/engine-contract.js';
import { needsTwoThreads } from '../../src/serve/threads.js';
import { type Batch, endless, FREE, NO_THINKING, OPTIONS, random, start, user } from '../support/engine.js';

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', maxLength: 9 }, count: { type: 'integer', minimum: 0, maximum: 99 } },
  required: ['name', 'count'],
};
const HELD: Partial<GenerateOptions> = { responseFormat: { type: 'json_schema', schema: SCHEMA }, maxTokens: 60 };
const ASKED: readonly (readonly [string, Partial<GenerateOptions>])[] = [
  ['sampled', { ...FREE, seed: 5 }],
  ['greedy', NO_THINKING],
  ['penalised', { ...FREE, presencePenalty: 0.9, thinkingBudget: 9 }],
  ['penalised in two ways', { ...FREE, repetitionPenalty: 1.2, frequencyPenalty: 0.4, thinkingBudget: 7 }],
  ['stopped', { ...FREE, ...NO_THINKING, stop: ['e', ' the'] }],
  ['held by a schema', { ...FREE, ...HELD, ...NO_THINKING }],
  ['held by a schema behind thinking that is cut off', { ...FREE, ...HELD, thinkingBudget: 5, presencePenalty: 0.5 }],
  ['scored', { ...FREE, maxTokens: 9, scores: { reply: true, top: 2 } }],
];

async function eventsOf(engine: Engine, text: string, changed: Partial<GenerateOptions>): Promise<GenerateEvent[]> {
  const events: GenerateEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of engine.generate({ messages: user(text) }, { ...OPTIONS, ...changed }, signal)) {
    events.push(event);
  }
  return events;
}

/** What becomes of these requests, sent at once. */
async function serve(
  model: string,
  parallel: number,
  byLibrary: boolean,
  requests = ASKED,
): Promise<[GenerateEvent[][], Batch[]]> {
  const { engine, batches } = await start(model, { parallel, byLibrary, contextSize: 256 });
  const asked = requests.map(([name, changed]) => eventsOf(engine, `Something ${name}, please.`, changed));
  return [await Promise.all(asked), batches];
}

test('requests sent at once have the same events, tokens and evaluations as by the library', async () => {
  for (const model of [random, endless]) {
    const [direct, library] = [await serve(model, 1, false), await serve(model, 1, true)];
    expect(direct).toEqual(library);
    expect(direct[0].every((events) => events.at(-1)?.type === 'end')).toBe(true);
  }
});

// Where one thread computes batches wrongly, the claim cannot be made with one.
test.skipIf(needsTwoThreads(3))('with several slots they have the same events', async () => {
  // What is scored is sent again when its text has been read, and which requests share its batches moves its last digits.
  const unscored = ASKED.filter(([, { scores }]) => scores === undefined);
  for (const model of [random, endless]) {
    const [[direct], [library]] = [await serve(model, 3, false, unscored), await serve(model, 3, true, unscored)];
    expect(direct).toEqual(library);
    expect(direct.every((events) => events.at(-1)?.type === 'end')).toBe(true);
  }
});

test('the text of a token is told while the next is evaluated', async () => {
  const { engine, batches } = await start(endless);
  const { signal } = new AbortController();
  const evaluatedAt: number[] = [];
  const asked = engine.generate({ messages: user('Begin.') }, { ...OPTIONS, ...NO_THINKING }, signal);
  for await (const event of asked) if (event.type === 'text') evaluatedAt.push(batches.length);
  const prompt = batches.findIndex((batch) => batch[0]?.tokens === 1);
  // The first token's text comes when its evaluation has begun, which is the one behind the prompt's.
  expect(evaluatedAt[0]).toBeGreaterThan(prompt);
});

test('a release whose sequences read other fields is evaluated through its queue, says so, and replies alike', async () => {
  const tried = await eventsOf((await start(endless)).engine, 'Begin.', FREE);
  const other = vi.spyOn(LlamaContextSequence.prototype, 'contextTokens', 'get').mockReturnValue([]);
  try {
    const notes: string[] = [];
    const { engine } = await start(endless, { onNote: (text) => notes.push(text) });
    expect(notes).toEqual([expect.stringContaining('through its own queue, which is slower')]);
    expect(await eventsOf(engine, 'Begin.', FREE)).toEqual(tried);
  } finally {
    other.mockRestore();
  }
});
