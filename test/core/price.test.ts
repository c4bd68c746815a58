// What calls cost under a price.

import { expect, test } from 'vitest';
import { costOf, type Price } from '../../src/core/costs.js';

const price: Price = { model: 'm', source: 'x', input: 2, cached: 0.5, output: 10 };

test('cached tokens are part of the prompt, reasoning tokens part of the completion', () => {
  const usage = { promptTokens: 1_000_000, cachedTokens: 400_000, completionTokens: 100_000, reasoningTokens: 90_000 };
  expect(costOf(usage, price)).toBeCloseTo(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10, 12);
  const { cached: _, ...withoutCached } = price;
  expect(costOf(usage, withoutCached)).toBeCloseTo(2 + 1, 12);
  expect(costOf({ ...usage, cachedTokens: 2_000_000 }, price)).toBeCloseTo(0.5 + 1, 12);
});

test('tokens that were written into a cache have a price of their own, where there is one', () => {
  const usage = { promptTokens: 1_000_000, cachedTokens: 400_000, writtenTokens: 500_000, completionTokens: 0 };
  expect(costOf(usage, price)).toBeCloseTo(0.6 * 2 + 0.4 * 0.5, 12);
  expect(costOf(usage, { ...price, written: 2.5 })).toBeCloseTo(0.1 * 2 + 0.4 * 0.5 + 0.5 * 2.5, 12);
});

test.each([{ promptTokens: 5 }, { completionTokens: 5 }, {}])('%j is half of a cost, and none is given', (usage) => {
  expect(costOf(usage, price)).toBeUndefined();
});

test('above the start of a tier all tokens cost its price', () => {
  const tiered: Price = {
    ...price,
    input: {
      base: 2,
      tiers: [
        { start: 200_000, price: 4 },
        { start: 400_000, price: 6 },
      ],
    },
  };
  const cost = (promptTokens: number) => costOf({ promptTokens, completionTokens: 0 }, tiered);
  expect(cost(200_000)).toBeCloseTo(0.4, 12);
  expect(cost(300_000)).toBeCloseTo(1.2, 12);
  expect(cost(500_000)).toBeCloseTo(3, 12);
  // Two calls of 150,000 tokens stay below it.
  expect(costOf({ promptTokens: 300_000, completionTokens: 0 }, tiered, 2)).toBeCloseTo(0.6, 12);
});

test('a price for each call is added', () => {
  expect(costOf({ promptTokens: 0, completionTokens: 0 }, { ...price, call: 0.01 })).toBe(0.01);
  expect(costOf({ promptTokens: 0, completionTokens: 0 }, { ...price, call: 0.01 }, 3)).toBeCloseTo(0.03, 12);
});
