// Values of settings: which source gives one, and how an option reads its text.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { nearest } from '../core/edits.js';
import { codeOf, EXIT, inputMissing, UserError } from '../core/errors.js';
import { asObject, isObject, isText, type JsonObject, parseObject } from '../core/json.js';
import { oneLine } from '../core/printable.js';
import { namesKey } from '../core/redaction.js';
import type { Io } from '../core/types.js';
import { parseYaml } from '../disk/yaml-file.js';
import { cutPasswords } from './address.js';
import { type Check, type FlagValues, type NumericOption, type OptionSpec, variableOf } from './command.js';

/** The sources of a value. */
export interface Sources {
  readonly flags: FlagValues;
  readonly env: Io['env'];
  readonly config?: ConfigFile | undefined;
}

/** A setting's value (undefined if not set) and its source, as --print-config shows it. */
export interface Found {
  readonly value: unknown;
  readonly from: string;
}

/**
 * An option's value from the first source that has one: flag, environment, configuration file.
 * @throws UserError (2) if that source's value is invalid
 */
export function givenValue(name: string, option: OptionSpec, { flags, env, config }: Sources): Found | undefined {
  const flag = flags.get(name);
  if (typeof flag === 'boolean') return { value: flag, from: flag ? `--${name}` : `--no-${name}` };
  // An empty secret comes from "$UNSET" on a command line, and counts as not given.
  if (flag !== undefined && !(option.secret && flag.at(-1) === '')) {
    const from = `--${name}`;
    return { value: valueOrError(readTexts(option, flag), option, from, flag.join(' ')), from };
  }
  const variable = variableOf(name);
  const text = env[variable];
  if (text !== undefined && text !== '') {
    const read = readTexts(option, option.kind === 'map' ? text.split(',') : [text]);
    return { value: valueOrError(read, option, variable, text), from: variable };
  }
  for (const values of [config?.section, config?.top]) {
    if (config === undefined || values === undefined || !Object.hasOwn(values, name)) continue;
    const given = values[name];
    const from = config.placeOf(values, name);
    const shown = isText(given) ? given : JSON.stringify(given);
    const read =
      option.kind === 'json' && isObject(given)
        ? { value: config.typed(values, name) }
        : readTexts(option, textsIn(option, given));
    return { value: valueOrError(read, option, `${from}: ${name}`, shown), from };
  }
  return undefined;
}

/** A value in the file as the texts of flags; an empty text, which every option refuses, if the option cannot have it. */
function textsIn({ kind }: OptionSpec, value: unknown): readonly string[] {
  // YAML's words for null.
  if (isText(value)) return [/^(null|~)$/i.test(value) ? '' : value];
  if (kind === 'list' && Array.isArray(value) && value.every(isText)) return value;
  const pairs = kind === 'map' && isObject(value) ? Object.entries(value) : [];
  return pairs.every(([, text]) => isText(text)) && pairs.length > 0
    ? pairs.map(([key, text]) => `${key}=${text}`)
    : [''];
}

/** The value of an option that is not given and has no default; undefined for other kinds. */
const NOT_GIVEN: Partial<Record<OptionSpec['kind'], unknown>> = { boolean: false, list: [], map: {} };

/** The environment variable that turns colours off (see https://no-color.org), or names a terminal without any. */
export function againstColor({ NO_COLOR, FORCE_COLOR, TERM }: Io['env']): string | undefined {
  if (NO_COLOR) return 'NO_COLOR';
  if (FORCE_COLOR === '0') return 'FORCE_COLOR';
  return TERM === 'dumb' ? 'TERM' : undefined;
}

/** The value of an option that no source sets. */
export function defaultValue(name: string, option: OptionSpec, env: Io['env']): Found {
  const against = name === 'color' ? againstColor(env) : undefined;
  if (against !== undefined) return { value: false, from: against };
  const value = 'default' in option ? option.default : NOT_GIVEN[option.kind];
  return { value, from: value === undefined ? 'not set' : 'default' };
}

function valueOrError(read: Read, option: OptionSpec, where: string, given: string): unknown {
  if ('value' in read) return read.value;
  const shown =
    option.secret || (option.kind === 'json' && namesKey(given)) ? '' : ` "${oneLine(cutPasswords(given), 60)}"`;
  throw new UserError(`${where}${shown}: expected ${read.expected}`);
}

// Reading one value from text: what an option of each kind accepts, and what was expected if a text is invalid.

/** The value read, or what was expected instead. */
type Read = { readonly value: unknown } | { readonly expected: string };

