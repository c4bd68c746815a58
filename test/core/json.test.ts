// JSON values: of which kind one is, and one text for one value.

import { expect, test } from 'vitest';
import { canonicalJson, isContainer, isInteger, isObject, parseObject } from '../../src/core/json.js';

test('equal values have one text, in whatever order their members came', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined })).toBe('{"b":[1,{"c":"x","d":null}]}');
  expect(canonicalJson({ b: 1, a: 2 })).toBe(canonicalJson({ a: 2, b: 1 }));
  expect(canonicalJson([2, 1])).not.toBe(canonicalJson([1, 2]));
});

test('what is undefined in a list keeps its place', () => {
  expect(canonicalJson([undefined, 1])).toBe('[null,1]');
});

test.each([
  [{}, true, true],
  [[], true, false],
  [null, false, false],
  ['x', false, false],
  [1, false, false],
])('%j holds others: %s; is an object: %s', (value, container, object) => {
  expect([isContainer(value), isObject(value)]).toEqual([container, object]);
});

test('whole numbers that a double cannot tell apart, and texts of digits, are none', () => {
  expect([0, -3, 2 ** 53 - 1].every(isInteger)).toBe(true);
  expect([2 ** 53, 0.5, Number.NaN, Infinity, '1', null].some(isInteger)).toBe(false);
});

test.each(['', '[1]', 'null', '"x"', '{', '{"a":1}x'])('%j holds no object', (text) => {
  expect(parseObject(text)).toBeUndefined();
});

test('an object is read from its text', () => {
  expect(parseObject(' {"a":1} ')).toEqual({ a: 1 });
});
