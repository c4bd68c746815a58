// What holds a reply to a form: node-llama-cpp's grammar for any JSON object, or for a schema of which it can hold all that it says.

import { isInteger, isObject, type JsonObject } from '../core/json.js';
import { EngineError, type GenerateOptions } from './engine-contract.js';
import type { Loaded } from './load.js';
import { type LlamaCpp, lineOf } from './runtime.js';

/** What holds the reply, if anything does. Throws EngineError for a schema that no grammar can hold. */
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
function refused(path: readonly string[], reason: string): EngineError {
  const message = `${['schema', ...path].join('.')}: ${reason}`;
  return new EngineError({ reason: 'invalid-request', message, param: 'response_format' });
}

/** Says something to people, constrains nothing. */
const ANNOTATIONS = [
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  '$schema',
  '$id',
  '$comment',
];
const SCALARS: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null'];
const FORMATS: readonly unknown[] = ['date-time', 'time', 'date'];
/** llama.cpp refuses a grammar that repeats something at least so often, and prints all of it. */
const MOST_REPETITIONS = 1000;

interface Place {
  readonly path: readonly string[];
  /** Names in `$defs`. */
  readonly definitions: readonly string[];
}

/**
 * The schema in the grammar maker's dialect, which silently passes over what it does not know or cannot hold; here that is refused. What
 * is generated satisfies the given schema, though not everything that satisfies it can be generated: all named properties are written, in
 * their order, and others only where none is named. Throws EngineError naming place and keyword.
 */
export function grammarSchema(schema: JsonObject): JsonObject {
  const given = recordAt(schema.$defs ?? {}, ['$defs']);
  const definitions = Object.keys(given);
  const { $defs: _, ...root } = schema;
  const converted = convert(root, { path: [], definitions });
  if (schema.$defs === undefined) return converted;
  const $defs = mapValues(given, (value, name) => convert(value, { path: ['$defs', name], definitions }));
  requireEnd(converted, $defs);
  return { ...converted, $defs };
}

