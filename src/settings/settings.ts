// Settings of a command: one table of options says what flags, environment and configuration file may hold.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type * as Yaml from 'yaml';
import { codeOf, EXIT, type ExitCode, nearest, UserError } from '../errors.js';
import { isObject, parseObject } from '../json.js';
import { oneLine, printable } from '../printable.js';
import type { Io } from '../types.js';
import { parseYaml, type YamlFile } from './yaml-file.js';

interface AnyOption {
  /** One sentence for --help, without full stop; the default is added to it. */
  readonly help: string;
  /** Heading under which --help shows the option, without colon; `Options` when absent. */
  readonly group?: string;
  /** What --help calls the value: `DIR`, `URL`. */
  readonly value?: string;
  /** One letter that stands for the flag: `o` for `-o`. */
  readonly short?: string;
  readonly required?: true;
  /** The value is shown nowhere: not in errors, not by --print-config, not in the manifest. */
  readonly secret?: true;
}

interface NumericOption extends AnyOption {
  readonly kind: 'integer' | 'number' | 'duration';
  readonly min?: number;
  readonly max?: number;
  /** Words allowed in place of a number: `--temperature default`. */
  readonly words?: readonly string[];
  readonly default?: number | string;
}

/** Says what was expected where a text will not do, and nothing where it will. */
type Check = (text: string) => string | undefined;

/**
 * One option. The value that the command sees depends on the kind:
 * `text` string; `integer`, `number` number (or one of `words`); `duration` **seconds** (written 900, 900s, 15m, 2h);
 * `boolean` boolean (`--x` and `--no-x`; false unless `default` says true); `choice` one of `choices`;
 * `list` strings (comma-separated and repeatable; `[]` when not given);
 * `map` strings by key (`--meta step=100`, repeatable; `{}` when not given); `json` an object.
 * An option without `required` and `default` (and not boolean, list or map) is undefined when not given.
 */
export type OptionSpec =
  | (AnyOption & { readonly kind: 'text'; readonly default?: string; readonly check?: Check })
  | NumericOption
  | (AnyOption & { readonly kind: 'boolean'; readonly default?: boolean })
  | (AnyOption & { readonly kind: 'choice'; readonly choices: readonly string[]; readonly default?: string })
  | (AnyOption & { readonly kind: 'list'; readonly default?: readonly string[]; readonly check?: Check })
  | (AnyOption & { readonly kind: 'map' })
  | (AnyOption & { readonly kind: 'json' });

/** Options by flag name, without the dashes in front: `'max-tokens'`. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

interface KindValues {
  text: string;
  integer: number;
  number: number;
  duration: number;
  boolean: boolean;
  list: readonly string[];
  map: Readonly<Record<string, string>>;
  json: Readonly<Record<string, unknown>>;
}

type ValueOf<O extends OptionSpec> = O extends { kind: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : O extends { words: readonly (infer Word)[] }
    ? number | Word
    : O extends { kind: infer Kind extends keyof KindValues }
      ? KindValues[Kind]
      : never;

type Setting<O extends OptionSpec> = O extends
  | { required: true }
  | { default: unknown }
  | { kind: 'boolean' | 'list' | 'map' }
  ? ValueOf<O>
  : ValueOf<O> | undefined;

type Camel<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** What a command's `run` is given: the options' values under their names in camelCase, the common ones included. */
export type Settings<Table extends OptionTable> = {
  readonly [Name in keyof Table & string as Camel<Name>]: Setting<Table[Name]>;
} & { readonly [Name in keyof typeof COMMON & string as Camel<Name>]: Setting<(typeof COMMON)[Name]> };

/** Values by flag name as they may be stored and shown: set ones only, secrets left out, passwords cut out of URLs. */
export type ShownSettings = Readonly<Record<string, unknown>>;

