// A subcommand: its options, its help, and what it does; and how the program can be called again.

import { readFileSync } from 'node:fs';
import { basename, relative, resolve } from 'node:path';
import type { ExitCode } from '../core/errors.js';
import { shellLine } from '../core/printable.js';
import type { Io, TextSink } from '../core/types.js';

/** Values by flag name, safe to store and show: only those that are set, without secrets or passwords in URLs. */
export type ShownSettings = Readonly<Record<string, unknown>>;

/**
 * A subcommand. Its module exports it as `command`. Its name and summary are in the table in cli.ts, so that
 * `awb --help` loads no command.
 *
 * ```ts
 * // src/cli/infer.ts
 * export const command = defineCommand({
 *   description: 'Asks a world model for the next observation of every row and writes predictions.jsonl.',
 *   examples: { 'awb infer --data-dir data --output-dir out': 'all rows, default settings' },
 *   options: {
 *     ...MODEL_OPTIONS, // a shared table: `{ … } as const satisfies OptionTable`
 *     ...under('Data', {
 *       'data-dir': option.text('DIR', 'folder of *_test.jsonl files', { required: true }),
 *     }),
 *     'model-base-url': option.list('URL', 'endpoint', { check: httpUrl }),
 *     'model-api-key': option.text('KEY', 'key sent as bearer token', { secret: true }),
 *     'max-tokens': option.integer('output budget', { min: 1, default: 32768 }),
 *     temperature: option.number('or the word default', { min: 0, words: ['default'], default: 0.6 }),
 *     order: option.choice(['prefix', 'file', 'random'], 'order of rows', { default: 'prefix' }),
 *     stream: option.flag('ask for whole replies instead of streams', { default: true }),
 *     'call-timeout': option.duration('longest call', { min: 1, default: 3600 }),
 *     baseline: option.choice(['oracle', 'empty'], 'a world model that needs no model'),
 *   },
 *   alsoNeeds: (settings) => (settings.baseline === undefined ? ['model-base-url'] : []),
 *   async run(settings, io, shown) {
 *     // settings.maxTokens: number; settings.temperature: number | 'default'; settings.order: 'prefix' | 'file' | 'random'
 *     // settings.modelApiKey: string | undefined; settings.stream, .json, .quiet, .verbose, .color: boolean
 *     // shown: the settings that may go into the manifest
 *     return EXIT.done;
 *   },
 * });
 * ```
 */
export interface CommandSpec<Table extends OptionTable = OptionTable> {
  readonly description: string;
  /** Command lines with what each does. The first is shown if required options are missing. A line may be broken with `\` and newline. */
  readonly examples: Readonly<Record<string, string>>;
  readonly options: Table;
  /** Names of options, separated by spaces, that the short --help shows in addition to the required ones. If absent, it shows all. */
  readonly daily?: string;
  /**
   * Text options that can be given as positional arguments, in this order: `awb compare BASE CANDIDATE`. A flag takes precedence.
   * The last may be a list, which takes all remaining arguments: `awb runs remove RUN RUN`.
   */
  readonly operands?: readonly string[];
  /** Names of options that the other settings make necessary. They are reported with the required ones, which may be unset here. */
  alsoNeeds?(settings: Settings<Table>): readonly (keyof Table & string)[];
  /** Resolves to the exit code. Throws UserError for an error that the user can act on. */
  run(settings: Settings<Table>, io: Io, shown: ShownSettings, awb: RunAwb): Promise<ExitCode>;
}

/** Runs another command line of this program, such as `['score', '--json']`, for a command built from other commands. */
export type RunAwb = (argv: readonly string[], io: Io) => Promise<ExitCode>;

/** A sink that collects what such a command line prints. */
export function keptText(columns = 80): TextSink & { text(): string } {
  const pieces: string[] = [];
  return { isTTY: false, columns, write: (piece) => void pieces.push(piece), text: () => pieces.join('') };
}

/** Adds the common options to a command, and types the settings of `run` by the option table. */
export function defineCommand<const Table extends OptionTable>(command: CommandSpec<Table>): CommandSpec<Table> {
  return { ...command, options: { ...command.options, ...COMMON } };
}

/** The flags of a command line by option name: their values in order, or the form of a boolean. */
export type FlagValues = ReadonlyMap<string, readonly string[] | boolean>;

/** A parsed command line: its command and flags. */
export interface CommandLine {
  readonly name: string;
  readonly command: CommandSpec;
  readonly flags: FlagValues;
}

/** A subcommand as `awb --help` shows it. Its module is loaded when it is called. */
export interface CommandEntry {
  /** One word, or two if several commands share the first: `data fetch`. */
  readonly name: string;
  readonly summary: string;
  /** Its heading in `awb --help`. */
  readonly group?: string;
  /** What all commands with the same first word are about; given on the first of them. */
  readonly of?: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}

// Options: one table by flag name describes what flags, environment and configuration file may set.

interface AnyOption {
  /** A short phrase for --help, without full stop; the default is appended. */
  readonly help: string;
  /** Heading in --help, without colon; `Options` if absent. */
  readonly group?: string;
  /** What --help calls the value: `DIR`, `URL`. */
  readonly value?: string;
  /** One-letter form of the flag: `o` for `-o`. */
  readonly short?: string;
  readonly required?: true;
  /** The option without which this one has no effect. Its flag is then refused, since the command would not do what was meant. */
  readonly belongsTo?: string;
  /** The value is never shown: not in errors, --print-config or the manifest. */
  readonly secret?: true;
}

export interface NumericOption extends AnyOption {
  readonly kind: 'integer' | 'number' | 'duration';
  readonly min?: number;
  readonly max?: number;
  /** Words allowed in place of a number: `--temperature default`. */
  readonly words?: readonly string[];
  readonly default?: number | string;
}

