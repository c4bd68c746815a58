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

test('what a generated value satisfies anyway is left out, and values of other types are', () => {
  const properties = { a: { type: 'boolean' }, b: { type: 'boolean' } };
  expect(grammarSchema({ type: 'object', properties, additionalProperties: true })).toEqual({
    type: 'object',
    properties,
  });
  expect(grammarSchema({ type: 'string', enum: ['a', 1, null] })).toEqual({ enum: ['a'] });
  expect(grammarSchema({ type: ['integer', 'null'], enum: ['a', 1.5, 2, null] })).toEqual({ enum: [2, null] });
});

test('a definition may hold itself', () => {
  const tree = { type: 'object', properties: { next: { type: 'array', items: { $ref: '#/$defs/tree' } } } };
  const list = { anyOf: [{ type: 'null' }, { $ref: '#/$defs/tree' }] };
  expect(() => grammarSchema({ $ref: '#/$defs/list', $defs: { tree, list } })).not.toThrow();
});

const BOOLEAN = { type: 'boolean' };
test.each([
  ['a keyword that is not known', { type: 'string', contentEncoding: 'base64' }, 'schema: "contentEncoding"'],
  ['a pattern', { type: 'string', pattern: '^a' }, 'schema: "pattern"'],
  ['a bound of integers', { type: 'integer', minimum: 1 }, 'schema: "minimum"'],
  ['a bound of numbers', { type: 'number', exclusiveMaximum: 1 }, 'schema: "exclusiveMaximum"'],
  [
    'one further down',
    { type: 'object', properties: { a: { type: 'number', multipleOf: 2 } } },
    'schema.properties.a: "multipleOf"',
  ],
  ['allOf', { allOf: [{ type: 'string' }] }, 'schema: needs a "type"'],
  ['a reference to nowhere', { $ref: '#/$defs/a' }, '"$ref" points to no entry'],
  ['an unknown format', { type: 'string', format: 'email' }, '"format" may be'],
  ['an enumeration of objects', { enum: [{}] }, 'schema.enum'],
  ['no type', { description: 'anything' }, 'needs a "type"'],
  ['a type of the language', { type: 'constructor' }, 'needs a "type"'],
  [
    'fewer properties than are named',
    { type: 'object', properties: { a: BOOLEAN, b: BOOLEAN }, maxProperties: 1 },
    '"maxProperties" is not supported where properties are named: all of them are written, and no others',
  ],
  [
    'more properties than are named',
    { type: 'object', properties: { a: BOOLEAN }, minProperties: 2, additionalProperties: BOOLEAN },
    '"minProperties" is not supported where properties are named',
  ],
  [
    'several properties without names, which may be one',
    { type: 'object', additionalProperties: BOOLEAN, minProperties: 2 },
    '"minProperties"',
  ],
  [
    'more properties than there may be',
    { type: 'object', additionalProperties: BOOLEAN, minProperties: 3, maxProperties: 2 },
    '"minProperties" is 3 and "maxProperties" is 2',
  ],
  [
    'a property out of nothing',
    { type: 'object', minProperties: 1 },
    '"minProperties" may be 1 at most, with "additionalProperties"',
  ],
  ['a required property that is none', { type: 'object', properties: {}, required: ['b'] }, '"required" has "b"'],
  [
    'more items than there may be',
    { type: 'array', items: BOOLEAN, minItems: 3, maxItems: 2 },
    '"minItems" is 3 and "maxItems" is 2',
  ],
  ['fewer items than come first', { type: 'array', prefixItems: [BOOLEAN, BOOLEAN], maxItems: 1 }, '"maxItems" is 1'],
  ['a text longer than it may be', { type: 'string', minLength: 5, maxLength: 2 }, '"minLength" is 5'],
  ['half an item', { type: 'array', items: BOOLEAN, minItems: 1.5 }, 'schema.minItems: is not a whole number'],
  ['a length in words', { type: 'string', maxLength: '5' }, 'schema.maxLength: is not a whole number'],
  ['what llama.cpp refuses to repeat', { type: 'string', minLength: 5000 }, 'below 1000'],
  ['values of another type', { type: 'string', enum: [1, 2] }, 'schema.enum: no value is of type string'],
  ['a constant of another type', { type: 'integer', const: 1.5 }, 'schema.const: no value is of type integer'],
  ['a text that the grammar maker would change', { const: 'a\u0001b' }, 'schema.const: holds a control character'],
  ['a name with half a character', { type: 'object', properties: { '\ud800': BOOLEAN } }, 'half of a surrogate pair'],
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
