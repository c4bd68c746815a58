// Reading one value from text: what an option of each kind takes, and what was expected of a text that will not do.

import { nearest } from '../core/errors.js';
import { parseObject } from '../core/json.js';
import type { Check, NumericOption, OptionSpec } from './options.js';

/** What came of reading a value: the value, or what was expected instead. */
export type Read = { readonly value: unknown } | { readonly expected: string };

/** Reads an option's value from text, as flags and the environment have it. Items of a list are split on commas, unless they are whole words; those of a map are not. */
export function readTexts(option: OptionSpec, texts: readonly string[]): Read {
  const text = texts.at(-1) ?? '';
  switch (option.kind) {
    case 'text':
      return readText(option.check, text);
    case 'integer':
    case 'number':
    case 'duration':
      return readNumber(option, text);
    case 'boolean': {
      const yes = /^(true|1|yes|on)$/i.test(text);
      return yes || /^(false|0|no|off)$/i.test(text) ? { value: yes } : { expected: 'true or false' };
    }
    case 'choice':
      return readChoice(option.choices, text);
    case 'list':
      return readList(option.check, option.whole ? texts : texts.flatMap((part) => part.split(',')));
    case 'map':
      return readMap(texts);
    case 'json':
      return readJson(text);
    default:
      return option satisfies never;
  }
}

function readText(check: Check | undefined, text: string): Read {
  const expected = text.trim() === '' ? 'a text that is not empty' : check?.(text);
  return expected === undefined ? { value: text } : { expected };
}

/** Characters that a label may have: it is part of file names, and stands in tables. */
const LONGEST_LABEL = 200;

/** The check of a label. */
export function shortLabel(text: string): string | undefined {
  return text.length > LONGEST_LABEL ? `a name of at most ${LONGEST_LABEL} characters` : undefined;
}

const NUMBER_FORMS = {
  integer: /^[+-]?\d+$/,
  number: /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i,
  duration: /^(\d+\.?\d*|\.\d+)\s*[smh]?$/,
};

/** Reads a number in the option's form and range, or one of its words. A duration is read in seconds. */
export function readNumber(option: NumericOption, text: string): Read {
  const trimmed = text.trim();
  if (option.words?.includes(trimmed)) return { value: trimmed };
  const seconds = option.kind === 'duration' ? ({ m: 60, h: 3600 }[trimmed.slice(-1)] ?? 1) : 1;
  const value = Number.parseFloat(trimmed) * seconds;
  const whole = option.kind !== 'integer' || Number.isSafeInteger(value);
  const inRange = value >= (option.min ?? -Infinity) && value <= (option.max ?? Infinity);
  const good = NUMBER_FORMS[option.kind].test(trimmed) && Number.isFinite(value) && whole && inRange;
  return good ? { value } : { expected: numberExpected(option) };
}

/** What a numeric option takes, as an error says it. */
export function numberExpected(option: NumericOption): string {
  const { min, max } = option;
  const kind = { integer: 'an integer', number: 'a number', duration: 'a duration (900, 900s, 15m, 2h)' }[option.kind];
  const unit = option.kind === 'duration' ? ' s' : '';
  let range = '';
  if (min !== undefined && max !== undefined) range = ` from ${min}${unit} to ${max}${unit}`;
  else if (min !== undefined) range = ` of at least ${min}${unit}`;
  else if (max !== undefined) range = ` of at most ${max}${unit}`;
  return [`${kind}${range}`, ...(option.words ?? [])].join(' or ');
}

function readChoice(choices: readonly string[], text: string): Read {
  if (choices.includes(text)) return { value: text };
  const near = text === '' ? undefined : nearest(text, choices);
  return { expected: `one of ${choices.join(', ')}${near === undefined ? '' : ` (did you mean ${near}?)`}` };
}

/** Reads a list from its items. Empty items are left out. */
export function readList(check: Check | undefined, parts: readonly string[]): Read {
  const items = parts.map((part) => part.trim()).filter((part) => part !== '');
  if (items.length === 0) return { expected: 'a list separated by commas' };
  const expected = items.map((item) => check?.(item)).find((wrong) => wrong !== undefined);
  return expected === undefined ? { value: items } : { expected };
}

function readMap(texts: readonly string[]): Read {
  const entries = texts.map((text) => /^\s*([^=\s][^=]*?)\s*=(.*)$/s.exec(text));
  if (entries.some((entry) => entry === null)) return { expected: 'key=value' };
  return { value: Object.fromEntries(entries.map((entry) => [entry?.[1], entry?.[2]?.trim()])) };
}

function readJson(text: string): Read {
  const value = parseObject(text);
  return value === undefined ? { expected: 'a JSON object such as {"top_k": 20}' } : { value };
}
