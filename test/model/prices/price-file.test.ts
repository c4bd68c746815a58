// Price files as users write them.

import { describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../../src/core/errors.js';
import { openPriceList } from '../../../src/model/prices/prices.js';
import { folderOf } from '../../support/folder.js';

const at = new Date('2026-10-01T12:00:00Z');

async function open(text: string) {
  return openPriceList({ prices: 'prices.yaml' }, { cwd: await folderOf({ 'prices.yaml': text }) });
}

async function refusalOf(opening: Promise<unknown>): Promise<UserError> {
  const error = await opening.catch((thrown: unknown) => thrown);
  if (error instanceof UserError) return error;
  throw new Error(`not refused: ${String(error)}`);
}

test.each([
  ['YAML', 'unit: million-tokens\nmodels:\n  mine: { input: 0.20, cached: 0.02, output: 0.80, call: 0.001 }\n'],
  ['no unit', 'models:\n  mine: { input: 0.20, cached: 0.02, output: 0.80, call: 0.001 }\n'],
  ['JSON', '{"unit":"million-tokens","models":{"mine":{"input":0.2,"cached":0.02,"output":0.8,"call":0.001}}}'],
  [
    'thousands',
    'unit: thousand-tokens\nmodels:\n  mine: { input: 0.0002, cached: 2e-5, output: 0.0008, call: 0.001 }\n',
  ],
  ['single tokens', 'unit: token\nmodels:\n  mine: { input: 2e-7, cached: 2e-8, output: 8e-7, call: 0.001 }\n'],
  [
    'an alias',
    'currency: USD\nunit: million-tokens\nmodels:\n  a: &p { input: 0.2, cached: 0.02, output: 0.8, call: 0.001 }\n  mine: *p\n',
  ],
])('a price file of %s is read', async (_, text) => {
  expect((await open(text)).priceOf({ model: 'mine', hosts: ['127.0.0.1:8000'], at })).toEqual({
    model: 'mine',
    source: 'prices.yaml',
    input: 0.2,
    cached: 0.02,
    output: 0.8,
    call: 0.001,
  });
});

test('a price of zero is one that the user has written', async () => {
  const prices = await open('unit: token\nmodels:\n  "*": { input: 0, output: 0 }\n');
  expect(prices.priceOf({ model: 'mine', hosts: ['127.0.0.1:8000'], at })).toMatchObject({ input: 0, output: 0 });
});

describe('a price file is refused, with its name, its line and what would do,', () => {
  const head = 'unit: million-tokens\nmodels:\n';
  test.each([
    [
      'for an unknown unit',
      'currency: USD\nunit: milion-tokens\nmodels: {}\n',
      'prices.yaml:2: unknown unit "milion-tokens"; did you mean "million-tokens"?',
    ],
    [
      'for an unknown currency',
      'unit: token\ncurrency: EUR\nmodels: {}\n',
      'prices.yaml:2: prices are in US dollars: currency: USD',
    ],
    ['for an unknown key', 'unit: token\nmodel: {}\n', 'prices.yaml:2: unknown key "model"; did you mean "models"?'],
    [
      'for an unknown field',
      `${head}  a:\n    input: 1\n    ouput: 2\n`,
      'prices.yaml:5: unknown key "ouput"; did you mean "output"?',
    ],
    [
      'for a negative price',
      `${head}  a:\n    input: -1\n    output: 2\n`,
      'prices.yaml:4: input has to be a number from 0 to 100000',
    ],
    [
      'for a price in quotes',
      `${head}  a:\n    input: 1\n    output: "2"\n`,
      'prices.yaml:5: output has to be a number from 0 to 100000',
    ],
    [
      'for a price that is no number',
      `${head}  a: { input: .nan, output: 2 }\n`,
      'prices.yaml:3: input has to be a number from 0 to 100000',
    ],
    [
      'for a price without output',
      `${head}  a: { input: 1 }\n`,
      'prices.yaml:3: output has to be a number from 0 to 100000',
    ],
    [
      'for a model without a price',
      `${head}  a: 5\n`,
      'prices.yaml:3: the price of a model has to be a mapping with input, cached, written, output and call',
    ],
    [
      'for a price of another unit',
      'unit: token\nmodels:\n  a:\n    input: 1.75\n    output: 14\n',
      "prices.yaml:3: 14,000,000 dollars per million tokens; check the file's unit",
    ],
    [
      'for a call that costs a fortune',
      `${head}  a:\n    input: 1\n    output: 2\n    call: 1e9\n`,
      'prices.yaml:6: call has to be a number from 0 to 100',
    ],
    [
      'for a model that stands twice',
      `${head}  a: { input: 1, output: 2 }\n  a: { input: 2, output: 2 }\n`,
      'prices.yaml:4: this key appears twice; remove one of them',
    ],
    ['without models', head, 'prices.yaml:2: models has to name models with their prices'],
    [
      'that holds a list',
      '- unit: token\n',
      'prices.yaml:1: a price file has to be a mapping with currency, unit and models',
    ],
    ['that is no YAML', 'unit: [token\n', 'prices.yaml:2: not YAML: '],
  ])('%s', async (_, text, message) => {
    const refusal = await refusalOf(open(text));
    expect(refusal.exitCode).toBe(EXIT.badData);
    expect(message.endsWith(': ') ? refusal.message.slice(0, message.length) : refusal.message).toBe(message);
  });

  test.each([
    ['an alias into itself', 'unit: token\nmodels: &m\n  a: *m\n'],
    ['escape sequences', 'unit: token\nmodels:\n  "a\\e[31m": { "in\\e[31m": 1 }\n'],
    ['nesting without end', `unit: token\nmodels: ${'{a: '.repeat(5000)}\n`],
  ])('where it holds %s', async (_, text) => {
    const refusal = await refusalOf(open(text));
    expect(refusal.exitCode).toBe(EXIT.badData);
    expect(refusal.message).toMatch(/^prices\.yaml[\x20-\x7e]+$/);
  });

  test('where there is none', async () => {
    const refusal = await refusalOf(openPriceList({ prices: 'none.yaml' }, { cwd: await folderOf({}) }));
    expect(refusal.exitCode).toBe(EXIT.inputMissing);
    expect(refusal.message).toBe('cannot read the price file none.yaml (--prices): ENOENT');
  });
});
