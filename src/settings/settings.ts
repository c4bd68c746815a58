// The settings of one call: gathered from all sources, and refused if any is wrong.

import { nearest } from '../core/edits.js';
import { present, UserError } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { cutPasswords } from './address.js';
import {
  COMMON,
  type CommandEntry,
  type CommandLine,
  camel,
  FLAGS_ONLY,
  type OptionTable,
  type Settings,
  variableOf,
} from './command.js';
import { flagOf, indented } from './command-line.js';
import { noteKeys, notePasswords, noteSecrets, shownSettings } from './secrets.js';
import { type ConfigFile, defaultValue, type Found, givenValue, readConfig } from './sources.js';

type Resolved = Awaited<ReturnType<typeof resolveSettings>>;

/**
 * Resolves settings from flags, then environment, then the configuration file (the command's section before the top level), then
 * defaults. Values of secret options are added to `secrets` before anything can fail. Relative paths stay relative.
 * `problems` collects invalid values and unknown names, one sentence each, so that all are reported at once; such settings get their
 * defaults. `warnings` name unread environment variables, paths cut off addresses, and keys in values.
 * @throws UserError (2) if the configuration file is not a map of settings, (66) if it cannot be read
 */
export async function resolveSettings(
  { name, command, flags }: CommandLine,
  { env, cwd }: Pick<Io, 'env' | 'cwd'>,
  commands: readonly CommandEntry[],
  secrets: Set<string>,
) {
  const table = command.options;
  noteSecrets(table, { flags, env }, secrets);
  const file = givenValue('config', COMMON.config, { flags, env });
  const config = file && (await readConfig(String(file.value), file.from, cwd, name));
  noteSecrets(table, { flags, env, config }, secrets);

  const found = new Map<string, Found>();
  const ofValues: string[] = [];
  for (const [name, option] of Object.entries(table)) {
    const otherwise = defaultValue(name, option, env);
    try {
      found.set(name, givenValue(name, option, { flags, env, config }) ?? otherwise);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      ofValues.push(error.message);
      found.set(name, { ...otherwise, from: WRONG });
    }
  }
  const warnings = [...(await unreadVariables(table, env, commands)), ...cutCallPaths(found)];
  for (const [key, { value }] of found) {
    notePasswords(value, secrets);
    if (table[key]?.kind === 'json') warnings.push(...noteKeys(key, value, secrets));
  }
  // Every option now has a value of its kind. If any value was wrong, nothing will run.
  const settings = Object.fromEntries(
    [...found].map(([key, { value }]) => [camel(key), value]),
  ) as Settings<OptionTable>;
  const problems = [...(await unknownNames(table, config, commands)), ...ofValues];
  if (settings.quiet && settings.verbose) problems.push('--quiet and --verbose cannot be combined');
  for (const flag of flags.keys()) {
    const whole = table[flag]?.belongsTo;
    const isWhole = whole === undefined || (found.get(whole)?.value ?? false) !== false;
    // Only flags are checked: variables and configuration files serve many commands, and may set what this one does not need.
    if (!isWhole) problems.push(`--${flag} needs --${whole}; add it`);
  }
  return { settings, shown: shownSettings(table, found), found, problems, warnings };
}

/** The source given for an invalid value. */
const WRONG = 'wrong';

/** Documentation often shows an endpoint's address with this path. */
const CALL_PATH = /\/(?:chat\/)?completions\/*(?=[?#]|$)/i;

/** Removes the path of a call from the addresses of endpoints. @returns a sentence for each option that had one */
function cutCallPaths(found: Map<string, Found>): string[] {
  return [...found].flatMap(([name, { value, from }]) => {
    const given = name.endsWith('base-url') ? [value ?? []].flat().map(String) : [];
    const urls = given.map((url) => url.replace(CALL_PATH, ''));
    const cut = urls.filter((url) => !given.includes(url));
    if (cut.length === 0) return [];
    found.set(name, { value: Array.isArray(value) ? urls : urls[0], from });
    return [`--${name} includes the path of a call; using ${cut.map(cutPasswords).join(', ')}`];
  });
}

