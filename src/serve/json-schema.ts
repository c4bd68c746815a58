// A JSON schema as the grammar maker of node-llama-cpp understands it, or the name of what it does not.

import { isObject, type JsonObject } from '../json.js';
import { integerRule, numberRule, patternRule } from './grammar-rules.js';

type Schema = JsonObject;

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
const SCALARS = ['string', 'number', 'integer', 'boolean', 'null'];
/** Keywords by type that the grammar honours; `required` is among them because every property is always written. */
const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'format', 'pattern'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  number: ['minimum', 'maximum'],
};
const FORMATS = ['date-time', 'time', 'date'];
/** llama.cpp refuses a grammar that repeats something at least so often, and prints all of it. */
const MOST_REPETITIONS = 1000;
/** Wide ranges and patterns of one schema: each may stand for thousands of characters. */
const MOST_RULES = 32;
/** Widest range of an integer that is spelled out as a list of values. */
const WIDEST_RANGE = 1000;

/** What of the schema cannot be honoured: where it stands, and why. */
export class SchemaError extends Error {
  constructor(path: readonly string[], reason: string) {
    super(`${['schema', ...path].join('.')}: ${reason}`);
    this.name = 'SchemaError';
  }
}

/** Expressions by the constant that stands for each. */
export type Rules = Map<string, string>;

/**
 * The schema in the grammar maker's dialect, which silently passes over what it does not know or cannot hold; here that is refused. What
 * is generated satisfies the given schema, though not everything that satisfies it can be generated: all named properties are written, in
 * their order, and others only where none is named. What the dialect has no word for becomes a constant that stands for an expression of
 * llama.cpp's grammar language, told in `rules`. Throws SchemaError naming place and keyword.
 */
export function grammarSchema(schema: Schema, rules: Rules = new Map()): Record<string, unknown> {
  const definitions = Object.keys(recordAt(schema.$defs ?? {}, ['$defs']));
  const converted = convert(schema, [], { definitions, rules });
  requireEnd(converted);
  return converted;
}

interface Surroundings {
  readonly definitions: readonly string[];
  readonly rules: Rules;
}

function convert(schema: unknown, path: readonly string[], around: Surroundings): Record<string, unknown> {
  const { definitions, rules } = around;
  const given = recordAt(schema, path);
  const within = (value: unknown, ...steps: string[]) => convert(value, [...path, ...steps], around);
  const known = (...keywords: readonly string[]): void => {
    const allowed = [...ANNOTATIONS, ...keywords, ...(path.length === 0 ? ['$defs'] : [])];
    const odd = Object.keys(given).find((keyword) => !allowed.includes(keyword));
    if (odd !== undefined) throw new SchemaError(path, `"${odd}" is not supported here`);
  };
  const defined =
    given.$defs === undefined || path.length > 0
      ? {}
      : { $defs: mapValues(given.$defs, (value, name) => within(value, '$defs', name)) };

  if (given.$ref !== undefined) {
    known('$ref');
    const name = /^#\/\$defs\/(.+)$/.exec(String(given.$ref))?.[1];
    if (name === undefined || !definitions.includes(name))
      throw new SchemaError(path, `"$ref" points to no entry of $defs`);
    return { $ref: given.$ref, ...defined };
  }
  const alternatives = given.anyOf !== undefined ? 'anyOf' : given.oneOf !== undefined ? 'oneOf' : undefined;
  if (alternatives !== undefined) {
    known(alternatives);
    const listed = listAt(given[alternatives], [...path, alternatives]);
    return { oneOf: listed.map((value, index) => within(value, alternatives, `${index}`)), ...defined };
  }
  if (given.const !== undefined || given.enum !== undefined) {
    const keyword = given.const === undefined ? 'enum' : 'const';
    known(keyword, 'type');
    return values(given, keyword, path);
  }
  if (Array.isArray(given.type)) {
    known('type');
    const odd = given.type.find((type) => !SCALARS.includes(type as string));
    if (odd !== undefined || given.type.length === 0)
      throw new SchemaError(path, `a list of types may hold ${SCALARS.join(', ')} only`);
    return { type: given.type };
  }
  if (typeof given.type !== 'string' || !(SCALARS.includes(given.type) || Object.hasOwn(STRUCTURES, given.type))) {
    throw new SchemaError(path, 'needs a "type", "enum", "const", "anyOf", "oneOf" or "$ref"');
  }
  known('type', ...(KEYWORDS[given.type] ?? []));
  const rest = Object.fromEntries(
    Object.entries(given).filter(([keyword]) => !['type', '$defs', ...ANNOTATIONS].includes(keyword)),
  );
  const ofType = STRUCTURES[given.type];
  return { ...(ofType === undefined ? { type: given.type } : ofType(rest, path, within, rules)), ...defined };
}

