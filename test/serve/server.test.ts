// The HTTP surface, over real loopback connections with a scripted engine and the real `openai` client.

import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/errors.js';
import { openContextWatch } from '../../src/model/context.js';
import { openDialect } from '../../src/model/dialect.js';
import { openEndpoint } from '../../src/model/endpoint.js';
import { bodyLimitBytes } from '../../src/serve/body.js';
import { type Engine, EngineError, type GenerateEvent, type ModelFacts } from '../../src/serve/engine-contract.js';
import type { RunningServer } from '../../src/serve/listen.js';
import type { RequestRecord } from '../../src/serve/request-log.js';
import type { Sampling } from '../../src/types.js';
import {
  type Call,
  clientOf,
  content,
  END,
  ENDLESS,
  errorOf,
  FACTS,
  HELLO,
  post,
  REPLY,
  reasoning,
  type Script,
  scripted,
  serve,
  USAGE,
} from '../support/scripted-server.js';

const called = (text: string) => ({ id: 'c', type: 'function', function: { name: 'look', arguments: text } });
const LIMIT_BYTES = bodyLimitBytes(FACTS.contextSize);
/** Sends bytes as they are and gives back all that comes until the connection ends. */
async function rawly(server: RunningServer, text: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.write(text);
  let received = '';
  for await (const chunk of socket) received += chunk;
  return received;
}

describe('replies', () => {
  test('a whole reply has thinking and content apart, counts and the reason of its end', async () => {
    const server = await serve(scripted(REPLY));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO });
    expect(reply).toMatchObject({
      object: 'chat.completion',
      model: 'tiny',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: { role: 'assistant', content: 'Hi there', reasoning_content: 'hmm.', refusal: null },
        },
      ],
      usage: {
        prompt_tokens: 20,
        completion_tokens: 7,
        total_tokens: 27,
        prompt_tokens_details: { cached_tokens: 12 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    });
    expect(reply.id).toMatch(/^chatcmpl-/);
    expect(reply.created).toBeGreaterThan(1.7e9);
  });

  test('a streamed reply gives the same pieces in order, then its end, then its counts', async () => {
    const server = await serve(scripted(REPLY));
    const stream = await clientOf(server).chat.completions.create({
      model: 'tiny',
      messages: HELLO,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { reasoning_content: 'hm' },
      { reasoning_content: 'm.' },
      { content: 'Hi' },
      { content: ' there' },
      {},
      undefined,
    ]);
    expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([
      null,
      null,
      null,
      null,
      null,
      'stop',
      undefined,
    ]);
    expect(chunks.map(({ usage }) => usage?.total_tokens)).toEqual([...Array(6).fill(undefined), 27]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test('a stream ends with [DONE] and holds no usage unless asked', async () => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const text = await response.text();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
    expect(text).not.toContain('usage');
  });

  test('a reply cut off at max_tokens says length', async () => {
    const cutOff: Script = async function* () {
      yield { ...END, finishReason: 'length' } as GenerateEvent;
    };
    const server = await serve(scripted(cutOff));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, max_tokens: 1 });
    expect(reply.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } });
    expect(reply.choices[0]?.message).not.toHaveProperty('reasoning_content');
  });

  test('the fingerprint is that of the configuration, not of the reply', async () => {
    const ask = async (facts: Partial<ModelFacts>) => {
      const client = clientOf(await serve(scripted(REPLY, facts)));
      return (await client.chat.completions.create({ model: 'tiny', messages: HELLO })).system_fingerprint;
    };
    const [first, second, other] = [await ask({}), await ask({ file: '/elsewhere' }), await ask({ kvCache: 'q8_0' })];
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  test('a stream that waits is kept alive by comments, which the client does not see', async () => {
    let go = () => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const server = await serve(
      scripted(async function* () {
        await held;
        yield* REPLY({} as never);
      }),
      { pingIntervalMs: 5 },
    );
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    expect(first).toMatch(/^: ping\n\n/);
    const stream = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, stream: true });
    go();
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('Hi there');
    await reader.cancel();
  });
});

test('streams leave no timers behind', async () => {
  const server = await serve(scripted(REPLY), { pingIntervalMs: 60_000 });
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  for (let i = 0; i < 20; i++) await (await post(server, { model: 'tiny', messages: HELLO, stream: true })).text();
  expect(timers() - before).toBeLessThan(20);
});

