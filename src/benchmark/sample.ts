// One line of the benchmark -> a Sample, or the reason why it is not one.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { messageOf, present } from '../core/errors.js';
import { isObject, type JsonObject } from '../core/json.js';
import { withoutRequest } from '../core/turn.js';
import type { Domain, Sample } from '../core/types.js';
import { canonicalText, membersOf } from './row-text.js';

/** A decoded row, before equal earlier rows are counted. */
export interface ParsedRow {
  readonly sample: Sample;
  /** The row's `id` in canonical JSON text, so that integers keep their last digit; empty if there is none. */
  readonly id: string;
}

/** A row, or why a line is not one, with its domain if at least that could be read. */
type RowReading = Readonly<{ ok: true; row: ParsedRow } | { ok: false; flaw: { reason: string; domain?: Domain } }>;

/**
 * Reads a row. Required are `prompt`, `response`, `turn_idx` and a `task` whose last part names any domain; the other official keys, if
 * absent or null, read as empty. The sample's key does not yet have the number of an equal row.
 */
export function readRow(text: string): RowReading {
  const fields = parseRow(text);
  return typeof fields === 'string' ? { ok: false, flaw: { reason: fields } } : readParsedRow(text, fields);
}

/** The same for a text that was parsed before: `fields` is the object in it. */
export function readParsedRow(text: string, fields: JsonObject): RowReading {
  const official = officialFields(fields);
  if (typeof official === 'string') return { ok: false, flaw: { reason: official, ...knownDomainOf(fields) } };
  const { task, prompts, responses, turnIdx, currentPrompt, systemPrompt } = official;
  const source = sourceOf(text);
  const id = source('id');
  const firstTurn = turnIdx === 1 && currentPrompt !== '' ? currentPrompt : present(prompts[0]);
  const key = hashOf([
    task,
    id,
    ...listed(prompts),
    ...listed(responses),
    currentPrompt,
    systemPrompt,
    String(turnIdx),
    source('total_turns'),
  ]);
  const trajectory = hashOf([domainOf(task), id, systemPrompt, withoutRequest(firstTurn)]);
  return { ok: true, row: { sample: sampleOf(official, { key, trajectory }), id } };
}

/**
 * The sample in the object of a row whose keys are known from an earlier read, in about half the time of `readRow`; undefined if there
 * is no object, or it is not a row.
 */
export function readSampleAgain(fields: JsonObject | undefined, keys: Pick<Sample, 'key' | 'trajectory'>) {
  const official = fields && officialFields(fields);
  return official === undefined || typeof official === 'string' ? undefined : sampleOf(official, keys);
}

function sampleOf(
  { task, ...fields }: OfficialFields,
  { key, trajectory }: Pick<Sample, 'key' | 'trajectory'>,
): Sample {
  return { key, trajectory, domain: domainOf(task), ...fields };
}

/** Gives equal rows distinct keys, from their hashes: the first keeps the bare hash, each further one gets a suffix `-1`, `-2` ... */
export function openRowKeys(): (hash: string) => string {
  const seen = new Map<string, number>();
  return (hash) => {
    const before = seen.get(hash) ?? 0;
    seen.set(hash, before + 1);
    return before === 0 ? hash : `${hash}-${before}`;
  };
}

/** Whether a key belongs to a row with this hash, whether it is the first of several equal ones or a further one. */
export function isKeyOf(key: string, hash: string): boolean {
  return key === hash || key.startsWith(`${hash}-`);
}

/** A domain names files and columns: letters and digits of any script, with `_`, `-` and `.` between them. */
const DOMAIN = /^[\p{L}\p{N}]([\p{L}\p{M}\p{N}_.-]{0,62}[\p{L}\p{M}\p{N}])?$/u;

export function isDomain(name: string): boolean {
  // Counts by domain are kept in objects, which have inherited members.
  return DOMAIN.test(name) && !(name in {});
}

/** The part of `task` after its last slash. */
export function domainOf(task: string): Domain {
  return task.slice(task.lastIndexOf('/') + 1);
}

/** The row's object, or what is wrong with its text. */
function parseRow(text: string): JsonObject | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not valid JSON (${messageOf(error).replace(/, (\.\.\.)?"[\s\S]*$/, '')})`;
  }
  return isObject(value) ? value : 'not a JSON object';
}

function knownDomainOf(fields: JsonObject): { domain?: Domain } {
  const domain = typeof fields.task === 'string' ? domainOf(fields.task) : '';
  return isDomain(domain) ? { domain } : {};
}

/** The values of a row's official keys. */
interface OfficialFields extends Pick<Sample, 'prompts' | 'responses' | 'turnIdx' | 'currentPrompt' | 'systemPrompt'> {
  readonly task: string;
}

const TEXTS = z.array(z.string());
const OFFICIAL = z.object({
  task: z.string(),
  prompt: TEXTS,
  response: TEXTS,
  turn_idx: z.int(),
  current_prompt: z.string().nullish(),
  system_str: z.string().nullish(),
});
/** What each key has to be. */
const FORMS: Readonly<Record<PropertyKey, string>> = {
  prompt: 'a list of strings',
  response: 'a list of strings',
  turn_idx: 'a whole number',
};

/** The fields of a usable row, or what is wrong with it. */
function officialFields(fields: JsonObject): OfficialFields | string {
  const { data, error } = OFFICIAL.safeParse(fields);
  if (error) {
    const key = String(present(error.issues[0]).path[0]);
    return (fields[key] ?? null) === null
      ? `required key "${key}" is missing`
      : `"${key}" is not ${FORMS[key] ?? 'a string'}`;
  }
  const { task, prompt: prompts, response: responses, turn_idx: turnIdx } = data;
  if (!isDomain(domainOf(task))) return '"task" names no domain: its last part has to be one word';
  for (const [key, { length }] of Object.entries({ prompt: prompts, response: responses })) {
    if (turnIdx < 1 || turnIdx > length)
      return `"turn_idx" ${turnIdx} lies outside "${key}", which has ${length} turns`;
  }
  return {
    ...{ task, prompts, responses, turnIdx },
    currentPrompt: data.current_prompt ?? '',
    systemPrompt: data.system_str ?? '',
  };
}

/** Looks values up in the row's own text, where numbers keep all their digits; null and absent read as empty. */
function sourceOf(text: string): (key: string) => string {
  const members = membersOf(text);
  return (key) => {
    const member = members.findLast((candidate) => candidate.key === key);
    const value = member === undefined ? 'null' : text.slice(member.valueStart, member.valueEnd);
    return value === 'null' ? '' : canonicalText(value);
  };
}

function listed(texts: readonly string[]): string[] {
  return [String(texts.length), ...texts];
}

/** 24 hex digits of SHA-256 over the texts, each preceded by its length, so that no two lists of texts collide. */
function hashOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest().toString('hex', 0, 12);
}
