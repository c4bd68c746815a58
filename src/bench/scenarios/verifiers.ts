// The verifiers of a scenario, as a suite's file lists them: a mapping of one key each, which names the kind.

import { type JsonExpectation, VERIFIER_KINDS, type Verifier } from '../../scenario.js';
import type { Domain } from '../../types.js';
import type { Field, FieldReader } from './fields.js';
import { readJsonPath, readPattern } from './patterns.js';

/** What else stands among verifiers: what a prediction must not give away. */
const NEVER = 'never';
const KNOWN = [...VERIFIER_KINDS, NEVER];
const MOST_STATUS = 255;
/** Of the lines that are not meant to change, so many percent have to stay where the file does not say. */
const DEFAULT_PERCENT = 90;
/** Domains in which no command ends with a status that could be seen. */
const WITHOUT_STATUS: readonly Domain[] = ['search', 'android', 'web', 'os'];

interface ReadVerifiers {
  readonly verify: readonly Verifier[];
  readonly never: readonly Field[];
}

/** The verifiers of a list. @param what is named where it has none */
export function readVerifiers(
  reader: FieldReader,
  field: Field,
  what: string,
  domains: readonly Domain[],
): ReadVerifiers {
  const verify: Verifier[] = [];
  const never: Field[] = [];
  const items = reader.items(field, '"verify"');
  let isWhole = items !== undefined;
  for (const item of items ?? []) {
    const named = namedVerifier(reader, item);
    if (named?.kind === NEVER) {
      never.push(named.field);
      continue;
    }
    const verifier = named && READERS[named.kind](reader, named.field, domains);
    if (verifier === undefined) isWhole = false;
    else verify.push(verifier);
  }
  if (verify.length === 0 && isWhole) {
    reader.fault(
      field.line,
      `${what} has no verifier by which one sees that it was followed; add one of ${VERIFIER_KINDS.join(', ')}`,
    );
  }
  return { verify, never };
}

function namedVerifier(
  reader: FieldReader,
  item: Field,
): { readonly kind: Verifier['kind'] | typeof NEVER; readonly field: Field } | undefined {
  const value = reader.value(item);
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const [name = ''] = names;
  if (names.length !== 1) {
    return reader.fault(
      item.line,
      `a verifier has one key, such as "contains: TEXT"; write one of ${KNOWN.join(', ')}`,
    );
  }
  const kind = [...VERIFIER_KINDS, NEVER].find((known) => known === name);
  if (kind === undefined) return reader.unknown(item.line, `verifier "${name}"`, name, KNOWN);
  const field = reader.fields(item, 'a verifier', KNOWN)?.get(kind);
  // The names that the reader knows are verifiers or never.
  return field && { kind: kind as Verifier['kind'] | typeof NEVER, field };
}

type ReadVerifier = (reader: FieldReader, field: Field, domains: readonly Domain[]) => Verifier | undefined;

const READERS: Readonly<Record<Verifier['kind'], ReadVerifier>> = {
  contains: (reader, field) => withTexts('contains', reader.texts(field, '"contains"')),
  lacks: (reader, field) => withTexts('lacks', reader.texts(field, '"lacks"')),
  matches: (reader, field) => {
    const pattern = readPattern(reader, field, '"matches"');
    return pattern && { kind: 'matches', pattern };
  },
  json_path: readJsonVerifier,
  exit_status: (reader, field, domains) => {
    const without = domains.find((domain) => WITHOUT_STATUS.includes(domain));
    if (without !== undefined) {
      return reader.fault(field.line, `the domain ${without} shows no exit status; use "contains" or "matches"`);
    }
    const status = reader.value(field);
    if (status === 'nonzero') return { kind: 'exit_status', status };
    if (typeof status === 'number' && Number.isInteger(status) && status >= 0 && status <= MOST_STATUS) {
      return { kind: 'exit_status', status };
    }
    return reader.fault(field.line, `"exit_status" has to be a whole number of 0 to ${MOST_STATUS}, or nonzero`);
  },
  unchanged_elsewhere: readUnchanged,
};

function withTexts(kind: 'contains' | 'lacks', texts: readonly string[] | undefined): Verifier | undefined {
  return texts && { kind, texts };
}

const JSON_KEYS = ['path', 'equals', 'matches', 'exists'];

function readJsonVerifier(reader: FieldReader, field: Field): Verifier | undefined {
  const fields = reader.fields(field, '"json_path"', JSON_KEYS);
  if (fields === undefined) return undefined;
  const given = fields.get('path');
  if (given === undefined) return reader.fault(field.line, '"json_path" has no "path"; write one such as $.error.code');
  const path = readJsonPath(reader, given);
  const expectations = ['equals', 'matches', 'exists'].filter((key) => fields.has(key));
  if (expectations.length !== 1) {
    return reader.fault(field.line, '"json_path" needs one of "equals", "matches" and "exists" beside its "path"');
  }
  const expect = readExpectation(reader, fields);
  return path === undefined || expect === undefined ? undefined : { kind: 'json_path', path, expect };
}

function readExpectation(reader: FieldReader, fields: ReadonlyMap<string, Field>): JsonExpectation | undefined {
  const [equals, matches, exists] = [fields.get('equals'), fields.get('matches'), fields.get('exists')];
  if (equals !== undefined) return { equals: reader.value(equals) };
  if (matches !== undefined) {
    const pattern = readPattern(reader, matches, '"matches"');
    return pattern && { matches: pattern };
  }
  const value = exists && reader.value(exists);
  if (typeof value === 'boolean') return { exists: value };
  return exists && reader.fault(exists.line, '"exists" has to be true or false');
}

const UNCHANGED_KEYS = ['except', 'percent'];

function readUnchanged(reader: FieldReader, field: Field): Verifier | undefined {
  const fields = reader.fields(field, '"unchanged_elsewhere"', UNCHANGED_KEYS);
  if (fields === undefined) return undefined;
  const [given, share] = [fields.get('except'), fields.get('percent')];
  const percent = share === undefined ? DEFAULT_PERCENT : reader.value(share);
  if (typeof percent !== 'number' || !(percent > 0 && percent <= 100)) {
    return reader.fault(share?.line ?? field.line, '"percent" has to be a number above 0 and up to 100');
  }
  if (given === undefined) return { kind: 'unchanged_elsewhere', percent };
  const except = readPattern(reader, given, '"except"');
  return except && { kind: 'unchanged_elsewhere', except, percent };
}