/**
 * A subcommand. Its module exports it as `command`; its name and summary stand in the table of cli.ts, so that
 * `awb --help` loads no command.
 *
 * ```ts
 * // src/commands/infer.ts
 * export const command = defineCommand({
 *   description: 'Asks a world model for the next observation of every row and writes predictions.jsonl.',
 *   examples: [{ line: 'awb infer --data-dir data --output-dir out', does: 'all rows, default settings' }],
 *   options: {
 *     ...MODEL_OPTIONS, // a shared table: `{ … } as const satisfies OptionTable`
 *     'data-dir': { kind: 'text', value: 'DIR', required: true, group: 'Data', help: 'folder of *_test.jsonl files' },
 *     'model-base-url': { kind: 'list', value: 'URL', group: 'Model', check: httpUrl, help: 'endpoint' },
 *     'model-api-key': { kind: 'text', secret: true, group: 'Model', help: 'key sent as bearer token' },
 *     'max-tokens': { kind: 'integer', min: 1, default: 32768, group: 'Sampling', help: 'output budget' },
 *     temperature: { kind: 'number', min: 0, words: ['default'], default: 0.6, help: 'or the word default' },
 *     order: { kind: 'choice', choices: ['prefix', 'file', 'random'], default: 'prefix', help: 'order of rows' },
 *     stream: { kind: 'boolean', default: true, help: 'ask for whole replies instead of streams' },
 *     'call-timeout': { kind: 'duration', min: 1, default: 3600, help: 'longest call' },
 *     baseline: { kind: 'choice', choices: ['oracle', 'empty'], help: 'a world model that needs no model' },
 *   },
 *   alsoNeeds: (settings) => (settings.baseline === undefined ? ['model-base-url'] : []),
 *   async run(settings, io, shown) {
 *     // settings.maxTokens: number; settings.temperature: number | 'default'; settings.order: 'prefix' | 'file' | 'random'
 *     // settings.modelApiKey: string | undefined; settings.stream, .json, .quiet, .verbose, .color: boolean
 *     // shown: what the manifest may hold of the settings
 *     return EXIT.done;
 *   },
 * });
 * ```
 */
export interface CommandSpec<Table extends OptionTable = OptionTable> {
  readonly description: string;
  /** The first one is shown where required options are missing. A `line` may be broken with `\` and newline. */
  readonly examples: readonly { readonly line: string; readonly does: string }[];
  readonly options: Table;
  /** Options that the short --help shows beside the required and the common ones; all are where this is absent. */
  readonly daily?: readonly string[];
  /** Text options that may stand without their flags, in this order: `awb compare BASE CANDIDATE`. A flag takes precedence. */
  readonly operands?: readonly string[];
  /** Options that the others make necessary, by name; reported together with the required ones. It may not rely on required ones being set. */
  alsoNeeds?(settings: Settings<Table>): readonly (keyof Table & string)[];
  /** Resolves to the exit code; an error the user can act on is thrown as UserError. */
  run(settings: Settings<Table>, io: Io, shown: ShownSettings, awb: RunAwb): Promise<ExitCode>;
}

/** Runs another command line of the program, `['score', '--json']`, for a command that is made of commands. */
export type RunAwb = (argv: readonly string[], io: Io) => Promise<ExitCode>;

/** The command as given; exists so that the settings' types come from its option table. */
export function defineCommand<const Table extends OptionTable>(command: CommandSpec<Table>): CommandSpec<Table> {
  return command;
}

/** A check for options that take the address of an endpoint. */
export function httpUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s/]+/i.test(text) || !URL.canParse(text)) return 'an http:// or https:// address';
  const { username, password } = new URL(text);
  return decoded(username + password) === undefined ? 'a user name and password that write % as %25' : undefined;
}

/** Options that every command has. */
export const COMMON = {
  config: { kind: 'text', value: 'FILE', group: 'Common', help: 'YAML file of settings, keyed by flag name' },
  'print-config': { kind: 'boolean', group: 'Common', help: 'show every setting and where it came from, then exit' },
  json: { kind: 'boolean', group: 'Common', help: 'one JSON document on stdout instead of text' },
  quiet: { kind: 'boolean', group: 'Common', help: 'nothing on stderr but errors' },
  verbose: { kind: 'boolean', group: 'Common', help: 'a line for each failed row; stacks of unexpected errors' },
  color: { kind: 'boolean', default: true, group: 'Common', help: 'no colours (NO_COLOR does the same)' },
} as const satisfies OptionTable;

