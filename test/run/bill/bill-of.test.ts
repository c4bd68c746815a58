// The sums of a bill, checked against the price catalogue's own calculation, and how long its calls take.

import { calcPrice } from '@pydantic/genai-prices';
import { expect, test } from 'vitest';
import { openPrices } from '../../../src/model/prices/prices.js';
import type { Estimated } from '../../../src/run/bill.js';
import { chargesOf, sumOf, timeOf } from '../../../src/run/bill.js';

const AT = new Date('2026-09-23');

const call = (prompt_tokens: number, cached_tokens: number, output_tokens: Estimated) => ({
  ...{ characters: 4 * prompt_tokens, prompt_tokens, cached_tokens },
  output_tokens,
});

test.each([
  ['openai', 'gpt-5.2', 'api.openai.com'],
  ['google', 'gemini-2.5-pro', 'generativelanguage.googleapis.com'],
])(
  'calls at %s %s are priced one by one, tiers included, as the catalogue prices them',
  async (providerId, model, host) => {
    const price = (await openPrices()).priceOf({ model, hosts: [host], at: AT });
    const sizes = [1_000, 150_000, 199_999, 200_001, 700_000];
    const output = { expected: 300, at_least: 0, at_most: 1_000 };
    const charges = sizes.map((tokens) => chargesOf(call(tokens, tokens / 2, output), price));
    let [plain, cached] = [0, 0];
    for (const tokens of sizes) {
      const usage = { input_tokens: tokens, output_tokens: 300 };
      const of = (more: object) => calcPrice({ ...usage, ...more }, model, { providerId, timestamp: AT })?.total_price;
      plain += of({}) ?? Number.NaN;
      cached += of({ cache_read_tokens: tokens / 2 }) ?? Number.NaN;
    }
    const { usd, usd_cached } = sumOf(charges, price);
    expect(usd?.expected).toBeCloseTo(plain, 9);
    expect(usd_cached?.expected).toBeCloseTo(cached, 9);
    expect(usd?.at_most).toBeGreaterThan(plain);
  },
);

test('with a cache, uncached tokens are billed as cache writes if the provider charges for those', async () => {
  const [providerId, model] = ['anthropic', 'claude-sonnet-4-5'];
  const price = (await openPrices()).priceOf({ model, hosts: ['api.anthropic.com'], at: AT });
  const usage = { input_tokens: 1_000, cache_read_tokens: 400, cache_write_tokens: 600, output_tokens: 300 };
  const official = calcPrice(usage, model, { providerId, timestamp: AT })?.total_price;
  const { usd_cached } = chargesOf(call(1_000, 400, { expected: 300, at_least: 0, at_most: 400 }), price);
  expect(usd_cached?.expected).toBeCloseTo(official ?? Number.NaN, 9);
});

test('the bounds of a sum are the sums of the bounds of its parts', () => {
  const price = { model: 'm', source: 's', input: 1, output: 10 };
  const bounded = chargesOf(call(1e6, 5e5, { expected: 1e6, at_least: 0, at_most: 2e6 }), price);
  const both = sumOf([bounded, bounded], price);
  expect(both).toMatchObject({ calls: 2, prompt_tokens: 2e6, cached_tokens: 1e6 });
  expect(both.output_tokens).toEqual({ expected: 2e6, at_least: 0, at_most: 4e6 });
  expect(both.usd).toEqual({ expected: 22, at_least: 2, at_most: 42 });
});

test('without a price there is no cost, not a cost of zero', () => {
  const total = sumOf([chargesOf(call(10, 0, { expected: 1, at_least: 0, at_most: 1 }), undefined)], undefined);
  expect(total).toMatchObject({ usd: null, usd_cached: null, prompt_tokens: 10 });
});

const charges = {
  ...{ rows: 120, calls: 120, characters: 0, prompt_tokens: 900_000, cached_tokens: 0 },
  ...{ output_tokens: { expected: 300_000, at_least: 0, at_most: 400_000 }, usd: null, usd_cached: null },
};

const from = { runs: ['a'], models: ['m'] };

test.each([
  ['a given rate', { rate: 30, measured: 60 }, { by: 'rate', seconds: 240, at_least: false }],
  ['a measured rate', { measured: 60 }, { by: 'measured', seconds: 120, at_least: false, ...from }],
  ['a lower limit of calls', { rate: 30, rpm: 10 }, { by: 'rpm', seconds: 720, at_least: false }],
  [
    'a limit of tokens lower than both',
    { rate: 30, rpm: 10, tpm: 60_000 },
    { by: 'tpm', seconds: 1_200, at_least: false },
  ],
  ['a limit only, which gives a lower bound', { rpm: 10 }, { by: 'rpm', seconds: 720, at_least: true }],
])('the time is computed from %s', (_, speed, time) => {
  expect(timeOf(charges, speed, from)).toMatchObject(time);
});

test('the time is unknown if no rate or limit is known', () => {
  expect(timeOf(charges, {}, from)).toBeNull();
});