describe('parameters', () => {
  const SILENT = {
    maxTokens: undefined,
    temperature: 0.6,
    topP: 0.95,
    topK: 20,
    minP: 0,
    presencePenalty: 0,
    frequencyPenalty: 0,
    repetitionPenalty: 1,
    stop: [],
    responseFormat: { type: 'text' },
    thinkingBudget: Number.POSITIVE_INFINITY,
    templateArguments: {},
  };

  test('a silent request is sampled as the model card says, under a new seed each time, which the reply names', async () => {
    const engine = scripted(REPLY);
    const server = await serve(engine);
    const seeds: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const response = await post(server, { model: 'tiny', messages: HELLO });
      await response.json();
      const { seed, ...rest } = (engine.calls[i] as Call).options;
      expect(rest).toEqual(SILENT);
      expect(response.headers.get('x-seed')).toBe(String(seed));
      seeds.push(seed);
    }
    expect(new Set(seeds).size).toBe(3);
  });

  const schema = { type: 'object', properties: { a: { type: 'integer' } } };
  test.each<[Record<string, unknown>, Partial<Call['options']>]>([
    [{ max_tokens: 5 }, { maxTokens: 5 }],
    [{ max_completion_tokens: 6 }, { maxTokens: 6 }],
    [{ max_completion_tokens: 6, max_tokens: 6 }, { maxTokens: 6 }],
    [{ temperature: 0 }, { temperature: 0 }],
    [
      { temperature: 1.3, top_p: 1 },
      { temperature: 1.3, topP: 1 },
    ],
    [{ top_k: 40 }, { topK: 40 }],
    [{ top_k: -1 }, { topK: 0 }],
    [{ min_p: 0.05 }, { minP: 0.05 }],
    [{ seed: 0 }, { seed: 0 }],
    [{ seed: 2_147_483_647 }, { seed: 2_147_483_647 }],
    [{ stop: 'END' }, { stop: ['END'] }],
    [{ stop: ['a', 'b'] }, { stop: ['a', 'b'] }],
    [
      { presence_penalty: 1.5, frequency_penalty: -0.5 },
      { presencePenalty: 1.5, frequencyPenalty: -0.5 },
    ],
    [{ repetition_penalty: 1.1 }, { repetitionPenalty: 1.1 }],
    [{ repeat_penalty: 1.2 }, { repetitionPenalty: 1.2 }],
    [{ response_format: { type: 'text' } }, { responseFormat: { type: 'text' } }],
    [{ response_format: { type: 'json_object' } }, { responseFormat: { type: 'json_object' } }],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } },
      { responseFormat: { type: 'json_schema', schema } },
    ],
    [{ chat_template_kwargs: { enable_thinking: false } }, { templateArguments: { enable_thinking: false } }],
    [{ reasoning_effort: 'none' }, { templateArguments: { enable_thinking: false }, thinkingBudget: 0 }],
    [{ reasoning_effort: 'low' }, { thinkingBudget: 1024 }],
    [{ reasoning_effort: 'high' }, {}],
    [{ thinking_budget: 7 }, { thinkingBudget: 7 }],
    [{ thinking_token_budget: 9_000, reasoning_effort: 'medium' }, { thinkingBudget: 8192 }],
    [{ logprobs: true }, { scores: { reply: true, top: 0 } }],
    [{ logprobs: true, top_logprobs: 3 }, { scores: { reply: true, top: 3 } }],
    [{ temperature: null, top_k: null, seed: 4, stop: null, response_format: null }, { seed: 4 }],
  ])('%j reaches the engine', async (sent, expected) => {
    const engine = scripted(REPLY);
    const server = await serve(engine);
    const response = await post(server, { model: 'tiny', messages: HELLO, ...sent });
    expect(response.status).toBe(200);
    const options = engine.calls[0]?.options as Call['options'];
    expect(options).toEqual({ ...SILENT, seed: options.seed, ...expected });
  });

  test('the thinking budget is at most the one the server was started with', async () => {
    const engine = scripted(REPLY);
    const server = await serve(engine, { thinkingBudget: 10 });
    await post(server, { model: 'tiny', messages: HELLO });
    await post(server, { model: 'tiny', messages: HELLO, thinking_budget: 11 });
    await post(server, { model: 'tiny', messages: HELLO, thinking_budget: 9 });
    expect(engine.calls.map(({ options }) => options.thinkingBudget)).toEqual([10, 10, 9]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ logprobs: 5 }, 'logprobs'],
    [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs'],
    [{ top_logprobs: 5 }, 'top_logprobs'],
    [{ n: 0 }, 'n'],
    [{ thinking_budget: -1 }, 'thinking_budget'],
    [{ thinking_budget: 5, thinking_token_budget: 6 }, 'thinking_token_budget'],
    [{ best_of: 3 }, 'best_of'],
    [{ tools: {} }, 'tools'],
    [{ tools: [{ type: 'retrieval' }] }, 'tools[0]'],
    [{ tools: [{ type: 'function' }] }, 'tools[0].function'],
    [{ tools: [{ type: 'function', function: { name: '' } }] }, 'tools[0].function.name'],
    [{ tools: [{ type: 'function', function: { name: 'f', strict: true } }] }, 'tools[0].function.strict'],
    [{ tools: [{ type: 'function', function: { name: 'f', parameters: 5 } }] }, 'tools[0].function.parameters'],
    [
      { tools: [{ type: 'function', function: { name: 'f' } }], response_format: { type: 'json_object' } },
      'response_format',
    ],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ functions: [] }, 'functions'],
    [{ logit_bias: { 5: 1 } }, 'logit_bias'],
    [{ store: true }, 'store'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ audio: { voice: 'x' } }, 'audio'],
    [{ prediction: { type: 'content' } }, 'prediction'],
    [{ reasoning_effort: 'lots' }, 'reasoning_effort'],
    [{ reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: true } }, 'reasoning_effort'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ guided_json: {} }, 'guided_json'],
    [{ structured_outputs: {} }, 'structured_outputs'],
    [{ ignore_eos: true }, 'ignore_eos'],
    [{ min_tokens: 3 }, 'min_tokens'],
    [{ typical_p: 0.5 }, 'typical_p'],
    [{ mirostat: 2 }, 'mirostat'],
    [{ cache_prompt: false }, 'cache_prompt'],
    [{ continue_final_message: true }, 'continue_final_message'],
    [{ temprature: 1 }, 'temprature'],
    [{ constructor: 1 }, 'constructor'],
    [{ temperature: 2.1 }, 'temperature'],
    [{ temperature: '0.5' }, 'temperature'],
    [{ top_p: 0 }, 'top_p'],
    [{ top_p: 1.01 }, 'top_p'],
    [{ top_k: 1.5 }, 'top_k'],
    [{ top_k: -2 }, 'top_k'],
    [{ min_p: -0.1 }, 'min_p'],
    [{ seed: -2 }, 'seed'],
    [{ seed: 2 ** 32 - 1 }, 'seed'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_completion_tokens: 2.5 }, 'max_completion_tokens'],
    [{ max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
    [{ repetition_penalty: 1.1, repeat_penalty: 1.2 }, 'repeat_penalty'],
    [{ repetition_penalty: 0 }, 'repetition_penalty'],
    [{ presence_penalty: 3 }, 'presence_penalty'],
    [{ stop: ['a', ''] }, 'stop'],
    [{ stop: 5 }, 'stop'],
    [{ stream: 'yes' }, 'stream'],
    [{ stream_options: { include_usage: true } }, 'stream_options'],
    [{ stream: true, stream_options: { include_obfuscation: true } }, 'stream_options.include_obfuscation'],
    [{ response_format: 'json' }, 'response_format'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ response_format: { type: 'json_object', schema: {} } }, 'response_format.schema'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }, 'response_format.json_schema.schema'],
    [{ chat_template_kwargs: { messages: [] } }, 'chat_template_kwargs.messages'],
    [{ chat_template_kwargs: { enable_thinking: 'no' } }, 'chat_template_kwargs.enable_thinking'],
  ])('%j is refused by name', async (sent, param) => {
    const engine = scripted(REPLY);
    const server = await serve(engine);
    const response = await post(server, { model: 'tiny', messages: HELLO, ...sent });
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ type: 'invalid_request_error', param });
    expect(error.message).toContain(`'${param}'`);
    expect(engine.calls).toEqual([]);
  });

  test('a mistyped parameter gets a hint', async () => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, { model: 'tiny', messages: HELLO, temprature: 1 });
    expect((await errorOf(response)).message).toContain("did you mean 'temperature'?");
  });

  test('what asks for what happens anyway is taken', async () => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, {
      model: 'tiny',
      messages: HELLO,
      n: 1,
      user: 'me',
      metadata: { run: '1' },
      store: false,
      logprobs: false,
      logit_bias: {},
      tools: [],
      tool_choice: 'none',
      parallel_tool_calls: true,
      modalities: ['text'],
      skip_special_tokens: true,
      audio: null,
      verbosity: 'low',
      cache_control: { type: 'ephemeral' },
      seed: -1,
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
    expect(response.status).toBe(200);
  });
});

