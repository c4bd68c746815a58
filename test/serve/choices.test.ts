// Replies with several choices, tool calls or probabilities, and text completions, over a scripted engine.

import { once } from 'node:events';
import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { GenerateEvent, TokenScore } from '../../src/serve/engine-contract.js';
import type { RunningServer } from '../../src/serve/listen.js';
import {
  clientOf,
  content,
  END,
  ENDLESS,
  errorOf,
  HELLO,
  post,
  REPLY,
  type Script,
  scripted,
  serve,
} from '../support/scripted-server.js';

/** A token of a code point, half as likely as certain, before another. */
function scoreOf(text: string, top = 1): TokenScore {
  const token = { token: text.codePointAt(0) as number, text, bytes: [...Buffer.from(text)], logprob: Math.log(0.5) };
  const other = { token: 33, text: '!', bytes: [33], logprob: Math.log(0.25) };
  return { ...token, top: [token, other].slice(0, top) };
}

/** Scores what it is asked to score of prompt and reply, a code point a token. */
const SCORED: Script = async function* ({ prompt, options }) {
  const { promptFrom, reply = false, top = 0 } = options.scores ?? {};
  if (promptFrom !== undefined && 'tokens' in prompt) {
    const texts = prompt.tokens.slice(promptFrom).map((token) => String.fromCodePoint(token));
    yield { type: 'prompt', scores: texts.map((text) => scoreOf(text, top)) };
  }
  for (const text of options.maxTokens === 0 ? [] : ['é', 'x']) {
    yield { ...content(text), ...(reply && { scores: [scoreOf(text, top)] }) } as GenerateEvent;
  }
  yield END;
};

/** Says its seed. */
const SEED: Script = async function* ({ options }) {
  yield content(`seed ${options.seed}`);
  yield END;
};

async function chunksOf(server: RunningServer, body: object, path?: string) {
  const text = await (await post(server, { ...body, stream: true }, {}, path)).text();
  const data = text.split('\n\n').flatMap((event) => (event.startsWith('data: {') ? [event.slice(6)] : []));
  // biome-ignore lint/suspicious/noExplicitAny: chunks of any shape are looked into
  return data.map((line): any => JSON.parse(line));
}

describe('several choices', () => {
  test('have an index and a seed each; the prompt counts once', async () => {
    const server = await serve(scripted(SEED));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, n: 3, seed: 7 });
    expect(reply.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'seed 7'],
      [1, 'seed 8'],
      [2, 'seed 9'],
    ]);
    expect(reply.usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 21, total_tokens: 41 });
  });

  test('are streamed side by side, each from its role to its end', async () => {
    const server = await serve(scripted(REPLY));
    const chunks = await chunksOf(server, { messages: HELLO, n: 3, stream_options: { include_usage: true } });
    for (const index of [0, 1, 2]) {
      const own = chunks.flatMap(({ choices }) =>
        choices.filter((choice: { index: number }) => choice.index === index),
      );
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('Hi there');
      expect([own[0].delta.role, own.at(-1).finish_reason]).toEqual(['assistant', 'stop']);
    }
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 21 } });
  });

  test.each([false, true])('free all their slots when the client hangs up (stream: %s)', async (stream) => {
    const engine = scripted(ENDLESS, { slots: 2 });
    const server = await serve(engine);
    const hangUp = new AbortController();
    const body = { messages: HELLO, n: 4, stream };
    const asked = post(server, body, { signal: hangUp.signal }).catch(() => undefined);
    while (engine.calls.length < 4) await once(engine.life, 'called');
    hangUp.abort();
    while (engine.busy > 0) await once(engine.life, 'ended');
    await asked;
    let health = { busy: 1, waiting: 1 };
    while (health.busy + health.waiting > 0) {
      health = (await (await fetch(`${server.url}/health`)).json()) as typeof health;
    }
    expect((await post(await serve(scripted(REPLY)), { messages: HELLO, n: 2 })).status).toBe(200);
  });

  test('end together where one of them fails', async () => {
    const engine = scripted(
      async function* (call) {
        if (call.options.seed === 6) throw new Error('broken');
        yield* ENDLESS(call);
      },
      { slots: 2 },
    );
    const server = await serve(engine);
    expect((await post(server, { messages: HELLO, n: 2, seed: 5 })).status).toBe(500);
    while (engine.busy > 0) await once(engine.life, 'ended');
  });

  test('more than slots and queue together are refused for good, more than are free now for the moment', async () => {
    const engine = scripted(ENDLESS, { slots: 2 });
    const server = await serve(engine, { queueLimit: 2 });
    const never = await post(server, { messages: HELLO, n: 5 });
    expect([never.status, (await errorOf(never)).param]).toEqual([400, 'n']);
    const hangUp = new AbortController();
    const held = post(server, { messages: HELLO, n: 3 }, { signal: hangUp.signal }).catch(() => undefined);
    while (engine.calls.length < 3) await once(engine.life, 'called');
    expect((await post(server, { messages: HELLO, n: 2 })).status).toBe(429);
    hangUp.abort();
    await held;
  });
});

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

  test('score from a position on, and without generating anything', async () => {
    const engine = scripted(SCORED);
    const body = { prompt: [97, 98, 99], echo: true, logprobs: 0, max_tokens: 0, logprob_start_len: 2 };
    const reply = (await (await post(await serve(engine), body, {}, path)).json()) as OpenAI.Completion;
    expect(reply.choices[0]).toMatchObject({
      text: 'abc',
      logprobs: { tokens: ['a', 'b', 'c'], token_logprobs: [null, null, Math.log(0.5)], text_offset: [0, 1, 2] },
    });
    expect(engine.calls[0]?.options).toMatchObject({ maxTokens: 0, scores: { promptFrom: 2, top: 0 } });
  });

  test('take several prompts, with choices for each', async () => {
    const server = await serve(scripted(SEED));
    const reply = (await (
      await post(server, { prompt: ['a', 'b'], n: 2, seed: 1, echo: true }, {}, path)
    ).json()) as OpenAI.Completion;
    expect(reply.choices.map(({ index, text }) => [index, text])).toEqual([
      [0, 'aseed 1'],
      [1, 'aseed 2'],
      [2, 'bseed 1'],
      [3, 'bseed 2'],
    ]);
    expect(reply.usage).toMatchObject({ prompt_tokens: 40, completion_tokens: 28 });
  });

  test.each<[Record<string, unknown>, string]>([
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: [] }, 'prompt'],
    [{ prompt: [1, 'a'] }, 'prompt'],
    [{ prompt: [1.5] }, 'prompt'],
    [{ prompt: Array(129).fill('a') }, 'prompt'],
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

