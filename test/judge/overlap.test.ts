// The lines and the JSON values that two texts share.

import { describe, expect, test } from 'vitest';
import { jsonF1, lineF1 } from '../../src/judge/metrics.js';

describe('line F1', () => {
  test.each([
    ['order does not count', 'b\na', 'a\nb', 100],
    ['each line counts as often as it occurs', 'a\na\na', 'a', 50],
    ['white space at the end of a line does not count', 'a  \r\nb\t', 'a\nb', 100],
    ['white space at the start of a line counts', '  a', 'a', 0],
    ['blank lines earn nothing', 'x\n\n\n\n', 'y\n\n\n\n', 0],
    ['a line separator inside a line does not split it', 'a\u2028b', 'a\nb', 0],
    ['a missing line costs recall', 'a\nb', 'a\nb\nc\nd', (200 * 2) / 6],
  ])('%s', (_, prediction, truth, rating) => {
    expect(lineF1(prediction, truth)).toBe(rating);
  });
});

describe('JSON F1', () => {
  test.each([
    ['key order and layout do not count', '{"b": [1, 2],\n "a": "x"}', '{"a":"x","b":[1,2]}', 100],
    ['1 and 1.0 are the same number', '{"a": 1.0}', '{"a": 1}', 100],
    ['1 and "1" are different values', '{"a": "1"}', '{"a": 1}', 0],
    ['null and a missing key are different', '{"a": 1, "b": null}', '{"a": 1}', (200 * 1) / 3],
    ['the position in an array counts', '[1, 2]', '[2, 1]', 0],
    ['an array is not an object with numeric keys', '{"0": 1}', '[1]', 0],
    ['a dot in a key does not make a path', '{"a.b": 1}', '{"a": {"b": 1}}', 0],
    ['an empty object differs from an empty array', '{"a": {}}', '{"a": []}', 0],
    ['a scalar against an object shares nothing', '1', '{"a": 1}', 0],
    ['half of the leaves', '{"a": 1, "b": 2}', '{"a": 1, "b": 3}', 50],
    ['white space around the JSON does not count', '\n[1]\n', '[1]', 100],
    ['keys of the prototype are keys', '{"__proto__": 1}', '{"__proto__": 2}', 0],
  ])('%s', (_, prediction, truth, rating) => {
    expect(jsonF1(prediction, truth)).toBe(rating);
  });

  test.each([
    ['the prediction is not JSON', '{"a": 1', '{"a": 1}'],
    ['the truth is not JSON', '{"a": 1}', 'error: {"a": 1}'],
    ['the truth is a bare scalar', '42', '42'],
  ])('is absent if %s', (_, prediction, truth) => {
    expect(jsonF1(prediction, truth)).toBeUndefined();
  });

  test('nesting of any depth is walked', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(jsonF1(` ${deep}`, deep)).toBe(100);
  });
});
