// Text measures: which there are, their edge cases, and what must hold for any two texts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { measure, metrics } from '../../src/judge/metrics.js';

describe('empty texts', () => {
  const all = (rating: number) => ({ exact_match: rating, edit_similarity: rating, chrf: rating, line_f1: rating });
  test.each([
    ['an empty prediction rates 0 in everything', '', '{"a": 1}', 0],
    ['white space is not a prediction', ' \n\t', 'a', 0],
    ['something where the truth is empty rates 0', 'a', '', 0],
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

test('a measure that does not apply is absent, and every measure present was declared', () => {
  const declared = Object.keys(metrics.measures);
  expect(Object.keys(measure('{"a": 1}', '{"a": 1}'))).toEqual(declared);
  expect(Object.keys(measure('{"a": 1', '{"a": 1}'))).toEqual(declared.filter((name) => name !== 'json_f1'));
});

describe('any two texts', () => {
  const alphabet = fc.constantFrom('a', 'b', 'c', ' ', '\n', 'é', '😀');
  const text = fc.oneof(fc.string({ unit: alphabet, maxLength: 150 }), fc.string({ unit: 'binary', maxLength: 40 }));

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

  test('rate 100 in every measure if they are equal', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.json()), (same) => {
        for (const rating of Object.values(measure(same, same))) {
          expect(rating).toBeCloseTo(100, 10);
        }
      }),
    );
  });
});