type Within = (value: unknown, ...steps: string[]) => Record<string, unknown>;

const STRUCTURES: Readonly<
  Record<string, (rest: Schema, path: readonly string[], within: Within, rules: Rules) => Record<string, unknown>>
> = { object, array, string, integer, number };

/** Values that are of the type beside them, where there is one. */
function values(given: Schema, keyword: 'const' | 'enum', path: readonly string[]): Record<string, unknown> {
  const at = [...path, keyword];
  const types = [given.type ?? []].flat();
  const listed = keyword === 'const' ? [given.const] : listAt(given.enum, at);
  const fitting = listed
    .map((value) => scalarAt(value, at))
    .filter((value) => types.length === 0 || types.some((type) => isOf(value, type)));
  if (fitting.length === 0) throw new SchemaError(at, `no value is of type ${types.join(' or ')}`);
  return keyword === 'const' ? { const: fitting[0] } : { enum: fitting };
}

function isOf(value: unknown, type: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return type === (value === null ? 'null' : typeof value);
}

/**
 * Named properties are all written, so that counts of properties only have to agree. Others could take a name twice, or that of a named
 * one: they are left out beside named ones, and where there are no others, only one of them can be demanded.
 */
function object(rest: Schema, path: readonly string[], within: Within): Record<string, unknown> {
  const properties = mapValues(recordAt(rest.properties ?? {}, [...path, 'properties']), (value, name) => {
    textAt(name, [...path, 'properties']);
    return within(value, 'properties', name);
  });
  const named = Object.keys(properties);
  const required = rest.required === undefined ? [] : rest.required;
  if (!Array.isArray(required)) throw new SchemaError([...path, 'required'], 'is not a list');
  const unnamed = required.find((name) => !named.includes(name));
  if (unnamed !== undefined)
    throw new SchemaError(path, `"required" has ${JSON.stringify(unnamed)}, which "properties" has not`);
  const [least, most] = counts(rest, 'minProperties', 'maxProperties', path);
  if (named.length > 0) {
    if (least > named.length || most < named.length) {
      const asked = most < named.length ? `"maxProperties" is ${most}` : `"minProperties" is ${least}`;
      throw new SchemaError(path, `all ${named.length} named properties are written and no others, but ${asked}`);
    }
    return { type: 'object', properties };
  }
  const { additionalProperties: others } = rest;
  if (least > 1)
    throw new SchemaError(path, 'a "minProperties" above 1 is not supported where no properties are named');
  if (least === 1 && (others === undefined || others === false))
    throw new SchemaError(path, '"minProperties" is 1, and no property is described');
  return {
    type: 'object',
    ...(rest.properties === undefined ? {} : { properties }),
    ...(rest.minProperties === undefined ? {} : { minProperties: least }),
    ...(rest.maxProperties === undefined ? {} : { maxProperties: most }),
    ...(others === undefined
      ? {}
      : { additionalProperties: typeof others === 'object' ? within(others, 'additionalProperties') : others }),
  };
}

