// The names under which an option is given, and what is said of a name that no option has.

import { nearest } from '../errors.js';
import type { Io } from '../types.js';
import type { OtherCommands } from './command.js';
import type { ConfigFile, Entries } from './config-file.js';
import type { OptionTable } from './options.js';

/** Options that have no place in the configuration file: the file itself, and what is asked of a single call. */
export const FLAGS_ONLY: readonly string[] = ['config', 'print-config'];
/** Variables that the program reads beside those of its options. */
const OTHER_VARIABLES = ['AWB_DEBUG'];

/** The name of an option in code: `max-tokens` is `maxTokens`. */
export function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The environment variable of an option: `max-tokens` is `AWB_MAX_TOKENS`. */
export function variableOf(name: string): string {
  return `AWB_${name.replaceAll('-', '_').toUpperCase()}`;
}

const NO_FILE: ConfigFile = { path: '', section: new Map(), top: new Map() };

/** What was wrong with names, a sentence each. */
interface Unknown {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Looks for names that no option has. This command has to know the keys in its own section of the file, and any command those at
 * the top level. An unknown variable may belong to another program (a container's AWB_VERSION), so it is only worth a warning.
 */
export async function unknownNames(
  table: OptionTable,
  env: Io['env'],
  config: ConfigFile | undefined,
  others: OtherCommands,
): Promise<Unknown> {
  const { path, section, top } = config ?? NO_FILE;
  const settings = new Map([...top].filter(([key]) => !others.names.includes(key)));
  const variables = Object.keys(env).filter((variable) => variable.startsWith('AWB_'));
  const own = namesIn(table);
  const inSection = unknownKeys(path, section, own);
  const isOwn = unknownKeys(path, settings, own).length + unknownVariables(variables, own).length === 0;
  if (isOwn) return { problems: inSection, warnings: [] };
  const all = [...new Set([...own, ...(await others.tables()).flatMap(namesIn)])];
  return {
    problems: [...inSection, ...unknownKeys(path, settings, [...all, ...others.names])],
    warnings: unknownVariables(variables, all),
  };
}

/** The names of a table's options, with both forms of a boolean. */
function namesIn(table: OptionTable): string[] {
  return Object.entries(table).flatMap(([name, { kind }]) => (kind === 'boolean' ? [name, `no-${name}`] : [name]));
}

function unknownKeys(path: string, entries: Entries, names: readonly string[]): string[] {
  const known = names.filter((name) => !FLAGS_ONLY.includes(name));
  return [...entries].flatMap(([key, { line }]) => unknown(`${path}:${line}: unknown setting`, key, known));
}

function unknownVariables(variables: readonly string[], names: readonly string[]): string[] {
  const known = [...names.map(variableOf), ...OTHER_VARIABLES];
  return variables.flatMap((variable) => unknown('nothing reads the environment variable', variable, known));
}

/** A sentence where the name is not among the known ones, with the nearest of them. */
function unknown(what: string, name: string, known: readonly string[]): string[] {
  if (known.includes(name)) return [];
  const near = nearest(name, known);
  return [`${what} "${name}"; ${near === undefined ? 'see --help for the flags' : `did you mean "${near}"?`}`];
}