/** Reads an option's value from the texts of flags or environment. Lists are split on commas unless `whole`; maps are not. */
function readTexts(option: OptionSpec, texts: readonly string[]): Read {
  const text = texts.at(-1) ?? '';
  switch (option.kind) {
    case 'text': {
      const expected = text.trim() === '' ? 'non-empty text' : option.check?.(text);
      return expected === undefined ? { value: text } : { expected };
    }
    case 'integer':
    case 'number':
    case 'duration':
      return readNumber(option, text);
    case 'boolean': {
      const yes = /^(true|1|yes|on)$/i.test(text);
      return yes || /^(false|0|no|off)$/i.test(text) ? { value: yes } : { expected: 'true or false' };
    }
    case 'choice': {
      if (option.choices.includes(text)) return { value: text };
      const near = text === '' ? undefined : nearest(text, option.choices);
      return { expected: `one of ${option.choices.join(', ')}${near ? ` (did you mean ${near}?)` : ''}` };
    }
    case 'list':
      return readList(option.check, option.whole ? texts : texts.flatMap((part) => part.split(',')));
    case 'map': {
      const entries = texts.map((text) => /^\s*([^=\s][^=]*?)\s*=(.*)$/s.exec(text) ?? []);
      if (entries.some(({ length }) => length === 0)) return { expected: 'key=value' };
      return { value: Object.fromEntries(entries.map(([, key, value]) => [key, value?.trim()])) };
    }
    case 'json': {
      const value = parseObject(text);
      return value === undefined ? { expected: 'a JSON object such as {"top_k": 20}' } : { value };
    }
    default:
      return option satisfies never;
  }
}

/** Characters that a label may have: it is part of file names, and shown in tables. */
const LONGEST_LABEL = 200;

/** The check of a label. */
export function shortLabel(text: string): string | undefined {
  return text.length > LONGEST_LABEL ? `a name of at most ${LONGEST_LABEL} characters` : undefined;
}

/** What a numeric option's text looks like. */
export const NUMBER_FORMS = {
  integer: /^[+-]?\d+$/,
  number: /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i,
  duration: /^(\d+\.?\d*|\.\d+)\s*[smh]?$/,
};

/** Reads a number in the option's form and range, or one of its words. A duration is read in seconds. */
function readNumber(option: NumericOption, text: string): Read {
  const trimmed = text.trim();
  if (option.words?.includes(trimmed)) return { value: trimmed };
  const seconds = option.kind === 'duration' ? ({ m: 60, h: 3600 }[trimmed.slice(-1)] ?? 1) : 1;
  const value = Number.parseFloat(trimmed) * seconds;
  const whole = option.kind !== 'integer' || Number.isSafeInteger(value);
  const inRange = value >= (option.min ?? -Infinity) && value <= (option.max ?? Infinity);
  const good = NUMBER_FORMS[option.kind].test(trimmed) && Number.isFinite(value) && whole && inRange;
  return good ? { value } : { expected: numberExpected(option) };
}

/** What a numeric option accepts, as an error says it. */
function numberExpected(option: NumericOption): string {
  const { min, max } = option;
  const kind = { integer: 'an integer', number: 'a number', duration: 'a duration (900, 900s, 15m, 2h)' }[option.kind];
  const unit = option.kind === 'duration' ? ' s' : '';
  const least = min === undefined ? '' : ` of at least ${min}${unit}`;
  const most = max === undefined ? '' : ` of at most ${max}${unit}`;
  const range = least && most ? ` from ${min}${unit} to ${max}${unit}` : least + most;
  return [`${kind}${range}`, ...(option.words ?? [])].join(' or ');
}

/** Reads a list from its items, ignoring empty ones. */
function readList(check: Check | undefined, parts: readonly string[]): Read {
  const items = parts.map((part) => part.trim()).filter((part) => part !== '');
  if (items.length === 0) return { expected: 'a list separated by commas' };
  const expected = items.map((item) => check?.(item)).find((wrong) => wrong !== undefined);
  return expected === undefined ? { value: items } : { expected };
}

// The configuration file: settings by flag name in YAML, at the top level or in a section named after a command.

/** A configuration file as a command reads it. Scalars are texts as written, not typed values. */
export interface ConfigFile {
  /** The command's own section, empty if the file has none. It takes precedence over the top level. */
  readonly section: JsonObject;
  readonly top: JsonObject;
  /** The file, as the user named it, and the line of a setting in `section` or `top`. */
  placeOf(values: JsonObject, name: string): string;
  /** The setting with YAML's numbers and booleans. */
  typed(values: JsonObject, name: string): unknown;
}

/**
 * Reads the file for a command.
 * @param from the source of the path, for error messages
 * @throws UserError (2) if it is not a map of settings, (66) if it cannot be read
 */
export async function readConfig(path: string, from: string, cwd: string, command: string): Promise<ConfigFile> {
  const text = await readFile(resolve(cwd, path), 'utf8').catch((error: unknown) => {
    throw inputMissing(`cannot read the configuration file ${path} (${from}): ${codeOf(error) ?? String(error)}`);
  });
  const [file, typed] = [await parseYaml(text, path, EXIT.usage, 'failsafe'), await parseYaml(text, path, EXIT.usage)];
  // An empty file, or section, sets nothing.
  const settingsIn = (value: unknown, place: string) => {
    if (isObject(value)) return value;
    if ((value ?? '') === '') return {};
    throw new UserError(`${place}: expected settings by name, such as "max-tokens: 32768"`);
  };
  const top = settingsIn(file.plain(file.document), `${path}:1`);
  const section = settingsIn(top[command], `${path}:${file.lineOf([command])}: ${command}`);
  const pathOf = (values: JsonObject, name: string) => (values === section ? [command, name] : [name]);
  return {
    section,
    top,
    placeOf: (values, name) => `${path}:${file.lineOf(pathOf(values, name))}`,
    typed: (values, name) =>
      pathOf(values, name).reduce<unknown>((value, key) => asObject(value)[key], typed.plain(typed.document)),
  };
}
