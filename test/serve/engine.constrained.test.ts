// Replies constrained by a schema, from a model that says anything.

import { describe, expect, test } from 'vitest';
import { ask, endless, NO_THINKING, random, start, user } from '../support/engine.js';

describe('constrained replies of a random model', () => {
  const schema = {
    type: 'object',
    properties: {
      rating: { type: 'integer', enum: [1, 2, 3, 4, 5] },
      strengths: { type: 'array', items: { type: 'string', maxLength: 12 }, maxItems: 2 },
      done: { type: 'boolean' },
    },
    required: ['rating', 'strengths', 'done'],
    additionalProperties: false,
  };

  test.each([
    ['thinking', { thinkingBudget: 5 }],
    ['no thinking', NO_THINKING],
  ])('are JSON of the schema with %s', async (_, changed) => {
    const { engine } = await start(endless, { slots: 2 });
    const answers = await Promise.all(
      [1, 2, 3, 4].map((seed) =>
        ask(engine, user('Judge.'), {
          temperature: 1,
          maxTokens: 600,
          seed,
          responseFormat: { type: 'json_schema', schema },
          ...changed,
        }),
      ),
    );
    for (const { content, end } of answers) {
      expect(end?.finishReason).toBe('stop');
      const verdict = JSON.parse(content);
      expect(Object.keys(verdict)).toEqual(['rating', 'strengths', 'done']);
      expect([1, 2, 3, 4, 5]).toContain(verdict.rating);
      expect(verdict.strengths.length).toBeLessThanOrEqual(2);
      expect(content).toBe(content.trim());
    }
  });

  test('have whole numbers if integers are asked for', async () => {
    const { engine } = await start(random, { slots: 2 });
    const integers = { type: 'array', items: { type: 'integer' }, minItems: 20, maxItems: 20 };
    const answers = await Promise.all(
      [1, 2, 3, 4].map((seed) =>
        ask(engine, user('Count.'), {
          temperature: 1,
          maxTokens: 2000,
          seed,
          responseFormat: { type: 'json_schema', schema: integers },
          ...NO_THINKING,
        }),
      ),
    );
    const numbers: number[] = answers.flatMap(({ content }) => JSON.parse(content));
    expect(numbers).toHaveLength(80);
    expect(numbers.filter((number) => !Number.isInteger(number))).toEqual([]);
  });

  test('are JSON objects without a schema', async () => {
    const { engine } = await start(random);
    const { content, end } = await ask(engine, user('Judge.'), {
      temperature: 1,
      maxTokens: 2000,
      responseFormat: { type: 'json_object' },
      ...NO_THINKING,
    });
    expect(end?.finishReason).toBe('stop');
    expect(typeof JSON.parse(content)).toBe('object');
  });

  test('a definition that begins with itself is refused', async () => {
    const { engine } = await start(random);
    const $defs = { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'null' }] } };
    const responseFormat = { type: 'json_schema', schema: { $ref: '#/$defs/a', $defs } } as const;
    await expect(ask(engine, user('Judge.'), { responseFormat })).rejects.toMatchObject({
      message: 'schema: Failed to parse grammar',
    });
  });

  test('a schema that cannot be kept is refused by name', async () => {
    const { engine } = await start(random);
    const responseFormat = { type: 'json_schema', schema: { type: 'string', contentEncoding: 'base64' } } as const;
    await expect(ask(engine, user('Judge.'), { responseFormat })).rejects.toMatchObject({
      param: 'response_format',
      message: expect.stringContaining('"contentEncoding"'),
    });
  });
});