describe('messages', () => {
  test('text parts are joined, developer is system, and earlier thinking goes along', async () => {
    const engine = scripted(REPLY);
    const server = await serve(engine);
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b\n' },
    ];
    const messages = [
      { role: 'developer', content: 'be brief' },
      { role: 'user', content: parts },
      { role: 'assistant', content: 'ok', reasoning_content: 'hm', refusal: null, tool_calls: [], annotations: [] },
      { role: 'user', content: '' },
    ];
    expect((await post(server, { model: 'tiny', messages })).status).toBe(200);
    expect(engine.calls[0]?.messages).toEqual([
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'ab\n' },
      { role: 'assistant', content: 'ok', reasoning_content: 'hm' },
      { role: 'user', content: '' },
    ]);
  });

  test("a reply's own message can be sent back", async () => {
    const engine = scripted(REPLY);
    const client = clientOf(await serve(engine));
    const first = await client.chat.completions.create({ model: 'tiny', messages: HELLO });
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
    await client.chat.completions.create({ model: 'tiny', messages: [...HELLO, message, ...HELLO] });
    expect(engine.calls[1]?.messages[1]).toEqual({ role: 'assistant', content: 'Hi there', reasoning_content: 'hmm.' });
  });

  test.each<[string, unknown, string]>([
    ['none', undefined, 'messages'],
    ['an empty list', [], 'messages'],
    ['no list', 'hello', 'messages'],
    ['no object', ['hello'], 'messages[0]'],
    ['no role', [{ role: 'function', content: 'x' }], 'messages[0].role'],
    ["a tool's answer without text", [{ role: 'tool', tool_call_id: 'c' }], 'messages[0].content'],
    [
      'arguments that are no JSON',
      [{ role: 'assistant', tool_calls: [called('{')] }],
      'messages[0].tool_calls[0].function.arguments',
    ],
    ["a user's tool calls", [{ role: 'user', content: '', tool_calls: [called('{}')] }], 'messages[0].tool_calls'],
    ['no content', [{ role: 'user' }], 'messages[0].content'],
    ['an image', [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }], 'messages[0].content[0].type'],
    [
      'audio behind text',
      [{ role: 'user', content: [{ type: 'text', text: '' }, { type: 'input_audio' }] }],
      'messages[0].content[1].type',
    ],
    ['a part without text', [{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text'],
    [
      'a marked part',
      [{ role: 'user', content: [{ type: 'text', text: '', mark: {} }] }],
      'messages[0].content[0].mark',
    ],
    ['an unknown key', [{ role: 'user', content: 'x', nam: 'Ann' }], 'messages[0].nam'],
    ['tool calls', [{ role: 'assistant', content: null, tool_calls: [{}] }], 'messages[0].tool_calls[0]'],
    ["a user's thinking", [{ role: 'user', content: 'x', reasoning_content: 'y' }], 'messages[0].reasoning_content'],
    ['the second one wrong', [...HELLO, { role: 'system', content: 5 }], 'messages[1].content'],
  ])('%s is refused by its place', async (_, messages, param) => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, { model: 'tiny', messages });
    expect(response.status).toBe(400);
    expect((await errorOf(response)).param).toBe(param);
  });
});

