// Where a setting's value comes from: its flag, its variable in the environment, the configuration file, or its default.

import { UserError } from '../errors.js';
import { oneLine } from '../printable.js';
import type { Io } from '../types.js';
import { cutPasswords } from './address.js';
import { type ConfigFile, readEntry } from './config-file.js';
import { variableOf } from './names.js';
import type { OptionSpec } from './options.js';
import { type Read, readTexts } from './value.js';

/** A setting's value (undefined when not set) and where it came from, as --print-config says it. */
export interface Found {
  readonly value: unknown;
  readonly from: string;
}

/** What a flag was given on the command line: its values in order, or which form of a boolean. */
export type FlagValue = readonly string[] | boolean;

function valueOrError(read: Read, option: OptionSpec, where: string, given: string): unknown {
  if ('value' in read) return read.value;
  const shown = option.secret ? '' : ` "${oneLine(cutPasswords(given), 60)}"`;
  throw new UserError(`${where}${shown}: expected ${read.expected}`);
}

export function fromFlag(name: string, option: OptionSpec, flags: ReadonlyMap<string, FlagValue>): Found | undefined {
  const given = flags.get(name);
  if (given === undefined) return undefined;
  if (typeof given === 'boolean') return { value: given, from: given ? `--${name}` : `--no-${name}` };
  // An empty secret is what "$UNSET" leaves on a command line.
  if (option.secret && given.at(-1) === '') return undefined;
  const value = valueOrError(readTexts(option, given), option, `--${name}`, given.join(' '));
  return { value, from: `--${name}` };
}

export function fromEnvironment(name: string, option: OptionSpec, env: Io['env']): Found | undefined {
  const own = variableOf(name);
  const text = env[own];
  if (text !== undefined && text !== '') {
    const texts = option.kind === 'map' ? text.split(',') : [text];
    return { value: valueOrError(readTexts(option, texts), option, own, text), from: own };
  }
  const negated = env[variableOf(`no-${name}`)];
  if (option.kind !== 'boolean' || negated === undefined || negated === '') return undefined;
  const variable = variableOf(`no-${name}`);
  return { value: !valueOrError(readTexts(option, [negated]), option, variable, negated), from: variable };
}

export function fromConfig(name: string, option: OptionSpec, { path, section, top }: ConfigFile): Found | undefined {
  for (const layer of [section, top]) {
    const entry = layer.get(name);
    const negated = option.kind === 'boolean' ? layer.get(`no-${name}`) : undefined;
    const used = entry ?? negated;
    if (used === undefined) continue;
    const from = `${path}:${used.line}`;
    const given = used.text ?? JSON.stringify(used.value);
    const key = entry === undefined ? `no-${name}` : name;
    const value = valueOrError(readEntry(option, used), option, `${from}: ${key}`, given);
    return { value: entry === undefined ? !value : value, from };
  }
  return undefined;
}

/** What an option without a default holds when it is not given; nothing for the other kinds. */
const NOT_GIVEN: Partial<Record<OptionSpec['kind'], unknown>> = { boolean: false, list: [], map: {} };

export function fromDefault(name: string, option: OptionSpec, env: Io['env']): Found {
  // See https://no-color.org: any value but an empty one.
  if (name === 'color' && env.NO_COLOR) return { value: false, from: 'NO_COLOR' };
  const value = 'default' in option ? option.default : NOT_GIVEN[option.kind];
  return { value, from: value === undefined ? 'not set' : 'default' };
}
