// What a run has spent: counts, estimates of what was not counted, and money.

import { expect, test } from 'vitest';
import type { Price } from '../../src/core/costs.js';
import { Ledger } from '../../src/run/budget.js';

const PRICE: Price = { model: 'm', source: 'test', input: 2, cached: 1, output: 10 };
const ledger = (price = PRICE) => new Ledger(() => price);

test('tokens are prompt plus output; cached tokens and thinking are included once', () => {
  const spent = ledger();
  spent.add({ usage: { promptTokens: 100, cachedTokens: 60, completionTokens: 20, reasoningTokens: 15 } });
  expect([spent.tokens, spent.estimated]).toEqual([120, 0]);
  expect(spent.usd).toBeCloseTo((40 * 2 + 60 * 1 + 20 * 10) / 1e6, 15);
});

test('without a price the dollars are unknown but the tokens are known', () => {
  const spent = new Ledger(() => undefined);
  spent.add({ usage: { promptTokens: 100, completionTokens: 20 } });
  expect([spent.tokens, spent.usd]).toEqual([120, undefined]);
});

test('uncounted text is estimated at four characters per token, rounded up, and is part of both sums', () => {
  const spent = ledger();
  spent.add({ usage: {}, uncounted: { sent: 4_001, received: 41 } });
  expect([spent.tokens, spent.estimated]).toEqual([1_001 + 11, 1_012]);
  expect(spent.usd).toBeCloseTo((1_001 * 2 + 11 * 10) / 1e6, 15);
});

test('if only one half was counted, that count is kept', () => {
  const spent = ledger();
  spent.add({ usage: { promptTokens: 7 }, uncounted: { sent: 0, received: 40 } });
  expect([spent.tokens, spent.estimated]).toEqual([17, 10]);
});

test('once the run has measured its characters per token, prompts are estimated with that ratio', () => {
  const spent = ledger();
  spent.add({ usage: { promptTokens: 20_000, completionTokens: 1 }, chars: 60_000 });
  spent.add({ usage: {}, uncounted: { sent: 3_000, received: 0 } });
  expect(spent.estimated).toBe(1_000);
});

test('a record of several calls is priced as several calls, since a price may depend on the length of each prompt', () => {
  const tiers = { base: 1, tiers: [{ start: 200, price: 100 }] };
  const price: Price = { model: 'm', source: 'test', input: tiers, output: 0, call: 0.5 };
  const together = ledger(price);
  together.add({ usage: { promptTokens: 300, completionTokens: 0 }, calls: 3 });
  expect(together.usd).toBeCloseTo(300 / 1e6 + 1.5, 12);
  const one = ledger(price);
  one.add({ usage: { promptTokens: 300, completionTokens: 0 } });
  expect(one.usd).toBeCloseTo((300 * 100) / 1e6 + 0.5, 12);
});

test('a failure that cost nothing is not even charged the fee per call', () => {
  const spent = ledger({ ...PRICE, call: 1 });
  spent.add({ usage: {} });
  expect([spent.tokens, spent.usd]).toEqual([0, 0]);
});