describe('models', () => {
  test('the list holds what scores depend on', async () => {
    const client = clientOf(await serve(scripted(REPLY), { aliases: ['default'] }));
    const { data } = await client.models.list();
    expect(data).toMatchObject([
      { id: 'tiny', object: 'model', max_model_len: 2048, agentworldbench: FACTS },
      { id: 'default', root: 'tiny', agentworldbench: FACTS },
    ]);
    expect(await client.models.retrieve('tiny')).toEqual(data[0]);
    await expect(client.models.retrieve('huge')).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });

  test('a request without a model gets the one there is', async () => {
    const response = await post(await serve(scripted(REPLY)), { messages: HELLO });
    expect([response.status, ((await response.json()) as { model: string }).model]).toEqual([200, 'tiny']);
  });

  test('another name is not found, and the served ones are named', async () => {
    const client = clientOf(await serve(scripted(REPLY), { aliases: ['default'] }));
    const asked = client.chat.completions.create({ model: 'huge', messages: HELLO });
    await expect(asked).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    await expect(asked).rejects.toThrow("'tiny', 'default'");
    const reply = await client.chat.completions.create({ model: 'default', messages: HELLO });
    expect(reply.model).toBe('tiny');
  });
});

describe('schemas', () => {
  const holding = (schema: unknown) => ({
    messages: HELLO,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  });

  test('one that is too large or too deep is refused, before a grammar is made of it', async () => {
    const engine = scripted(REPLY);
    const server = await serve(engine);
    const large = { enum: Array.from({ length: 50_000 }, (_, index) => index) };
    const deep = Array.from({ length: 100 }).reduce<object>((items) => ({ type: 'array', items }), {});
    for (const schema of [large, deep]) {
      const response = await post(server, holding(schema));
      expect([response.status, (await errorOf(response)).code]).toEqual([400, 'schema_too_large']);
    }
    expect(engine.calls).toEqual([]);
    expect((await post(server, holding({ enum: large.enum.slice(0, 1_900) }))).status).toBe(200);
  });
});

