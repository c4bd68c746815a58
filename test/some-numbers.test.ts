import { expect, it } from 'vitest';
import { SomeNumbers } from '../src/some-numbers.js';

it('a place gives back the very number that was put, and none where there is none', () => {
  const numbers = new SomeNumbers();
  const values = [0, 1, 2 ** 32 - 1, 2 ** 32, -1, 0.1 + 0.2, undefined, Number.MAX_SAFE_INTEGER, 1e-300];
  for (const [place, value] of values.entries()) numbers.put(place * 1000, value);
  expect(values.map((_, place) => numbers.at(place * 1000))).toEqual(values);
  expect(numbers.at(1)).toBeUndefined();
});

it('a place that loses its number has none, whatever it was', () => {
  const numbers = new SomeNumbers();
  for (const before of [3, 0.5]) {
    numbers.put(5, before);
    numbers.put(5, undefined);
    expect(numbers.at(5)).toBeUndefined();
    numbers.put(5, 0);
    expect(numbers.at(5)).toBe(0);
  }
});
