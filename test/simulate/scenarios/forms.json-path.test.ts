import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isJsonPath, jsonIn, valuesAt } from '../../../src/simulate/scenarios/forms.js';

const STORE = {
  book: [
    { title: 'Tides', price: 12.5, 'in stock': true },
    { title: 'Granite', price: 30 },
  ],
  text: '[{"id": 7, "of": {"name": "Ada"}}]',
  none: null,
};

describe('a path', () => {
  test.each([
    ['$', [STORE]],
    ['$.book[0].title', ['Tides']],
    ['$.book[-1].price', [30]],
    ['$.book[*].price', [12.5, 30]],
    ["$.book[0]['in stock']", [true]],
    ['$["book"][1].title', ['Granite']],
    ['$.none', [null]],
    ['$.book[2]', []],
    ['$.book.title', []],
    ['$.toString', []],
    ['$.text[0].of.name', ['Ada']],
    ['$.book[0].*', ['Tides', 12.5, true]],
  ])('%s finds what stands there', (path, values) => {
    expect(isJsonPath(path)).toBe(true);
    expect(valuesAt(STORE, path)).toEqual(values);
  });

  test.each(['book', '$book', '$.', '$..price', '$[?(@.price > 1)]', '$[01]', '$[1:2]', "$['a]"])(
    '%s is none that is understood',
    (path) => {
      expect(isJsonPath(path)).toBe(false);
    },
  );
});

test('a path finds what RFC 9535 says, as another implementation reads it', () => {
  // fixtures/make.py wrote it in this form.
  const { paths } = JSON.parse(readFileSync('fixtures/json-path.json', 'utf8')) as {
    paths: { document: unknown; path: string; values: unknown[] }[];
  };
  expect(paths).toHaveLength(60);
  for (const { document, path, values } of paths) {
    expect([path, isJsonPath(path), valuesAt(document, path)]).toEqual([path, true, values]);
  }
});

describe('JSON in a text', () => {
  test.each([
    ['{"a": 1}', { a: 1 }],
    ['  [1, 2]\n', [1, 2]],
    ['Found 2 rows:\n[1, 2]\nDone in [3] ms', undefined],
    ['Found 2 rows:\n[1, 2]\nDone', [1, 2]],
    ['Response:\n{"a": {"b": 2}}\n', { a: { b: 2 } }],
    ['no JSON {here}', undefined],
    ['{"a": ', undefined],
  ])('of %j is found', (text, value) => {
    expect(jsonIn(text)).toEqual(value);
  });
});