describe('what is counted', () => {
  test('metrics tell requests by path and status, tokens, slots and who waits', async () => {
    const server = await serve(scripted(REPLY));
    await (await post(server, { messages: HELLO })).text();
    await (await post(server, { messages: HELLO, stream: true })).text();
    await (await post(server, { messages: 5 })).text();
    await fetch(`${server.url}/a"b\n`);
    const { type, families } = await scrape(server);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    const value = (name: string, labels = '') => families.get(name)?.samples.get(labels);
    expect(value('awb_serve_requests_total', 'path="/v1/chat/completions",status="200"')).toBe(2);
    expect(value('awb_serve_requests_total', 'path="/v1/chat/completions",status="400"')).toBe(1);
    expect(value('awb_serve_requests_total', 'path="other",status="404"')).toBe(1);
    expect(value('awb_serve_prompt_tokens_total')).toBe(40);
    expect(value('awb_serve_cached_tokens_total')).toBe(24);
    expect(value('awb_serve_completion_tokens_total')).toBe(14);
    expect(value('awb_serve_reasoning_tokens_total')).toBe(6);
    expect(value('awb_serve_slots')).toBe(2);
    expect(value('awb_serve_requests_waiting')).toBe(0);
    expect(families.get('awb_serve_request_duration_seconds')?.type).toBe('summary');
  });

  test('with a key, metrics need it', async () => {
    const server = await serve(scripted(REPLY), { apiKey: 'sesame' });
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  });

  test('each request is told of once it has ended, without what was asked', async () => {
    const records: RequestRecord[] = [];
    const server = await serve(scripted(REPLY), { onRequest: (record) => records.push(record) });
    await (await post(server, { messages: HELLO })).text();
    await (await fetch(`${server.url}/v1/models?key=geheim`)).text();
    while (records.length < 2) await new Promise(setImmediate);
    expect(records).toEqual([
      {
        method: 'POST',
        path: '/v1/chat/completions',
        status: 200,
        durationMs: expect.any(Number),
        usage: USAGE,
      },
      { method: 'GET', path: '/v1/models', status: 200, durationMs: expect.any(Number), usage: undefined },
    ]);
  });

  /** Reads the text format as strictly as Prometheus does. */
  async function scrape(server: RunningServer) {
    const response = await fetch(`${server.url}/metrics`);
    const text = await response.text();
    expect(text).toMatch(/\n$/);
    const families = new Map<string, { type: string; samples: Map<string, number> }>();
    let current = '';
    for (const line of text.trimEnd().split('\n')) {
      const [, kind, name, rest] = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? [];
      if (kind === 'HELP') {
        expect(families.has(name as string)).toBe(false);
        current = name as string;
      } else if (kind === 'TYPE') {
        expect(name).toBe(current);
        expect(['counter', 'gauge', 'summary']).toContain(rest);
        expect((name as string).endsWith('_total')).toBe(rest === 'counter');
        families.set(current, { type: rest as string, samples: new Map() });
      } else {
        const sample =
          /^([a-z_]+?)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\d+(?:\.\d+)?(?:e[-+]\d+)?)$/.exec(line);
        expect(sample, line).not.toBeNull();
        const [, full = '', labels = '', number] = sample as RegExpExecArray;
        expect([current, `${current}_sum`, `${current}_count`]).toContain(full);
        const { samples } = families.get(current) as { samples: Map<string, number> };
        const key = full === current ? labels : `${full.slice(current.length)} ${labels}`;
        expect(samples.has(key)).toBe(false);
        samples.set(key, Number(number));
      }
    }
    return { type: response.headers.get('content-type'), families };
  }
});

describe('what the engine refuses or does wrong', () => {
  // biome-ignore lint/correctness/useYield: it refuses before the first event
  const overflow: Script = async function* () {
    throw new EngineError({ reason: 'context-overflow', promptTokens: 9_000, contextSize: 2_048 });
  };

  test.each([false, true])('a prompt that is too long gets both numbers (stream: %s)', async (stream) => {
    const server = await serve(scripted(overflow));
    const response = await post(server, { model: 'tiny', messages: HELLO, stream });
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ code: 'context_length_exceeded', type: 'invalid_request_error', param: 'messages' });
    expect(error.message).toMatch(/9000 tokens.*2048 tokens/);
  });

  test("the engine's own refusal keeps its parameter", async () => {
    // biome-ignore lint/correctness/useYield: it refuses before the first event
    const refusing: Script = async function* () {
      throw new EngineError({ reason: 'invalid-request', message: 'system must be first', param: 'messages' });
    };
    const response = await post(await serve(scripted(refusing)), { model: 'tiny', messages: HELLO });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ message: 'system must be first', param: 'messages' });
  });

  const breaksAfter = (...events: GenerateEvent[]): Script =>
    async function* () {
      yield* events;
      throw new Error('secret cause');
    };

  test.each([false, true])(
    'a failure before the first token is a 500 that keeps the cause here (stream: %s)',
    async (stream) => {
      const causes: unknown[] = [];
      const server = await serve(scripted(breaksAfter()), { onError: (error) => causes.push(error) });
      const response = await post(server, { model: 'tiny', messages: HELLO, stream });
      expect(response.status).toBe(500);
      const text = await response.text();
      expect(JSON.parse(text).error).toMatchObject({ type: 'server_error', code: 'engine_failed' });
      expect(text).not.toContain('secret');
      expect(String(causes)).toContain('secret cause');
    },
  );

  test('a failure in the middle of a stream is an error event without an end, and the server goes on', async () => {
    let isBroken = true;
    const broken = breaksAfter(reasoning('a'), content('b'));
    const server = await serve(scripted((call) => (isBroken ? broken(call) : REPLY(call))));
    const client = clientOf(server);
    const ask = () => client.chat.completions.create({ model: 'tiny', messages: HELLO, stream: true });
    const seen: unknown[] = [];
    await expect(
      (async () => {
        for await (const chunk of await ask()) seen.push(chunk);
      })(),
    ).rejects.toMatchObject({ code: 'engine_failed' });
    expect(seen).toHaveLength(3);
    const text = await (await post(server, { model: 'tiny', messages: HELLO, stream: true })).text();
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('"finish_reason":"stop"');
    isBroken = false;
    expect((await client.chat.completions.create({ model: 'tiny', messages: HELLO })).choices[0]?.message.content).toBe(
      'Hi there',
    );
  });

  test.each([false, true])('a reply without an end is a failure, never half a reply (stream: %s)', async (stream) => {
    const server = await serve(
      scripted(async function* () {
        yield content('half');
      }),
    );
    const text = await (await post(server, { model: 'tiny', messages: HELLO, stream })).text();
    expect(text).toContain('engine_failed');
    expect(text).not.toContain('finish_reason":"');
  });
});