describe('tokens', () => {
  test('of a text or of messages are counted and turned back', async () => {
    const server = await serve(scripted(REPLY));
    const counted = await post(server, { prompt: 'añ', return_token_strs: true }, {}, '/tokenize');
    expect(await counted.json()).toEqual({ count: 2, max_model_len: 2048, tokens: [97, 241], token_strs: ['a', 'ñ'] });
    const ofChat = (await (await post(server, { messages: HELLO }, {}, '/tokenize')).json()) as { count: number };
    expect(ofChat.count).toBeGreaterThan(10);
    const text = await post(server, { tokens: [97, 241] }, {}, '/detokenize');
    expect(await text.json()).toEqual({ prompt: 'añ' });
    for (const body of [{}, { prompt: 'a', messages: HELLO }, { prompt: 5 }, { text: 'a' }]) {
      expect((await post(server, body, {}, '/tokenize')).status).toBe(400);
    }
    for (const tokens of [undefined, 'a', [-1], [1.5], ['a']]) {
      expect((await post(server, { tokens }, {}, '/detokenize')).status).toBe(400);
    }
  });
});

describe('tools', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } };
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
  const CALL =
    '<tool_call>\n<function=weather>\n<parameter=city>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n</function>\n</tool_call>';
  const saying = (...parts: string[]): Script =>
    async function* () {
      for (const part of parts) yield content(part);
      yield END;
    };
  const call = (name: string, given: unknown) => ({
    id: expect.stringMatching(/^call_\w+$/),
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  });

  test.each([
    ['in tags', [CALL]],
    ['in tags, letter by letter', [...CALL]],
    ['as JSON', ['<tool_call>\n{"name": "weather", "arguments": {"city": "5", "days": 5}}\n</tool_call>']],
    ['without its end', [CALL.replace('</tool_call>', '')]],
  ])('a call %s is read, with the types of its schema', async (_, parts) => {
    const engine = scripted(saying(...parts));
    const server = await serve(engine);
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, tools });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [call('weather', { city: '5', days: 5 })] },
    });
    expect(engine.calls[0]?.prompt).toEqual({ messages: HELLO, tools });
  });

  test('text before, between and behind calls stays text; two calls are two', async () => {
    const server = await serve(
      scripted(saying('Let me', ` look. <to${CALL.slice(0, 5)}`, `${CALL}\n`, CALL, '\nDone.')),
    );
    const chunks = await chunksOf(server, { messages: HELLO, tools });
    const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta);
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe('Let me look. <to<tool\nDone.');
    expect(deltas.flatMap((delta) => delta.tool_calls ?? [])).toEqual([
      { index: 0, ...call('weather', { city: '5', days: 5 }) },
      { index: 1, ...call('weather', { city: '5', days: 5 }) },
    ]);
    expect(chunks.at(-1).choices[0].finish_reason).toBe('tool_calls');
  });

  test.each([
    '<tool_call>\nnonsense\n</tool_call>',
    '<tool_call>',
    'a < b <tool',
    '<tool_call>{"name": 5}</tool_call>x',
  ])('%j is no call, and nothing of it is lost', async (text) => {
    const server = await serve(scripted(saying(...text)));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, tools });
    expect(reply.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } });
  });

  test('a whole round goes through the client: the call, its answer and the reply to it', async () => {
    const engine = scripted(saying(CALL));
    const client = clientOf(await serve(engine));
    const first = await client.chat.completions.create({ model: 'tiny', messages: HELLO, tools });
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
    const answered = { role: 'tool' as const, tool_call_id: message.tool_calls?.[0]?.id as string, content: 'sunny' };
    await client.chat.completions.create({ model: 'tiny', messages: [...HELLO, message, answered], tools });
    expect(engine.calls[1]?.messages).toEqual([
      ...HELLO,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ ...message.tool_calls?.[0], function: { name: 'weather', arguments: { city: '5', days: 5 } } }],
      },
      answered,
    ]);
  });

  test('with tool_choice none the model hears of no tools; one call at a time is one', async () => {
    const engine = scripted(saying(CALL));
    const server = await serve(engine);
    const none = (await (
      await post(server, { messages: HELLO, tools, tool_choice: 'none' })
    ).json()) as OpenAI.ChatCompletion;
    expect(none.choices[0]?.message).toMatchObject({ content: CALL });
    expect(engine.calls[0]?.prompt).toMatchObject({ tools: [] });
    await post(server, { messages: HELLO, tools, parallel_tool_calls: false });
    expect(engine.calls[1]?.options.stop).toEqual(['</tool_call>']);
  });
});
