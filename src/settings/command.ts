// A subcommand: its options, its words for --help, and what it does; and how the program can be called again.

import { readFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import type { ExitCode } from '../core/errors.js';
import { shellLine } from '../core/printable.js';
import type { Io, TextSink } from '../core/types.js';

/** Values by flag name as they may be stored and shown: only those that are set, without secrets, and without passwords in URLs. */
export type ShownSettings = Readonly<Record<string, unknown>>;

/**
 * A subcommand. Its module exports it as `command`; its name and summary stand in the table of cli.ts, so that
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
 *     // shown: what the manifest may hold of the settings
 *     return EXIT.done;
 *   },
 * });
 * ```
 */
export interface CommandSpec<Table extends OptionTable = OptionTable> {
  readonly description: string;
  /** What each command line does. The first one is shown where required options are missing. A line may be broken with `\` and newline. */
  readonly examples: Readonly<Record<string, string>>;
  readonly options: Table;
  /** Names, one space apart, of options that the short --help shows with the required and the common ones; all where this is absent. */
  readonly daily?: string;
  /**
   * Text options that may stand without their flags, in this order: `awb compare BASE CANDIDATE`. A flag takes precedence. The last
   * one may be a list, which takes all further words: `awb runs remove RUN RUN`.
   */
  readonly operands?: readonly string[];
  /** Options that the others make necessary, by name. They are reported with the required ones, which may not be set yet here. */
  alsoNeeds?(settings: Settings<Table>): readonly (keyof Table & string)[];
  /** Resolves to the exit code; an error the user can act on is thrown as UserError. */
  run(settings: Settings<Table>, io: Io, shown: ShownSettings, awb: RunAwb): Promise<ExitCode>;
}

/** Runs another command line of the program, `['score', '--json']`, for a command that is made of commands. */
export type RunAwb = (argv: readonly string[], io: Io) => Promise<ExitCode>;

/** Takes what such a command line prints, and keeps it. */
export function keptText(columns = 80): TextSink & { text(): string } {
  const pieces: string[] = [];
  return { isTTY: false, columns, write: (piece) => void pieces.push(piece), text: () => pieces.join('') };
}

/** The command with the options that every command has. It gives the settings of `run` the types of the option table. */
export function defineCommand<const Table extends OptionTable>(command: CommandSpec<Table>): CommandSpec<Table> {
  return { ...command, options: { ...command.options, ...COMMON } };
}

/** What the flags of a command line were given, by option name: values in order, or which form of a boolean. */
export type FlagValues = ReadonlyMap<string, readonly string[] | boolean>;

/** A command line: the command that it names and what its flags were given. */
export interface CommandLine {
  readonly name: string;
  readonly command: CommandSpec;
  readonly flags: FlagValues;
}

/** A subcommand as `awb --help` shows it; what it does is loaded when it is called. */
export interface CommandEntry {
  /** One word, or two of which several commands share the first: `data fetch`. */
  readonly name: string;
  readonly summary: string;
  /** The heading of `awb --help` under which it stands. */
  readonly group?: string;
  /** What all commands of the same first word are about; the first of them says it. */
  readonly of?: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}

// Options: what the flags, the environment and the configuration file of a command may hold, as one table by flag name.

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
  /** The option without which it says nothing: its flag alone is refused, as the command would do something else than is meant. */
  readonly belongsTo?: string;
  /** The value is not shown anywhere: not in errors, by --print-config or in the manifest. */
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

/** Says what was expected instead of a text that will not do; undefined for one that will. */
export type Check = (text: string) => string | undefined;

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
  | (AnyOption & {
      readonly kind: 'list';
      readonly default?: readonly string[];
      readonly check?: Check;
      /** Items may hold commas: each stands in a word of its own. */
      readonly whole?: true;
    })
  | (AnyOption & { readonly kind: 'map' })
  | (AnyOption & { readonly kind: 'json' });

/** Options by flag name, without the dashes in front: `'max-tokens'`. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** The options, each under this heading of --help. */
export function under<const Table extends OptionTable>(group: string, options: Table): Table {
  const grouped = Object.entries(options).map(([name, option]) => [name, { ...option, group }]);
  // A heading changes no option's kind.
  return Object.fromEntries(grouped) as Table;
}

type OptionOf<Kind, O = OptionSpec> = O extends { readonly kind: infer K } ? (Kind extends K ? O : never) : never;
/** What an option says beside its kind, its sentence for --help and what stands in front of that. */
type More<Kind extends OptionSpec['kind']> = Omit<OptionOf<Kind>, 'kind' | 'help' | 'choices'>;

const plain =
  <const K extends Exclude<OptionSpec['kind'], 'choice'>>(kind: K) =>
  <const M extends More<K> = More<K>>(help: string, more?: M) =>
    made({ kind, help }, more);
const valued =
  <const K extends 'text' | 'list'>(kind: K) =>
  <const M extends More<K> = More<K>>(value: string, help: string, more?: M) =>
    made({ kind, value, help }, more);

/** An option of each kind: of a text or a list what --help calls the value, of a choice its choices; then the sentence for --help, and all else. */
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
  // What is absent has no members.
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

/** What a command's `run` is given: the options' values under their names in camelCase, the common ones included. */
export type Settings<Table extends OptionTable> = {
  readonly [Name in keyof Table & string as Camel<Name>]: Setting<Table[Name]>;
} & { readonly [Name in keyof typeof COMMON & string as Camel<Name>]: Setting<(typeof COMMON)[Name]> };

/** For commands whose tables need a legend. */
export const EXPLAIN = {
  explain: option.flag('tell below the tables what their columns and marks mean', { group: 'Output' }),
} as const satisfies OptionTable;

/** Options that every command has. */
export const COMMON = {
  ...under('Common', {
    config: option.text('FILE', 'YAML file of settings, keyed by flag name'),
    'print-config': option.flag('show every setting and where it came from, then exit'),
    json: option.flag('one JSON document on stdout instead of text'),
    quiet: option.flag('nothing on stderr but errors'),
    verbose: option.flag('a line for each failed row; stacks of unexpected errors'),
    color: option.flag('no colours (NO_COLOR does the same)', { default: true }),
  }),
} as const satisfies OptionTable;

/** Options that have no place in the configuration file: the file itself, and what is asked of a single call. */
export const FLAGS_ONLY: readonly string[] = ['config', 'print-config'];

/** The name of an option in code: `max-tokens` is `maxTokens`. */
export function camel(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The environment variable of an option: `max-tokens` is `AWB_MAX_TOKENS`. */
export function variableOf(name: string): string {
  return `AWB_${name.replaceAll('-', '_').toUpperCase()}`;
}

// How this program can be called again by whoever called it now.

/** What stands before the arguments in a command line that is shown: `awb` where the program was called by its name. */
export function programName({ env, cwd }: Pick<Io, 'env' | 'cwd'>): string {
  // npx puts the program on the path of this process alone.
  if (env.npm_command === 'exec') return 'npx agentworldbench';
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

/** The address of a file of schemas/ in this release. */
export function schemaUrl(name: string): string {
  return `https://raw.githubusercontent.com/agentworldbench/agentworldbench/v${VERSION}/schemas/${name}.json`;
}
