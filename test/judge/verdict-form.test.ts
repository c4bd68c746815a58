// The description of a verdict: the schema, the bundled prompt and the reader agree in every detail.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadRubricPack } from '../../src/bench/rubric-pack.js';
import { FACT_KINDS, LONGEST_CLAIM, MOST_FACTS } from '../../src/facts.js';
import type { JsonObject } from '../../src/json.js';
import { verdictFormat } from '../../src/judge/verdict-form.js';
import { DIMENSIONS, DOMAINS } from '../../src/types.js';
import { readStrictly } from '../support/verdicts.js';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly unknown[];
}

// The format is what the wire wants, and its schema is of the kind above.
const schemaOf = (facts: boolean) =>
  (verdictFormat(facts ? { facts: true } : {}) as { json_schema: { schema: Schema } }).json_schema.schema;
const checked = schemaOf(true);

/** Values that satisfy a schema of this kind. */
function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'string') {
    const { minLength = 0, maxLength = 1_000 } = schema;
    return fc.string({ unit: 'binary', minLength, maxLength });
  }
  if (schema.type === 'array') return fc.array(valuesOf(schema.items ?? {}), { maxLength: schema.maxItems ?? 30 });
  const properties = Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, valuesOf(inner)] as const);
  return fc.record(Object.fromEntries(properties));
}

/** The verdict with one place of it changed to a value that the schema does not allow there. */
const facts = checked.properties?.facts;
const outside: [string, (fact: JsonObject) => unknown][] = [
  ...Object.keys(facts?.items?.properties ?? {}).map((name): [string, (fact: JsonObject) => unknown] => [
    `without ${name}`,
    ({ [name]: _, ...rest }) => rest,
  ]),
  ['with a member more', (fact) => ({ ...fact, more: 1 })],
  ['with an empty claim', (fact) => ({ ...fact, claim: '' })],
  [
    'with a claim too long',
    (fact) => ({ ...fact, claim: 'x'.repeat((facts?.items?.properties?.claim?.maxLength ?? 0) + 1) }),
  ],
  ['of no kind', (fact) => ({ ...fact, kind: 'certain' })],
  ['met by a number', (fact) => ({ ...fact, met: 1 })],
];

describe('the schema', () => {
  test('asks for checklist and reasons before the scores, and for nothing else', () => {
    expect(Object.keys(checked.properties ?? {})).toEqual(['facts', 'strengths', 'weaknesses', 'scores']);
    expect(Object.keys(schemaOf(false).properties ?? {})).toEqual(['strengths', 'weaknesses', 'scores']);
    for (const schema of [checked, checked.properties?.scores, facts?.items]) {
      expect(schema).toMatchObject({ additionalProperties: false, required: Object.keys(schema?.properties ?? {}) });
    }
    expect(checked.properties?.scores?.required).toEqual(DIMENSIONS);
  });

  test('without a checklist is that of earlier versions, byte for byte', () => {
    const remarks = '{"type":"array","items":{"type":"string","maxLength":200},"maxItems":3}';
    const ratings = DIMENSIONS.map((dimension) => `"${dimension}":{"enum":[1,2,3,4,5]}`).join(',');
    const scores = `{"type":"object","properties":{${ratings}},"required":${JSON.stringify(DIMENSIONS)},"additionalProperties":false}`;
    expect(JSON.stringify(verdictFormat({}))).toBe(
      `{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object","properties":{"strengths":${remarks},"weaknesses":${remarks},"scores":${scores}},"required":["strengths","weaknesses","scores"],"additionalProperties":false}}}`,
    );
  });
});

describe('the reader', () => {
  test('reads everything that the schema allows, whole', () => {
    fc.assert(
      fc.property(valuesOf(checked), (value) => {
        // The arbitrary makes what the schema describes.
        const given = value as {
          facts: unknown;
          strengths: unknown;
          weaknesses: unknown;
          scores: Record<string, number>;
        };
        expect(readStrictly(JSON.stringify(given))).toMatchObject({
          status: 'ok',
          ratings: given.scores,
          strengths: given.strengths,
          weaknesses: given.weaknesses,
          facts: given.facts,
        });
      }),
    );
  });

  test.each(outside)('keeps no checklist that the schema does not allow: a fact %s', (_, change) => {
    const scores = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, 3]));
    const fact = { claim: 'c', kind: 'told', met: false };
    const reply = (list: unknown) => JSON.stringify({ facts: list, strengths: [], weaknesses: [], scores });
    expect(readStrictly(reply([fact]))).toMatchObject({ status: 'ok', facts: [fact] });
    expect(readStrictly(reply([change(fact)]))).toMatchObject({ status: 'ok', facts: expect.any(String) });
    const many = Array.from({ length: (facts?.maxItems ?? 0) + 1 }, () => fact);
    expect(readStrictly(reply(many))).toMatchObject({ status: 'ok', facts: expect.any(String) });
  });
});

describe('the prompt of the second edition', () => {
  test.each(DOMAINS)(
    'shows a judge of %s the shape that the schema asks for, in its order and with its bounds',
    async (domain) => {
      const prompt = (await loadRubricPack('awb-2')).systemPrompt(domain) ?? '';
      const shape = JSON.parse(/<final_evaluation>\n(.*)\n<\/final_evaluation>/.exec(prompt)?.[1] ?? '');
      const agrees = (value: unknown, schema: Schema | undefined): void => {
        if (schema?.type === 'object') {
          expect(Object.keys(value as object)).toEqual(Object.keys(schema.properties ?? {}));
          for (const [name, inner] of Object.entries(value as object)) agrees(inner, schema.properties?.[name]);
        } else if (schema?.type === 'array') {
          for (const item of value as unknown[]) agrees(item, schema.items);
        } else if (schema?.enum !== undefined) expect(schema.enum).toContain(value);
        else expect(typeof value).toBe(schema?.type);
      };
      agrees(shape, checked);
      expect(readStrictly(`<final_evaluation>\n${JSON.stringify(shape)}\n</final_evaluation>`)).toMatchObject({
        status: 'ok',
        facts: shape.facts,
      });
      const remarks = checked.properties?.strengths;
      expect(prompt).toContain(
        `\`facts\` has up to ${MOST_FACTS} entries, each with a claim of 1 to ${LONGEST_CLAIM} characters`,
      );
      expect(prompt).toContain(
        `Strengths and weaknesses are plain sentences of up to ${remarks?.items?.maxLength} characters, up to ${remarks?.maxItems} each`,
      );
      const kinds = Array.from(prompt.matchAll(/^- (\w+): .*\bMet (?:only )?if\b/gm), ([, kind]) => kind);
      expect(kinds).toEqual(FACT_KINDS);
      expect(prompt).toContain('with these four keys in this order and no others');
      expect(Object.keys(shape)).toHaveLength(4);
    },
  );
});

test('the bundled prompt for judging without a truth shows a verdict of the plain form, which the reader takes', async () => {
  const { withoutTruth } = await loadRubricPack();
  for (const domain of DOMAINS) {
    const example = /<final_evaluation>\n(\{.*\})\n<\/final_evaluation>/.exec(
      withoutTruth?.systemPrompt(domain) ?? '',
    )?.[1];
    expect(Object.keys(JSON.parse(example ?? ''))).toEqual(schemaOf(false).required);
    expect(readStrictly(`<final_evaluation>\n${example}\n</final_evaluation>`).status).toBe('ok');
    expect(withoutTruth?.systemPrompt(domain)).toContain(
      `up to ${schemaOf(false).properties?.strengths?.maxItems} each`,
    );
  }
});
