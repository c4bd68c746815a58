// What a request wants its reply held to: nothing, any JSON object, or a schema.

import { isObject, type JsonObject } from '../../json.js';
import type { GenerateOptions } from '../engine-contract.js';
import { invalid, unsupported } from '../http/api-error.js';
import { levelsOf } from '../http/levels.js';
import { shown } from './parameters.js';

const MOST_SCHEMA_VALUES = 2_000;
const DEEPEST_SCHEMA = 64;

/** Throws an ApiError for a format that is not known, or a schema that is too large. */
export function readResponseFormat(value: unknown): GenerateOptions['responseFormat'] {
  if (value === undefined) return { type: 'text' };
  const at = 'response_format';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { type, json_schema, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw unsupported(`${at}.${other}`);
  if (type === 'json_schema') return { type, schema: readSchema(json_schema, `${at}.json_schema`) };
  if (type !== 'text' && type !== 'json_object') {
    throw invalid(`'${at}.type' must be text, json_object or json_schema, not ${shown(type ?? null)}`, `${at}.type`);
  }
  if (json_schema !== undefined) throw invalid(`'${at}.json_schema' needs the type json_schema`, `${at}.json_schema`);
  return { type };
}

function readSchema(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw invalid(`'${at}' must be an object with a 'schema'`, at);
  // `strict` asks for what happens anyway; false permits more than the schema, which nobody has to use.
  const { schema, name: _, description: __, strict: ___, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw unsupported(`${at}.${other}`);
  if (!isObject(schema)) throw invalid(`'${at}.schema' must be an object`, `${at}.schema`);
  requireSmall(schema, `${at}.schema`);
  return schema;
}

/** Making a grammar takes time that grows with the square of the schema's size, and nothing else is served meanwhile. */
function requireSmall(schema: JsonObject, at: string): void {
  let count = 0;
  for (const { depth, values } of levelsOf(schema)) {
    count += values.length;
    if (count > MOST_SCHEMA_VALUES || depth > DEEPEST_SCHEMA) {
      const message = `'${at}' is too large: at most ${MOST_SCHEMA_VALUES} values, ${DEEPEST_SCHEMA} deep, are supported`;
      throw invalid(message, at, 'schema_too_large');
    }
  }
}