/** A setting's value (undefined when not set) and where it came from, as --print-config says it. */
interface Found {
  readonly value: unknown;
  readonly from: string;
}

/** What a flag was given on the command line: its values in order, or which form of a boolean. */
export type FlagValue = readonly string[] | boolean;

/** What is known of the commands beside the one that runs. */
export interface OtherCommands {
  /** Names of all commands: sections of the configuration file. */
  readonly names: readonly string[];
  /** Option tables of all commands; only called for a name that the running command does not know. */
  tables(): Promise<readonly OptionTable[]>;
}

/** The options of a command with the common ones. */
export function optionsOf(command: CommandSpec): OptionTable {
  return { ...command.options, ...COMMON };
}

/** The name of an option in code: `max-tokens` is `maxTokens`. */
function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function variableOf(name: string): string {
  return `AWB_${name.replaceAll('-', '_').toUpperCase()}`;
}

/** What came of reading a value: the value, or what was expected instead. */
type Read = { readonly value: unknown } | { readonly expected: string };

/** Reads an option's value from text, as flags and the environment have it. A list is split on commas, a map's items are not. */
function readTexts(option: OptionSpec, texts: readonly string[]): Read {
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
      return readList(
        option.check,
        texts.flatMap((part) => part.split(',')),
      );
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

function readNumber(option: NumericOption, text: string): Read {
  const trimmed = text.trim();
  if (option.words?.includes(trimmed)) return { value: trimmed };
  const form = { integer: /^[+-]?\d+$/, number: DECIMAL, duration: /^(\d+\.?\d*|\.\d+)\s*[smh]?$/ }[option.kind];
  const seconds = option.kind === 'duration' ? ({ m: 60, h: 3600 }[trimmed.slice(-1)] ?? 1) : 1;
  const value = Number.parseFloat(trimmed) * seconds;
  const whole = option.kind !== 'integer' || Number.isSafeInteger(value);
  const inRange = value >= (option.min ?? -Infinity) && value <= (option.max ?? Infinity);
  const good = form.test(trimmed) && Number.isFinite(value) && whole && inRange;
  return good ? { value } : { expected: numberExpected(option) };
}

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function numberExpected(option: NumericOption): string {
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

function readList(check: Check | undefined, parts: readonly string[]): Read {
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

/** A value in the configuration file: as YAML has it, and its scalars as they are written (1.10 and 300000000000000001 stay so). */
interface ConfigEntry {
  readonly line: number;
  readonly value: unknown;
  readonly text: string | undefined;
  readonly items: readonly string[] | undefined;
  readonly pairs: readonly (readonly string[])[] | undefined;
  /** The entries of a mapping at the top level: a section. */
  readonly inner: ReadonlyMap<string, ConfigEntry> | undefined;
}

/** Reads an option's value from YAML. The types of YAML count: a number in quotes is not a number. */
function readEntry(option: OptionSpec, entry: ConfigEntry): Read {
  const { value, text } = entry;
  const type = typeof value;
  switch (option.kind) {
    case 'text':
    case 'choice':
      return type === 'string' || type === 'number' ? readTexts(option, [text ?? '']) : readTexts(option, ['']);
    case 'integer':
    case 'number':
    case 'duration': {
      const written = type === 'string' && (option.kind === 'duration' || option.words?.includes(value as string));
      return type === 'number' || written ? readNumber(option, String(value)) : { expected: numberExpected(option) };
    }
    case 'boolean':
      return type === 'boolean' ? { value } : { expected: 'true or false' };
    case 'list':
      if (entry.items !== undefined) return readList(option.check, entry.items);
      return type === 'object' || value === null ? { expected: 'a list' } : readTexts(option, [text ?? '']);
    case 'map':
      return entry.pairs === undefined
        ? { expected: 'a mapping of keys to values' }
        : { value: Object.fromEntries(entry.pairs) };
    case 'json':
      return isObject(value) ? { value } : { expected: 'a mapping' };
    default:
      return option satisfies never;
  }
}

interface Config {
  /** The path as the user gave it. */
  readonly path: string;
  readonly entries: ReadonlyMap<string, ConfigEntry>;
}

async function readConfig(path: string, from: string, cwd: string): Promise<Config> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, path), 'utf8');
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw new UserError(`cannot read the configuration file ${path} (${from}): ${code}`, EXIT.inputMissing);
  }
  const file = await parseYaml(text, path, EXIT.usage);
  const root = file.document.contents;
  if (root !== null && !file.yaml.isMap(root)) {
    throw new UserError(`${path}:1: expected settings by name, such as "max-tokens: 32768"`);
  }
  return { path, entries: root === null ? new Map() : entriesOf(file, root, true) };
}

