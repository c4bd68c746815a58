// Which price holds for whom: the file's, the catalogue's, or none.

import { describe, expect, test } from 'vitest';
import { openPrices, priceRules } from '../../../src/model/prices/prices.js';

const at = new Date('2026-10-01T12:00:00Z');
const OPENAI = ['api.openai.com'];

/** The price list of a file with these models. */
function pricesOf(models: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
  return openPrices(
    'prices.yaml',
    priceRules({ models }, 'prices.yaml', () => 1),
  );
}

describe('without a file', async () => {
  const prices = await openPrices();

  test("a model at its provider's own host has the catalogue's price", () => {
    expect(prices.priceOf({ model: 'gpt-5.2', hosts: OPENAI, at })).toEqual({
      model: 'openai/gpt-5.2',
      source: 'genai-prices 0.1.8 of 2026-09-23',
      input: 1.75,
      cached: 0.175,
      output: 14,
    });
  });

  test.each([
    ['at a local server', ['127.0.0.1:8000']],
    ["at a host whose name begins with the provider's", ['api.openai.com.example.org']],
    ['at no host', []],
    ['at several hosts of which one is nobody', ['api.openai.com', '127.0.0.1:8000']],
    ['at several hosts whose prices differ', ['api.openai.com', 'api.githubcopilot.com']],
  ])('the same name %s has no price', (_, hosts) => {
    expect(prices.priceOf({ model: 'gpt-5.4', hosts, at })).toBeUndefined();
  });

  test('several hosts that agree have their price', () => {
    const hosts = ['api.openai.com', 'my.openai.azure.com'];
    expect(prices.priceOf({ model: 'gpt-5.2', hosts, at })).toMatchObject({ input: 1.75, output: 14 });
  });

  test('the snapshot that was served goes before the name asked for, where it is known', () => {
    const priceOf = (servedModel: string) => prices.priceOf({ model: 'gpt-4o', servedModel, hosts: OPENAI, at })?.model;
    expect([priceOf('gpt-4o-2024-05-13'), priceOf('gpt-4o-2199-01-01')]).toEqual([
      'openai/gpt-4o-2024-05-13',
      'openai/gpt-4o',
    ]);
  });
});

describe('a file', () => {
  test('goes before the catalogue at every host, and leaves it the models that it does not name', async () => {
    const prices = await pricesOf({ 'gpt-5.2': { input: 1, output: 2 } });
    const own = { model: 'gpt-5.2', source: 'prices.yaml', input: 1, output: 2 };
    expect(prices.priceOf({ model: 'gpt-5.2', hosts: OPENAI, at })).toEqual(own);
    expect(prices.priceOf({ model: 'gpt-5.2', hosts: ['127.0.0.1:8000'], at })).toEqual(own);
    expect(prices.priceOf({ model: 'gpt-5.1', hosts: OPENAI, at })?.model).toBe('openai/gpt-5.1');
    expect(prices.source).toBe('prices.yaml, else genai-prices 0.1.8 of 2026-09-23');
  });

  test.each([
    ['step-*', 'step-100', true],
    ['step-*', 'my-step-100', false],
    ['*-step-*', 'my-step-100', true],
    ['*', 'anything', true],
    ['a*a', 'a', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['org/*', 'org/a/b', true],
  ])('names with %s the model %s: %s', async (pattern, model, isNamed) => {
    const prices = await pricesOf({ [pattern]: { input: 1, output: 2 } });
    expect(prices.priceOf({ model, hosts: ['127.0.0.1:8000'], at }) !== undefined).toBe(isNamed);
  });

  test('prefers the literal name to a pattern, and the first pattern to later ones', async () => {
    const prices = await pricesOf({
      'a*': { input: 1, output: 1 },
      '*': { input: 2, output: 2 },
      ab: { input: 3, output: 3 },
    });
    const inputOf = (model: string) => prices.priceOf({ model, hosts: [], at })?.input;
    expect(['ab', 'ac', 'b'].map(inputOf)).toEqual([3, 1, 2]);
  });
});
