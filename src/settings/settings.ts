// The settings of one call: brought together from all that gives them, and refused where something is wrong.

import { UserError } from '../errors.js';
import { present } from '../present.js';
import type { Io } from '../types.js';
import { cutPasswords, withoutCallPath } from './address.js';
import { type CommandLine, type OtherCommands, optionsOf, type ShownSettings } from './command.js';
import { readConfig } from './config-file.js';
import { flagOf, indented } from './help-words.js';
import { camel, unknownNames } from './names.js';
import { COMMON, type OptionTable, type Settings } from './options.js';
import { noteKeys, notePasswords, noteSecrets, noteSecretsOf } from './secrets.js';
import { shownSettings } from './shown-settings.js';
import { defaultValue, type Found, givenValue, type Sources } from './sources.js';

/** The settings of one call, with all that is wrong with them. */
interface Resolved {
  readonly settings: Settings<OptionTable>;
  readonly shown: ShownSettings;
  /** By option name, in the table's order. */
  readonly found: ReadonlyMap<string, Found>;
  /** What is wrong with names and values, a sentence each; the settings then hold the defaults in their place. */
  readonly problems: readonly string[];
  /** Names in the environment that nothing reads, and values that are not taken as they were given, a sentence each. */
  readonly warnings: readonly string[];
}

/**
 * Settings from flags, then environment, then the configuration file (the command's section before the top level), then
 * defaults. Values of secret options are added to `secrets` before anything can fail. Relative paths stay as they are.
 * Wrong values and unknown names are gathered in `problems`, so that all of them can be said at once.
 * @throws UserError (2) for a configuration file that holds no settings, (66) for one that cannot be read
 */
export async function resolveSettings(
  { name, command, flags, problems: before }: CommandLine,
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
  others: OtherCommands,
  secrets: Set<string>,
): Promise<Resolved> {
  const table = optionsOf(command);
  noteSecrets(table, flags, env, secrets);
  const file = givenValue('config', COMMON.config, { flags, env });
  const config = file && (await readConfig(String(file.value), file.from, cwd, name));
  if (config !== undefined) noteSecretsOf(config, table, secrets);

  const names = await unknownNames(table, env, config, others);
  const { found, problems: ofValues } = findAll(table, { flags, env, config });
  const warnings = [...names.warnings, ...cutCallPaths(found)];
  for (const [key, { value }] of found) {
    notePasswords(value, secrets);
    if (table[key]?.kind === 'json') warnings.push(...noteKeys(key, value, secrets));
  }
  // Every option has been looked for, and holds a value of its kind: where one was wrong, nothing will run.
  const settings = Object.fromEntries(
    [...found].map(([key, { value }]) => [camel(key), value]),
  ) as Settings<OptionTable>;
  const problems = [...before, ...names.problems, ...ofValues];
  if (settings.quiet && settings.verbose) problems.push('--quiet and --verbose exclude each other');
  for (const flag of flags.keys()) {
    const whole = table[flag]?.belongsTo;
    // A variable and a configuration file stand for many commands, and may say what this one does not need.
    if (whole !== undefined && found.get(whole)?.value !== true)
      problems.push(`--${flag} belongs to --${whole}; add it`);
  }
  return { settings, shown: shownSettings(table, found), found, problems, warnings };
}

/** What a value that will not do is said to come from. */
const WRONG = 'wrong';

function findAll(table: OptionTable, sources: Sources): { readonly found: Map<string, Found>; problems: string[] } {
  const found = new Map<string, Found>();
  const problems: string[] = [];
  for (const [name, option] of Object.entries(table)) {
    const otherwise = defaultValue(name, option, sources.env);
    try {
      found.set(name, givenValue(name, option, sources) ?? otherwise);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message);
      found.set(name, { ...otherwise, from: WRONG });
    }
  }
  return { found, problems };
}

/** Cuts the path of a call off the addresses of endpoints. @returns a sentence for each that had one */
function cutCallPaths(found: Map<string, Found>): string[] {
  const warnings: string[] = [];
  for (const [name, { value, from }] of found) {
    if (!name.endsWith('base-url') || value === undefined) continue;
    const urls = [value].flat().map((url) => withoutCallPath(String(url)));
    const cut = urls.filter((url) => ![value].flat().includes(url));
    found.set(name, { value: Array.isArray(value) ? urls : urls[0], from });
    if (cut.length > 0)
      warnings.push(`--${name} gives the path of a call, which is cut off: ${cut.map(cutPasswords).join(', ')}`);
  }
  return warnings;
}

/**
 * Refuses settings of which something is wrong or missing, all of it in one message. For --print-config nothing is missing.
 * @throws UserError (2)
 */
export function requireSettings({ name, command }: CommandLine, resolved: Resolved): void {
  const { settings, problems } = resolved;
  const table = optionsOf(command);
  const missing = settings.printConfig ? [] : missingIn(command, resolved);
  if (missing.length === 0 && problems.length === 0) return;
  const wrong =
    problems.length > 1
      ? [`${problems.length} things are wrong:`, ...problems.map((problem) => `  ${problem}`)]
      : problems;
  const flags = missing.map((key) => `  ${flagOf(key, present(table[key]))}: ${table[key]?.help}`);
  const [example] = command.examples;
  const needs = [`awb ${name} also needs`, ...flags, ...(example ? ['for example', indented(example.line)] : [])];
  throw new UserError([...wrong, ...(missing.length > 0 ? needs : [])].join('\n'));
}

/** The options that have to be set and are not, by name. */
function missingIn(command: CommandLine['command'], { settings, found }: Resolved): string[] {
  const table = optionsOf(command);
  const required = Object.keys(table).filter((key) => table[key]?.required);
  const needed = [...required, ...(command.alsoNeeds?.(settings) ?? [])];
  return [...new Set(needed)].filter((key) => {
    const { value, from } = found.get(key) ?? {};
    return from !== WRONG && (value === undefined || (Array.isArray(value) && value.length === 0));
  });
}
