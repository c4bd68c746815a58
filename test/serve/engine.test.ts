// The engine with tiny real models on the CPU: one thread, and every claim counted in tokens and batches, never in time.

import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/errors.js';
import { openEngine } from '../../src/serve/engine.js';
import {
  type Engine,
  EngineError,
  type EngineMessage,
  type EnginePrompt,
  type GenerateEvent,
  type GenerateOptions,
  type TokenScore,
} from '../../src/serve/engine-contract.js';
import { readModelFile } from '../../src/serve/gguf-file.js';
import type { EngineSettings } from '../../src/serve/load.js';
import { installationHint } from '../../src/serve/runtime.js';
import { needsTwoThreads } from '../../src/serve/threads.js';
import { keptModel, RANDOM_MODELS, scriptedModel } from '../../src/tiny-model/model.js';

type Batch = readonly { readonly slot: number; readonly tokens: number }[];
type Answer = { reasoning: string; content: string; end: Extract<GenerateEvent, { type: 'end' }> | undefined };

const SCRIPT = {
  thinking: 'The file exists.',
  content: '<predicted_observation>\nok: 3 files\n</predicted_observation>',
};
const OPTIONS: GenerateOptions = {
  maxTokens: 40,
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  repetitionPenalty: 1,
  stop: [],
  responseFormat: { type: 'text' },
  thinkingBudget: Number.POSITIVE_INFINITY,
  templateArguments: {},
};
const NO_THINKING = { templateArguments: { enable_thinking: false } };
/** Above any greedy or seeded pick of a random model that never ends by itself. */
const FREE: Partial<GenerateOptions> = { temperature: 1, topK: 20 };

let folder: string;
let scripted: string;
let random: string;
let endless: string;
const opened: Engine[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'engine-'));
  scripted = await keptModel(scriptedModel(SCRIPT), folder);
  random = await keptModel(RANDOM_MODELS.tiny, folder);
  endless = await keptModel({ ...RANDOM_MODELS.tiny, name: 'endless', replyTokens: Number.POSITIVE_INFINITY }, folder);
});
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** An engine and the batches it evaluates, as they come. */
async function start(
  modelPath: string,
  changed: Partial<EngineSettings> = {},
): Promise<{ engine: Engine; batches: Batch[] }> {
  const batches: Batch[] = [];
  const engine = await openEngine({
    file: await readModelFile(modelPath),
    name: 'tiny',
    gpu: 'off',
    contextSize: 4096,
    parallel: 1,
    kvCache: 'f16',
    flashAttention: true,
    threads: 1,
    checkpointBytes: 64 * 2 ** 20,
    onBatch: (batch) => batches.push(batch),
    ...changed,
  });
  opened.push(engine);
  return { engine, batches };
}

function user(content: string): EngineMessage[] {
  return [{ role: 'user', content }];
}

async function ask(
  engine: Engine,
  messages: readonly EngineMessage[],
  changed: Partial<GenerateOptions> = {},
  signal = new AbortController().signal,
): Promise<Answer> {
  const answer: Answer = { reasoning: '', content: '', end: undefined };
  for await (const event of engine.generate({ messages }, { ...OPTIONS, ...changed }, signal)) {
    if (event.type === 'text') answer[event.channel] += event.text;
    if (event.type === 'end') answer.end = event;
  }
  return answer;
}

function usageOf(end: Answer['end']): NonNullable<Answer['end']>['usage'] {
  if (end === undefined) throw new Error('the reply did not end');
  return end.usage;
}

