// The settings of one call: brought together from all that gives them, and refused where something is wrong.

import { UserError } from '../errors.js';
import { present } from '../present.js';
import type { Io } from '../types.js';
import { type CommandSpec, type OtherCommands, optionsOf, type ShownSettings } from './command.js';
import { readConfig } from './config-file.js';
import { flagOf, indented } from './help-words.js';
import { camel, unknownNames } from './names.js';
import { COMMON, type OptionTable, type Settings } from './options.js';
import { keepPasswords, keepSecret, noteSecrets } from './secrets.js';
import { shownSettings } from './shown-settings.js';
import { type FlagValue, type Found, fromConfig, fromDefault, fromEnvironment, fromFlag } from './sources.js';

/** Settings of one command run, resolved. */
export interface Resolved {
  readonly settings: Settings<OptionTable>;
  readonly shown: ShownSettings;
  /** By option name, in the table's order. */
  readonly found: ReadonlyMap<string, Found>;
  /** What is wrong with names and values, a sentence each; the settings then hold the defaults in their place. */
  readonly problems: readonly string[];
  /** Names in the environment that nothing reads, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Settings from flags, then environment, then the configuration file (the command's section before the top level), then
 * defaults. Values of secret options are added to `secrets` before anything can fail. Relative paths stay as they are.
 * Wrong values and unknown names are gathered in `problems`, so that all of them can be said at once.
 * @throws UserError (2) where the configuration file is none, (66) where it cannot be read
 */
export async function resolveSettings(
  name: string,
  command: CommandSpec,
  flags: ReadonlyMap<string, FlagValue>,
  io: Pick<Io, 'env' | 'cwd'>,
  others: OtherCommands,
  secrets: Set<string>,
): Promise<Resolved> {
  const table = optionsOf(command);
  noteSecrets(table, flags, io.env, secrets);
  const named = fromFlag('config', COMMON.config, flags) ?? fromEnvironment('config', COMMON.config, io.env);
  const config = named && (await readConfig(String(named.value), named.from, io.cwd, name));
  for (const [key, option] of Object.entries(table)) {
    if (option.secret) for (const layer of [config?.section, config?.top]) keepSecret(layer?.get(key)?.text, secrets);
  }
  const { problems, warnings } = await unknownNames(table, io.env, config, others);

  const found = new Map<string, Found>();
  for (const [key, option] of Object.entries(table)) {
    let given = fromDefault(key, option, io.env);
    try {
      given =
        fromFlag(key, option, flags) ??
        fromEnvironment(key, option, io.env) ??
        (config ? fromConfig(key, option, config) : undefined) ??
        given;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message);
      given = { ...given, from: 'wrong' };
    }
    for (const text of [given.value].flat()) if (typeof text === 'string') keepPasswords(text, secrets);
    found.set(key, given);
  }
  // Every option of the table has a value by now, of the kind that it asks for; where it is wrong, nothing runs.
  const settings = Object.fromEntries(
    [...found].map(([key, { value }]) => [camel(key), value]),
  ) as Settings<OptionTable>;
  if (settings.quiet && settings.verbose) problems.push('--quiet and --verbose exclude each other');
  return { settings, shown: shownSettings(table, found), found, problems, warnings };
}

/**
 * Refuses settings of which something is wrong or missing, all of it in one message; what is only shown may miss something.
 * @param further what was wrong with the command line already, a sentence each
 * @throws UserError (2)
 */
export function requireSettings(
  name: string,
  command: CommandSpec,
  resolved: Resolved,
  further: readonly string[] = [],
): void {
  const problems = [...further, ...resolved.problems];
  const missing = resolved.settings.printConfig ? [] : missingIn(command, resolved);
  if (missing.length === 0 && problems.length === 0) return;
  const table = optionsOf(command);
  const lines = missing.map((key) => `  ${flagOf(key, present(table[key]))}: ${table[key]?.help}`);
  const example = command.examples[0];
  const needs = [`awb ${name} also needs`, ...lines, ...(example ? ['for example', indented(example.line)] : [])];
  const wrong =
    problems.length > 1
      ? [`${problems.length} things are wrong:`, ...problems.map((problem) => `  ${problem}`)]
      : problems;
  throw new UserError([...wrong, ...(missing.length > 0 ? needs : [])].join('\n'));
}

function missingIn(command: CommandSpec, resolved: Resolved): string[] {
  const table = optionsOf(command);
  const required = Object.keys(table).filter((key) => table[key]?.required);
  const needed = [...required, ...(command.alsoNeeds?.(resolved.settings) ?? [])];
  return [...new Set(needed)].filter((key) => {
    const { value, from } = resolved.found.get(key) ?? {};
    return from !== 'wrong' && (value === undefined || (Array.isArray(value) && value.length === 0));
  });
}
