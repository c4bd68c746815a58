// Money in words.

import { expect, test } from 'vitest';
import { costCell, dollars } from '../../src/core/printable.js';

test.each([
  [0, '$0.00'],
  [12.345, '$12.35'],
  [1, '$1.00'],
  [0.999, '$1.00'],
  [0.5, '$0.50'],
  [0.034, '$0.034'],
  [0.0034, '$0.0034'],
  [0.00999, '$0.01'],
  [0.00056, '$0.00056'],
  [2.4e-7, '<$0.000001'],
  [1234.567, '$1,234.57'],
  [1234567, '$1,234,567.00'],
])('%f dollars read as %s', (usd, text) => {
  expect(dollars(usd)).toBe(text);
});

test.each([
  [{ usd: 12.35, unpriced: 0 }, '$12.35'],
  [{ usd: 3.1, unpriced: 12 }, '≥ $3.10'],
  [{ unpriced: 12 }, 'unknown'],
  [{ usd: 0, unpriced: 0 }, '$0.00'],
])('a cost of %o is %s in a table', (cost, cell) => {
  expect(costCell({ rows: 20, usage: {}, ...cost })).toBe(cell);
});
