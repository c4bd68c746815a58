// Failure texts as servers really send them, and the class that is read out of each.

import { describe, expect, it } from 'vitest';
import type { Evidence } from '../../../src/model/failures/classify.js';
import { classified, http, openAi } from '../../support/failures.js';

describe('classes of everything else:', () => {
  it.each<[string, Evidence, string]>([
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
});

describe('what says nothing of the row that was asked', () => {
  it.each<[string, Evidence, true | undefined]>([
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

describe('how long a server asks to wait', () => {
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
