// JSON schemas on their way to a grammar: honoured, or refused by name.

import { expect, test } from 'vitest';
import { grammarSchema, SchemaError } from '../../src/serve/json-schema.js';

test('a schema as OpenAI clients write it keeps its meaning', () => {
  expect(
    grammarSchema({
      type: 'object',
      title: 'Verdict',
      additionalProperties: false,
      required: ['rating', 'note'],
      properties: {
        rating: { type: 'integer', minimum: 1, maximum: 5 },
        note: { anyOf: [{ type: 'string', maxLength: 80 }, { type: 'null' }] },
        list: { type: 'array', items: { $ref: '#/$defs/entry' }, maxItems: 3 },
      },
      $defs: { entry: { enum: ['a', 1, null] } },
    }),
  ).toEqual({
    type: 'object',
    additionalProperties: false,
    properties: {
      rating: { enum: [1, 2, 3, 4, 5] },
      note: { oneOf: [{ type: 'string', maxLength: 80 }, { type: 'null' }] },
      list: { type: 'array', items: { $ref: '#/$defs/entry' }, maxItems: 3 },
    },
    $defs: { entry: { enum: ['a', 1, null] } },
  });
});

test.each([
  ['a keyword that is not known', { type: 'string', pattern: '^a' }, 'schema: "pattern"'],
  [
    'one further down',
    { type: 'object', properties: { a: { type: 'number', multipleOf: 2 } } },
    'schema.properties.a: "multipleOf"',
  ],
  ['allOf', { allOf: [{ type: 'string' }] }, 'schema: needs a "type"'],
  ['half a range', { type: 'integer', minimum: 1 }, 'minimum'],
  ['a reference to nowhere', { $ref: '#/$defs/a' }, '"$ref" points to no entry'],
  ['an unknown format', { type: 'string', format: 'email' }, '"format" may be'],
  ['an enumeration of objects', { enum: [{}] }, 'schema.enum'],
  ['no type', { description: 'anything' }, 'needs a "type"'],
])('%s is refused by name', (_, schema, message) => {
  expect(() => grammarSchema(schema)).toThrow(SchemaError);
  expect(() => grammarSchema(schema)).toThrow(message);
});
