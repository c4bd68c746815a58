// Failure texts as servers really send them, and the class, remedy and numbers that are read out of each.

import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.js';
import { type CallContext, classify, type Trouble, tidy } from '../../src/model/failures.js';
import { openRedaction } from '../../src/redaction.js';

const NOW = Date.parse('2026-11-02T12:00:00Z');
const SENT = ['model', 'messages', 'max_tokens', 'temperature', 'top_p', 'top_k', 'seed', 'reasoning_effort'];
const STREAMED = [...SENT, 'stream', 'stream_options'];

function classified(trouble: Trouble, context: Partial<CallContext> = {}) {
  return classify(trouble, {
    host: 'models.example:8000',
    model: 'wm-35b',
    asked: 'chat completions',
    flagPrefix: 'model',
    hasKey: true,
    sent: STREAMED,
    redact: (text) => text,
    nowMs: NOW,
    ...context,
  });
}

const openAi = (message: string, rest: object = {}) => ({ error: { message, type: 'invalid_request_error', ...rest } });
const vllm = (message: string, code = 400) => ({
  object: 'error',
  message,
  type: 'BadRequestError',
  param: null,
  code,
});
const http = (status: number, body: unknown): Trouble => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

describe('a context overflow is told from other failures, with its numbers, as it comes from', () => {
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

describe('a refusal by a filter is the row’s, and stops nothing:', () => {
  it.each<[string, number, unknown]>([
    [
      'Azure',
      400,
      {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation' },
        },
      },
    ],
    [
      'OpenAI',
      400,
      openAi('Invalid prompt: your prompt was flagged as potentially violating our usage policy.', {
        code: 'invalid_prompt',
      }),
    ],
    ['DeepSeek', 400, openAi('Content Exists Risk')],
    [
      'DashScope',
      400,
      {
        error: {
          code: 'data_inspection_failed',
          param: null,
          message: 'Input data may contain inappropriate content.',
          type: 'data_inspection_failed',
        },
      },
    ],
    [
      'OpenRouter',
      403,
      {
        error: {
          code: 403,
          message: 'meta/llama requires moderation on OpenInference. Your input was flagged for "violence".',
        },
      },
    ],
  ])('%s', (_name, status, body) => {
    const failure = classified(http(status, body));
    expect(failure.class).toBe('refused');
    expect(failure.stop).toBeUndefined();
  });
});

describe('what stops the run says how to mend it:', () => {
  const cases: [string, number, unknown, string, number, string][] = [
    [
      'OpenAI key',
      401,
      openAi('Incorrect API key provided: sk-abc***xyz.', { code: 'invalid_api_key' }),
      'auth',
      EXIT.authRefused,
      '--model-api-key',
    ],
    ['vLLM key', 401, { error: 'Unauthorized' }, 'auth', EXIT.authRefused, 'AWB_MODEL_API_KEY'],
    [
      'Gemini key',
      400,
      [
        {
          error: { code: 400, message: 'API key not valid. Please pass a valid API key.', status: 'INVALID_ARGUMENT' },
        },
      ],
      'auth',
      EXIT.authRefused,
      '--model-api-key',
    ],
    [
      'region',
      403,
      openAi('Country, region, or territory not supported', { code: 'unsupported_country_region_territory' }),
      'auth',
      EXIT.authRefused,
      'access denied',
    ],
    [
      'OpenAI model',
      404,
      openAi('The model `wm-35b` does not exist or you do not have access to it.', { code: 'model_not_found' }),
      'fatal',
      EXIT.unavailable,
      '--model-name',
    ],
    [
      'vLLM model',
      404,
      { error: { message: 'The model `wm-35b` does not exist.', type: 'NotFoundError', param: 'model', code: 404 } },
      'fatal',
      EXIT.unavailable,
      '--model-name',
    ],
    [
      'Ollama model',
      404,
      {
        error: {
          message: 'model "wm-35b" not found, try pulling it first',
          type: 'api_error',
          param: null,
          code: null,
        },
      },
      'fatal',
      EXIT.unavailable,
      '--model-name',
    ],
    ['DeepSeek model', 400, openAi('Model Not Exist'), 'fatal', EXIT.unavailable, '--model-name'],
    [
      'OpenRouter model',
      400,
      { error: { message: 'wm-35b is not a valid model ID', code: 400 } },
      'fatal',
      EXIT.unavailable,
      '--model-name',
    ],
    [
      'LiteLLM model',
      400,
      {
        error: {
          message:
            '/chat/completions: Invalid model name passed in model=wm-35b. Call `/v1/models` to view available models for your key.',
          code: '400',
        },
      },
      'fatal',
      EXIT.unavailable,
      '--model-name',
    ],
    [
      'Azure deployment',
      404,
      { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
      'fatal',
      EXIT.unavailable,
      '--model-name',
    ],
    ['FastAPI path', 404, { detail: 'Not Found' }, 'fatal', EXIT.unavailable, '/v1'],
    [
      'llama.cpp path',
      404,
      { error: { code: 404, message: 'File Not Found', type: 'not_found_error' } },
      'fatal',
      EXIT.unavailable,
      '/v1',
    ],
    ['Go path', 404, '404 page not found', 'fatal', EXIT.unavailable, '/v1'],
    ['method', 405, { detail: 'Method Not Allowed' }, 'fatal', EXIT.unavailable, '/v1'],
    [
      'OpenAI quota',
      429,
      {
        error: {
          message: 'You exceeded your current quota, please check your plan and billing details.',
          type: 'insufficient_quota',
          code: 'insufficient_quota',
        },
      },
      'fatal',
      EXIT.unavailable,
      'credit',
    ],
    ['DeepSeek balance', 402, openAi('Insufficient Balance'), 'fatal', EXIT.unavailable, 'credit'],
    ['redirect', 307, '', 'fatal', EXIT.unavailable, 'base URL'],
  ];
  it.each(cases)('%s', (_name, status, body, failureClass, exitCode, words) => {
    const failure = classified(http(status, body));
    expect(failure).toMatchObject({ class: failureClass, stop: { exitCode } });
    expect(failure.stop?.message).toContain(words);
    expect(failure.stop?.message).toContain('models.example:8000');
  });

  it('names the judge’s flags for a judge', () => {
    const failure = classified(http(401, 'no'), { flagPrefix: 'judge', hasKey: false });
    expect(failure.stop?.message).toMatch(/an API key is needed.*--judge-api-key or AWB_JUDGE_API_KEY/);
  });
});

describe('classes of everything else:', () => {
  it.each<[string, Trouble, string]>([
    ['rate limit', http(429, openAi('Rate limit reached', { code: 'rate_limit_exceeded' })), 'rate-limit'],
    [
      'Gemini rate limit, worded like a quota',
      http(429, [
        {
          error: {
            code: 429,
            message: 'You exceeded your current quota, please check your plan and billing details.',
            status: 'RESOURCE_EXHAUSTED',
          },
        },
      ]),
      'rate-limit',
    ],
    ['server error', http(500, 'Internal Server Error'), 'transient'],
    [
      'llama.cpp loading',
      http(503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }),
      'transient',
    ],
    [
      'Anthropic overloaded',
      http(529, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      'transient',
    ],
    ['request timeout', http(408, ''), 'transient'],
    ['lock timeout', http(409, ''), 'transient'],
    ['too early', http(425, ''), 'transient'],
    [
      'overload in a stream',
      { body: JSON.stringify({ error: { type: 'overloaded_error', message: 'Overloaded' } }) },
      'transient',
    ],
    [
      'rate limit in a stream',
      { body: JSON.stringify({ error: { type: 'rate_limit_error', message: 'slow down' } }) },
      'rate-limit',
    ],
    [
      'upstream failure behind a 200',
      http(200, { error: { code: 502, message: 'Provider returned error' } }),
      'transient',
    ],
    ['nginx body limit', http(413, '<html><head><title>413 Request Entity Too Large</title></head></html>'), 'fatal'],
    [
      'a request above the rate limit itself',
      http(
        429,
        openAi(
          'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 50000.',
          { code: 'rate_limit_exceeded' },
        ),
      ),
      'fatal',
    ],
    ['unexplained', http(400, openAi('something odd')), 'fatal'],
    ['unexplained, as a string', http(422, 'no'), 'fatal'],
  ])('%s', (_name, trouble, failureClass) => {
    const failure = classified(trouble);
    expect(failure.class).toBe(failureClass);
    expect(failure.stop).toBeUndefined();
  });

  it.each<[string, unknown, object]>([
    ['refused', { code: 'ECONNREFUSED' }, { class: 'transient', unreachable: true }],
    [
      'refused on both addresses',
      { cause: { errors: [{ code: 'ECONNREFUSED' }, {}] } },
      { class: 'transient', unreachable: true },
    ],
    ['unknown host', { cause: { cause: { code: 'ENOTFOUND' } } }, { class: 'transient', unreachable: true }],
    ['no route', { code: 'EHOSTUNREACH' }, { class: 'transient', unreachable: true }],
    [
      'no connection in time, as the client tells it',
      { message: 'Request timed out.' },
      { class: 'transient', unreachable: true },
    ],
    ['reset', { cause: { code: 'ECONNRESET' } }, { class: 'transient', reason: 'the connection broke (ECONNRESET)' }],
    ['other side closed', { cause: { code: 'UND_ERR_SOCKET', cause: { code: 'ECONNRESET' } } }, { class: 'transient' }],
    [
      'self-signed certificate',
      { cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } },
      { class: 'fatal', stop: { exitCode: EXIT.unavailable } },
    ],
    ['no HTTP', { cause: { code: 'HPE_INVALID_CONSTANT' } }, { class: 'malformed' }],
    ['anything', new Error('boom'), { class: 'transient', reason: 'the call failed (boom)' }],
  ])('connection: %s', (_name, error, expected) => {
    const failure = classified({ error });
    expect(failure).toMatchObject(expected);
    if (!('unreachable' in expected)) expect(failure.unreachable).toBeUndefined();
  });
});

describe('what says nothing of the row that was asked', () => {
  it.each<[string, Trouble, true | undefined]>([
    ['a gateway without a server behind it', http(502, 'Bad Gateway'), true],
    ['a server that loads its model', http(503, { error: { code: 503, message: 'Loading model' } }), true],
    ["a web server's page", http(500, '<html><title>Oops</title></html>'), true],
    ['a default page where the API was', http(404, 'default backend - 404'), true],
    ['a redirect to a maintenance page', http(302, ''), true],
    [
      'a model that is not there',
      http(404, openAi('The model `m` does not exist.', { code: 'model_not_found' })),
      true,
    ],
    ['a server error, which may be of this row', http(500, 'Internal Server Error'), undefined],
    ['a gateway that waited too long, maybe for a long reply', http(504, '<html></html>'), undefined],
    ['a refused key', http(401, 'no'), undefined],
    ['no credit', http(402, 'no'), undefined],
  ])('%s', (_name, trouble, down) => {
    expect(classified(trouble).down).toBe(down);
  });
});

describe('how long a server asks to be left alone', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['seconds', { 'retry-after': '7' }, 7000],
    ['a fraction of a second', { 'retry-after': '0.25' }, 250],
    ['a date', { 'retry-after': 'Mon, 02 Nov 2026 12:00:30 GMT' }, 30_000],
    ['a date gone by', { 'retry-after': 'Mon, 02 Nov 2026 11:00:00 GMT' }, 0],
    ['milliseconds before seconds', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1500],
    ['a number beyond all numbers', { 'retry-after-ms': '1e400' }, Number.POSITIVE_INFINITY],
    ['nonsense', { 'retry-after': 'soon' }, undefined],
    ['nothing', {}, undefined],
  ])('%s', (_name, fields, expected) => {
    const headers = { get: (name: string) => fields[name] ?? null };
    expect(classified({ status: 429, body: '', headers }).retryAfterMs).toBe(expected);
  });
});