describe("the harness's own client", () => {
  const ask = (server: RunningServer, sampling: Sampling, model = 'tiny') =>
    openEndpoint({
      baseUrl: `${server.url}/v1`,
      apiKey: '',
      model,
      sampling,
      stream: true,
      clocks: { firstTokenTimeoutMs: 5_000, gapTimeoutMs: 5_000, callTimeoutMs: 10_000 },
      fitMaxTokens: false,
      dialect: openDialect({ allowParamDrop: false, onNotice: () => {} }),
      context: openContextWatch({ maxTokens: sampling.maxTokens, fits: false, onNotice: () => {} }),
      flagPrefix: 'model',
    }).call({ messages: HELLO, seedOffset: 0 }, 0, new AbortController().signal);

  test('reads replies, overflows, refused parameters, unknown models and overload for what they are', async () => {
    const server = await serve(scripted(REPLY));
    expect(await ask(server, { maxTokens: 5, seed: 3 })).toMatchObject({
      status: 'ok',
      content: 'Hi there',
      reasoning: 'hmm.',
      usage: { promptTokens: 20, cachedTokens: 12, completionTokens: 7, reasoningTokens: 3 },
    });
    const refused = await ask(server, { reasoningEffort: 'lots' });
    expect(refused).toMatchObject({ class: 'fatal', reason: expect.stringContaining('reasoning_effort') });
    expect(await ask(server, {}, 'tinny')).toMatchObject({
      stop: { message: expect.stringContaining('did you mean "tiny"') },
    });
    const long = await serve(
      // biome-ignore lint/correctness/useYield: it refuses before the first event
      scripted(async function* () {
        throw new EngineError({ reason: 'context-overflow', promptTokens: 9_000, contextSize: 2_048 });
      }),
    );
    expect(await ask(long, {})).toMatchObject({ class: 'context-overflow' });
    const engine = scripted(ENDLESS, { slots: 1 });
    const full = await serve(engine, { queueLimit: 0 });
    const started = once(engine.life, 'started');
    void post(full, { model: 'tiny', messages: HELLO }).catch(() => undefined);
    await started;
    expect(await ask(full, {})).toMatchObject({ class: 'rate-limit', retryAfterMs: expect.any(Number) });
  });
});

describe('the queue', () => {
  test('beyond slots and queue a request is turned away with a time to come back, and health counts the others', async () => {
    const engine = scripted(ENDLESS, { slots: 2 });
    const server = await serve(engine, { queueLimit: 1 });
    const hangUp = new AbortController();
    const body = { model: 'tiny', messages: HELLO, stream: true };
    const held = [1, 2, 3].map(() => post(server, body, { signal: hangUp.signal }).catch(() => undefined));
    while (engine.calls.length < 3) await once(engine.life, 'called');
    const health = await (await fetch(`${server.url}/health`)).json();
    expect(health).toEqual({ status: 'ok', busy: 2, waiting: 1, slots: 2 });
    const refused = await post(server, body);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await errorOf(refused)).toMatchObject({ type: 'rate_limit_error', code: 'queue_full' });
    expect(engine.calls).toHaveLength(3);
    hangUp.abort();
    await Promise.all(held);
  });

  test.each([false, true])('a client that hangs up frees its slot (stream: %s)', async (stream) => {
    const engine = scripted(ENDLESS, { slots: 1 });
    const server = await serve(engine);
    const hangUp = new AbortController();
    const started = once(engine.life, 'started');
    const asked = post(server, { model: 'tiny', messages: HELLO, stream }, { signal: hangUp.signal }).catch(
      () => undefined,
    );
    await started;
    const ended = once(engine.life, 'ended');
    hangUp.abort();
    await ended;
    await asked;
    expect(engine.busy).toBe(0);
  });

  test('a client that hangs up while it waits leaves the queue', async () => {
    const engine = scripted(ENDLESS, { slots: 1 });
    const server = await serve(engine, { queueLimit: 1 });
    const first = new AbortController();
    const second = new AbortController();
    const body = { model: 'tiny', messages: HELLO };
    const started = once(engine.life, 'started');
    const held = [post(server, body, { signal: first.signal }).catch(() => undefined)];
    await started;
    held.push(post(server, body, { signal: second.signal }).catch(() => undefined));
    let health = { waiting: 0 };
    while (health.waiting === 0) health = (await (await fetch(`${server.url}/health`)).json()) as typeof health;
    const left = once(engine.life, 'left');
    second.abort();
    await left;
    while (health.waiting === 1) health = (await (await fetch(`${server.url}/health`)).json()) as typeof health;
    expect(health).toMatchObject({ busy: 1, waiting: 0 });
    first.abort();
    await Promise.all(held);
  });

  test('a client that does not read what it asked for is let go', async () => {
    const flood: Script = async function* ({ signal }) {
      while (!signal.aborted) {
        yield content('x'.repeat(2 ** 20));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const engine = scripted(flood);
    const server = await serve(engine);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).pause();
    socket.on('error', () => {});
    const body = JSON.stringify({ model: 'tiny', messages: HELLO, stream: true });
    const ended = once(engine.life, 'ended');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await ended;
    expect(engine.busy).toBe(0);
    socket.destroy();
  });
});

