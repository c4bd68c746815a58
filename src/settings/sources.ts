// Where a setting's value comes from: its flag, its variable in the environment, the configuration file, or its default.

import { UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import { namesKey } from '../core/redaction.js';
import type { Io } from '../core/types.js';
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
  const flag = flags.get(name);
  if (typeof flag === 'boolean') return { value: flag, from: flag ? `--${name}` : `--no-${name}` };
  // An empty secret is what "$UNSET" leaves on a command line.
  if (flag !== undefined && !(option.secret && flag.at(-1) === '')) {
    const from = `--${name}`;
    return { value: valueOrError(readTexts(option, flag), option, from, flag.join(' ')), from };
  }
  const forms = option.kind === 'boolean' ? [name, `no-${name}`] : [name];
  for (const form of forms) {
    const from = variableOf(form);
    const text = env[from];
    if (text === undefined || text === '') continue;
    const read = readTexts(option, option.kind === 'map' ? text.split(',') : [text]);
    const value = valueOrError(read, option, from, text);
    return { value: form === name ? value : !value, from };
  }
  if (config === undefined) return undefined;
  for (const entries of [config.section, config.top]) {
    const form = forms.find((form) => entries.has(form)) ?? name;
    const entry = entries.get(form);
    if (entry === undefined) continue;
    const from = `${config.path}:${entry.line}`;
    const given = typeof entry.written === 'string' ? entry.written : JSON.stringify(entry.value);
    const value = valueOrError(readEntry(option, entry), option, `${from}: ${form}`, given);
    return { value: form === name ? value : !value, from };
  }
  return undefined;
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

function valueOrError(read: Read, option: OptionSpec, where: string, given: string): unknown {
  if ('value' in read) return read.value;
  const shown =
    option.secret || (option.kind === 'json' && namesKey(given)) ? '' : ` "${oneLine(cutPasswords(given), 60)}"`;
  throw new UserError(`${where}${shown}: expected ${read.expected}`);
}
