// A JSON schema as the grammar maker of node-llama-cpp understands it, or the name of what it does not.

type Schema = Readonly<Record<string, unknown>>;

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
  string: ['minLength', 'maxLength', 'format'],
  integer: ['minimum', 'maximum'],
};
const FORMATS = ['date-time', 'time', 'date'];
/** Widest range of an integer that is spelled out as a list of values. */
const WIDEST_RANGE = 1000;

/** What of the schema cannot be honoured: where it stands, and why. */
export class SchemaError extends Error {
  constructor(path: readonly string[], reason: string) {
    super(`${['schema', ...path].join('.')}: ${reason}`);
    this.name = 'SchemaError';
  }
}

/**
 * The schema in the grammar maker's dialect, which silently passes over what it does not know; here that is refused. What is generated
 * satisfies the given schema, though not everything that satisfies it can be generated: all properties are written, in their order, and
 * further ones only where `additionalProperties` is set. Throws SchemaError naming the keyword.
 */
export function grammarSchema(schema: Schema): Record<string, unknown> {
  return convert(schema, [], Object.keys(recordAt(schema.$defs ?? {}, ['$defs'])));
}

function convert(schema: unknown, path: readonly string[], definitions: readonly string[]): Record<string, unknown> {
  const given = recordAt(schema, path);
  const within = (value: unknown, ...steps: string[]) => convert(value, [...path, ...steps], definitions);
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
    return {
      oneOf: listAt(given[alternatives], [...path, alternatives]).map((value, index) =>
        within(value, alternatives, `${index}`),
      ),
      ...defined,
    };
  }
  if (given.const !== undefined) {
    known('const', 'type');
    return { const: scalarAt(given.const, [...path, 'const']) };
  }
  if (given.enum !== undefined) {
    known('enum', 'type');
    return { enum: listAt(given.enum, [...path, 'enum']).map((value) => scalarAt(value, [...path, 'enum'])) };
  }
  if (Array.isArray(given.type)) {
    known('type');
    const odd = given.type.find((type) => !SCALARS.includes(type as string));
    if (odd !== undefined || given.type.length === 0)
      throw new SchemaError(path, `a list of types may hold ${SCALARS.join(', ')} only`);
    return { type: given.type };
  }
  if (typeof given.type !== 'string' || !(SCALARS.includes(given.type) || ['object', 'array'].includes(given.type))) {
    throw new SchemaError(path, 'needs a "type", "enum", "const", "anyOf", "oneOf" or "$ref"');
  }
  known('type', ...(KEYWORDS[given.type] ?? []));
  const {
    type,
    required: _,
    ...rest
  } = Object.fromEntries(Object.entries(given).filter(([keyword]) => !ANNOTATIONS.includes(keyword)));
  if (type === 'integer') return integer(rest, path);
  if (type === 'string' && rest.format !== undefined) return formatted(rest, path);
  return {
    type,
    ...rest,
    ...(rest.properties === undefined
      ? {}
      : {
          properties: mapValues(recordAt(rest.properties, [...path, 'properties']), (value, name) =>
            within(value, 'properties', name),
          ),
        }),
    ...(typeof rest.additionalProperties === 'object'
      ? { additionalProperties: within(rest.additionalProperties, 'additionalProperties') }
      : {}),
    ...(rest.items === undefined ? {} : { items: within(rest.items, 'items') }),
    ...(rest.prefixItems === undefined
      ? {}
      : {
          prefixItems: listAt(rest.prefixItems, [...path, 'prefixItems']).map((value, index) =>
            within(value, 'prefixItems', `${index}`),
          ),
        }),
    ...defined,
  };
}

/** Bounds become a list of values, since the grammar knows no ranges. */
function integer(rest: Schema, path: readonly string[]): Record<string, unknown> {
  if (rest.minimum === undefined && rest.maximum === undefined) return { type: 'integer' };
  const low = Math.ceil(Number(rest.minimum ?? Number.NaN));
  const high = Math.floor(Number(rest.maximum ?? Number.NaN));
  if (!(low <= high && high - low <= WIDEST_RANGE)) {
    throw new SchemaError(
      path,
      `an integer's "minimum" and "maximum" are supported together, at most ${WIDEST_RANGE} apart`,
    );
  }
  return { enum: Array.from({ length: high - low + 1 }, (_, index) => low + index) };
}

function formatted(rest: Schema, path: readonly string[]): Record<string, unknown> {
  if (!FORMATS.includes(rest.format as string))
    throw new SchemaError(path, `"format" may be ${FORMATS.join(', ')} only`);
  if (Object.keys(rest).length > 1) throw new SchemaError(path, '"format" and a length cannot be combined here');
  return { type: 'string', format: rest.format };
}

function mapValues(values: unknown, convertValue: (value: unknown, name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values as object).map(([name, value]) => [name, convertValue(value, name)]));
}

function recordAt(value: unknown, path: readonly string[]): Schema {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new SchemaError(path, 'is not an object');
  return value as Schema;
}

function listAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaError(path, 'is not a list with entries');
  return value;
}

function scalarAt(value: unknown, path: readonly string[]): string | number | boolean | null {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value))
    return value as string | number | boolean | null;
  throw new SchemaError(path, 'only strings, numbers, booleans and null are supported as values');
}
