// What holds a reply to a form: node-llama-cpp's grammar for any JSON object, or for a schema of which it can hold all that it says.

import { isInteger, isObject, type JsonObject } from '../core/json.js';
import { type ApiError, invalid } from './http/wire.js';
import { type LlamaCpp, lineOf } from './inner-calls.js';
import type { Loaded } from './load.js';
import type { GenerateOptions } from './request.js';

/** What holds the reply, if anything does. Throws ApiError for a schema that no grammar can hold. */
export async function grammarOf(
  { runtime, llama, model }: Omit<Loaded, 'context'>,
  { responseFormat }: GenerateOptions,
): Promise<LlamaCpp.LlamaGrammarEvaluationState | undefined> {
  if (responseFormat.type === 'text') return undefined;
  if (responseFormat.type === 'json_object') {
    return new runtime.LlamaGrammarEvaluationState({ model, grammar: await llama.getGrammarFor('json') });
  }
  // The library derives its type from a schema's literals, which are unknown here; grammarSchema makes only what it reads.
  const schema = grammarSchema(responseFormat.schema) as { readonly type: 'object' };
  try {
    const { grammar: made } = await llama.createGrammarForJsonSchema(schema);
    // It lets integers have exponents, and 5E-1 is none.
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

/** What of the schema cannot be honoured: where it stands, and why. */
function refused(path: readonly string[], reason: string): ApiError {
  return invalid(`${['schema', ...path].join('.')}: ${reason}`, 'response_format');
}

/** Says something to people, constrains nothing. */
const ANNOTATIONS = 'title description default examples deprecated readOnly writeOnly $schema $id $comment'.split(' ');
/** What a schema is told apart by, and what may stand beside it. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  $ref: [],
  anyOf: [],
  oneOf: [],
  const: ['type'],
  enum: ['type'],
  object: ['type', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['type', 'items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['type', 'minLength', 'maxLength', 'format'],
  scalars: ['type'],
};
const SCALARS: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null'];
const FORMATS: readonly unknown[] = ['date-time', 'time', 'date'];
type Path = readonly string[];

/**
 * The schema in the grammar maker's dialect, which silently passes over what it does not know or cannot hold; here that is refused. What
 * is generated satisfies the given schema, though not everything that satisfies it can be generated: all named properties are written, in
 * their order, and others only where none is named. Throws ApiError naming place and keyword.
 */
export function grammarSchema({ $defs: definitions, ...root }: JsonObject): JsonObject {
  const names = Object.keys(recordAt(definitions ?? {}, ['$defs']));
  const $defs = mapValues(definitions, (value, name) => convert(value, ['$defs', name], names));
  return { ...convert(root, [], names), ...(names.length > 0 && { $defs }) };
}

/** @param names those of definitions */
function convert(schema: unknown, path: Path, names: readonly string[]): JsonObject {
  const given = recordAt(schema, path);
  const { type } = given;
  const keyword = ['$ref', 'anyOf', 'oneOf', 'const', 'enum'].find((one) => given[one] !== undefined);
  const form = keyword ?? (type === 'object' || type === 'array' || type === 'string' ? type : 'scalars');
  const odd = Object.keys(given).find((one) => ![form, ...ANNOTATIONS, ...(FORMS[form] ?? [])].includes(one));
  if (form === 'scalars' && !([type].flat().length > 0 && [type].flat().every((one) => SCALARS.includes(one)))) {
    const scalars = `a list of types may hold ${SCALARS.join(', ')} only`;
    throw refused(path, Array.isArray(type) ? scalars : 'needs a "type", "enum", "const", "anyOf", "oneOf" or "$ref"');
  }
  if (odd !== undefined) throw refused(path, `"${odd}" is not supported here`);
  const within = (value: unknown, ...steps: string[]) => convert(value, [...path, ...steps], names);
  const each = (key: string) => listAt(given[key], [...path, key]).map((value, at) => within(value, key, `${at}`));
  if (form === '$ref') {
    const name = /^#\/\$defs\/(.+)$/.exec(String(given.$ref))?.[1] ?? '';
    if (!names.includes(name)) throw refused(path, `"$ref" points to no entry of $defs`);
    return { $ref: given.$ref };
  }
  if (form === 'anyOf' || form === 'oneOf') return { oneOf: each(form) };
  if (form === 'const' || form === 'enum') return values(given, form, [...path, form]);
  if (form === 'object') return object(given, path, within);
  if (form === 'array') {
    const prefixItems = given.prefixItems === undefined ? [] : each('prefixItems');
    const counts = countsOf(given, 'minItems', 'maxItems', path);
    if ((counts.maxItems ?? prefixItems.length) < prefixItems.length) {
      const reason = `all ${prefixItems.length} "prefixItems" are written, but "maxItems" is ${counts.maxItems}`;
      throw refused(path, reason);
    }
    const items = given.items === undefined ? {} : { items: within(given.items, 'items') };
    return { type, ...(prefixItems.length > 0 && { prefixItems }), ...items, ...counts };
  }
  if (form === 'scalars') return { type };
  const lengths = countsOf(given, 'minLength', 'maxLength', path);
  const { format } = given;
  if (format === undefined) return { type, ...lengths };
  if (!FORMATS.includes(format)) throw refused(path, `"format" may be ${FORMATS.join(', ')} only`);
  if (Object.keys(lengths).length > 0) throw refused(path, '"format" and a length cannot be combined here');
  return { type, format };
}

/** Values that are of the type beside them, where there is one. */
function values(given: JsonObject, keyword: 'const' | 'enum', path: Path): JsonObject {
  const types = [given.type ?? []].flat();
  const listed = keyword === 'const' ? [given.const] : listAt(given.enum, path);
  for (const value of listed) {
    if (typeof value === 'string') requireText(value, path);
    else if (typeof value === 'object' && value !== null)
      throw refused(path, 'only strings, numbers, booleans and null are supported as values');
  }
  const isOf = (value: unknown, type: unknown): boolean =>
    type === 'integer' ? Number.isInteger(value) : type === (value === null ? 'null' : typeof value);
  const fitting = listed.filter((value) => types.length === 0 || types.some((type) => isOf(value, type)));
  if (fitting.length === 0) throw refused(path, `no value is of type ${types.join(' or ')}`);
  return keyword === 'const' ? { const: fitting[0] } : { enum: fitting };
}

/**
 * Named properties are all written, and no others, so that there is nothing to count. Where none is named, others could take a name twice,
 * so that only one of them can be demanded.
 */
function object(given: JsonObject, path: Path, within: (value: unknown, ...steps: string[]) => JsonObject): JsonObject {
  const { properties, required = [], additionalProperties: others } = given;
  const named = mapValues(recordAt(properties ?? {}, [...path, 'properties']), (value, name) => {
    requireText(name, [...path, 'properties']);
    return within(value, 'properties', name);
  });
  const unnamed = Array.isArray(required) ? required.find((name) => !Object.hasOwn(named, name)) : required;
  if (unnamed !== undefined)
    throw refused(path, `"required" has ${JSON.stringify(unnamed)}, which "properties" has not`);
  const counts = countsOf(given, 'minProperties', 'maxProperties', path);
  if (Object.keys(named).length > 0) {
    const [counted] = Object.keys(counts);
    if (counted === undefined) return { type: 'object', properties: named };
    throw refused(
      path,
      `"${counted}" is not supported where properties are named: all of them are written, and no others`,
    );
  }
  if ((counts.minProperties ?? 0) > (others ? 1 : 0)) {
    throw refused(path, '"minProperties" may be 1 at most, with "additionalProperties", where no properties are named');
  }
  const more = typeof others === 'object' ? within(others, 'additionalProperties') : others;
  return {
    type: 'object',
    ...(properties !== undefined && { properties: named }),
    ...counts,
    ...(more !== undefined && { additionalProperties: more }),
  };
}

/** The smallest and the largest count, those that are given. */
function countsOf(given: JsonObject, least: string, most: string, path: Path): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const keyword of [least, most]) {
    const value = given[keyword];
    if (value === undefined) continue;
    // llama.cpp refuses a grammar that repeats something a thousand times, and prints all of it.
    if (!isInteger(value) || value < 0 || (value >= 1000 && keyword === least)) {
      throw refused([...path, keyword], 'is not a whole number of at least 0, and below 1000 where it is the least');
    }
    counts[keyword] = value;
  }
  const { [least]: low = 0, [most]: high = Number.POSITIVE_INFINITY } = counts;
  if (low > high) throw refused(path, `"${least}" is ${low} and "${most}" is ${high}`);
  return counts;
}

function mapValues(values: unknown, change: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(Object(values)).map(([name, value]) => [name, change(value, name)]));
}

function recordAt(value: unknown, path: Path): JsonObject {
  if (!isObject(value)) throw refused(path, 'is not an object');
  return value;
}

function listAt(value: unknown, path: Path): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw refused(path, 'is not a list with entries');
  return value;
}

/** The grammar maker writes text as it is. */
function requireText(text: string, path: Path): void {
  if (/[\0-\x08\x0b\x0c\x0e-\x1f]|\p{Surrogate}/u.test(text))
    throw refused(path, 'holds a control character or half of a surrogate pair, which is not supported here');
}