describe('who may ask', () => {
  test('with a key, only those who have it; health needs none', async () => {
    const server = await serve(scripted(REPLY), { apiKey: 'sesame' });
    const reply = await clientOf(server, 'sesame').chat.completions.create({ model: 'tiny', messages: HELLO });
    expect(reply.choices[0]?.message.content).toBe('Hi there');
    await expect(clientOf(server, 'sesam').models.list()).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    });
    expect((await post(server, { model: 'tiny', messages: HELLO })).status).toBe(401);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const head = await fetch(`${server.url}/health`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  /** `fetch` sets its own Host. */
  async function statusWithHost(server: RunningServer, host: string): Promise<number | undefined> {
    const asked = httpRequest(`${server.url}/health`, { headers: { host } }).end();
    const [response] = await once(asked, 'response');
    response.resume();
    return response.statusCode;
  }

  test.each([
    ['localhost', 200],
    ['localhost:8080', 200],
    ['127.0.0.1:1', 200],
    ['127.9.9.9', 200],
    ['[::1]:8080', 200],
    ['my.localhost', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost.evil.example:8080', 403],
    ['10.0.0.1', 403],
  ])('without a key, a request to the host %s gets %i', async (host, status) => {
    expect(await statusWithHost(await serve(scripted(REPLY)), host)).toBe(status);
  });

  test('with a key, any host is served', async () => {
    expect(await statusWithHost(await serve(scripted(REPLY), { apiKey: 'k' }), 'model.example')).toBe(200);
  });

  test.each(['0.0.0.0', '::', '', '192.0.2.1', 'example.com'])(
    '"%s" without a key is refused before listening',
    async (host) => {
      await expect(serve(scripted(REPLY), { host })).rejects.toThrow(/--api-key/);
      await expect(serve(scripted(REPLY), { host, apiKey: '' })).rejects.toBeInstanceOf(UserError);
    },
  );

  test('a key that no header can carry is refused without being shown', async () => {
    const started = serve(scripted(REPLY), { apiKey: 'geheim\n' });
    await expect(started).rejects.toThrow(/--api-key/);
    await expect(started).rejects.not.toThrow(/geheim/);
  });

  test('a busy port is said so, with the way out', async () => {
    const first = await serve(scripted(REPLY));
    const port = Number(new URL(first.url).port);
    const second = serve(scripted(REPLY), { port });
    await expect(second).rejects.toMatchObject({ exitCode: EXIT.unavailable });
    await expect(second).rejects.toThrow(/--port/);
  });

  test('no origin is let in from a browser', async () => {
    const server = await serve(scripted(REPLY));
    const asked = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example' },
    });
    expect(asked.status).toBe(405);
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('bad requests', () => {
  test.each<[string, RequestInit & { path?: string }, number, string]>([
    ['an unknown path', { method: 'GET', path: '/v2' }, 404, 'unknown_path'],
    ['a path of the prototype', { method: 'GET', path: '/__proto__' }, 404, 'unknown_path'],
    ['GET for a completion', { method: 'GET' }, 405, 'method_not_allowed'],
    ['DELETE for the models', { method: 'DELETE', path: '/v1/models' }, 405, 'method_not_allowed'],
    ['no JSON', { body: '{"model":' }, 400, 'invalid_json'],
    ['an empty body', { body: '' }, 400, 'invalid_json'],
    ['no UTF-8', { body: Buffer.from('{"model":"\xff"}', 'latin1') }, 400, 'invalid_json'],
    ['no object', { body: '[]' }, 400, 'invalid_value'],
    ['a deep nest', { body: '['.repeat(90_000) }, 400, 'invalid_json'],
    ['a deep value', { body: `{"temperature":${'['.repeat(9_000)}${']'.repeat(9_000)}}` }, 400, 'invalid_json'],
    ['no messages', { body: '{}' }, 400, 'invalid_value'],
    ['a form', { body: '{}', headers: { 'content-type': 'text/plain' } }, 415, 'unsupported_media_type'],
    ['a body larger than the context has a use for', { body: 'x'.repeat(LIMIT_BYTES + 1) }, 413, 'body_too_large'],
    [
      'a packed body',
      { body: '{}', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } },
      415,
      'unsupported_content_encoding',
    ],
  ])('%s', async (_, { path = '/v1/chat/completions', ...init }, status, code) => {
    const server = await serve(scripted(REPLY));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, ...init });
    expect(response.status).toBe(status);
    expect(await errorOf(response)).toMatchObject({ code, type: 'invalid_request_error', message: expect.any(String) });
  });

  test('a body of unknown length is cut off at the limit, and the connection serves on', async () => {
    const server = await serve(scripted(REPLY));
    const body = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 30; i++) controller.enqueue(new Uint8Array(LIMIT_BYTES / 16));
        controller.close();
      },
    });
    const response = await post(server, '', { body, duplex: 'half' } as RequestInit);
    expect(response.status).toBe(413);
    expect((await post(server, { model: 'tiny', messages: HELLO })).status).toBe(200);
  });

  test.each([
    [
      'a body that does not come',
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
      '408',
    ],
    ['a head that does not come', 'POST /v1/chat', '408'],
    ['what is no HTTP', 'hello?\r\n\r\n', '400'],
    [
      'a body announced as too large',
      `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${LIMIT_BYTES + 1}\r\n\r\n{`,
      '413',
    ],
    ['an endless head', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
  ])('%s gets an error and a closed connection', async (_, sent, status) => {
    const server = await serve(scripted(REPLY), { requestTimeoutMs: 50 });
    const received = await rawly(server, sent);
    expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(received).toContain('"error":{"message":');
  });

  test('no JSON body gets anything but a reply or an error in the right shape', async () => {
    const server = await serve(scripted(REPLY));
    const known = [
      'model',
      'messages',
      'stop',
      'stream',
      'stream_options',
      'response_format',
      'seed',
      'logit_bias',
      'tools',
    ];
    const bodies = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.oneof(fc.constantFrom(...known), fc.string()), fc.jsonValue()),
      fc
        .dictionary(fc.constantFrom(...known), fc.jsonValue())
        .map((extra) => ({ model: 'tiny', messages: HELLO, ...extra })),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const response = await post(server, JSON.stringify(body));
        const answer = await response.text();
        if (response.status === 200) return;
        expect([400, 404]).toContain(response.status);
        expect(Object.keys(JSON.parse(answer).error).sort()).toEqual(['code', 'message', 'param', 'type']);
      }),
      { numRuns: 150 },
    );
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  });
});

