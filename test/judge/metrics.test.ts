// Text metrics: reference values of other implementations, edge cases, and what must hold for any two texts.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { measure } from '../../src/judge/metrics.js';

interface Pair {
  readonly prediction: string;
  readonly truth: string;
  readonly chrf: number;
  readonly distance: number;
}
const { pairs } = JSON.parse(readFileSync(new URL('../../fixtures/metrics.json', import.meta.url), 'utf8')) as {
  pairs: Pair[];
};

const length = (text: string) => [...text].length;

/** Levenshtein distance by its textbook recurrence: slow, and obviously right. */
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

describe('reference values', () => {
  test.each(pairs)('chrF of $prediction against $truth is that of sacreBLEU', ({ prediction, truth, chrf }) => {
    expect(measure(prediction, truth).chrf).toBeCloseTo(chrf, 10);
  });

  test.each(pairs)('edits from $prediction to $truth are counted in code points', ({ prediction, truth, distance }) => {
    const longer = Math.max(length(prediction), length(truth));
    expect(measure(prediction, truth).edit_similarity).toBe((100 * (longer - distance)) / longer);
  });
});

describe('empty texts', () => {
  const all = (rating: number) => ({ exact_match: rating, edit_similarity: rating, chrf: rating, line_f1: rating });
  test.each([
    ['an empty prediction rates 0 in everything', '', '{"a": 1}', 0],
    ['white space is no prediction', ' \n\t', 'a', 0],
    ['something where nothing was true rates 0', 'a', '', 0],
    ['nothing against nothing is right', '', '', 100],
    ['nothing against white space is right', '', ' \n', 100],
  ])('%s', (_, prediction, truth, rating) => {
    expect(measure(prediction, truth)).toEqual(all(rating));
  });
});

describe('exact match', () => {
  test.each([
    ['a', 'a', 100],
    ['a ', 'a', 0],
    ['A', 'a', 0],
    ['a\r\nb', 'a\nb', 0],
  ])('%j against %j', (prediction, truth, rating) => {
    expect(measure(prediction, truth).exact_match).toBe(rating);
  });
});

describe('line F1', () => {
  test.each([
    ['order does not count', 'b\na', 'a\nb', 100],
    ['each line counts as often as it stands there', 'a\na\na', 'a', 50],
    ['white space at the end of a line does not count', 'a  \r\nb\t', 'a\nb', 100],
    ['white space at the start of a line counts', '  a', 'a', 0],
    ['blank lines earn nothing', 'x\n\n\n\n', 'y\n\n\n\n', 0],
    ['a line separator inside a line does not split it', 'a\u2028b', 'a\nb', 0],
    ['a missing line costs recall', 'a\nb', 'a\nb\nc\nd', (200 * 2) / 6],
  ])('%s', (_, prediction, truth, rating) => {
    expect(measure(prediction, truth).line_f1).toBe(rating);
  });
});

describe('JSON F1', () => {
  test.each([
    ['key order and layout do not count', '{"b": [1, 2],\n "a": "x"}', '{"a":"x","b":[1,2]}', 100],
    ['1 and 1.0 are the same number', '{"a": 1.0}', '{"a": 1}', 100],
    ['1 and "1" are different values', '{"a": "1"}', '{"a": 1}', 0],
    ['null and a missing key are different', '{"a": 1, "b": null}', '{"a": 1}', (200 * 1) / 3],
    ['the place in an array counts', '[1, 2]', '[2, 1]', 0],
    ['an array is not an object with numbers for keys', '{"0": 1}', '[1]', 0],
    ['a dot in a key does not make a path', '{"a.b": 1}', '{"a": {"b": 1}}', 0],
    ['an empty object differs from an empty array', '{"a": {}}', '{"a": []}', 0],
    ['a scalar against an object shares nothing', '1', '{"a": 1}', 0],
    ['half of the leaves', '{"a": 1, "b": 2}', '{"a": 1, "b": 3}', 50],
    ['white space around the JSON does not count', '\n[1]\n', '[1]', 100],
    ['keys of the prototype are keys', '{"__proto__": 1}', '{"__proto__": 2}', 0],
  ])('%s', (_, prediction, truth, rating) => {
    expect(measure(prediction, truth).json_f1).toBe(rating);
  });

  test.each([
    ['the prediction is not JSON', '{"a": 1', '{"a": 1}'],
    ['the truth is not JSON', '{"a": 1}', 'error: {"a": 1}'],
    ['the truth is a bare scalar', '42', '42'],
  ])('is absent where %s', (_, prediction, truth) => {
    expect(measure(prediction, truth)).not.toHaveProperty('json_f1');
  });

  test('nesting of any depth is walked', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(measure(` ${deep}`, deep).json_f1).toBe(100);
  });
});

describe('any two texts', () => {
  const alphabet = fc.constantFrom('a', 'b', 'c', ' ', '\n', 'é', '😀');
  const text = fc.oneof(fc.string({ unit: alphabet, maxLength: 150 }), fc.string({ unit: 'binary', maxLength: 40 }));
  const written = text.filter((value) => value.trim() !== '');

  test('are edited into each other in as few steps as the textbook says', () => {
    fc.assert(
      fc.property(written, written, (prediction, truth) => {
        const longer = Math.max(length(prediction), length(truth));
        const expected = (100 * (longer - distance(prediction, truth))) / longer;
        expect(measure(prediction, truth).edit_similarity ?? Number.NaN).toBeCloseTo(expected, 10);
      }),
      {
        examples: [
          ['a'.repeat(32), 'b'.repeat(33)],
          ['ab'.repeat(64), 'ba'.repeat(64)],
        ],
      },
    );
  });

  test('rate between 0 and 100 in every measure', () => {
    fc.assert(
      fc.property(text, text, (prediction, truth) => {
        for (const rating of Object.values(measure(prediction, truth))) {
          expect(rating).toBeGreaterThanOrEqual(0);
          expect(rating).toBeLessThanOrEqual(100);
        }
      }),
    );
  });

  test('rate 100 in every measure where they are the same', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.json()), (same) => {
        for (const rating of Object.values(measure(same, same))) {
          expect(rating).toBeCloseTo(100, 10);
        }
      }),
    );
  });
});
