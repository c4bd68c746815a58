// Where a setting's value comes from: its flag, its variable in the environment, the configuration file, or its default.

import { UserError } from '../errors.js';
import { oneLine } from '../printable.js';
import { namesKey } from '../redaction.js';
import type { Io } from '../types.js';
import { cutPasswords } from './address.js';
import type { FlagValues } from './command.js';
import { type ConfigFile, readEntry } from './config-file.js';
import { type OptionSpec, variableOf } from './options.js';
import { type Read, readTexts } from './value.js';

/** What a value is looked for in. */
export interface Sources {
  readonly flags: FlagValues;
  readonly env: Io['env'];
  readonly config?: ConfigFile | undefined;
}

/** A setting's value (undefined when not set) and where it came from, as --print-config says it. */
export interface Found {
  readonly value: unknown;
  readonly from: string;
}

/**
 * An option's value from the first source that has one: flag, environment, configuration file.
 * @throws UserError (2) where that source has a value that the option does not take
 */
export function givenValue(name: string, option: OptionSpec, { flags, env, config }: Sources): Found | undefined {
  return fromFlag(name, option, flags) ?? fromEnvironment(name, option, env) ?? fromConfig(name, option, config);
}

/** What an option without a default holds when it is not given; the other kinds hold nothing. */
const NOT_GIVEN: Partial<Record<OptionSpec['kind'], unknown>> = { boolean: false, list: [], map: {} };

/** The variable of the environment that asks for no colours (see https://no-color.org), or has a terminal that shows none. */
export function againstColor({ NO_COLOR, FORCE_COLOR, TERM }: Io['env']): string | undefined {
  if (NO_COLOR) return 'NO_COLOR';
  if (FORCE_COLOR === '0') return 'FORCE_COLOR';
  return TERM === 'dumb' ? 'TERM' : undefined;
}

/** The value of an option that no source has. */
export function defaultValue(name: string, option: OptionSpec, env: Io['env']): Found {
  const against = name === 'color' ? againstColor(env) : undefined;
  if (against !== undefined) return { value: false, from: against };
  const value = 'default' in option ? option.default : NOT_GIVEN[option.kind];
  return { value, from: value === undefined ? 'not set' : 'default' };
}

function fromFlag(name: string, option: OptionSpec, flags: FlagValues): Found | undefined {
  const given = flags.get(name);
  if (given === undefined) return undefined;
  if (typeof given === 'boolean') return { value: given, from: given ? `--${name}` : `--no-${name}` };
  // An empty secret is what "$UNSET" leaves on a command line.
  if (option.secret && given.at(-1) === '') return undefined;
  const value = valueOrError(readTexts(option, given), option, `--${name}`, given.join(' '));
  return { value, from: `--${name}` };
}

function fromEnvironment(name: string, option: OptionSpec, env: Io['env']): Found | undefined {
  const own = variableOf(name);
  const text = env[own];
  if (text !== undefined && text !== '') {
    const texts = option.kind === 'map' ? text.split(',') : [text];
    return { value: valueOrError(readTexts(option, texts), option, own, text), from: own };
  }
  const variable = variableOf(`no-${name}`);
  const negated = env[variable];
  if (option.kind !== 'boolean' || negated === undefined || negated === '') return undefined;
  return { value: !valueOrError(readTexts(option, [negated]), option, variable, negated), from: variable };
}

function fromConfig(name: string, option: OptionSpec, config: ConfigFile | undefined): Found | undefined {
  if (config === undefined) return undefined;
  for (const entries of [config.section, config.top]) {
    const entry = entries.get(name);
    const used = entry ?? (option.kind === 'boolean' ? entries.get(`no-${name}`) : undefined);
    if (used === undefined) continue;
    const from = `${config.path}:${used.line}`;
    const key = entry === undefined ? `no-${name}` : name;
    const given = typeof used.written === 'string' ? used.written : JSON.stringify(used.value);
    const value = valueOrError(readEntry(option, used), option, `${from}: ${key}`, given);
    return { value: entry === undefined ? !value : value, from };
  }
  return undefined;
}

function valueOrError(read: Read, option: OptionSpec, where: string, given: string): unknown {
  if ('value' in read) return read.value;
  const shown =
    option.secret || (option.kind === 'json' && namesKey(given)) ? '' : ` "${oneLine(cutPasswords(given), 60)}"`;
  throw new UserError(`${where}${shown}: expected ${read.expected}`);
}
