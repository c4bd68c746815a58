// One line of the benchmark -> a Sample, or the reason why it is not one.

import { createHash } from 'node:crypto';
import { messageOf } from '../errors.js';
import { isObject, type JsonObject } from '../json.js';
import type { Domain, Sample } from '../types.js';
import { canonicalText, membersOf } from './row-text.js';

/** A decoded row before it is known how many equal rows stand before it. */
export interface ParsedRow {
  readonly sample: Sample;
  /** The row's `id` in canonical JSON text, so that integers keep their last digit; empty where there is none. */
  readonly id: string;
  /** The whole decoded object, unknown keys included. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export type RowReading =
  | { readonly ok: true; readonly row: ParsedRow }
  | { readonly ok: false; readonly flaw: RowFlaw };

/** Why a line is no row, and its domain where at least that could be read. */
export interface RowFlaw {
  readonly reason: string;
  readonly domain?: Domain;
}

/**
 * Reads a row. Required are `prompt`, `response`, `turn_idx` and a `task` whose last part names a domain, whichever it is; the
 * other official keys, absent or null, read as empty. The sample's key is still without the ordinal among equal rows.
 */
export function readRow(text: string): RowReading {
  const fields = parseObject(text);
  if (typeof fields === 'string') return { ok: false, flaw: { reason: fields } };
  const reason = flawOf(fields);
  if (reason !== undefined) return { ok: false, flaw: { reason, ...knownDomainOf(fields) } };
  const prompts = fields.prompt as string[];
  const responses = fields.response as string[];
  const turnIdx = fields.turn_idx as number;
  const domain = domainOf(fields.task as string);
  const currentPrompt = (fields.current_prompt ?? '') as string;
  const systemPrompt = (fields.system_str ?? '') as string;
  const source = sourceOf(text);
  const id = source('id');
  const firstTurn = turnIdx === 1 && currentPrompt !== '' ? currentPrompt : (prompts[0] as string);
  const sample: Sample = {
    key: hashOf([
      fields.task as string,
      id,
      ...listed(prompts),
      ...listed(responses),
      currentPrompt,
      systemPrompt,
      String(turnIdx),
      source('total_turns'),
    ]),
    trajectory: hashOf([domain, id, systemPrompt, withoutTail(firstTurn)]),
    domain,
    turnIdx,
    prompts,
    responses,
    currentPrompt,
    systemPrompt,
  };
  return { ok: true, row: { sample, id, fields } };
}

/** A domain names files and columns: letters and digits of any script, and `_`, `-` and `.` between them. */
const DOMAIN = /^[\p{L}\p{N}]([\p{L}\p{M}\p{N}_.-]{0,62}[\p{L}\p{M}\p{N}])?$/u;

function isDomain(name: string): boolean {
  // Counts by domain are kept in objects, which have members of their own.
  return DOMAIN.test(name) && !(name in {});
}

/** The part of `task` behind its last slash. */
export function domainOf(task: string): Domain {
  return task.slice(task.lastIndexOf('/') + 1);
}

/**
 * A turn's prompt without the request to predict that the benchmark puts behind it. Cut where such words stand first, so that
 * a turn that quotes them comes out the same with and without its own tail.
 */
function withoutTail(prompt: string): string {
  const tail = prompt.indexOf('\n\nPlease analyze the input above');
  return tail === -1 ? prompt : prompt.slice(0, tail);
}

function parseObject(text: string): JsonObject | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `not valid JSON (${messageOf(error).replace(/, (\.\.\.)?"[\s\S]*$/, '')})`;
  }
  return isObject(value) ? value : 'not a JSON object';
}

function knownDomainOf(fields: Readonly<Record<string, unknown>>): { domain?: Domain } {
  const domain = typeof fields.task === 'string' ? domainOf(fields.task) : '';
  return isDomain(domain) ? { domain } : {};
}

function flawOf(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const key of ['task', 'prompt', 'response', 'turn_idx']) {
    if (fields[key] === undefined || fields[key] === null) return `required key "${key}" is missing`;
  }
  if (typeof fields.task !== 'string') return '"task" is not a string';
  if (!isDomain(domainOf(fields.task))) return '"task" names no domain: its last part has to be one word';
  for (const key of ['prompt', 'response']) {
    if (!isTexts(fields[key])) return `"${key}" is not a list of strings`;
  }
  for (const key of ['current_prompt', 'system_str']) {
    const value = fields[key];
    if (value !== undefined && value !== null && typeof value !== 'string') return `"${key}" is not a string`;
  }
  const turnIdx = fields.turn_idx;
  if (typeof turnIdx !== 'number' || !Number.isInteger(turnIdx)) return '"turn_idx" is not a whole number';
  for (const key of ['prompt', 'response']) {
    const length = (fields[key] as string[]).length;
    if (turnIdx < 1 || turnIdx > length)
      return `"turn_idx" ${turnIdx} lies outside "${key}", which has ${length} turns`;
  }
  return undefined;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
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

/** 24 hex digits of SHA-256 over the texts, each behind its length, so that no two lists of texts run together. */
function hashOf(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest().toString('hex', 0, 12);
}