function array(rest: Schema, path: readonly string[], within: Within): Record<string, unknown> {
  const first =
    rest.prefixItems === undefined
      ? []
      : listAt(rest.prefixItems, [...path, 'prefixItems']).map((value, index) =>
          within(value, 'prefixItems', `${index}`),
        );
  const [least, most] = counts(rest, 'minItems', 'maxItems', path);
  if (most < first.length)
    throw new SchemaError(path, `all ${first.length} "prefixItems" are written, but "maxItems" is ${most}`);
  return {
    type: 'array',
    ...(first.length === 0 ? {} : { prefixItems: first }),
    ...(rest.items === undefined ? {} : { items: within(rest.items, 'items') }),
    ...(rest.minItems === undefined ? {} : { minItems: least }),
    ...(rest.maxItems === undefined ? {} : { maxItems: most }),
  };
}

function string(rest: Schema, path: readonly string[], _: Within, rules: Rules): Record<string, unknown> {
  if (rest.pattern !== undefined) {
    if (Object.keys(rest).length > 1) throw new SchemaError(path, '"pattern" cannot be combined here');
    const { pattern } = rest;
    if (typeof pattern !== 'string') throw new SchemaError([...path, 'pattern'], 'is not a text');
    return standIn(rules, [...path, 'pattern'], () => patternRule(pattern));
  }
  if (rest.format !== undefined) return formatted(rest, path);
  const [least, most] = counts(rest, 'minLength', 'maxLength', path);
  return {
    type: 'string',
    ...(rest.minLength === undefined ? {} : { minLength: least }),
    ...(rest.maxLength === undefined ? {} : { maxLength: most }),
  };
}

/** A least and a most count; 0 and infinity where they are absent. */
function counts(rest: Schema, least: string, most: string, path: readonly string[]): readonly [number, number] {
  const read = (keyword: string, absent: number): number => {
    const value = rest[keyword] ?? absent;
    if (value !== absent && !(Number.isSafeInteger(value) && (value as number) >= 0))
      throw new SchemaError([...path, keyword], 'is not a whole number of at least 0');
    return value as number;
  };
  const [low, high] = [read(least, 0), read(most, Number.POSITIVE_INFINITY)];
  if (low > high) throw new SchemaError(path, `"${least}" is ${low} and "${most}" is ${high}`);
  if (low >= MOST_REPETITIONS) throw new SchemaError([...path, least], `has to be below ${MOST_REPETITIONS} here`);
  return [low, high];
}

/** A constant for an expression. No text of the schema can be taken for it, since nobody could know it before. */
function standIn(rules: Rules, path: readonly string[], express: () => string): Record<string, unknown> {
  if (rules.size >= MOST_RULES)
    throw new SchemaError(path, `is more than the ${MOST_RULES} ranges and patterns supported`);
  try {
    const expression = express();
    const name = `rule-${globalThis.crypto.randomUUID()}`;
    rules.set(name, expression);
    return { const: name };
  } catch (error) {
    if (error instanceof RangeError) throw new SchemaError(path, error.message);
    throw error;
  }
}

/** A narrow range becomes a list of values, a wide or open one digits. */
function integer(rest: Schema, path: readonly string[], _: Within, rules: Rules): Record<string, unknown> {
  if (Object.keys(rest).length === 0) return { type: 'integer' };
  const [least, most] = bounds(rest, path);
  const above = boundAt(rest.exclusiveMinimum, Number.NEGATIVE_INFINITY, [...path, 'exclusiveMinimum']);
  const below = boundAt(rest.exclusiveMaximum, Number.POSITIVE_INFINITY, [...path, 'exclusiveMaximum']);
  const low = Math.max(Math.ceil(least), Math.floor(above) + 1);
  const high = Math.min(Math.floor(most), Math.ceil(below) - 1);
  if (low > high) throw new SchemaError(path, 'no whole number lies between its bounds');
  if (high - low > WIDEST_RANGE) return standIn(rules, path, () => integerRule(low, high));
  return { enum: Array.from({ length: high - low + 1 }, (_value, index) => low + index) };
}

function number(rest: Schema, path: readonly string[], _: Within, rules: Rules): Record<string, unknown> {
  if (Object.keys(rest).length === 0) return { type: 'number' };
  return standIn(rules, path, () => numberRule(...bounds(rest, path)));
}

