// A subcommand: its options, its words for --help, and what it does.

import type { ExitCode } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { COMMON, type OptionTable, type Settings } from './options.js';

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
  /** Options that the short --help shows beside the required and the common ones. Where this is absent, it shows all. */
  readonly daily?: readonly string[];
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

/** The command with the options that every command has. It gives the settings of `run` the types of the option table. */
export function defineCommand<const Table extends OptionTable>(command: CommandSpec<Table>): CommandSpec<Table> {
  return { ...command, options: { ...command.options, ...COMMON } };
}

/** What a flag was given on the command line: its values in order, or which form of a boolean. */
type FlagValue = readonly string[] | boolean;

/** What the flags of a command line were given, by option name. */
export type FlagValues = ReadonlyMap<string, FlagValue>;

/** A command line: the command that it names and what its flags were given. */
export interface CommandLine {
  readonly name: string;
  readonly command: CommandSpec;
  readonly flags: FlagValues;
  /** What is wrong with the flags, a sentence each. */
  readonly problems: readonly string[];
}

/** A subcommand as `awb --help` shows it; what it does is loaded when it is called. */
export interface CommandEntry {
  /** One word, or two of which several commands share the first: `data fetch`. */
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}
