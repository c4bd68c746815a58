// Edit distance of two texts, checked against another implementation's figures and the textbook's recurrence.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editSimilarity } from '../../src/judge/metrics.js';

interface Pair {
  readonly prediction: string;
  readonly truth: string;
  readonly distance: number;
}
const { pairs } = JSON.parse(readFileSync(new URL('../../fixtures/metrics.json', import.meta.url), 'utf8')) as {
  pairs: Pair[];
};

const length = (text: string) => [...text].length;

/** Levenshtein distance by its textbook recurrence: slow, but obviously right. */
function distance(first: string, second: string): number {
  const [a, b] = [[...first], [...second]];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, char] of a.entries()) {
    const current = [i + 1];
    for (const [j, other] of b.entries()) {
      const diagonal = (previous[j] ?? 0) + (char === other ? 0 : 1);
      current.push(Math.min(diagonal, (previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

test.each(pairs)('edits from $prediction to $truth are counted in code points', ({ prediction, truth, distance }) => {
  const longer = Math.max(length(prediction), length(truth));
  expect(editSimilarity(prediction, truth)).toBe((100 * (longer - distance)) / longer);
});

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' ', '\n', 'é', '😀'), minLength: 1, maxLength: 150 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
);

test('any two texts have the edit distance of the textbook', () => {
  fc.assert(
    fc.property(text, text, (prediction, truth) => {
      const longer = Math.max(length(prediction), length(truth));
      const expected = (100 * (longer - distance(prediction, truth))) / longer;
      expect(editSimilarity(prediction, truth)).toBeCloseTo(expected, 10);
    }),
    {
      examples: [
        ['a'.repeat(32), 'b'.repeat(33)],
        ['ab'.repeat(64), 'ba'.repeat(64)],
      ],
    },
  );
});
