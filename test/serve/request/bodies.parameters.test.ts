// Parameters of a chat completion: served, ignored as harmless, or refused by name.

import { describe, expect, test } from 'vitest';
import { type Call, errorOf, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

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

  test('a request without parameters is sampled as the model card says, with a new seed each time, which the reply names', async () => {
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
    [{ max_completion_tokens: 6, max_tokens: 7 }, { maxTokens: 6 }],
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
    [{ thinking_budget: 9_000, reasoning_effort: 'medium' }, { thinkingBudget: 8192 }],
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
    [{ logprobs: true }, 'logprobs'],
    [{ n: 0 }, 'n'],
    [{ thinking_budget: -1 }, 'thinking_budget'],
    [{ thinking_token_budget: 6 }, 'thinking_token_budget'],
    [{ best_of: 3 }, 'best_of'],
    [{ tools: {} }, 'tools'],
    [{ tools: [{ type: 'retrieval' }] }, 'tools[0].type'],
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
    [{ web_search_options: {} }, 'web_search_options'],
    [{ guided_json: {} }, 'guided_json'],
    [{ structured_outputs: {} }, 'structured_outputs'],
    [{ ignore_eos: true }, 'ignore_eos'],
    [{ min_tokens: 3 }, 'min_tokens'],
    [{ typical_p: 0.5 }, 'typical_p'],
    [{ mirostat: 2 }, 'mirostat'],
    [{ cache_prompt: false }, 'cache_prompt'],
    [{ skip_special_tokens: true }, 'skip_special_tokens'],
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
    [{ repeat_penalty: 1.2 }, 'repeat_penalty'],
    [{ repetition_penalty: 0 }, 'repetition_penalty'],
    [{ presence_penalty: 3 }, 'presence_penalty'],
    [{ stop: ['a', ''] }, 'stop[1]'],
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

  test('a parameter that asks for what happens anyway is accepted', async () => {
    const server = await serve(scripted(REPLY));
    const response = await post(server, {
      model: 'tiny',
      messages: HELLO,
      n: 1,
      user: 'me',
      metadata: { run: '1' },
      tools: [],
      tool_choice: 'none',
      parallel_tool_calls: true,
      audio: null,
      seed: -1,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(response.status).toBe(200);
  });
});
