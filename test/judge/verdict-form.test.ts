// The description of a verdict: the schema, the bundled prompt and the reader agree in every detail.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadRubricPack } from '../../src/benchmark/rubric-pack.js';
import { FACT_KINDS, LONGEST_CLAIM, MOST_FACTS } from '../../src/core/facts.js';
import type { JsonObject } from '../../src/core/json.js';
import { DIMENSIONS, DOMAINS } from '../../src/core/types.js';
import { readStrictVerdict, verdictFormat } from '../../src/judge/verdicts.js';
import { MARK } from '../support/verdicts.js';

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

// The format has the shape of the API, and its schema is of the kind above.
const schemaOf = (facts: boolean) =>
  (verdictFormat(facts ? { facts: true } : {}, true) as { json_schema: { schema: Schema } }).json_schema.schema;
const checked = schemaOf(true);

/** What is read from a reply that follows the schema, once its mark is filled in. */
const readHeld = (verdict: object) =>
  readStrictVerdict(JSON.stringify({ ...verdict, mark: MARK }), {
    mark: MARK,
    isHeld: true,
    countsUnmarked: () => false,
  });

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

/** The verdict with one place changed to a value that the schema does not allow there. */
const facts = checked.properties?.facts;
const outside: [string, (fact: JsonObject) => unknown][] = [
  ...['claim', 'kind', 'met'].map((name): [string, (fact: JsonObject) => unknown] => [
    `without ${name}`,
    ({ [name]: _, ...rest }) => rest,
  ]),
  ['with a member more', (fact) => ({ ...fact, more: 1 })],
  ['with an empty claim', (fact) => ({ ...fact, claim: '' })],
  [
    'with a claim too long',
    (fact) => ({ ...fact, claim: 'x'.repeat((facts?.items?.properties?.claim?.maxLength ?? 0) + 1) }),
  ],
  [
    'with a quote too long',
    (fact) => ({ ...fact, quote: 'x'.repeat((facts?.items?.properties?.quote?.maxLength ?? 0) + 1) }),
  ],
  ['of no kind', (fact) => ({ ...fact, kind: 'certain' })],
  ['met by a number', (fact) => ({ ...fact, met: 1 })],
];

describe('the schema', () => {
  test('asks for the mark, then for checklist and reasons before the scores, and for nothing else', () => {
    expect(Object.keys(checked.properties ?? {})).toEqual([...['mark', 'facts', 'strengths', 'weaknesses', 'scores']]);
    expect(Object.keys(schemaOf(false).properties ?? {})).toEqual(['mark', 'strengths', 'weaknesses', 'scores']);
    for (const schema of [checked, checked.properties?.scores, facts?.items]) {
      expect(schema).toMatchObject({ additionalProperties: false, required: Object.keys(schema?.properties ?? {}) });
    }
    expect(checked.properties?.scores?.required).toEqual(DIMENSIONS);
  });

  test('without a checklist and a mark equals that of earlier versions, byte for byte', () => {
    const remarks = '{"type":"array","items":{"type":"string","maxLength":200},"maxItems":3}';
    const ratings = DIMENSIONS.map((dimension) => `"${dimension}":{"enum":[1,2,3,4,5]}`).join(',');
    const scores = `{"type":"object","properties":{${ratings}},"required":${JSON.stringify(DIMENSIONS)},"additionalProperties":false}`;
    expect(JSON.stringify(verdictFormat({}, false))).toBe(
      `{"type":"json_schema","json_schema":{"name":"verdict","schema":{"type":"object","properties":{"strengths":${remarks},"weaknesses":${remarks},"scores":${scores}},"required":["strengths","weaknesses","scores"],"additionalProperties":false}}}`,
    );
  });
});

describe('the reader', () => {
  test('reads everything that the schema allows, completely', () => {
    fc.assert(
      fc.property(valuesOf(checked), (value) => {
        // The arbitrary generates what the schema describes.
        const given = value as {
          facts: { quote: string }[];
          strengths: unknown;
          weaknesses: unknown;
          scores: Record<string, number>;
        };
        expect(readHeld(given)).toMatchObject({
          status: 'ok',
          ratings: given.scores,
          strengths: given.strengths,
          weaknesses: given.weaknesses,
          facts: given.facts.map(({ quote, ...fact }) => (quote === '' ? fact : { ...fact, quote })),
        });
      }),
    );
  });

  test.each(outside)('drops a checklist that the schema does not allow: a fact %s', (_, change) => {
    const scores = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, 3]));
    const fact = { claim: 'c', kind: 'told', met: false, quote: 'q' };
    const reply = (list: unknown) => ({ facts: list, strengths: [], weaknesses: [], scores });
    expect(readHeld(reply([fact]))).toMatchObject({ status: 'ok', facts: [fact] });
    expect(readHeld(reply([change(fact)]))).toMatchObject({ status: 'ok', facts: expect.any(String) });
    const many = Array.from({ length: (facts?.maxItems ?? 0) + 1 }, () => fact);
    expect(readHeld(reply(many))).toMatchObject({ status: 'ok', facts: expect.any(String) });
  });
});

describe('the prompt of the second edition', () => {
  test.each(DOMAINS)(
    'shows a judge of %s the shape that the schema requires, in its order and with its bounds',
    async (domain) => {
      const prompt = (await loadRubricPack('awb-3')).systemPrompt(domain) ?? '';
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
      agrees({ mark: MARK, ...shape }, checked);
      expect(readHeld(shape)).toMatchObject({ status: 'ok', facts: shape.facts });
      const remarks = checked.properties?.strengths;
      expect(prompt).toContain(
        `up to ${MOST_FACTS} facts, each with a claim and a quote (possibly empty) of up to ${LONGEST_CLAIM} characters`,
      );
      expect(prompt).toContain(
        `up to ${remarks?.maxItems} strengths and ${remarks?.maxItems} weaknesses, plain sentences of up to ${remarks?.items?.maxLength} characters`,
      );
      const kinds = Array.from(prompt.matchAll(/^- (\w+): .*\bMet (?:only )?if\b/gm), ([, kind]) => kind);
      expect(kinds).toEqual(FACT_KINDS);
      expect(prompt).toContain('with these four keys in this order and no others');
      expect(Object.keys(shape)).toHaveLength(4);
    },
  );
});

test('the bundled prompt for judging without a truth shows a verdict of the plain form, which the reader accepts', async () => {
  const { withoutTruth } = await loadRubricPack();
  for (const domain of DOMAINS) {
    const example = /<final_evaluation>\n(\{.*\})\n<\/final_evaluation>/.exec(
      withoutTruth?.systemPrompt(domain) ?? '',
    )?.[1];
    const shape = JSON.parse(example ?? '');
    expect(['mark', ...Object.keys(shape)]).toEqual(schemaOf(false).required);
    expect(readHeld(shape).status).toBe('ok');
    const most = schemaOf(false).properties?.strengths?.maxItems;
    expect(withoutTruth?.systemPrompt(domain)).toContain(`up to ${most} strengths and ${most} weaknesses`);
  }
});
