// Constrains a reply to a form: node-llama-cpp's grammar for any JSON object, or for a schema that it can enforce completely.

import * as z from 'zod';
import { present } from '../core/errors.js';
import type { JsonObject } from '../core/json.js';
import { type ApiError, invalid } from './http/wire.js';
import { type LlamaCpp, lineOf } from './inner-calls.js';
import type { Loaded } from './load.js';
import type { GenerateOptions } from './request.js';

/** The reply's grammar, if it has one. Throws ApiError for a schema that no grammar can enforce. */
export async function grammarOf(
  { runtime, llama, model }: Omit<Loaded, 'context'>,
  { responseFormat }: GenerateOptions,
): Promise<LlamaCpp.LlamaGrammarEvaluationState | undefined> {
  if (responseFormat.type === 'text') return undefined;
  if (responseFormat.type === 'json_object') {
    return new runtime.LlamaGrammarEvaluationState({ model, grammar: await llama.getGrammarFor('json') });
  }
  // The library derives its type from a schema's literals, which are unknown here; grammarSchema only makes what the library reads.
  const schema = grammarSchema(responseFormat.schema) as { readonly type: 'object' };
  try {
    const { grammar: made } = await llama.createGrammarForJsonSchema(schema);
    // The library allows exponents in integers, but 5E-1 is not an integer.
    const whole = made.replace(
      /^integer-number-rule ::= .*$/m,
      'integer-number-rule ::= "-"? ("0" | [1-9] [0-9]{0,15})',
    );
    const grammar = await llama.createGrammar({ grammar: whole });
    return new runtime.LlamaGrammarEvaluationState({ model, grammar });
  } catch (error) {
    throw refused([], lineOf(error));
  }
}

/** The error for a part of the schema that cannot be honoured: its place, and why. */
function refused(path: readonly PropertyKey[], reason: string): ApiError {
  return invalid(`${['schema', ...path].join('.')}: ${reason}`, 'response_format');
}

/** Keywords for human readers, which constrain nothing. */
const ANNOTATIONS = 'title description default examples deprecated readOnly writeOnly $schema $id $comment'.split(' ');

/** The grammar generator writes text unescaped. */
const text = z
  .string()
  .regex(
    /^(?:[\t\n\r]|[^\0-\x1f\p{Surrogate}])*$/u,
    'contains a control character or half of a surrogate pair, which is not supported here',
  );
// llama.cpp refuses a grammar that repeats something a thousand times, and prints it in full.
const least = z.int().min(0).max(999).optional();
const most = z.int().min(0).optional();
const SCALARS = ['string', 'number', 'integer', 'boolean', 'null'] as const;
const scalar = z.enum(SCALARS);
const type = z.union(
  [scalar, z.array(scalar).min(1)],
  `must be one or more of ${SCALARS.join(', ')}, if there is no "enum", "const", "anyOf", "oneOf" or "$ref"`,
);
const value = z.union([text, z.number(), z.boolean(), z.null()], 'only scalars are supported as values');

/** The supported forms of a schema, by the keyword or type that identifies them; `names` are those of definitions. */
function formsOf(
  schema: z.ZodType<JsonObject>,
  names: readonly string[],
): Readonly<Record<string, z.ZodType<JsonObject>>> {
  const schemas = z.array(schema).min(1);
  return {
    $ref: z.strictObject({ $ref: z.enum(names.map((name) => `#/$defs/${name}`)) }),
    anyOf: z.strictObject({ anyOf: schemas }).transform(({ anyOf }) => ({ oneOf: anyOf })),
    oneOf: z.strictObject({ oneOf: schemas }),
    // A type next to values is assumed to add nothing to them.
    const: z.strictObject({ const: value, type: type.optional() }).transform((given) => ({ const: given.const })),
    enum: z
      .strictObject({ enum: z.array(value).min(1), type: type.optional() })
      .transform((given) => ({ enum: given.enum })),
    object: z
      .strictObject({
        type: z.literal('object'),
        properties: z.record(text, schema).optional(),
        required: z.array(z.string()).default([]),
        additionalProperties: z.union([z.boolean(), schema]).optional(),
      })
      .refine(({ required, properties = {} }) => required.every((name) => Object.hasOwn(properties, name)), {
        error: 'its "required" has a name that is not in "properties"',
      })
      .transform(({ required: _, additionalProperties, ...named }) =>
        Object.keys(named.properties ?? {}).length > 0 ? named : { ...named, additionalProperties },
      ),
    array: z
      .strictObject({
        type: z.literal('array'),
        items: schema.optional(),
        minItems: least,
        maxItems: most,
      })
      .refine(
        ({ minItems = 0, maxItems = minItems }) => minItems <= maxItems,
        'its "maxItems" is less than its "minItems"',
      ),
    string: z
      .strictObject({ type: z.literal('string'), minLength: least, maxLength: most })
      .refine(({ minLength = 0, maxLength = minLength }) => minLength <= maxLength, {
        error: 'its "maxLength" is less than its "minLength"',
      }),
    scalars: z.strictObject({ type }),
  };
}

/**
 * The schema in the grammar generator's dialect. The generator silently ignores what it does not know or cannot enforce; here that is
 * refused. Every generated reply satisfies the given schema, but not every valid reply can be generated: all named properties are written,
 * in their order, and others only if none is named. Throws ApiError with place and keyword.
 */
export function grammarSchema({ $defs: definitions = {}, ...root }: JsonObject): JsonObject {
  const schema: z.ZodType<JsonObject> = z.record(z.string(), z.unknown()).transform((given, context) => {
    const own = Object.fromEntries(Object.entries(given).filter(([name]) => !ANNOTATIONS.includes(name)));
    const kind = ['$ref', 'anyOf', 'oneOf', 'const', 'enum'].find((keyword) => Object.hasOwn(own, keyword));
    const form = kind ?? ['object', 'array', 'string'].find((name) => name === own.type) ?? 'scalars';
    const { data, error } = present(forms[form]).safeParse(own);
    for (const issue of error?.issues ?? []) context.addIssue({ ...issue, code: 'custom' });
    return data ?? z.NEVER;
  });
  const forms = formsOf(schema, Object.keys(Object(definitions)));
  const read = <T>(form: z.ZodType<T>, given: unknown, path: readonly string[]): T => {
    const { data, error } = form.safeParse(given);
    if (data !== undefined) return data;
    const [issue] = error?.issues ?? [];
    throw refused([...path, ...(issue?.path ?? [])], issue?.message ?? '');
  };
  const $defs = read(z.record(text, schema), definitions, ['$defs']);
  return { ...read(schema, root, []), ...(Object.keys($defs).length > 0 && { $defs }) };
}
