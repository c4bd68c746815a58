// Quantiles, held against Python's.

import { expect, test } from 'vitest';
import { quantile } from '../../src/core/groups.js';

// min, statistics.median, the ninth of statistics.quantiles(n=10, method='inclusive'), max
test.each([
  [[3], [3, 3, 3, 3]],
  [
    [1, 2],
    [1, 1.5, 1.9, 2],
  ],
  [
    [5, 1, 9, 4, 4, 100],
    [1, 4.5, 54.5, 100],
  ],
  [
    [0, 7, 7, 8, 20, 31, 31],
    [0, 8, 31, 31],
  ],
])('of %j are those of Python', (values, expected) => {
  const sorted = values.toSorted((a, b) => a - b);
  const found = [0, 0.5, 0.9, 1].map((share) => quantile(sorted, share) as number);
  for (const [at, value] of found.entries()) expect(value).toBeCloseTo(expected[at] as number, 12);
});

test('there are none of no values', () => {
  expect(quantile([], 0.5)).toBeUndefined();
});
