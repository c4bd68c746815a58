// Objects, lists, texts and numbers of a JSON schema, each in the grammar maker's dialect.

import { isInteger, type JsonObject } from '../../json.js';
import { integerRule, numberRule } from './number-rules.js';
import { patternRule } from './pattern-rule.js';
import { listAt, mapValues, recordAt, SchemaError, textAt } from './schema-values.js';

/** Converts a schema further down, at these steps from here. */
type Within = (value: unknown, ...steps: string[]) => Record<string, unknown>;

interface Type {
  /** Keywords that the grammar honours. */
  readonly keywords: readonly string[];
  /** `rest` is the schema without its type, annotations and definitions. */
  convert(rest: JsonObject, path: readonly string[], within: Within, rules: Rules): Record<string, unknown>;
}

/** Expressions by the constant that stands for each. */
export type Rules = Map<string, string>;

const FORMATS: readonly unknown[] = ['date-time', 'time', 'date'];
/** llama.cpp refuses a grammar that repeats something at least so often, and prints all of it. */
const MOST_REPETITIONS = 1000;
/** Wide ranges and patterns of one schema: each may stand for thousands of characters. */
const MOST_RULES = 32;
/** Widest range of an integer that is spelled out as a list of values. */
const WIDEST_RANGE = 1000;

/**
 * Named properties are all written, so that counts of properties only have to agree. Others could take a name twice, or that of a named
 * one: they are left out beside named ones, and where there are no others, only one of them can be demanded.
 */
function object(rest: JsonObject, path: readonly string[], within: Within): Record<string, unknown> {
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

function array(rest: JsonObject, path: readonly string[], within: Within): Record<string, unknown> {
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

function string(rest: JsonObject, path: readonly string[], _: Within, rules: Rules): Record<string, unknown> {
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

/** The smallest and the largest count; 0 and infinity where they are absent. */
function counts(rest: JsonObject, least: string, most: string, path: readonly string[]): readonly [number, number] {
  const read = (keyword: string, absent: number): number => {
    const value = rest[keyword] ?? absent;
    if (value === absent) return absent;
    if (isInteger(value) && value >= 0) return value;
    throw new SchemaError([...path, keyword], 'is not a whole number of at least 0');
  };
  const [low, high] = [read(least, 0), read(most, Number.POSITIVE_INFINITY)];
  if (low > high) throw new SchemaError(path, `"${least}" is ${low} and "${most}" is ${high}`);
  if (low >= MOST_REPETITIONS) throw new SchemaError([...path, least], `has to be below ${MOST_REPETITIONS} here`);
  return [low, high];
}

/** A constant for an expression. It is random, so that no text of the schema can be taken for it. */
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
function integer(rest: JsonObject, path: readonly string[], _: Within, rules: Rules): Record<string, unknown> {
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

function number(rest: JsonObject, path: readonly string[], _: Within, rules: Rules): Record<string, unknown> {
  if (Object.keys(rest).length === 0) return { type: 'number' };
  return standIn(rules, path, () => numberRule(...bounds(rest, path)));
}

function bounds(rest: JsonObject, path: readonly string[]): [low: number, high: number] {
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

function formatted(rest: JsonObject, path: readonly string[]): Record<string, unknown> {
  if (!FORMATS.includes(rest.format)) throw new SchemaError(path, `"format" may be ${FORMATS.join(', ')} only`);
  if (Object.keys(rest).length > 1) throw new SchemaError(path, '"format" and a length cannot be combined here');
  return { type: 'string', format: rest.format };
}

/** By name; `required` is honoured because every property is always written. */
export const TYPES: ReadonlyMap<unknown, Type> = new Map<unknown, Type>([
  [
    'object',
    {
      keywords: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
      convert: object,
    },
  ],
  ['array', { keywords: ['items', 'prefixItems', 'minItems', 'maxItems'], convert: array }],
  ['string', { keywords: ['minLength', 'maxLength', 'format', 'pattern'], convert: string }],
  ['integer', { keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], convert: integer }],
  ['number', { keywords: ['minimum', 'maximum'], convert: number }],
]);
