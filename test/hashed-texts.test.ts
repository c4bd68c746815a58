// Texts that begin with hashes, and others that do not: each comes back as it was, and is found again.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HashedTexts, TextNumbers } from '../src/hashed-texts.js';

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
const anyText = fc.oneof(
  hex(24),
  fc.tuple(hex(24), fc.constantFrom('#0', '#1', '-1#0', '', 'abc')).map((parts) => parts.join('')),
  fc.tuple(fc.constantFrom('0'.repeat(24), 'f'.repeat(24)), fc.string()).map((parts) => parts.join('')),
  fc.string(),
  fc.string({ unit: 'binary' }),
  hex(23),
  hex(24).map((text) => text.toUpperCase()),
);

describe.each([0, 1, 2, 3])('texts with hashes of %d words', (words) => {
  test('come back as they were, at whatever index, the latest at each', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), anyText)), (puts) => {
        const texts = new HashedTexts(words);
        for (const [index, text] of puts) texts.put(index, text);
        for (const [index, text] of new Map(puts)) expect(texts.at(index)).toBe(text);
        expect(texts.at(31)).toBe('');
      }),
    );
  });

  test('are numbered as they come, and found as a map would find them', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 200 }), fc.array(anyText), (added, others) => {
        const numbers = new TextNumbers(words);
        const expected = new Map<string, number>();
        for (const text of added) {
          if (!expected.has(text)) expected.set(text, expected.size);
          expect(numbers.add(text)).toBe(expected.get(text));
        }
        expect(numbers.size).toBe(expected.size);
        expect([...numbers]).toEqual([...expected.keys()]);
        for (const text of [...added, ...others]) expect(numbers.find(text)).toBe(expected.get(text));
      }),
    );
  });
});

test('tens of thousands are told apart', () => {
  const texts = Array.from({ length: 30_000 }, (_, at) => {
    const hash = createHash('sha256')
      .update(`${at >> 1}`)
      .digest('hex');
    return `${hash.slice(0, 24)}#${at & 1}`;
  });
  const numbers = new TextNumbers(3);
  for (const text of texts) numbers.add(text);
  expect(numbers.size).toBe(texts.length);
  for (const [at, text] of texts.entries()) expect(numbers.find(text)).toBe(at);
});
