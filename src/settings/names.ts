// The names under which an option is given, and what is said of a name that no option has.

import { nearest } from '../errors.js';
import type { Io } from '../types.js';
import type { OtherCommands } from './command.js';
import type { ConfigEntry, ConfigFile } from './config-file.js';
import type { OptionTable } from './options.js';

/** Names that cannot stand in the configuration file: the file itself, and what is said of one call. */
export const FLAGS_ONLY = ['config', 'print-config'];
/** Read by the program beside the options' own. */
const OTHER_VARIABLES = ['AWB_DEBUG'];

/** The name of an option in code: `max-tokens` is `maxTokens`. */
export function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The environment variable of an option: `max-tokens` is `AWB_MAX_TOKENS`. */
export function variableOf(name: string): string {
  return `AWB_${name.replaceAll('-', '_').toUpperCase()}`;
}

/**
 * What is wrong with names: every key in the file has to be known to this command or, outside its section, to another one.
 * A variable that nobody knows may be somebody else's (a container's AWB_VERSION), and is worth a warning.
 */
export async function unknownNames(
  table: OptionTable,
  env: Io['env'],
  config: ConfigFile | undefined,
  others: OtherCommands,
): Promise<{ readonly problems: string[]; readonly warnings: string[] }> {
  const own = namesIn(table);
  const inFile = (names: readonly string[]) => names.filter((name) => !FLAGS_ONLY.includes(name));
  const at = (key: string, { line }: ConfigEntry) => ({ key, where: `${config?.path}:${line}: ` });
  const sectionKeys = [...(config?.section ?? [])].map(([key, entry]) => at(key, entry));
  const topKeys = [...(config?.top ?? [])]
    .filter(([key]) => !others.names.includes(key))
    .map(([key, entry]) => at(key, entry));
  const problems = sectionKeys.flatMap(({ key, where }) => unknown(`${where}unknown setting`, key, inFile(own)));

  const variables = Object.keys(env).filter((variable) => variable.startsWith('AWB_'));
  const ownVariables = [...own.map(variableOf), ...OTHER_VARIABLES];
  const isOwn = (name: string) => inFile(own).includes(name);
  if (variables.every((variable) => ownVariables.includes(variable)) && topKeys.every(({ key }) => isOwn(key))) {
    return { problems, warnings: [] };
  }
  const all = [...new Set([...own, ...(await others.tables()).flatMap(namesIn)])];
  const allVariables = [...all.map(variableOf), ...OTHER_VARIABLES];
  return {
    problems: [
      ...problems,
      ...topKeys.flatMap(({ key, where }) =>
        unknown(`${where}unknown setting`, key, [...inFile(all), ...others.names]),
      ),
    ],
    warnings: variables.flatMap((variable) =>
      unknown('nothing reads the environment variable', variable, allVariables),
    ),
  };
}

function namesIn(table: OptionTable): string[] {
  return Object.entries(table).flatMap(([name, { kind }]) => (kind === 'boolean' ? [name, `no-${name}`] : [name]));
}

/** A sentence where the name is not among the known ones, with the nearest of them. */
function unknown(what: string, name: string, known: readonly string[]): string[] {
  if (known.includes(name)) return [];
  const near = nearest(name, known);
  return [`${what} "${name}"; ${near === undefined ? 'see --help for the flags' : `did you mean "${near}"?`}`];
}
