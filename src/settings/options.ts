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
  /** The boolean option without which it says nothing: its flag alone is refused, as the command would do something else than is meant. */
  readonly belongsTo?: string;
  /** The value is a stored run's name, or a file: shells complete it from the SQLite files of `--db`. */
  readonly namesRun?: true;
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
  explain: { kind: 'boolean', group: 'Output', help: 'tell below the tables what their columns and marks mean' },
} as const satisfies OptionTable;

/** Options that every command has. */
export const COMMON = {
  config: { kind: 'text', value: 'FILE', group: 'Common', help: 'YAML file of settings, keyed by flag name' },
  'print-config': { kind: 'boolean', group: 'Common', help: 'show every setting and where it came from, then exit' },
  json: { kind: 'boolean', group: 'Common', help: 'one JSON document on stdout instead of text' },
  quiet: { kind: 'boolean', group: 'Common', help: 'nothing on stderr but errors' },
  verbose: { kind: 'boolean', group: 'Common', help: 'a line for each failed row; stacks of unexpected errors' },
  color: { kind: 'boolean', default: true, group: 'Common', help: 'no colours (NO_COLOR does the same)' },
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
