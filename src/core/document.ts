// Results as plain JSON documents. The schema of each is the single definition of its keys and their order.

import { z } from 'zod';
import { recordOf } from './groups.js';
import type { Estimate } from './types.js';

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;

/** The input of a document: its keys in camelCase. What is null in the document may be absent here, or `Missing`. */
export type SourceOf<Document, Missing = undefined> = Document extends readonly (infer Item)[]
  ? readonly SourceOf<Item, Missing>[]
  : Document extends object
    ? {
        readonly [Key in keyof Document as null extends Document[Key] ? never : CamelCase<Key>]: SourceOf<
          Document[Key],
          Missing
        >;
      } & {
        readonly [Key in keyof Document as null extends Document[Key] ? CamelCase<Key> : never]?:
          | SourceOf<Exclude<Document[Key], null>, Missing>
          | Missing
          | undefined;
      }
    : Document;

/**
 * The document of a schema: its keys in order, each from the field of that name in camelCase, with null for absent ones. Keys of
 * records are data and stay unchanged, and so does what the schema leaves open.
 */
export function documentOf<Schema extends z.ZodType>(
  schema: Schema,
  source: SourceOf<z.infer<Schema>, null>,
): z.infer<Schema> {
  // `made` follows the schema key by key; test/report/documents.test.ts checks what commands print against it.
  return made(schema, source) as z.infer<Schema>;
}

function made(schema: z.core.$ZodType, source: unknown): unknown {
  if (schema instanceof z.ZodNullable)
    return source === undefined || source === null ? null : made(schema.unwrap(), source);
  if (schema instanceof z.ZodOptional) return source === undefined ? undefined : made(schema.unwrap(), source);
  if (schema instanceof z.ZodArray && Array.isArray(source)) return source.map((item) => made(schema.element, item));
  if (typeof source !== 'object' || source === null) return source;
  if (schema instanceof z.ZodRecord) {
    return Object.fromEntries(Object.entries(source).map(([key, value]) => [key, made(schema.valueType, value)]));
  }
  if (!(schema instanceof z.ZodObject)) return source;
  const fields = new Map(Object.entries(source));
  return Object.fromEntries(
    Object.entries<z.core.$ZodType>(schema.shape).map(([key, part]) => [key, made(part, fields.get(camelCase(key)))]),
  );
}

function camelCase(key: string): string {
  return key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Consecutive keys whose values have the same form. */
export function keyed<Form extends z.ZodType, Key extends string>(form: Form, ...keys: readonly Key[]) {
  return recordOf(keys, () => form);
}

/** A figure that may be unknown, unrounded. */
export const FIGURE = z.number().nullable();
/** A text that may be unknown. */
export const TEXT = z.string().nullable();
export const COUNT = z.int().min(0);

/** What is known about a figure's uncertainty. */
export const SPREAD = z.strictObject(keyed(FIGURE, 'rows', 'clusters', 'se', 'df', 'low', 'high'));

/** See `Estimate` for what each figure is. */
export const ESTIMATE = z.strictObject({ value: z.number(), ...SPREAD.shape, rows: COUNT, clusters: COUNT });
export type EstimateDocument = z.infer<typeof ESTIMATE>;

export function estimateDocument(estimate: Estimate): EstimateDocument {
  return documentOf(ESTIMATE, estimate);
}
