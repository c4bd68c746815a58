// Refusals, and what stops a run: as servers really tell them, with the remedy that each comes with.

import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { classified, http, openAi } from '../../support/failures.js';

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

describe('what stops the run says how to fix it:', () => {
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