function evaluated(batches: readonly Batch[]): number {
  return batches.flat().reduce((sum, { tokens }) => sum + tokens, 0);
}

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

  test('with thinking off gives content alone', async () => {
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
      const { engine } = await start(scripted, { parallel });
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
    const { engine } = await start(scripted, { parallel: 2, kvCache: 'q8_0' });
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
    const { engine, batches } = await start(endless, { parallel, contextSize: 1024 });
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

  test('a long prompt stops neither a reply nor a short prompt behind it', async () => {
    const { engine, batches } = await start(endless, { parallel: 3, batchSize: 64 });
    const reply = ask(engine, user('Go on.'), { ...FREE, maxTokens: 400 });
    while (batches.length < 5) await new Promise(setImmediate);
    const long = ask(engine, user('many words '.repeat(400)), { ...FREE, maxTokens: 1 });
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

  test('closing ends what is under way', async () => {
    const { engine, batches } = await start(endless, { parallel: 2 });
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
      refusal: { reason: 'context-overflow', promptTokens: expect.any(Number), contextSize: 256 },
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

describe('constrained replies of a random model', () => {
  test('patterns and open bounds hold what they say', async () => {
    const { engine } = await start(random);
    const patterns = ['^[A-Z]{2,4}-\\d{1,5}$', '^(?:yes|no|"maybe\\\\)$', '^x{1,3}?y$', '^[^a-z]{0,9}$|^\\w{3}$'];
    const properties = {
      ...Object.fromEntries(patterns.map((pattern, index) => [`p${index}`, { type: 'string', pattern }])),
      port: { type: 'integer', minimum: 1024, exclusiveMaximum: 65_536 },
      above: { type: 'integer', exclusiveMinimum: 7 },
      share: { type: 'number', minimum: 0, maximum: 1 },
    };
    const responseFormat = { type: 'json_schema' as const, schema: { type: 'object', properties } };
    for (const seed of [1, 2, 3]) {
      const { content } = await ask(engine, user('Go on.'), {
        ...FREE,
        ...NO_THINKING,
        seed,
        maxTokens: 2000,
        responseFormat,
      });
      const value = JSON.parse(content);
      for (const [index, pattern] of patterns.entries()) expect(value[`p${index}`]).toMatch(new RegExp(pattern, 'u'));
      expect(value.port >= 1024 && value.port < 65_536 && Number.isInteger(value.port)).toBe(true);
      expect(value.above > 7 && Number.isInteger(value.above)).toBe(true);
      expect(value.share >= 0 && value.share <= 1).toBe(true);
    }
  });

  const schema = {
    type: 'object',
    properties: {
      rating: { type: 'integer', minimum: 1, maximum: 5 },
      strengths: { type: 'array', items: { type: 'string', maxLength: 12 }, maxItems: 2 },
      done: { type: 'boolean' },
    },
    required: ['rating', 'strengths', 'done'],
    additionalProperties: false,
  };

  test.each([
    ['thinking', { thinkingBudget: 5 }],
    ['no thinking', NO_THINKING],
  ])('are JSON of the schema with %s', async (_, changed) => {
    const { engine } = await start(endless, { parallel: 2 });
    const answers = await Promise.all(
      [1, 2, 3, 4].map((seed) =>
        ask(engine, user('Judge.'), {
          temperature: 1,
          maxTokens: 600,
          seed,
          responseFormat: { type: 'json_schema', schema },
          ...changed,
        }),
      ),
    );
    for (const { content, end } of answers) {
      expect(end?.finishReason).toBe('stop');
      const verdict = JSON.parse(content);
      expect(Object.keys(verdict)).toEqual(['rating', 'strengths', 'done']);
      expect([1, 2, 3, 4, 5]).toContain(verdict.rating);
      expect(verdict.strengths.length).toBeLessThanOrEqual(2);
      expect(content).toBe(content.trim());
    }
  });

  test('have whole numbers where integers are asked for', async () => {
    const { engine } = await start(random, { parallel: 2 });
    const integers = { type: 'array', items: { type: 'integer' }, minItems: 20, maxItems: 20 };
    const answers = await Promise.all(
      [1, 2, 3, 4].map((seed) =>
        ask(engine, user('Count.'), {
          temperature: 1,
          maxTokens: 2000,
          seed,
          responseFormat: { type: 'json_schema', schema: integers },
          ...NO_THINKING,
        }),
      ),
    );
    const numbers: number[] = answers.flatMap(({ content }) => JSON.parse(content));
    expect(numbers).toHaveLength(80);
    expect(numbers.filter((number) => !Number.isInteger(number))).toEqual([]);
  });

  test('are JSON objects without a schema', async () => {
    const { engine } = await start(random);
    const { content, end } = await ask(engine, user('Judge.'), {
      temperature: 1,
      maxTokens: 2000,
      responseFormat: { type: 'json_object' },
      ...NO_THINKING,
    });
    expect(end?.finishReason).toBe('stop');
    expect(typeof JSON.parse(content)).toBe('object');
  });

  test('a schema that cannot be kept is refused by name', async () => {
    const { engine } = await start(random);
    const responseFormat = { type: 'json_schema', schema: { type: 'string', contentEncoding: 'base64' } } as const;
    await expect(ask(engine, user('Judge.'), { responseFormat })).rejects.toMatchObject({
      refusal: {
        reason: 'invalid-request',
        param: 'response_format',
        message: expect.stringContaining('"contentEncoding"'),
      },
    });
  });
});

describe('along a recorded trajectory', () => {
  /** The prompts of its turns as infer sends them: only the last message holds the request to predict. */
  async function turns(withRequest: boolean): Promise<EngineMessage[][]> {
    const lines = (await readFile('fixtures/recorded/terminal_test.jsonl', 'utf8')).trim().split('\n');
    const row = lines.map((line) => JSON.parse(line)).find(({ turn_idx }) => turn_idx >= 5);
    const last: string = row.prompt.at(-1);
    const request = last.lastIndexOf('\n\nPlease analyze the input above');
    expect(request).toBeGreaterThan(0);
    const bare: string[] = [...row.prompt.slice(0, -1), last.slice(0, request)];
    return bare.map((prompt, turn) => [
      { role: 'system', content: row.system_str },
      ...bare.slice(0, turn).flatMap((earlier, index): EngineMessage[] => [
        { role: 'user', content: earlier },
        { role: 'assistant', content: row.response[index] },
      ]),
      { role: 'user', content: prompt + (withRequest ? last.slice(request) : '') },
    ]);
  }

  test.each([
    ['with the request to predict', true, 0],
    ['with the request to predict, sampled', true, 1],
    ['without it', false, 0],
    ['without it, sampled', false, 1],
  ])('replies are the same with and without reuse, %s', async (_, withRequest, temperature) => {
    const reusing = await start(random);
    const fresh = await start(random, { noReuse: true });
    const replies = new Set<string>();
    for (const [turn, messages] of (await turns(withRequest)).entries()) {
      reusing.batches.length = 0;
      fresh.batches.length = 0;
      const options = { temperature, seed: 7 + turn };
      const reused = await ask(reusing.engine, messages, options);
      const whole = await ask(fresh.engine, messages, options);
      expect(reused.end?.usage.cachedTokens).toBeGreaterThan(turn === 0 ? -1 : 0);
      expect(whole.end?.usage.cachedTokens).toBe(0);
      expect({ ...reused, end: undefined }).toEqual({ ...whole, end: undefined });
      // Not luck: what both evaluate, they evaluate in the same batches, on which floating-point sums depend.
      expect(reusing.batches).toEqual(fresh.batches.slice(-reusing.batches.length));
      expect(evaluated(fresh.batches) - evaluated(reusing.batches)).toBe(usageOf(reused.end).cachedTokens);
      replies.add(reused.reasoning);
    }
    expect(replies.size).toBeGreaterThan(3);
  });

  test.each([1, 3])('a turn costs at most 1.1 times its own new tokens with %d slots', async (parallel) => {
    const { engine, batches } = await start(random, { parallel });
    const other = await start(random);
    const bare = await turns(false);
    let before = 0;
    for (const [turn, messages] of (await turns(true)).entries()) {
      batches.length = 0;
      const { promptTokens, cachedTokens } = usageOf((await ask(engine, messages, { maxTokens: 1 })).end);
      expect(evaluated(batches)).toBe(promptTokens - cachedTokens);
      if (turn > 0) expect(evaluated(batches)).toBeLessThanOrEqual(1.1 * (promptTokens - before));
      // What the next turn's prompt shares with this one, and a few tokens behind it.
      before = usageOf((await ask(other.engine, bare[turn] as EngineMessage[], { maxTokens: 1 })).end).promptTokens;
    }
  });

  test('trajectories that take turns keep their slots', async () => {
    const { engine } = await start(random, { parallel: 2 });
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

  test('a repeated request evaluates its end alone', async () => {
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

describe('files that cannot be served', () => {
  const failure = async (path: string, changed: Partial<EngineSettings> = {}): Promise<UserError> => {
    const error = await start(path, changed).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).message).not.toContain('\n');
    return error as UserError;
  };

  test('a missing file', async () => {
    expect(await failure(join(folder, 'none.gguf'))).toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringContaining('no such file'),
    });
  });

  test.each([
    ['text', 'not a model at all'],
    ['nothing', ''],
  ])('a file of %s', async (_, text) => {
    const path = join(folder, 'text.gguf');
    await writeFile(path, text);
    expect(await failure(path)).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('is not a GGUF file'),
    });
  });

  test.each([0.001, 0.02, 0.5, 0.99])('a file cut off after %d of its length', async (share) => {
    const bytes = await readFile(scripted);
    const path = join(folder, 'cut.gguf');
    await writeFile(path, bytes.subarray(0, Math.ceil(bytes.length * share)));
    const { message, exitCode } = await failure(path);
    expect(exitCode).toBe(EXIT.badData);
    expect(message).toMatch(/cut off or damaged .*download it again/);
  });

  test('an unknown architecture', async () => {
    const path = join(folder, 'unknown.gguf');
    const bytes = await readFile(scripted);
    await writeFile(path, Buffer.from(bytes.toString('latin1').replaceAll('qwen35moe', 'qwen99moe'), 'latin1'));
    expect(await failure(path)).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('"qwen99moe"'),
    });
  });

  test('too little memory', async () => {
    const wide = { ...RANDOM_MODELS.tiny.shape, heads: 8, keyValueHeads: 8, headWidth: 256 };
    const path = await keptModel({ ...RANDOM_MODELS.tiny, name: 'wide', shape: wide }, folder);
    expect(await failure(path, { contextSize: 262_144, parallel: 200 })).toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(/too little memory.*--context/),
    });
  });

  test('a context longer than the model knows', async () => {
    expect(await failure(scripted, { contextSize: 2 ** 30 })).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining('262144'),
    });
  });

  test('a GPU whose binary is not there', async () => {
    const other = process.platform === 'darwin' ? 'cuda' : 'metal';
    expect(await failure(scripted, { gpu: other })).toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(new RegExp(`${other}.*npm i`)),
    });
  });
});

