// What a connection throws, and the class of each.

import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { classified } from '../../support/failures.js';

describe('a connection', () => {
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
      'connection timed out, as the client tells it',
      { message: 'Request timed out.' },
      { class: 'transient', unreachable: true },
    ],
    ['connection timed out', { code: 'UND_ERR_CONNECT_TIMEOUT' }, { class: 'transient', unreachable: true }],
    ['reset', { cause: { code: 'ECONNRESET' } }, { class: 'transient', reason: 'the connection broke (ECONNRESET)' }],
    ['other side closed', { cause: { code: 'UND_ERR_SOCKET', cause: { code: 'ECONNRESET' } } }, { class: 'transient' }],
    [
      'self-signed certificate',
      { cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } },
      { class: 'fatal', stop: { exitCode: EXIT.unavailable } },
    ],
    ['no HTTP', { cause: { code: 'HPE_INVALID_CONSTANT' } }, { class: 'malformed' }],
    ['anything', new Error('boom'), { class: 'transient', reason: 'the call failed (boom)' }],
  ])('%s', (_name, error, expected) => {
    const failure = classified({ error });
    expect(failure).toMatchObject(expected);
    if (!('unreachable' in expected)) expect(failure.unreachable).toBeUndefined();
  });
});
