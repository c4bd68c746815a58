import { describe, expect, it } from 'vitest';
import { readResult } from '../../../src/model/batch/folder.js';

const completion = { object: 'chat.completion', choices: [] };

describe('a result line', () => {
  it.each([
    [
      'OpenAI',
      { id: 'b', custom_id: 'a', response: { status_code: 200, request_id: 'r', body: completion }, error: null },
    ],
    ['a body without a status', { custom_id: 'a', response: { body: completion } }],
    ['a completion under response', { custom_id: 'a', response: completion }],
  ])('of %s holds its completion', (_, line) => {
    expect(readResult(line)).toEqual({ status: 200, body: JSON.stringify(completion) });
  });

  it('of an error is the answer that a server would have sent', () => {
    const said = { error: { message: 'no', type: 'invalid_request_error' } };
    expect(readResult({ custom_id: 'a', response: { status_code: 400, body: said } })).toEqual({
      status: 400,
      body: JSON.stringify(said),
    });
    // vLLM, in its newer form, its older one, and where the request itself was wrong.
    for (const error of [said, said.error]) {
      expect(readResult({ response: { status_code: 400, body: null }, error })).toEqual({
        status: 400,
        body: JSON.stringify(said),
      });
    }
    expect(readResult({ response: { status_code: 400 }, error: 'no such url' })).toMatchObject({ body: 'no such url' });
    expect(readResult({ response: null, error: said.error })).toEqual({
      status: undefined,
      body: JSON.stringify(said),
    });
  });

  it('of a request on which nobody has worked says so', () => {
    for (const code of ['batch_expired', 'batch_cancelled', 'request_canceled']) {
      expect(readResult({ custom_id: 'a', response: null, error: { code, message: 'm' } })).toBe('unasked');
    }
  });

  it('is none where it is a request, or nothing of the kind', () => {
    expect(readResult({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: {} })).toBeUndefined();
    expect(readResult({})).toBeUndefined();
    expect(readResult({ response: null, error: null })).toBeUndefined();
  });
});
