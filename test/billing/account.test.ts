// The sums of a bill, against the price catalogue's own calculation.

import { calcPrice } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import type { Estimated } from '../../src/bill.js';
import { Account } from '../../src/billing/account.js';
import { openPrices } from '../../src/prices/prices.js';

const AT = new Date('2026-09-23');

const call = (promptTokens: number, cachedTokens: number, output: Estimated) => ({
  ...{ characters: 4 * promptTokens, promptTokens, cachedTokens },
  output,
});

test.each([
  ['openai', 'gpt-5.2', 'api.openai.com'],
  ['google', 'gemini-2.5-pro', 'generativelanguage.googleapis.com'],
])('calls at %s %s are priced one by one, as the catalogue does, tiers and all', async (providerId, model, host) => {
  const price = (await openPrices()).priceOf({ model, hosts: [host], at: AT });
  const account = new Account(price);
  const sizes = [1_000, 150_000, 199_999, 200_001, 700_000];
  let [plain, cached] = [0, 0];
  for (const tokens of sizes) {
    account.add('mcp', [call(tokens, tokens / 2, { expected: 300, atLeast: 0, atMost: 1_000 })]);
    const usage = { input_tokens: tokens, output_tokens: 300 };
    const of = (more: object) => calcPrice({ ...usage, ...more }, model, { providerId, timestamp: AT })?.total_price;
    plain += of({}) ?? Number.NaN;
    cached += of({ cache_read_tokens: tokens / 2 }) ?? Number.NaN;
  }
  const { usd } = account.total();
  expect(usd?.plain.expected).toBeCloseTo(plain, 9);
  expect(usd?.cached.expected).toBeCloseTo(cached, 9);
  expect(usd?.plain.atMost).toBeGreaterThan(plain);
});

test('with a cache, what it does not hold yet costs what writing into it costs, where a provider charges for that', async () => {
  const [providerId, model] = ['anthropic', 'claude-sonnet-4-5'];
  const account = new Account((await openPrices()).priceOf({ model, hosts: ['api.anthropic.com'], at: AT }));
  account.add('mcp', [call(1_000, 400, { expected: 300, atLeast: 0 })]);
  const usage = { input_tokens: 1_000, cache_read_tokens: 400, cache_write_tokens: 600, output_tokens: 300 };
  const official = calcPrice(usage, model, { providerId, timestamp: AT })?.total_price;
  expect(account.total().usd?.cached.expected).toBeCloseTo(official ?? Number.NaN, 9);
});

test('what one call does not know, no sum of it does, and its bounds stay', () => {
  const account = new Account({ model: 'm', source: 's', input: 1, output: 10 });
  account.add('web', [call(1e6, 0, { expected: 1e6, atLeast: 0, atMost: 2e6 })]);
  account.add('mcp', [call(1e6, 5e5, { atLeast: 0, atMost: 2e6 }), call(1e6, 1e6, { atLeast: 0 })]);
  const [mcp, web] = account.domains();
  expect([mcp?.domain, web?.domain]).toEqual(['mcp', 'web']);
  expect(mcp).toMatchObject({ rows: 1, calls: 2, promptTokens: 2e6, cachedTokens: 1.5e6 });
  expect([mcp?.outputTokens, mcp?.usd?.plain]).toEqual([{ atLeast: 0 }, { atLeast: 2 }]);
  expect(web?.usd?.plain).toEqual({ expected: 11, atLeast: 1, atMost: 21 });
  expect(account.total().usd?.plain).toEqual({ atLeast: 3 });
});

test('without a price there is no cost, which is not a cost of zero', () => {
  const account = new Account(undefined);
  account.add('mcp', [call(10, 0, { expected: 1, atLeast: 0 })]);
  expect(account.total()).not.toHaveProperty('usd');
  expect(account.total().promptTokens).toBe(10);
});