/** Returns what was expected instead of an invalid text; undefined for a valid one. */
export type Check = (text: string) => string | undefined;

/**
 * One option. The type of its value depends on the kind:
 * `text` string; `integer`, `number` number (or one of `words`); `duration` **seconds** (written 900, 900s, 15m, 2h);
 * `boolean` boolean (`--x` and `--no-x`; false unless `default` says true); `choice` one of `choices`;
 * `list` strings (comma-separated and repeatable; `[]` when not given);
 * `map` strings by key (`--meta step=100`, repeatable; `{}` when not given); `json` an object.
 * Any other option without `required` and `default` is undefined when not given.
 */
export type OptionSpec =
  | (AnyOption & { readonly kind: 'text'; readonly default?: string; readonly check?: Check })
  | NumericOption
  | (AnyOption & { readonly kind: 'boolean'; readonly default?: boolean })
  | (AnyOption & { readonly kind: 'choice'; readonly choices: readonly string[]; readonly default?: string })
  | (AnyOption & {
      readonly kind: 'list';
      readonly default?: readonly string[];
      readonly check?: Check;
      /** Items may contain commas: each is an argument of its own. */
      readonly whole?: true;
    })
  | (AnyOption & { readonly kind: 'map' })
  | (AnyOption & { readonly kind: 'json' });

/** Options by flag name, without leading dashes: `'max-tokens'`. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** The options, all under this heading of --help. */
export function under<const Table extends OptionTable>(group: string, options: Table): Table {
  const grouped = Object.entries(options).map(([name, option]) => [name, { ...option, group }]);
  // A heading does not change an option's kind.
  return Object.fromEntries(grouped) as Table;
}

type OptionOf<Kind, O = OptionSpec> = O extends { readonly kind: infer K } ? (Kind extends K ? O : never) : never;
/** The fields of an option other than kind, help text and choices. */
type More<Kind extends OptionSpec['kind']> = Omit<OptionOf<Kind>, 'kind' | 'help' | 'choices'>;

const plain =
  <const K extends Exclude<OptionSpec['kind'], 'choice'>>(kind: K) =>
  <const M extends More<K> = More<K>>(help: string, more?: M) =>
    made({ kind, help }, more);
const valued =
  <const K extends 'text' | 'list'>(kind: K) =>
  <const M extends More<K> = More<K>>(value: string, help: string, more?: M) =>
    made({ kind, value, help }, more);

/** Makes an option of each kind, from the value's name (text, list) or the choices, then the help text, then all other fields. */
export const option = {
  text: valued('text'),
  integer: plain('integer'),
  number: plain('number'),
  duration: plain('duration'),
  flag: plain('boolean'),
  choice: <const C extends readonly string[], const M extends More<'choice'> = object>(
    choices: C,
    help: string,
    more?: M,
  ) => made({ kind: 'choice', choices, help } as const, more),
  list: valued('list'),
  map: plain('map'),
  json: plain('json'),
};

function made<const Base extends object, M>(base: Base, more: M | undefined): Base & M {
  // Spreading undefined adds no members.
  return { ...base, ...more } as Base & M;
}

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

/** The argument of a command's `run`: the values of its options, including the common ones, by camelCase name. */
export type Settings<Table extends OptionTable> = {
  readonly [Name in keyof Table & string as Camel<Name>]: Setting<Table[Name]>;
} & { readonly [Name in keyof typeof COMMON & string as Camel<Name>]: Setting<(typeof COMMON)[Name]> };

/** For commands whose tables need a legend. */
export const EXPLAIN = {
  explain: option.flag('explain columns and marks below the tables', { group: 'Output' }),
} as const satisfies OptionTable;

/** Options of every command. */
export const COMMON = {
  ...under('Common', {
    config: option.text('FILE', 'YAML file of settings, keyed by flag name'),
    'print-config': option.flag('show every setting and where it came from, then exit'),
    json: option.flag('one JSON document on stdout instead of text'),
    quiet: option.flag('only errors on stderr'),
    verbose: option.flag('a line per failed row; stack traces of unexpected errors'),
    color: option.flag('no colours (NO_COLOR does the same)', { default: true }),
  }),
} as const satisfies OptionTable;

/** Options that the configuration file cannot set: its own path, and what applies to a single call. */
export const FLAGS_ONLY: readonly string[] = ['config', 'print-config'];

/** The name of an option in code: `max-tokens` is `maxTokens`. */
export function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The environment variable of an option: `max-tokens` is `AWB_MAX_TOKENS`. */
export function variableOf(name: string): string {
  return `AWB_${name.replaceAll('-', '_').toUpperCase()}`;
}

// How the user can call this program again.

/** The program's name in command lines that are shown: `awb`, or how it was called if not by that name. Launchers set it. */
export function programName({ env, cwd }: Pick<Io, 'env' | 'cwd'>): string {
  // npx puts the program only on this process's path.
  if (env.npm_command === 'exec') return 'npx agentworldbench';
  const { AGENTWORLDBENCH_PROGRAM: named } = env;
  if (named) return named.includes('/') ? shellLine([cwd === process.cwd() ? named : resolve(named)]) : named;
  const [, script = ''] = process.argv;
  if (basename(script) !== 'bin.js') return 'awb';
  const path = relative(cwd, script);
  return shellLine(['node', path.startsWith('..') ? script : path]);
}

// The tool's own version, as package.json states it.

const VERSION = String(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version);

/** For example `0.1.0`. */
export function toolVersion(): string {
  return VERSION;
}

/** The address of a file in schemas/ of this release. */
export function schemaUrl(name: string): string {
  return `https://raw.githubusercontent.com/agentworldbench/agentworldbench/v${VERSION}/schemas/${name}.json`;
}
