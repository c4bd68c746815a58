// What a JSON schema holds at a place, or the error that names the place.

import { isObject, type JsonObject } from '../../json.js';

/** What of the schema cannot be honoured: where it stands, and why. */
export class SchemaError extends Error {
  constructor(path: readonly string[], reason: string) {
    super(`${['schema', ...path].join('.')}: ${reason}`);
    this.name = 'SchemaError';
  }
}

/** A record with each value converted. */
export function mapValues(
  values: JsonObject,
  convertValue: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, convertValue(value, name)]));
}

export function recordAt(value: unknown, path: readonly string[]): JsonObject {
  if (!isObject(value)) throw new SchemaError(path, 'is not an object');
  return value;
}

export function listAt(value: unknown, path: readonly string[]): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaError(path, 'is not a list with entries');
  return value;
}

export function scalarAt(value: unknown, path: readonly string[]): string | number | boolean | null {
  if (typeof value === 'string') return textAt(value, path);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new SchemaError(path, 'only strings, numbers, booleans and null are supported as values');
}

/** Text that the grammar maker writes as it is. */
export function textAt(text: string, path: readonly string[]): string {
  if (/[\0-\x08\x0b\x0c\x0e-\x1f]|\p{Surrogate}/u.test(text))
    throw new SchemaError(path, 'holds a control character or half of a surrogate pair, which is not supported here');
  return text;
}
