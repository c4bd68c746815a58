// Failures of the request's body as servers really tell them: overflows with their numbers, and rejected parameters.

import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { classified, http, openAi, SENT, vllm } from '../../support/failures.js';

describe('a context overflow is distinguished from other failures, with its numbers, as it comes from', () => {
  const cases: [string, number, unknown, number?, number?][] = [
    [
      'OpenAI, prompt alone',
      400,
      openAi(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
        { param: 'messages', code: 'context_length_exceeded' },
      ),
      128000,
      204308,
    ],
    [
      'OpenAI, newer',
      400,
      openAi('Your input exceeds the context window of this model. Please adjust your input and try again.', {
        code: 'context_length_exceeded',
      }),
    ],
    [
      'DeepSeek',
      400,
      openAi(
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
        { param: null, code: 'invalid_request_error' },
      ),
      131072,
      122942,
    ],
    [
      'vLLM 0.9',
      400,
      vllm(
        "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion. None",
      ),
      16384,
      9591,
    ],
    [
      'vLLM 0.10',
      400,
      openAi(
        "'max_tokens' or 'max_completion_tokens' is too large: 32768. This model's maximum context length is 32768 tokens and your request has 7232 input tokens (32768 > 32768 - 7232). None",
        { type: 'BadRequestError', param: null, code: 400 },
      ),
      32768,
      7232,
    ],
    [
      'vLLM 0.15, whose count is only a bound',
      400,
      openAi(
        "This model's maximum context length is 150000 tokens. However, you requested 32768 output tokens and your prompt contains at least 117233 input tokens, for a total of at least 150001 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=117233)",
        { type: 'BadRequestError', param: 'input_tokens', code: 400 },
      ),
      150000,
    ],
    [
      'vLLM 0.15, which counted characters',
      400,
      openAi(
        "This model's maximum context length is 4096 tokens. However, you requested 4096 output tokens and your prompt contains 581 characters (more than 0 characters, which is the upper bound for 0 input tokens).",
        { code: 400 },
      ),
      4096,
    ],
    [
      'vLLM, decoder prompt',
      400,
      vllm('The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make sure that'),
      8192,
      10127,
    ],
    [
      'SGLang, input alone',
      400,
      vllm("The input (61709 tokens) is longer than the model's context length (40960 tokens)."),
      40960,
      61709,
    ],
    [
      'SGLang, input and output',
      400,
      vllm(
        "Requested token count exceeds the model's maximum context length of 1000 tokens. You requested a total of 1206 tokens: 6 tokens from the input messages and 1200 tokens for the completion. Please reduce the number of tokens",
      ),
      1000,
      6,
    ],
    [
      'llama.cpp',
      400,
      {
        error: {
          code: 400,
          message: 'request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 14430,
          n_ctx: 8191,
        },
      },
      8191,
      14430,
    ],
    [
      'llama.cpp of 2025, with status 500',
      500,
      {
        error: {
          code: 500,
          message: 'the request exceeds the available context size. try increasing the context size',
          type: 'exceed_context_size_error',
        },
      },
    ],
    [
      'TGI',
      422,
      {
        error:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and 4000 `max_new_tokens`',
        error_type: 'validation',
      },
      4096,
      1000,
    ],
    [
      'Anthropic, input and output',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
        },
        request_id: 'req_011CUB2XUHWkFnQzxcKBbjpF',
      },
      200000,
      178959,
    ],
    ['Anthropic, prompt alone', 400, openAi('prompt is too long: 208310 tokens > 200000 maximum'), 200000, 208310],
    [
      'OpenRouter, numeric code behind a 200',
      200,
      {
        error: {
          message:
            'This endpoint\'s maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output). Please reduce the length of either one, or use the "middle-out" transform.',
          code: 400,
          metadata: { provider_name: 'Chutes' },
        },
      },
      131072,
      10535,
    ],
    [
      'Gemini, in a list',
      400,
      [
        {
          error: {
            code: 400,
            message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
      1048575,
      1196265,
    ],
    [
      'xAI',
      400,
      {
        code: 'Client specified an invalid argument',
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
      131072,
      537812,
    ],
    [
      'Mistral',
      400,
      vllm('Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length'),
      32768,
      40000,
    ],
    [
      'LM Studio',
      400,
      {
        error:
          'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
      },
      32768,
    ],
  ];
  it.each(cases)('%s', (_name, status, body, contextTokens, promptTokens) => {
    const failure = classified(http(status, body));
    expect(failure.class).toBe('context-overflow');
    expect(failure.overflow).toEqual({
      ...(contextTokens !== undefined && { contextTokens }),
      ...(promptTokens !== undefined && { promptTokens }),
    });
    expect(failure.stop).toBeUndefined();
  });
});

describe('a rejected parameter is named by', () => {
  const cases: [string, string, number, unknown][] = [
    [
      'OpenAI, max_tokens',
      'max_tokens',
      400,
      openAi(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        { param: 'max_tokens', code: 'unsupported_parameter' },
      ),
    ],
    [
      'OpenAI, value',
      'temperature',
      400,
      openAi(
        "Unsupported value: 'temperature' does not support 0.6 with this model. Only the default (1) value is supported.",
        { param: 'temperature', code: 'unsupported_value' },
      ),
    ],
    [
      'OpenAI, parameter without a code',
      'temperature',
      400,
      openAi("Unsupported parameter: 'temperature' is not supported with this model.", {
        param: 'temperature',
        code: null,
      }),
    ],
    [
      'OpenAI, unknown',
      'top_k',
      400,
      openAi("Unknown parameter: 'top_k'.", { param: 'top_k', code: 'unknown_parameter' }),
    ],
    [
      'Azure',
      'stream_options',
      400,
      openAi('Unrecognized request argument supplied: stream_options', { param: null, code: null }),
    ],
    [
      'Azure AI',
      'stream_options',
      400,
      {
        error: { code: 'BadRequest', message: 'Validation error at #/stream_options: Extra inputs are not permitted' },
      },
    ],
    [
      'LiteLLM',
      'temperature',
      400,
      {
        error: {
          message:
            "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support temperature=0.7. Only temperature=1 is supported. For gpt-5.1, temperature is supported when reasoning_effort='none' (or not specified, as it defaults to 'none'). To drop unsupported params set litellm.drop_params = True.",
          type: 'None',
          param: null,
          code: '400',
        },
      },
    ],
    [
      'LiteLLM, relaying OpenAI',
      'temperature',
      400,
      {
        error: {
          message:
            'litellm.BadRequestError: OpenAIException - {\n  "error": {\n    "message": "Unsupported parameter: \'temperature\' is not supported with this model.",\n    "param": "temperature"}}',
          code: '400',
        },
      },
    ],
    [
      'Mistral',
      'top_k',
      422,
      {
        object: 'error',
        message: {
          detail: [
            { type: 'extra_forbidden', loc: ['body', 'top_k'], msg: 'Extra inputs are not permitted', input: 20 },
          ],
        },
        type: 'invalid_request_error',
      },
    ],
    [
      'FastAPI',
      'seed',
      422,
      { detail: [{ type: 'extra_forbidden', loc: ['body', 'seed'], msg: 'Extra inputs are not permitted', input: 1 }] },
    ],
    ['Groq', 'top_k', 400, openAi("property 'top_k' is unsupported")],
    [
      'Gemini',
      'seed',
      400,
      [{ error: { code: 400, message: 'Invalid JSON payload received. Unknown name "seed": Cannot find field.' } }],
    ],
    ['Anthropic', 'temperature', 400, openAi('`temperature` and `top_p` cannot both be specified for this model.')],
  ];
  it.each(cases)('%s', (_name, parameter, status, body) => {
    expect(classified(http(status, body)).rejected).toBe(parameter);
  });

  it('counts only when it was sent', () => {
    const body = openAi("Unknown parameter: 'top_k'.", { param: 'top_k', code: 'unknown_parameter' });
    const failure = classified(http(400, body), { sent: ['model', 'messages', 'temperature'] });
    expect(failure).toMatchObject({ class: 'fatal' });
    expect(failure.rejected).toBeUndefined();
    expect(failure.stop).toBeUndefined();
  });

  it('stops with the flag that leaves it out', () => {
    const temperature = classified(http(400, openAi('x', { param: 'temperature', code: 'unsupported_value' })));
    expect(temperature.stop?.message).toContain('--temperature default');
    expect(temperature.stop?.message).toContain('--allow-param-drop');
    expect(temperature.stop?.exitCode).toBe(EXIT.usage);
    const extra = http(400, openAi('Unrecognized request argument supplied: enable_thinking'));
    expect(classified(extra, { sent: [...SENT, 'enable_thinking'] }).stop?.message).toContain('--extra-body');
  });

  it('stops without an offer to drop it where streaming is refused', () => {
    const body = openAi('Your organization must be verified to stream this model.', {
      param: 'stream',
      code: 'unsupported_value',
    });
    const failure = classified(http(400, body));
    expect(failure.rejected).toBeUndefined();
    expect(failure.stop?.message).toContain('--no-stream');
  });
});

describe('max_tokens above what the model can write stops the run', () => {
  it.each([
    [
      'OpenAI',
      openAi(
        'max_tokens is too large: 50000. This model supports at most 32768 completion tokens, whereas you provided 50000.',
        { param: 'max_tokens', code: 'invalid_value' },
      ),
    ],
    ['DeepSeek', openAi('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]')],
    ['SGLang', vllm('max_completion_tokens is too large: 9.This model supports at most 8 completion tokens.')],
  ])('%s', (_name, body) => {
    const failure = classified(http(400, body));
    expect(failure).toMatchObject({ class: 'fatal', stop: { exitCode: EXIT.usage } });
    expect(failure.rejected).toBeUndefined();
    expect(failure.stop?.message).toContain('--max-tokens');
  });
});

describe('a JSON schema that this program asks for', () => {
  const held = { isHeld: true, sent: [...SENT, 'response_format'] };
  const remedy = /--verdict-schema/;

  it.each<[string, number, unknown]>([
    ['OpenAI', 400, openAi("Invalid schema for response_format 'verdict'", { param: 'response_format' })],
    [
      'an older OpenAI model',
      400,
      openAi("Invalid parameter: 'response_format' of type 'json_schema' is not supported"),
    ],
    ['vLLM', 400, vllm('The provided JSON schema contains features not supported by xgrammar.')],
    ['llama.cpp', 400, { error: { code: 400, message: 'Failed to parse grammar', type: 'invalid_request_error' } }],
    ['FastAPI', 422, { detail: [{ loc: ['body', 'response_format'], msg: 'Extra inputs are not permitted' }] }],
    ['DeepSeek', 400, openAi('This response_format type is unavailable now')],
  ])('and that %s rejects ends the run and names the flag; it is never dropped', (_, status, body) => {
    const failure = classified(http(status, body), held);
    expect(failure).toMatchObject({ class: 'fatal', reason: expect.stringContaining('rejects the JSON schema') });
    expect(failure.rejected).toBeUndefined();
    expect(failure.stop).toMatchObject({ exitCode: EXIT.usage, message: expect.stringMatching(remedy) });
  });

  it.each<[string, number, unknown, object]>([
    ['of the user in --extra-body', 400, openAi('Unsupported parameter: response_format'), { isHeld: false }],
    ['of a request that has none', 400, openAi('this grammar is bad'), { sent: SENT }],
    ['in trouble of its own', 503, openAi('the schema service is down'), {}],
  ])('is not named for a failure %s', (_, status, body, change) => {
    expect(classified(http(status, body), { ...held, ...change }).stop?.message ?? '').not.toMatch(remedy);
  });
});