function convert(schema: unknown, place: Place): JsonObject {
  const { path } = place;
  const given = recordAt(schema, path);
  const known = (...keywords: readonly string[]): void => {
    const odd = Object.keys(given).find((keyword) => ![...ANNOTATIONS, ...keywords].includes(keyword));
    if (odd !== undefined) throw refused(path, `"${odd}" is not supported here`);
  };
  if (given.$ref !== undefined) {
    known('$ref');
    const name = /^#\/\$defs\/(.+)$/.exec(String(given.$ref))?.[1] ?? '';
    if (!place.definitions.includes(name)) throw refused(path, `"$ref" points to no entry of $defs`);
    return { $ref: given.$ref };
  }
  const alternatives = given.anyOf !== undefined ? 'anyOf' : 'oneOf';
  if (given[alternatives] !== undefined) {
    known(alternatives);
    return { oneOf: convertList(given, alternatives, place) };
  }
  if (given.const !== undefined || given.enum !== undefined) {
    const keyword = given.const === undefined ? 'enum' : 'const';
    known(keyword, 'type');
    return values(given, keyword, path);
  }
  const { type } = given;
  if (type === 'object') {
    known('type', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties');
    return object(given, place);
  }
  if (type === 'array') {
    known('type', 'items', 'prefixItems', 'minItems', 'maxItems');
    return array(given, place);
  }
  if (type === 'string') {
    known('type', 'minLength', 'maxLength', 'format');
    return string(given, path);
  }
  if (![type].flat().every((one) => SCALARS.includes(one)) || [type].flat().length === 0) {
    const scalars = `a list of types may hold ${SCALARS.join(', ')} only`;
    throw refused(path, Array.isArray(type) ? scalars : 'needs a "type", "enum", "const", "anyOf", "oneOf" or "$ref"');
  }
  known('type');
  return { type };
}

function within(value: unknown, { path, definitions }: Place, ...steps: string[]): JsonObject {
  return convert(value, { path: [...path, ...steps], definitions });
}

function convertList(given: JsonObject, keyword: string, place: Place): JsonObject[] {
  return listAt(given[keyword], [...place.path, keyword]).map((value, index) =>
    within(value, place, keyword, `${index}`),
  );
}

/** Values that are of the type beside them, where there is one. */
function values(given: JsonObject, keyword: 'const' | 'enum', path: readonly string[]): JsonObject {
  const at = [...path, keyword];
  const types = [given.type ?? []].flat();
  const listed = keyword === 'const' ? [given.const] : listAt(given.enum, at);
  for (const value of listed) {
    if (typeof value === 'string') requireText(value, at);
    else if (typeof value === 'object' && value !== null)
      throw refused(at, 'only strings, numbers, booleans and null are supported as values');
  }
  const isOf = (value: unknown, type: unknown): boolean =>
    type === 'integer' ? Number.isInteger(value) : type === (value === null ? 'null' : typeof value);
  const fitting = listed.filter((value) => types.length === 0 || types.some((type) => isOf(value, type)));
  if (fitting.length === 0) throw refused(at, `no value is of type ${types.join(' or ')}`);
  return keyword === 'const' ? { const: fitting[0] } : { enum: fitting };
}

/**
 * Named properties are all written, so that counts of properties only have to agree. Others could take a name twice, or that of a named
 * one: they are left out beside named ones, and where there are no others, only one of them can be demanded.
 */
function object(
  { properties, required = [], additionalProperties: others, ...given }: JsonObject,
  place: Place,
): JsonObject {
  const { path } = place;
  const named = mapValues(recordAt(properties ?? {}, [...path, 'properties']), (value, name) => {
    requireText(name, [...path, 'properties']);
    return within(value, place, 'properties', name);
  });
  const count = Object.keys(named).length;
  if (!Array.isArray(required)) throw refused([...path, 'required'], 'is not a list');
  const unnamed = required.find((name) => !Object.hasOwn(named, name));
  if (unnamed !== undefined)
    throw refused(path, `"required" has ${JSON.stringify(unnamed)}, which "properties" has not`);
  const counts = countsOf(given, 'minProperties', 'maxProperties', path);
  const { minProperties = 0, maxProperties = count } = counts;
  if (count > 0) {
    if (minProperties <= count && maxProperties >= count) return { type: 'object', properties: named };
    const asked = maxProperties < count ? `"maxProperties" is ${maxProperties}` : `"minProperties" is ${minProperties}`;
    throw refused(path, `all ${count} named properties are written and no others, but ${asked}`);
  }
  if (minProperties > 1)
    throw refused(path, 'a "minProperties" above 1 is not supported where no properties are named');
  if (minProperties === 1 && (others === undefined || others === false))
    throw refused(path, '"minProperties" is 1, and no property is described');
  return {
    type: 'object',
    ...(properties !== undefined && { properties: named }),
    ...counts,
    ...(others !== undefined && {
      additionalProperties: typeof others === 'object' ? within(others, place, 'additionalProperties') : others,
    }),
  };
}

function array(given: JsonObject, place: Place): JsonObject {
  const prefixItems = given.prefixItems === undefined ? [] : convertList(given, 'prefixItems', place);
  const counts = countsOf(given, 'minItems', 'maxItems', place.path);
  if ((counts.maxItems ?? prefixItems.length) < prefixItems.length)
    throw refused(
      place.path,
      `all ${prefixItems.length} "prefixItems" are written, but "maxItems" is ${counts.maxItems}`,
    );
  return {
    type: 'array',
    ...(prefixItems.length > 0 && { prefixItems }),
    ...(given.items !== undefined && { items: within(given.items, place, 'items') }),
    ...counts,
  };
}

function string({ format, ...given }: JsonObject, path: readonly string[]): JsonObject {
  const lengths = countsOf(given, 'minLength', 'maxLength', path);
  if (format === undefined) return { type: 'string', ...lengths };
  if (!FORMATS.includes(format)) throw refused(path, `"format" may be ${FORMATS.join(', ')} only`);
  if (Object.keys(lengths).length > 0) throw refused(path, '"format" and a length cannot be combined here');
  return { type: 'string', format };
}

/** The smallest and the largest count, those that are given. */
function countsOf<L extends string, M extends string>(
  given: JsonObject,
  least: L,
  most: M,
  path: readonly string[],
): { readonly [K in L | M]?: number } {
  for (const keyword of [least, most]) {
    const value = given[keyword];
    if (value !== undefined && !(isInteger(value) && value >= 0))
      throw refused([...path, keyword], 'is not a whole number of at least 0');
  }
  const [low, high] = [Number(given[least] ?? 0), Number(given[most] ?? Number.POSITIVE_INFINITY)];
  if (low > high) throw refused(path, `"${least}" is ${low} and "${most}" is ${high}`);
  if (low >= MOST_REPETITIONS) throw refused([...path, least], `has to be below ${MOST_REPETITIONS} here`);
  const counts = Object.entries(given).filter(([keyword]) => keyword === least || keyword === most);
  // Numbers, as was found above.
  return Object.fromEntries(counts) as { readonly [K in L | M]?: number };
}

/** Refuses a definition that always holds itself, since all properties are written: its values would have no end. */
function requireEnd(root: JsonObject, definitions: JsonObject): void {
  const ending = new Set<unknown>();
  const ends = (node: unknown): boolean => {
    if (!isObject(node)) return true;
    if (node.$ref !== undefined) return ending.has(node.$ref);
    if (Array.isArray(node.oneOf)) return node.oneOf.some(ends);
    const written = [...Object.values(Object(node.properties)), ...[node.prefixItems ?? []].flat()];
    const demanded = [
      Number(node.minItems ?? 0) > 0 && node.items,
      node.minProperties === 1 && node.additionalProperties,
    ];
    return [...written, ...demanded].every(ends);
  };
  for (let known = -1; known < ending.size; ) {
    known = ending.size;
    for (const [name, node] of Object.entries(definitions)) if (ends(node)) ending.add(`#/$defs/${name}`);
  }
  const endless = Object.keys(definitions).find((name) => !ending.has(`#/$defs/${name}`));
  if (endless !== undefined) throw refused(['$defs', endless], 'always holds itself, so that it has no end');
  if (!ends(root)) throw refused([], 'always holds itself, so that it has no end');
}

function mapValues(values: JsonObject, change: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

function recordAt(value: unknown, path: readonly string[]): JsonObject {
  if (!isObject(value)) throw refused(path, 'is not an object');
  return value;
}

function listAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw refused(path, 'is not a list with entries');
  return value;
}

/** The grammar maker writes text as it is. */
function requireText(text: string, path: readonly string[]): void {
  if (/[\0-\x08\x0b\x0c\x0e-\x1f]|\p{Surrogate}/u.test(text))
    throw refused(path, 'holds a control character or half of a surrogate pair, which is not supported here');
}