function entriesOf(file: YamlFile, map: Yaml.YAMLMap, withSections: boolean): Map<string, ConfigEntry> {
  const { yaml, document, lineAt } = file;
  const textOf = (node: unknown) =>
    yaml.isScalar(node) && node.value !== null ? (node.source ?? String(node.value)) : undefined;
  const entries = new Map<string, ConfigEntry>();
  for (const { key, value } of map.items) {
    const node = yaml.isAlias(value) ? value.resolve(document) : value;
    const isMap = yaml.isMap(node);
    entries.set(textOf(key) ?? '', {
      line: lineAt(yaml.isNode(key) ? (key.range?.[0] ?? 0) : 0),
      value: yaml.isNode(node) ? file.plain(node) : null,
      text: textOf(node),
      items: yaml.isSeq(node) ? complete(node.items.map(textOf)) : undefined,
      pairs: isMap ? complete(node.items.map((pair) => complete([textOf(pair.key), textOf(pair.value)]))) : undefined,
      inner: isMap && withSections ? entriesOf(file, node, false) : undefined,
    });
  }
  return entries;
}

/** The parts, when none is missing. */
function complete<T>(parts: readonly (T | undefined)[]): readonly T[] | undefined {
  return parts.every((part) => part !== undefined) ? (parts as readonly T[]) : undefined;
}

/** Settings of one command run, resolved. */
export interface Resolved {
  readonly settings: Readonly<Record<string, unknown>>;
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
  const config = named && (await readConfig(named.value as string, named.from, io.cwd));
  const layers = config === undefined ? [] : [section(config, name), config.entries];
  for (const [key, option] of Object.entries(table)) {
    if (option.secret) for (const layer of layers) keepSecret(layer.get(key)?.text, secrets);
  }
  const { problems, warnings } = await unknownNames(table, io.env, config, layers, others);

  const found = new Map<string, Found>();
  for (const [key, option] of Object.entries(table)) {
    let given = fromDefault(key, option, io.env);
    try {
      given =
        fromFlag(key, option, flags) ??
        fromEnvironment(key, option, io.env) ??
        (config ? fromConfig(key, option, layers, config.path) : undefined) ??
        given;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message);
      given = { ...given, from: 'wrong' };
    }
    for (const text of [given.value].flat()) if (typeof text === 'string') keepPasswords(text, secrets);
    found.set(key, given);
  }
  const settings = Object.fromEntries([...found].map(([key, { value }]) => [camel(key), value]));
  if (settings.quiet && settings.verbose) problems.push('--quiet and --verbose exclude each other');
  return { settings, shown: shownSettings(table, found), found, problems, warnings };
}

/** Placeholders such as `EMPTY` or `dummy` are no secrets, and taking them out would garble the output. */
const SHORTEST_SECRET = 8;

function keepSecret(value: string | undefined, secrets: Set<string>): void {
  if (value !== undefined && value.length >= SHORTEST_SECRET) secrets.add(value);
}

function keepPasswords(text: string, secrets: Set<string>): void {
  for (const password of passwordsIn(text)) keepSecret(password, secrets);
}

