// Requests for no route, or that cannot be read.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bodyLimitBytes } from '../../../src/serve/http/wire.js';
import { errorOf, FACTS, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

const LIMIT_BYTES = bodyLimitBytes(FACTS.contextSize);

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
  ])('%s', async (_, { path = '/v1/chat/completions', ...init }, status, code) => {
    const server = await serve(scripted(REPLY));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, ...init });
    expect(response.status).toBe(status);
    expect(await errorOf(response)).toMatchObject({ code, type: 'invalid_request_error', message: expect.any(String) });
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