test.each([
  ['linux', 'x64', ['linux-x64@', 'linux-x64-cuda@', 'linux-x64-vulkan@']],
  ['linux', 'arm64', ['linux-arm64@']],
  ['darwin', 'arm64', ['mac-arm64-metal@']],
  ['darwin', 'x64', ['mac-x64@']],
  ['win32', 'x64', ['win-x64@', 'win-x64-cuda@', 'win-x64-vulkan@']],
])('on %s %s the way to add the runtime names one binary package for each kind', (platform, arch, packages) => {
  const hint = installationHint(platform, arch);
  expect(hint.match(/(?<=@node-llama-cpp\/)[\w-]+@/g)).toEqual(packages);
});

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
    expect(Buffer.from(prompts.flatMap(({ bytes }) => bytes)).toString()).toBe(TEXT.slice(1));
  });

  test('greedy decoding says the most likely token each time, and scoring its reply as a prompt gives the same', async () => {
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

  test('a reply is the same with and without scores, whatever it is sampled with; thinking and content have their own', async () => {
    const { engine } = await start(random);
    const changed = { ...FREE, temperature: 0.7, topP: 0.9, presencePenalty: 1, seed: 11, maxTokens: 30 };
    const plain = await ask(engine, user('Say something.'), changed);
    const { texts, end } = await scored(
      engine,
      { messages: user('Say something.') },
      { ...changed, scores: { reply: true, top: 0 } },
    );
    expect(texts.map(({ text }) => text).join('')).toBe(plain.reasoning + plain.content);
    expect(end?.usage).toMatchObject({ completionTokens: plain.end?.usage.completionTokens });
    const { engine: told } = await start(scripted);
    const reply = await scored(
      told,
      { messages: user('What now?') },
      { maxTokens: 200, scores: { reply: true, top: 0 } },
    );
    expect(reply.texts.map(({ channel, text }) => [channel, text])).toEqual([
      ['reasoning', SCRIPT.thinking],
      ['content', SCRIPT.content],
    ]);
    const spoken = (index: number) => reply.texts[index]?.scores.map(({ text }) => text).join('');
    expect(spoken(0)).toBe(`${SCRIPT.thinking}\n</think>\n\n`);
    expect(spoken(1)).toBe(SCRIPT.content);
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

  test('numbers that are no tokens are refused', async () => {
    const { engine } = await start(random);
    await expect(scored(engine, { tokens: [1, 99_999] }, {})).rejects.toMatchObject({ refusal: { param: 'prompt' } });
    expect(() => engine.detokenize([99_999])).toThrow(EngineError);
  });
});

describe('prompts', () => {
  test('one far too long is refused by its first piece, without reading the rest', async () => {
    const { engine } = await start(random, { contextSize: 1024 });
    // Of 600,000 tokens; between the pieces others have their turn.
    const refusal = { reason: 'context-overflow', more: true, promptTokens: expect.any(Number), contextSize: 1024 };
    const refused = await ask(engine, user('many words '.repeat(200_000))).catch((error: EngineError) => error);
    expect(refused).toMatchObject({ refusal });
    expect((refused as { refusal: { promptTokens: number } }).refusal.promptTokens).toBeLessThan(50_000);
  });

  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
  const PLAIN = { templateArguments: {}, addGenerationPrompt: false };

  test('tools, calls and their answers go through the template', async () => {
    const { engine } = await start(random);
    const call = { id: 'c', type: 'function' as const, function: { name: 'look', arguments: { at: 'x', n: 5 } } };
    const messages: EngineMessage[] = [
      ...user('Look.'),
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: 'a door', tool_call_id: 'c' },
    ];
    const text = engine.detokenize(await engine.tokenize({ messages, tools }, PLAIN));
    expect(text).toContain('"name": "look"');
    expect(text).toContain(
      '<function=look>\n<parameter=at>\nx\n</parameter>\n<parameter=n>\n5\n</parameter>\n</function>',
    );
    expect(text).toContain('<|im_start|>user\n<tool_response>\na door\n</tool_response><|im_end|>');
  });
});
