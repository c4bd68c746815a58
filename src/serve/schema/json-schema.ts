// A JSON schema as the grammar maker of node-llama-cpp understands it, or the name of what it does not.

import type { JsonObject } from '../../json.js';
import { requireEnd } from './schema-end.js';
import { type Rules, TYPES } from './schema-types.js';
import { listAt, mapValues, recordAt, SchemaError, scalarAt } from './schema-values.js';

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

/**
 * The schema in the grammar maker's dialect, which silently passes over what it does not know or cannot hold; here that is refused. What
 * is generated satisfies the given schema, though not everything that satisfies it can be generated: all named properties are written, in
 * their order, and others only where none is named. What the dialect has no word for becomes a constant that stands for an expression of
 * llama.cpp's grammar language, told in `rules`. Throws SchemaError naming place and keyword.
 */
export function grammarSchema(schema: JsonObject, rules: Rules = new Map()): Record<string, unknown> {
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
      : { $defs: mapValues(recordAt(given.$defs, ['$defs']), (value, name) => within(value, '$defs', name)) };

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
    const odd = given.type.find((type) => !SCALARS.includes(type));
    if (odd !== undefined || given.type.length === 0)
      throw new SchemaError(path, `a list of types may hold ${SCALARS.join(', ')} only`);
    return { type: given.type };
  }
  const type = TYPES.get(given.type);
  if (type === undefined && !SCALARS.includes(given.type)) {
    throw new SchemaError(path, 'needs a "type", "enum", "const", "anyOf", "oneOf" or "$ref"');
  }
  known('type', ...(type?.keywords ?? []));
  const rest = Object.fromEntries(
    Object.entries(given).filter(([keyword]) => !['type', '$defs', ...ANNOTATIONS].includes(keyword)),
  );
  return { ...(type === undefined ? { type: given.type } : type.convert(rest, path, within, rules)), ...defined };
}

/** Values that are of the type beside them, where there is one. */
function values(given: JsonObject, keyword: 'const' | 'enum', path: readonly string[]): Record<string, unknown> {
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
