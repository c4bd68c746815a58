// Which members of a body are taken for keys.

import { describe, expect, it } from 'vitest';
import { hideKeys, keysIn } from '../../src/core/redaction.js';

describe('a member of a body', () => {
  it.each([
    ...['api_key', 'apikey', 'API-KEY', 'apiKey', 'X-API-Key', 'xApiKey', 'api_key_2', 'key', 'api_keys', 'access_key'],
    ...['secretKey', 'private_key', 'Ocp-Apim-Subscription-Key', 'token', 'access_token', 'accesstoken', 'AccessToken'],
    ...[
      'hf_token',
      'github-token',
      'refresh_tokens',
      'Authorization',
      'Proxy-Authorization',
      'authorization_header',
      'auth',
    ],
    ...[
      'secret',
      'client_secret',
      'password',
      'PASSWORD',
      'db-password',
      'passwd',
      'passphrase',
      'credentials',
      'cookie',
      'jwt',
    ],
  ])('is taken for a key under the name %s, at any depth', (name) => {
    expect(hideKeys({ a: 1, b: [{ c: 'd', [name]: 'text' }] })).toEqual({ a: 1, b: [{ c: 'd' }] });
    expect(hideKeys({ [name]: ['one', 'two'] }, () => '-')).toEqual({ [name]: ['-', '-'] });
    expect(keysIn({ [name]: 'text', b: { [name]: { type: 'bearer', value: 'other' } } })).toEqual(['text', 'other']);
  });

  it.each([
    ...[
      'max_tokens',
      'max_completion_tokens',
      'token_type_ids',
      'logprobs',
      'stop_token_ids',
      'stop_token',
      'eos_token',
    ],
    ...['key_value_cache', 'prompt_cache_key', 'tokens', 'tokenizer', 'bad_words', 'chat_template', 'monkey', 'keys'],
    ...['thinking_token', 'author', 'authors', 'return_tokens_as_token_ids', 'token_budget', 'passage', 'secretary'],
  ])('is none under the name %s', (name) => {
    const body = { [name]: 'text', b: { [name]: ['text'], empty: {} } };
    expect(hideKeys(body)).toEqual(body);
    expect(keysIn(body)).toEqual([]);
  });

  it('is none if it contains no text, such as the schema of a tool that takes a password', () => {
    const body = { token: 50_256, auth: true, secret: null, properties: { password: { type: 'string' } }, key: '' };
    expect(hideKeys(body)).toEqual(body);
  });

  it('goes with what holds nothing else', () => {
    expect(hideKeys({ a: 1, extraBody: { metadata: { api_key: 'text' } } })).toEqual({ a: 1 });
  });
});
