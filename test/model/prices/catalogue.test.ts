// The catalogue's prices, held against its own arithmetic.

import { readFileSync } from 'node:fs';
import { calcPrice, waitForUpdate } from '@pydantic/genai-prices';
import { describe, expect, test } from 'vitest';
import { costOf } from '../../../src/core/costs.js';
import { CATALOGUE, openCatalogue, openPrices } from '../../../src/model/prices/prices.js';
import { randomFrom } from '../../support/random.js';

const catalogue = await openCatalogue();
const NOON = new Date('2026-10-01T12:00:00Z');

test('the release whose day is printed is the one that is installed', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  expect(CATALOGUE.version).toBe(manifest.dependencies['@pydantic/genai-prices']);
  expect((await openPrices()).source).toBe('genai-prices 0.1.8 of 2026-09-23');
});

/** Prompts around the bounds of tiers too; what is cached and what is written are parts of them. */
function someUsages(random: () => number) {
  return [0, 1_000, 200_000, 200_001, 271_999, 272_000, 1_000_000].map((size) => {
    const promptTokens = size + Math.floor(random() * 2);
    const completionTokens = Math.floor(random() * 40_000);
    const cachedTokens = Math.floor(random() * (promptTokens + 1));
    return {
      promptTokens,
      cachedTokens,
      writtenTokens: Math.floor(random() * (promptTokens - cachedTokens + 1)),
      completionTokens,
      reasoningTokens: Math.floor(random() * (completionTokens + 1)),
    };
  });
}

const dates = ['2025-01-15T03:00:00Z', '2026-03-01T09:30:00Z', '2026-09-23T00:00:00Z', '2027-01-01T23:59:59Z'];

test('every price charges what the catalogue itself charges, for any usage, at any date', async () => {
  const random = randomFrom(9);
  let compared = 0;
  let dated = 0;
  for (const { id: providerId, models } of (await waitForUpdate()) ?? []) {
    for (const { id: model, prices } of models) {
      if (Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === 'time_of_date')) continue;
      // The dates go round: each is that of a quarter of the models.
      const timestamp = new Date(dates[dated++ % dates.length] ?? NOON);
      const price = catalogue.priceOf(providerId, model, timestamp);
      if (price === undefined) continue;
      for (const usage of someUsages(random)) {
        const official = calcPrice(
          {
            input_tokens: usage.promptTokens,
            cache_read_tokens: usage.cachedTokens,
            cache_write_tokens: usage.writtenTokens,
            output_tokens: usage.completionTokens,
          },
          model,
          { providerId, timestamp },
        );
        expect(costOf(usage, price), `${providerId}/${model}`).toBeCloseTo(official?.total_price ?? Number.NaN, 9);
        compared++;
      }
    }
  }
  expect(compared).toBeGreaterThan(7_000);
});

test('a price that depends on the hour is that of the dearest hour', () => {
  const price = catalogue.priceOf('deepseek', 'deepseek-v4-pro', NOON);
  const usage = { promptTokens: 5_000, cachedTokens: 2_000, completionTokens: 700 };
  const hours = Array.from({ length: 24 * 12 }, (_, index) => new Date(NOON.getTime() + index * 300_000));
  const charged = hours.map(
    (timestamp) =>
      calcPrice({ input_tokens: 5_000, cache_read_tokens: 2_000, output_tokens: 700 }, 'deepseek-v4-pro', {
        providerId: 'deepseek',
        timestamp,
      })?.total_price ?? 0,
  );
  expect(new Set(charged).size).toBe(2);
  expect(price && costOf(usage, price)).toBeCloseTo(Math.max(...charged), 12);
});

describe('no price is given', () => {
  test.each([
    ['openai', 'gpt-17', 'that the catalogue does not have'],
    ['openai', 'moderation', 'that it has without a price'],
    ['openai', 'text-embedding-3-small', 'that it has no price of output for'],
    ['openai', 'whisper-1', 'that is charged by the hour'],
    ['perplexity', 'sonar-deep-research', 'that is charged for searches and citations too'],
    ['nobody', 'gpt-5.2', 'of a provider that it does not have'],
  ])('of %s/%s, a model %s', (provider, model) => {
    expect(catalogue.priceOf(provider, model, NOON)).toBeUndefined();
  });
});

test('a model charged by the call too has that price', () => {
  expect(catalogue.priceOf('perplexity', 'sonar-pro', NOON)).toMatchObject({ input: 3, output: 15, call: 0.014 });
});

test('the price of a date is that of the date', () => {
  const inputAt = (date: string) => catalogue.priceOf('openai', 'o3', new Date(date))?.input;
  expect([inputAt('2025-06-09'), inputAt('2025-06-11')]).toEqual([10, 2]);
});

test.each([
  ['api.openai.com', 'openai'],
  ['api.moonshot.cn', 'moonshotai'],
  ['openrouter.ai', 'openrouter'],
  ['my-resource.openai.azure.com', 'azure'],
  ['generativelanguage.googleapis.com', 'google'],
  ['api.openai.com.example.org', undefined],
  ['api.openai.com:8443', undefined],
  ['api.moonshot.example.org', undefined],
  ['xapi.openai.com', undefined],
  ['my-server.modal.run', undefined],
  ['127.0.0.1:8000', undefined],
  ['local', undefined],
])('the host %s is of provider %s', (host, provider) => {
  expect(catalogue.providerOf(host)).toBe(provider);
});
