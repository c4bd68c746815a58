// JSON schemas on their way to a grammar: honoured, or refused by name.

import { expect, test } from 'vitest';
import { grammarSchema } from '../../src/serve/grammar.js';
import { ApiError } from '../../src/serve/http/wire.js';

test('a schema as OpenAI clients write it keeps its meaning', () => {
  expect(
    grammarSchema({
      type: 'object',
      title: 'Verdict',
      additionalProperties: false,
      required: ['rating', 'note'],
      properties: {
        rating: { type: 'integer', enum: [1, 2, 3, 4, 5] },
        note: { anyOf: [{ type: 'string', maxLength: 80 }, { type: 'null' }] },
        list: { type: 'array', items: { $ref: '#/$defs/entry' }, maxItems: 3 },
      },
      $defs: { entry: { enum: ['a', 1, null] } },
    }),
  ).toEqual({
    type: 'object',
    properties: {
      rating: { enum: [1, 2, 3, 4, 5] },
      note: { oneOf: [{ type: 'string', maxLength: 80 }, { type: 'null' }] },
      list: { type: 'array', items: { $ref: '#/$defs/entry' }, maxItems: 3 },
    },
    $defs: { entry: { enum: ['a', 1, null] } },
  });
});

test('a constraint that every generated value satisfies is left out', () => {
  const properties = { a: { type: 'boolean' }, b: { type: 'boolean' } };
  expect(grammarSchema({ type: 'object', properties, additionalProperties: true })).toEqual({
    type: 'object',
    properties,
  });
  expect(grammarSchema({ type: ['integer', 'null'], enum: [2, null] })).toEqual({ enum: [2, null] });
});

test('a definition may contain itself', () => {
  const tree = { type: 'object', properties: { next: { type: 'array', items: { $ref: '#/$defs/tree' } } } };
  const list = { anyOf: [{ type: 'null' }, { $ref: '#/$defs/tree' }] };
  expect(() => grammarSchema({ $ref: '#/$defs/list', $defs: { tree, list } })).not.toThrow();
});

const BOOLEAN = { type: 'boolean' };
test.each([
  ['a keyword that is not known', { type: 'string', contentEncoding: 'base64' }, '"contentEncoding"'],
  ['a pattern', { type: 'string', pattern: '^a' }, '"pattern"'],
  ['a bound of integers', { type: 'integer', minimum: 1 }, '"minimum"'],
  ['a bound of numbers', { type: 'number', exclusiveMaximum: 1 }, '"exclusiveMaximum"'],
  [
    'one further down',
    { type: 'object', properties: { a: { type: 'number', multipleOf: 2 } } },
    'schema.properties.a: Unrecognized key: "multipleOf"',
  ],
  ['allOf', { allOf: [{ type: 'string' }] }, 'schema.type: must be one or more of string'],
  ['a reference to nowhere', { $ref: '#/$defs/a' }, 'schema.$ref'],
  ['an unknown format', { type: 'string', format: 'email' }, '"format"'],
  ['an enumeration of objects', { enum: [{}] }, 'schema.enum.0: only scalars'],
  ['no type', { description: 'anything' }, 'schema.type: must be'],
  ['a type of the language', { type: 'constructor' }, 'schema.type: must be'],
  ['a count of properties', { type: 'object', properties: { a: BOOLEAN }, maxProperties: 1 }, '"maxProperties"'],
  ['a required property that is none', { type: 'object', properties: {}, required: ['b'] }, '"required" has a name'],
  [
    'more items than there may be',
    { type: 'array', items: BOOLEAN, minItems: 3, maxItems: 2 },
    '"maxItems" is less than its',
  ],
  ['items that come first', { type: 'array', prefixItems: [BOOLEAN] }, '"prefixItems"'],
  ['a text longer than it may be', { type: 'string', minLength: 5, maxLength: 2 }, '"maxLength" is less'],
  ['half an item', { type: 'array', items: BOOLEAN, minItems: 1.5 }, 'schema.minItems'],
  ['a length in words', { type: 'string', maxLength: '5' }, 'schema.maxLength'],
  ['what llama.cpp refuses to repeat', { type: 'string', minLength: 5000 }, 'schema.minLength'],
  ['a definition that is none', { type: 'string', $defs: { a: 5 } }, 'schema.$defs.a'],
  ['a text that the grammar maker would change', { const: 'a\u0001b' }, 'schema.const'],
  ['a name with half a character', { type: 'object', properties: { '\ud800': BOOLEAN } }, 'schema.properties.\ud800'],
])('%s is refused by name', (_, schema, message) => {
  let refusal: unknown;
  try {
    grammarSchema(schema);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(ApiError);
  expect(refusal).toMatchObject({ message: expect.stringContaining(message), param: 'response_format' });
});
