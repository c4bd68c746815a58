// Identities: what of two of them differs, how it is said, and that runs of two are not mixed.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { differencesOf, fingerprintOf, type Identity, requireSameIdentity } from '../../src/core/identity.js';

const BEFORE: Identity = {
  model: 'm',
  sampling: { temperature: 0.6, extraBody: { stop: ['a', { b: 1, c: 2 }] } },
};

/** The same value with the keys of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}

describe('differences', () => {
  test.each<[string, Identity, string[]]>([
    ['none', BEFORE, []],
    ['none but the order of keys', reversed(BEFORE) as Identity, []],
    ['none but what is not set', { ...BEFORE, protocol: undefined }, []],
    ['a changed value', { ...BEFORE, model: 'M' }, ['model: "m" before, "M" now']],
    [
      'a changed field of a field, and one that is gone',
      { ...BEFORE, sampling: { temperature: 1 } },
      ['sampling.extraBody.stop: ["a",{"b":1,"c":2}] before, absent now', 'sampling.temperature: 0.6 before, 1 now'],
    ],
    ['a number and its text', { ...BEFORE, model: { name: 'm' } }, ['model: "m" before, {"name":"m"} now']],
    ['a new field', { ...BEFORE, seed: 0 }, ['seed: absent before, 0 now']],
    ['null', { ...BEFORE, seed: null }, ['seed: absent before, null now']],
    ['an empty object', { ...BEFORE, extra: {} }, ['extra: absent before, {} now']],
    [
      'a new object by its fields',
      { ...BEFORE, extra: { a: 1, b: { c: 2 } } },
      ['extra.a: absent before, 1 now', 'extra.b.c: absent before, 2 now'],
    ],
    ['a key that every object inherits', { ...BEFORE, constructor: 1 }, ['constructor: absent before, 1 now']],
    [
      'a key with a dot is no path',
      { model: 'm', 'sampling.temperature': 0.6 },
      [
        'sampling.extraBody.stop: ["a",{"b":1,"c":2}] before, absent now',
        'sampling.temperature: 0.6 before, absent now',
        'sampling.temperature: absent before, 0.6 now',
      ],
    ],
  ])('%s', (_what, now, expected) => {
    expect(differencesOf(BEFORE, now)).toEqual(expected);
  });

  test('identities have the same fingerprint exactly where nothing differs', () => {
    const json = fc.dictionary(
      fc.constantFrom('a', 'b', 'a.b', '__proto__', 'toString'),
      fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
      { maxKeys: 3 },
    );
    fc.assert(
      fc.property(json, json, (before, now) => {
        const same = fingerprintOf(before) === fingerprintOf(now);
        expect(differencesOf(before, now).length === 0).toBe(same);
        expect(fingerprintOf(reversed(before) as Identity)).toBe(fingerprintOf(before));
        expect(differencesOf(JSON.parse(JSON.stringify(before)), before)).toEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  test('an identity that went through a file is the same, whatever its keys', () => {
    const identity = { a: undefined, list: [undefined, Number.NaN], sampling: { seed: undefined, b: 1 } };
    const stored = JSON.parse(JSON.stringify(identity));
    expect(fingerprintOf(stored)).toBe(fingerprintOf(identity));
    expect(differencesOf(stored, identity)).toEqual([]);
  });
});

test('another identity is refused with every difference and the ways on', () => {
  expect(() => requireSameIdentity(BEFORE, reversed(BEFORE) as Identity, 'x.json')).not.toThrow();
  const refuse = () => requireSameIdentity(BEFORE, { ...BEFORE, model: 'M', data: 'd' }, 'x.json');
  expect(refuse).toThrow(expect.objectContaining({ name: 'UserError', exitCode: EXIT.identityDiffers }));
  for (const part of [
    'x.json',
    'model: "m" before, "M" now',
    'data: absent before, "d" now',
    '--output-dir',
    '--fresh',
  ]) {
    expect(refuse).toThrow(part);
  }
});

describe('the way back', () => {
  const refusal = (before: string, now: string) => () =>
    requireSameIdentity({ system_prompt: before }, { system_prompt: now }, 'x');

  test.each([
    ['row', 'bundled eef5bb'],
    ['bundled 1388b9', 'bundled+row eef5bb'],
    ['file 1388b9', 'file eef5bb'],
  ])('is the earlier settings from %s to %s', (before, now) => {
    expect(refusal(before, now)).toThrow(/Use the earlier settings to continue it/);
  });
});