function noteSecrets(
  table: OptionTable,
  flags: ReadonlyMap<string, FlagValue>,
  env: Io['env'],
  secrets: Set<string>,
): void {
  for (const [variable, value] of Object.entries(env)) {
    if (variable.endsWith('_API_KEY')) keepSecret(value, secrets);
    if (/_proxy$/i.test(variable)) keepPasswords(value ?? '', secrets);
  }
  for (const [key, option] of Object.entries(table)) {
    if (!option.secret) continue;
    keepSecret(env[variableOf(key)], secrets);
    const given = flags.get(key);
    if (typeof given === 'object') for (const value of given) keepSecret(value, secrets);
  }
}

function valueOrError(read: Read, option: OptionSpec, where: string, given: string): unknown {
  if ('value' in read) return read.value;
  const shown = option.secret ? '' : ` "${oneLine(cutPasswords(given), 60)}"`;
  throw new UserError(`${where}${shown}: expected ${read.expected}`);
}

function fromFlag(name: string, option: OptionSpec, flags: ReadonlyMap<string, FlagValue>): Found | undefined {
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
  const negated = env[variableOf(`no-${name}`)];
  if (option.kind !== 'boolean' || negated === undefined || negated === '') return undefined;
  const variable = variableOf(`no-${name}`);
  return { value: !valueOrError(readTexts(option, [negated]), option, variable, negated), from: variable };
}

