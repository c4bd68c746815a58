// What is accepted as a manifest, and what is refused, with the field at fault.

import { expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { checkedManifest } from '../../src/run/manifest.js';

const LEAST = { schema: 'awb.manifest/1', identity: {} };

test.each([
  ['another schema', { schema: 'awb.manifest/2', identity: {} }, 'has schema "awb.manifest/2"'],
  ['no schema', {}, 'has schema null'],
  ['no identity', { schema: 'awb.manifest/1' }, 'has no "identity"'],
  ['an identity of another type', { schema: 'awb.manifest/1', identity: [] }, 'has no "identity"'],
  ['a count that is not an integer', { ...LEAST, counts: { ok: 1.5 } }, '"counts.ok" does not have a valid value'],
  ['a list of another type', { ...LEAST, endpoints: ['a', 1] }, '"endpoints.1" does not have a valid value'],
  [
    'an invalid value in the manifest of its predictions',
    { ...LEAST, predictions: { state: 7 } },
    '"predictions.state" does not have a valid value',
  ],
  [
    'an invalid value in a part',
    { ...LEAST, merged: [{ dir: '/a', state: 'complete', startedAt: 't', pace: { calls: -1, seconds: 0 } }] },
    '"merged.0.pace.calls" does not have a valid value',
  ],
  ['an unknown state', { ...LEAST, state: 'odd' }, '"state" does not have a valid value'],
  ['null in place of a field', { ...LEAST, label: null }, '"label" does not have a valid value'],
])('%s is refused', (_what, value, message) => {
  expect(() => checkedManifest(value, 'm.json')).toThrow(
    expect.objectContaining({ exitCode: EXIT.badData, message: expect.stringContaining(message) }),
  );
});

test('removed fields may be absent at any depth, and unknown fields may be present', () => {
  expect(checkedManifest(LEAST, 'm.json')).toBe(LEAST);
  const less = { ...LEAST, counts: { ok: 1 }, predictions: { state: 'complete' }, tokens: {}, more: true };
  expect(checkedManifest(less, 'm.json')).toBe(less);
});