/** One sentence for each variable that no option reads. It may belong to another program (a container's AWB_VERSION). */
async function unreadVariables(table: OptionTable, env: Io['env'], commands: readonly CommandEntry[]) {
  const unread = (names: readonly string[]) => {
    // Three variables are not settings: two for what `awb watch` starts, one for debugging.
    const known = [...names.map(variableOf), 'AWB_GUARDED', 'AWB_WATCH_RESULT', 'AWB_DEBUG'];
    const others = Object.keys(env).filter((name) => name.startsWith('AWB_') && !known.includes(name));
    const near = (name: string) => nearest(name, known)?.replace(/.+/, '; did you mean "$&"?') ?? '';
    return others.map((name) => `no option uses the environment variable "${name}"${near(name)}`);
  };
  if (unread(Object.keys(table)).length === 0) return [];
  const loaded = await Promise.all(commands.map(({ load }) => load()));
  return unread(loaded.flatMap(({ command }) => Object.keys(command.options)).concat(Object.keys(table)));
}

/**
 * Refuses settings that are invalid or missing, all in one message. With --print-config, missing settings are allowed.
 * @throws UserError (2)
 */
export function requireSettings({ name, command }: CommandLine, resolved: Resolved): void {
  const { settings, problems } = resolved;
  const table = command.options;
  const missing = settings.printConfig ? [] : missingIn(command, resolved);
  if (missing.length === 0 && problems.length === 0) return;
  const wrong =
    problems.length > 1 ? [`${problems.length} problems:`, ...problems.map((problem) => `  ${problem}`)] : problems;
  const flags = missing.map((key) => `  ${flagOf(key, present(table[key]))}: ${table[key]?.help}`);
  const [example] = Object.keys(command.examples);
  const needs = [`awb ${name} also needs`, ...flags, ...(example ? ['for example', indented(example)] : [])];
  throw new UserError([...wrong, ...(missing.length > 0 ? needs : [])].join('\n'));
}

/** The names of options that must be set but are not. */
function missingIn(command: CommandLine['command'], { settings, found }: Resolved): string[] {
  const table = command.options;
  const required = Object.keys(table).filter((key) => table[key]?.required);
  const needed = [...required, ...(command.alsoNeeds?.(settings) ?? [])];
  return [...new Set(needed)].filter((key) => {
    const { value, from } = found.get(key) ?? {};
    return from !== WRONG && (value === undefined || (Array.isArray(value) && value.length === 0));
  });
}

/** Finds names in the file that match no option: of this command in its section, of any command at the top level. */
async function unknownNames(table: OptionTable, config: ConfigFile | undefined, commands: readonly CommandEntry[]) {
  if (config === undefined) return [];
  const unknownIn = (values: ConfigFile['top'], known: readonly string[]) =>
    Object.keys(values)
      .filter((name) => !known.includes(name))
      .map((name) => {
        const near = nearest(name, known);
        const remedy = near === undefined ? 'see --help for the flags' : `did you mean "${near}"?`;
        return `${config.placeOf(values, name)}: unknown setting "${name}"; ${remedy}`;
      });
  const own = namesIn(table);
  const inSection = unknownIn(config.section, own);
  const sections = commands.map(({ name }) => name);
  if (unknownIn(config.top, [...own, ...sections]).length === 0) return inSection;
  const loaded = await Promise.all(commands.map(({ load }) => load()));
  const all = new Set([...own, ...loaded.flatMap(({ command }) => namesIn(command.options)), ...sections]);
  return [...inSection, ...unknownIn(config.top, [...all])];
}

/** The options that a configuration file may set. */
function namesIn(table: OptionTable): string[] {
  return Object.keys(table).filter((name) => !FLAGS_ONLY.includes(name));
}