function fromConfig(
  name: string,
  option: OptionSpec,
  layers: readonly ReadonlyMap<string, ConfigEntry>[],
  path: string,
): Found | undefined {
  for (const layer of layers) {
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

function fromDefault(name: string, option: OptionSpec, env: Io['env']): Found {
  // See https://no-color.org: any value but an empty one.
  if (name === 'color' && env.NO_COLOR) return { value: false, from: 'NO_COLOR' };
  const value = 'default' in option ? option.default : { boolean: false, list: [], map: {} }[option.kind as string];
  return { value, from: value === undefined ? 'not set' : 'default' };
}

/** Names that cannot stand in the configuration file: the file itself, and what is said of one call. */
const FLAGS_ONLY = ['config', 'print-config'];
/** Read by the program beside the options' own. */
const OTHER_VARIABLES = ['AWB_DEBUG'];

function section(config: Config, name: string): ReadonlyMap<string, ConfigEntry> {
  const entry = config.entries.get(name);
  if (entry === undefined || (entry.inner === undefined && entry.value === null)) return new Map();
  if (entry.inner === undefined) {
    throw new UserError(`${config.path}:${entry.line}: ${name}: expected settings by name, indented below it`);
  }
  return entry.inner;
}

/**
 * What is wrong with names: every key in the file has to be known to this command or, outside its section, to another one.
 * A variable that nobody knows may be somebody else's (a container's AWB_VERSION), and is worth a warning.
 */
async function unknownNames(
  table: OptionTable,
  env: Io['env'],
  config: Config | undefined,
  layers: readonly ReadonlyMap<string, ConfigEntry>[],
  others: OtherCommands,
): Promise<{ readonly problems: string[]; readonly warnings: string[] }> {
  const own = namesIn(table);
  const [ownSection = new Map(), top = new Map()] = layers as ReadonlyMap<string, ConfigEntry>[];
  const inFile = (names: readonly string[]) => names.filter((name) => !FLAGS_ONLY.includes(name));
  const at = (key: string, { line }: ConfigEntry) => ({ key, where: `${config?.path}:${line}: ` });
  const sectionKeys = [...ownSection].map(([key, entry]) => at(key, entry));
  const topKeys = [...top].filter(([key]) => !others.names.includes(key)).map(([key, entry]) => at(key, entry));
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
  const lines = missing.map((key) => `  ${flagOf(key, table[key] as OptionSpec)}: ${table[key]?.help}`);
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
  // The settings hold what the command's own table says, which the type of a command in general cannot know.
  const needed = [...required, ...(command.alsoNeeds?.(resolved.settings as Settings<OptionTable>) ?? [])];
  return [...new Set(needed)].filter((key) => {
    const { value, from } = resolved.found.get(key) ?? {};
    return from !== 'wrong' && (value === undefined || (Array.isArray(value) && value.length === 0));
  });
}

/** Indents each line by two columns. */
export function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

/** A flag with the name of its value, as --help shows it; a boolean in the form that changes something. */
export function flagOf(name: string, option: OptionSpec): string {
  if (option.kind === 'boolean') return option.default ? `--no-${name}` : `--${name}`;
  const value = {
    text: 'TEXT',
    integer: 'N',
    number: 'X',
    duration: 'TIME',
    choice: 'NAME',
    list: 'A,B',
    map: 'K=V',
    json: 'JSON',
  };
  const words = 'words' in option && option.words !== undefined ? option.words : [];
  return `--${name} <${[option.value ?? value[option.kind], ...words].join('|')}>`;
}

/** What --help adds to an option's sentence: choices and default. */
export function detailsOf(option: OptionSpec): string {
  const details: string[] = [];
  if (option.kind === 'choice') details.push(option.choices.join(', '));
  if (option.required) details.push('required');
  if (option.kind !== 'boolean' && 'default' in option && option.default !== undefined) {
    const unit = option.kind === 'duration' && typeof option.default === 'number' ? ' s' : '';
    details.push(`default: ${[option.default].flat().join(',')}${unit}`);
  }
  return details.length === 0 ? '' : ` (${details.join('; ')})`;
}

/** The password in an address, as it stands there and as it is meant; a proxy's may come without a scheme. */
function passwordsIn(text: string): readonly string[] {
  const written = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^\s/:@]*:([^\s@]+)@/i.exec(text)?.[1];
  return written === undefined ? [] : [written, decoded(written) ?? written];
}

/** Percent-encoded text as it is meant, undefined for what is none. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Query parameters are cut where their names are those of credentials, as the endpoint understands them. */
function cutPasswords(text: string): string {
  return text
    .replace(/\b([a-z]+:\/\/)[^/\s]*@/gi, '$1')
    .replace(/([?&][^=&#\s]*(?:key|token|secret|sig|auth|pass|code)[^=&#\s]*=)[^&#\s"]+/gi, '$1[secret]');
}

function withoutPasswords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPasswords);
  return typeof value === 'string' ? cutPasswords(value) : value;
}

function shownSettings(table: OptionTable, found: ReadonlyMap<string, Found>): ShownSettings {
  return Object.fromEntries(
    [...found]
      .filter(([key, { value }]) => value !== undefined && !table[key]?.secret && !FLAGS_ONLY.includes(key))
      .map(([key, { value }]) => [key, withoutPasswords(value)]),
  );
}

/** What --print-config prints: every setting with its source, as JSON or as columns. Of a secret, only that it is set. */
export function describeSettings(name: string, command: CommandSpec, resolved: Resolved, json: boolean): string {
  const table = optionsOf(command);
  const rows = [...resolved.found]
    .filter(([key]) => !FLAGS_ONLY.includes(key))
    .map(([key, { value, from }]) => {
      const secret = table[key]?.secret && value !== undefined;
      return { key, value: secret ? 'set' : (withoutPasswords(value) ?? null), from };
    });
  if (json) {
    const settings = Object.fromEntries(rows.map(({ key, value, from }) => [key, { value, from }]));
    return `${JSON.stringify({ command: name, settings }, null, 2)}\n`;
  }
  const cells = rows.map(({ key, value, from }) => [key, cellOf(value), from] as const);
  const width = (column: 0 | 1) => Math.min(40, Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map(([key, value, from]) => `${key.padEnd(width(0))}  ${value.padEnd(width(1))}  ${printable(from)}\n`)
    .join('');
}

/** On one line, whatever it holds. */
function cellOf(value: unknown): string {
  if (value === null) return '-';
  const isPlain = typeof value === 'string' && printable(value) === value;
  return isPlain ? value : printable(JSON.stringify(value));
}