describe('a reason', () => {
  it.each([
    [
      'request ids',
      'failed. (request id: 20240523152007160608893pVIxONYS)',
      'failed. (request id: 20250101000000000000001abcdefgh)',
    ],
    ['OpenAI’s request ids', 'Include req_0a1b2c3d4e5f in your mail', 'Include req_9f8e7d6c5b4a in your mail'],
    ['UUIDs', 'deab386b-2562-9a7b-b8fa-0ba9385a5c28 gone', 'deab386b-2562-9a7b-b8fa-0ba9385a5c29 gone'],
    ['times', 'at 2026-11-02T12:00:00Z after 31.2 s', 'at 2026-11-02T12:00:41Z after 35 s'],
    ['waits', 'Please try again in 6m0.5s.', 'Please try again in 20ms.'],
  ])('is the same whatever the %s', (_name, one, other) => {
    const reasonOf = (message: string) => classified(http(500, openAi(message))).reason;
    expect(reasonOf(one)).toBe(reasonOf(other));
  });

  it('is the same however much of a rate limit is used', () => {
    const reasonOf = (used: string) =>
      classified(http(429, openAi(`Rate limit reached: Limit 10000, Used ${used}, Requested 2000.`))).reason;
    expect(reasonOf('9000')).toBe(reasonOf('10,500.5'));
  });

  it('is one line without control sequences, cut to length', () => {
    const { reason } = classified(http(500, `a\u001b]52;c;AAAA\u0007b\r\nc\u202e ${'x'.repeat(9000)}`));
    expect(reason).toContain('ab c x');
    expect(reason).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(reason.length).toBeLessThan(400);
  });

  it('gives a web page’s title, not its markup', () => {
    const page = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';
    expect(classified(http(502, page)).reason).toBe('the server failed (HTTP 502: a web page, 502 Bad Gateway)');
  });

  it('holds no key, in whatever form it is echoed', () => {
    const secret = 'sk-p/"roj+key';
    const redact = openRedaction([secret]);
    for (const echo of [secret, JSON.stringify(secret), encodeURIComponent(secret), btoa(secret)]) {
      const failure = classified(http(401, `bad key ${echo}`), { redact });
      expect(failure.reason).toContain('[redacted]');
      expect(failure.reason + failure.stop?.message).not.toContain('roj');
    }
  });

  it('holds no half of a key where it is cut, and none that invisible characters part', () => {
    const secret = 'sk-proj-0123456789-half';
    const redact = openRedaction([secret]);
    const parted = `${secret.slice(0, 9)}\u200b\u001b[0m${secret.slice(9)}`;
    for (const key of [secret, parted]) {
      const { reason } = classified(http(500, JSON.stringify({ odd: '!'.repeat(280), key })), { redact });
      expect(reason).not.toContain(secret.slice(0, 9));
      expect(tidy(`bad key ${key}`, redact)).toBe('bad key [redacted]');
    }
  });

  it('holds no half-masked key either', () => {
    expect(tidy('Incorrect API key provided: sk-proj-****wxyz. Go', openRedaction([]))).toBe(
      'Incorrect API key provided: [redacted] Go',
    );
  });
});