function bounds(rest: Schema, path: readonly string[]): [low: number, high: number] {
  const low = boundAt(rest.minimum, Number.NEGATIVE_INFINITY, [...path, 'minimum']);
  const high = boundAt(rest.maximum, Number.POSITIVE_INFINITY, [...path, 'maximum']);
  if (low > high) throw new SchemaError(path, `"minimum" is ${low} and "maximum" is ${high}`);
  return [low, high];
}

function boundAt(value: unknown, absent: number, path: readonly string[]): number {
  if (value === undefined) return absent;
  if (typeof value === 'number') return value;
  throw new SchemaError(path, 'is not a number');
}

function formatted(rest: Schema, path: readonly string[]): Record<string, unknown> {
  if (!FORMATS.includes(rest.format as string))
    throw new SchemaError(path, `"format" may be ${FORMATS.join(', ')} only`);
  if (Object.keys(rest).length > 1) throw new SchemaError(path, '"format" and a length cannot be combined here');
  return { type: 'string', format: rest.format };
}

/**
 * Refuses what cannot come to an end: a definition that is nothing but itself, which llama.cpp cannot read, and one that always holds
 * itself, since all properties are written.
 */
function requireEnd(root: Schema): void {
  const definitions = (root.$defs ?? {}) as Readonly<Record<string, Schema>>;
  const nameOf = ({ $ref }: Schema): string => String($ref).slice('#/$defs/'.length);
  const ending = new Set<string>();
  const ends = (node: Schema): boolean => {
    if (node.$ref !== undefined) return ending.has(nameOf(node));
    if (Array.isArray(node.oneOf)) return node.oneOf.some(ends);
    const inside = [
      ...Object.values((node.properties ?? {}) as object),
      ...((node.prefixItems ?? []) as readonly Schema[]),
      ...(Number(node.minItems ?? 0) > 0 && node.items !== undefined ? [node.items] : []),
      ...(node.minProperties === 1 && typeof node.additionalProperties === 'object' ? [node.additionalProperties] : []),
    ];
    return (inside as readonly Schema[]).every(ends);
  };
  for (let known = -1; known < ending.size; ) {
    known = ending.size;
    for (const [name, node] of Object.entries(definitions)) if (ends(node)) ending.add(name);
  }
  const endless = Object.keys(definitions).find((name) => !ending.has(name));
  if (endless !== undefined || !ends(root))
    throw new SchemaError(
      endless === undefined ? [] : ['$defs', endless],
      'always holds itself, so that it has no end',
    );
  const begins = (node: Schema, above: readonly string[]): void => {
    if (Array.isArray(node.oneOf)) for (const alternative of node.oneOf) begins(alternative, above);
    if (node.$ref === undefined) return;
    const name = nameOf(node);
    if (above.includes(name)) throw new SchemaError(['$defs', name], 'leads to itself without anything between');
    begins(definitions[name] as Schema, [...above, name]);
  };
  for (const [name, node] of Object.entries(definitions)) begins(node, [name]);
}

function mapValues(values: unknown, convertValue: (value: unknown, name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values as object).map(([name, value]) => [name, convertValue(value, name)]));
}

function recordAt(value: unknown, path: readonly string[]): Schema {
  if (!isObject(value)) throw new SchemaError(path, 'is not an object');
  return value;
}

function listAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaError(path, 'is not a list with entries');
  return value;
}

function scalarAt(value: unknown, path: readonly string[]): string | number | boolean | null {
  if (typeof value === 'string') return textAt(value, path);
  if (value === null || ['number', 'boolean'].includes(typeof value)) return value as number | boolean | null;
  throw new SchemaError(path, 'only strings, numbers, booleans and null are supported as values');
}

/** Text that the grammar maker writes as it is. */
function textAt(text: string, path: readonly string[]): string {
  if (/[\0-\x08\x0b\x0c\x0e-\x1f]|\p{Surrogate}/u.test(text))
    throw new SchemaError(path, 'holds a control character or half of a surrogate pair, which is not supported here');
  return text;
}
