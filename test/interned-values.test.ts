import { expect, it } from 'vitest';
import { InternedValues } from '../src/interned-values.js';

it('values that share a text are kept once', () => {
  const shared = new InternedValues<object>();
  const [one, equal, other] = [{ a: 1 }, { a: 1 }, { a: 2 }];
  for (const [place, value] of [one, equal, other].entries()) shared.put(place, value, JSON.stringify(value));
  expect([0, 1, 2].map((place) => shared.at(place))).toEqual([one, one, other]);
  expect(shared.at(1)).toBe(one);
});