describe('from start to end', () => {
  test('while the model is loaded, health says so and requests are put off', async () => {
    let finish: (engine: Engine) => void = () => {};
    const server = await serve(
      new Promise<Engine>((resolve) => {
        finish = resolve;
      }),
    );
    const health = await fetch(`${server.url}/health`);
    expect([health.status, await health.json()]).toEqual([503, { status: 'loading', busy: 0, waiting: 0, slots: 0 }]);
    const refused = await post(server, { model: 'tiny', messages: HELLO });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, 'model_loading']);
    finish(scripted(REPLY));
    expect((await post(server, { model: 'tiny', messages: HELLO })).status).toBe(200);
  });

  test('a model that cannot be loaded leaves a server that can be closed', async () => {
    const failed = Promise.reject(new Error('no such file'));
    const server = await serve(failed);
    expect((await fetch(`${server.url}/health`)).status).toBe(503);
    await server.close(0);
  });

  test('closing lets what is under way end, and takes nothing new', async () => {
    let go = () => {};
    const engine = scripted(async function* () {
      yield content('a');
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      yield content('b');
      yield END;
    });
    const server = await serve(engine);
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const closed = server.close(60_000);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    go();
    expect(await response.text()).toContain('[DONE]');
    await closed;
  });

  test('closing what is closed already leaves no timer', async () => {
    const server = await serve(scripted(REPLY));
    await server.close(0);
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    await server.close(60_000);
    expect(timers()).toBe(before);
  });

  test('a connection kept open gets no more replies once the server drains', async () => {
    const engine = scripted(ENDLESS);
    const server = await serve(engine);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const received: string[] = [];
    socket.on('data', (chunk) => received.push(String(chunk)));
    const body = JSON.stringify({ model: 'tiny', messages: HELLO });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(`${head}${body.slice(0, 5)}`);
    const holder = post(server, { model: 'tiny', messages: HELLO }).catch(() => undefined);
    await once(engine.life, 'started');
    const closed = server.close(60_000);
    socket.write(body.slice(5));
    while (!received.join('').includes('shutting_down')) await once(socket, 'data');
    expect(received.join('')).toMatch(/^HTTP\/1.1 503/);
    void server.close(0);
    await closed;
    await holder;
  });

  test.each([false, true])(
    'what does not end in time is told so; a second, shorter close wins (stream: %s)',
    async (stream) => {
      const engine = scripted(ENDLESS);
      const server = await serve(engine);
      const started = once(engine.life, 'started');
      const asked = post(server, { model: 'tiny', messages: HELLO, stream });
      await started;
      if (stream) await asked;
      const closed = server.close(10 * 60_000);
      void server.close(0);
      const response = await asked;
      expect(await response.text()).toContain('shutting_down');
      await closed;
      expect(engine.busy).toBe(0);
    },
  );

  test('an engine that does not heed the abort does not keep the server open', async () => {
    const engine = scripted(async function* () {
      yield content('a');
      await new Promise(() => {});
    });
    const server = await serve(engine);
    const response = await post(server, { model: 'tiny', messages: HELLO, stream: true });
    const text = response.text().catch(() => 'cut off');
    await server.close(0);
    expect(await text).toBe('cut off');
  });
});
