// The words behind `awb` as a command and its flags, by commander; help and version are answered here.

import { Command, CommanderError, Option } from 'commander';
import { EXIT, type ExitCode, nearest, present, UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import type { Io } from '../core/types.js';
import {
  COMMON,
  type CommandEntry,
  type CommandLine,
  type CommandSpec,
  type FlagValues,
  type OptionSpec,
  type OptionTable,
  type ShownSettings,
  toolVersion,
} from './command.js';

/** What `awb --help` says first. */
const DESCRIPTION = 'The evaluation harness for language world models: infer, judge and score AgentWorldBench.';
/** What it says last. */
const FURTHER_HELP = "\nawb <command> --help shows a command's daily flags and examples, --help all every flag.";

/**
 * Reads a command line, or answers it where it asks for help or the version: then there is only an exit code.
 * @throws UserError (2) where it names no command, or one that does not exist
 */
export async function readCommandLine(
  argv: readonly string[],
  entries: readonly CommandEntry[],
  io: Io,
): Promise<CommandLine | { readonly exitCode: ExitCode }> {
  const { words, name, entry, group } = commandIn(argv, entries);
  const program = configured(new Command('awb'), io)
    .description(DESCRIPTION)
    .version(toolVersion(), '-V, --version', 'show the version')
    .helpCommand(false)
    .addHelpText('after', FURTHER_HELP);
  for (const { name, summary } of group) program.addCommand(configured(new Command(name), io).summary(summary));
  const subcommand = program.commands.find((each) => each.name() === name);
  const command = (await entry?.load())?.command;
  if (subcommand !== undefined && command !== undefined) addOptions(subcommand, command, wantsAll(argv));

  const parsed = parseAll(program, words, subcommand ?? program);
  if ('exitCode' in parsed) return parsed;
  // A program that was called without a command has shown its help.
  if (name === undefined || subcommand === undefined || command === undefined) return { exitCode: EXIT.usage };
  const given = flagsGiven(subcommand, command);
  const { flags, problems } = withOperands(given, subcommand, command);
  return { name, command, flags, problems: [...parsed.problems, ...givenTwice(given, command), ...problems] };
}

/** A command among the words of a line. */
interface Called {
  /** The line with the command's name as one word, as commander takes it. */
  readonly words: readonly string[];
  readonly name: string | undefined;
  readonly entry: CommandEntry | undefined;
  /** The commands to show: all of them, or those whose first word was given without a second. */
  readonly group: readonly CommandEntry[];
}

/** @throws UserError (2) for a command that does not exist, and for the first word of several commands alone */
function commandIn(argv: readonly string[], entries: readonly CommandEntry[]): Called {
  const at = argv.findIndex((argument) => !argument.startsWith('-'));
  const first = argv[at];
  if (first === undefined) return { words: argv, name: undefined, entry: undefined, group: entries };
  const group = entries.filter((each) => each.name.startsWith(`${first} `));
  const second = argv[at + 1];
  if (group.length > 0 && second?.startsWith('-')) {
    // Help on the group, or on nothing: its first word is no command.
    return { words: argv.toSpliced(at, 1), name: undefined, entry: undefined, group };
  }
  const name = group.length > 0 && second !== undefined ? `${first} ${second}` : first;
  const entry = entries.find((each) => each.name === name);
  if (entry === undefined) {
    const names = (group.length > 0 ? group : entries).map((each) => each.name);
    if (group.length > 0 && second === undefined) {
      throw new UserError(`${first} is the first word of ${names.join(', ')}; see awb ${first} --help`);
    }
    const near = nearest(name, names);
    const advice = near === undefined ? 'see awb --help' : `did you mean ${near}?`;
    throw new UserError(`there is no command "${oneLine(name, 60)}"; ${advice}`);
  }
  const length = name === first ? 1 : 2;
  return { words: argv.toSpliced(at, length, name), name, entry, group: entries };
}

/** `--help all`, and `awb help infer all`. */
function wantsAll(argv: readonly string[]): boolean {
  return argv.some((word, index) => /^(-h|--help)$/.test(word) && (argv[index + 1] ?? argv[index - 1]) === 'all');
}

/** Parses until nothing is wrong any more. What is wrong is noted and taken out, so that all of it can be said at once. */
function parseAll(
  program: Command,
  argv: readonly string[],
  subcommand: Command,
): { readonly problems: readonly string[] } | { readonly exitCode: ExitCode } {
  const problems: string[] = [];
  let words = [...argv];
  for (;;) {
    try {
      program.parse(words, { from: 'user' });
      return { problems };
    } catch (error) {
      if (!(error instanceof CommanderError || error instanceof ValueMissing)) throw error;
      if (error instanceof CommanderError && error.exitCode === 0) return { exitCode: EXIT.done };
      if (error instanceof CommanderError && error.code === 'commander.help') return { exitCode: EXIT.usage };
      const { message, at } = faultIn(error, words, subcommand);
      problems.push(message);
      if (at < 0 || subcommand === program) throw new UserError(problems.join('\n'));
      // The word behind an unknown flag was probably meant for it.
      const itsValue = at > 0 && words[at + 1]?.startsWith('-') === false && !words[at]?.includes('=') ? 1 : 0;
      words = [...words.slice(0, at), ...words.slice(at + 1 + itsValue)];
    }
  }
}

/** One thing that is wrong. */
interface Fault {
  readonly message: string;
  /** Place of the word that is wrong; -1 where that cannot be told. */
  readonly at: number;
}

/** A flag of the command stands where another flag's value belongs. */
class ValueMissing extends Error {
  constructor(
    readonly flag: string,
    readonly next: string,
  ) {
    super(`--${flag} needs a value; what follows it is the flag ${next}`);
  }
}

/** What the parser's error says of these words. */
function faultIn(error: ValueMissing | CommanderError, words: readonly string[], subcommand: Command): Fault {
  if (error instanceof ValueMissing) {
    const { flag, next, message } = error;
    const isIt = (word: string, index: number) =>
      word === `--${flag}=${next}` || (word === `--${flag}` && words[index + 1] === next);
    return { message, at: words.findIndex(isIt) };
  }
  // The text behind a mistyped flag may be a key, and is not repeated.
  const flag = error.code === 'commander.unknownOption' ? /'(-*)([^=]*?)(?:=.*)?'$/s.exec(error.message) : null;
  const [, dashes, name = ''] = flag ?? [];
  const at = flag === null ? -1 : words.findIndex((word) => word.split('=')[0] === `${dashes}${name}`);
  // In front of the command's name stand the program's own flags.
  const owner = at === 0 && subcommand.parent !== null ? subcommand.parent : subcommand;
  const help = `see ${owner.parent === null ? 'awb' : `awb ${owner.name()}`} --help`;
  const message = error.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
  if (error.code === 'commander.optionMissingArgument') return { message: `${message}; ${help}`, at: words.length - 1 };
  if (flag === null) return { message: `${message}; ${help}`, at };
  const flags = owner.options.map((option) => option.name());
  if (flags.includes(name)) return { message: `--${name} takes no value`, at };
  const near = longer(name, flags) ?? nearest(name, ['help', ...flags]);
  const advice = near === undefined ? help : `did you mean --${near}?`;
  return { message: `unknown flag ${dashes}${oneLine(name, 60)}; ${advice}`, at };
}

/** The shortest flag that begins with three letters or more that were typed. */
function longer(name: string, flags: readonly string[]): string | undefined {
  const found = name.length < 3 ? [] : flags.filter((flag) => flag.startsWith(name));
  return found.sort((a, b) => a.length - b.length)[0];
}

/** A commander command that writes through `io`, throws instead of ending the process, and fits 80 columns. */
function configured(command: Command, io: Io): Command {
  const width = () => Math.min(80, io.stdout.columns);
  return command
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // The message is thrown as well, and written where all errors are.
      outputError: () => {},
      getOutHelpWidth: width,
      getErrHelpWidth: width,
    })
    .helpOption('-h, --help', 'show this help')
    .action(() => {
      if (command.parent === null) command.help({ error: true });
    });
}

function addOptions(subcommand: Command, command: CommandSpec, all: boolean): void {
  const table = command.options;
  subcommand.description(command.description);
  subcommand.addHelpOption(
    new Option('-h, --help', 'show this help; --help all shows every flag').helpGroup('Common:'),
  );
  // Excess names are counted by `withOperands`, which says whose they are.
  for (const name of command.operands ?? []) {
    subcommand.argument(command.options[name]?.kind === 'list' ? `[${name}...]` : `[${name}]`);
  }
  subcommand.allowExcessArguments();
  let hidden = 0;
  for (const [name, spec] of Object.entries(table)) {
    const option = flag(name, spec, table);
    if (!all && !isDaily(name, spec, command)) {
      option.hideHelp();
      hidden++;
    }
    subcommand.addOption(option);
    if (spec.kind === 'boolean') {
      subcommand.addOption(new Option(spec.default ? `--${name}` : `--no-${name}`).hideHelp());
    }
  }
  subcommand.addHelpText('after', closingWords(subcommand.name(), command, hidden));
}

/** An option as commander has it; values are gathered in the order in which they were given. */
function flag(name: string, spec: OptionSpec, table: OptionTable): Option {
  const short = spec.short === undefined ? '' : `-${spec.short}, `;
  const option = new Option(short + flagOf(name, spec), sentenceOf(spec)).helpGroup(`${spec.group ?? 'Options'}:`);
  if (spec.kind === 'boolean') return option;
  return option.argParser<readonly string[] | undefined>((text, before = []) => {
    // Commander takes whatever follows as the value: `--label --json` would lose both.
    const isFlag = text.startsWith('--') && table[text.replace(/^--(no-)?/, '')] !== undefined;
    if (isFlag) throw new ValueMissing(name, text);
    return [...before, text];
  });
}

function flagsGiven(subcommand: Command, command: CommandSpec): FlagValues {
  const given = subcommand.options.flatMap((option) => {
    const name = option.name().replace(/^no-/, '');
    const attribute = option.attributeName();
    const isGiven = command.options[name] !== undefined && subcommand.getOptionValueSource(attribute) === 'cli';
    return isGiven ? [[name, subcommand.getOptionValue(attribute)] as const] : [];
  });
  return new Map(given);
}

/** Says of options of one value that they were given several: which of these was meant nobody can tell. Values may be secrets. */
function givenTwice(flags: FlagValues, command: CommandSpec): string[] {
  return [...flags].flatMap(([name, texts]) =>
    typeof texts !== 'boolean' && texts.length > 1 && !takesSeveral(command.options[name])
      ? [`--${name} takes one value, and is given ${texts.length} times`]
      : [],
  );
}

/** Whether an option may be given several times. */
export function takesSeveral(option: OptionSpec | undefined): boolean {
  return option?.kind === 'list' || option?.kind === 'map';
}

/** Operands fill, in their order, what no flag gave. */
function withOperands(
  flags: FlagValues,
  subcommand: Command,
  command: CommandSpec,
): { readonly flags: FlagValues; readonly problems: readonly string[] } {
  const free = (command.operands ?? []).filter((name) => !flags.has(name));
  const takesRest = (name: string) => command.options[name]?.kind === 'list';
  const excess = free.some(takesRest) ? [] : subcommand.args.slice(free.length);
  const filled = free
    .map((name, at) => [name, subcommand.args.slice(at, takesRest(name) ? undefined : at + 1)] as const)
    .filter(([, texts]) => texts.length > 0);
  return {
    flags: new Map([...flags, ...filled]),
    problems: excess.map((text) => `"${oneLine(text, 60)}" is one name too many; see awb ${subcommand.name()} --help`),
  };
}

const SETTINGS_NOTE = `Settings come from flags, then AWB_<FLAG> in the environment
(--output-dir is AWB_OUTPUT_DIR), then --config FILE, then defaults.`;

const VALUE_NAMES = {
  text: 'TEXT',
  integer: 'N',
  number: 'X',
  duration: 'TIME',
  choice: 'NAME',
  list: 'A,B',
  map: 'K=V',
  json: 'JSON',
};

/** A flag with the name of its value, as --help shows it; a boolean in the form that changes something. */
export function flagOf(name: string, option: OptionSpec): string {
  if (option.kind === 'boolean') return option.default ? `--no-${name}` : `--${name}`;
  const words = 'words' in option ? (option.words ?? []) : [];
  return `--${name} <${[option.value ?? VALUE_NAMES[option.kind], ...words].join('|')}>`;
}

/** An option's sentence, with its choices and default. */
function sentenceOf(option: OptionSpec): string {
  const details: string[] = [];
  if (option.kind === 'choice') details.push(option.choices.join(', '));
  if (option.required) details.push('required');
  if (option.kind !== 'boolean' && 'default' in option && option.default !== undefined) {
    const unit = option.kind === 'duration' && typeof option.default === 'number' ? ' s' : '';
    details.push(`default: ${[option.default].flat().join(',')}${unit}`);
  }
  return details.length === 0 ? option.help : `${option.help} (${details.join('; ')})`;
}

/** Whether the short --help of the command shows the option. */
function isDaily(name: string, option: OptionSpec, { daily }: CommandSpec): boolean {
  return option.required === true || daily === undefined || name in COMMON || daily.split(' ').includes(name);
}

/**
 * What stands below the options of a command.
 * @param hidden how many options are not shown
 */
function closingWords(name: string, { examples }: CommandSpec, hidden: number): string {
  const shown = Object.entries(examples).map(([line, does]) => `  ${does}:\n${indented(indented(line))}`);
  const more = hidden === 0 ? [] : [`awb ${name} --help all shows ${hidden} further flags.`, ''];
  return ['', ...(shown.length > 0 ? ['Examples:', ...shown, ''] : []), ...more, SETTINGS_NOTE].join('\n');
}

/** Indents each line by two columns. */
export function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

// Settings as the words of a command line, so that a command can be given once more.

/** The flags that say what these settings say, in the order of the names; what is as it would be without them is left out. */
export function flagsFor(table: OptionTable, shown: ShownSettings, names = Object.keys(table)): string[] {
  return names.flatMap((name) => {
    const option = present(table[name]);
    const { [name]: value } = shown;
    const isDefault = 'default' in option && JSON.stringify(option.default) === JSON.stringify(value);
    return value === undefined || isDefault ? [] : wordsFor(name, option, value);
  });
}

function wordsFor(name: string, option: OptionSpec, value: unknown): string[] {
  if (option.kind === 'boolean' && value !== true) return 'default' in option ? [`--no-${name}`] : [];
  if (option.kind === 'boolean') return [`--${name}`];
  return textsOf(option, value).flatMap((text) => [`--${name}`, text]);
}

function textsOf(option: OptionSpec, value: unknown): string[] {
  if (option.kind === 'json') return [JSON.stringify(value)];
  if (option.kind === 'map') return Object.entries(value ?? {}).map(([key, text]) => `${key}=${text}`);
  if (!Array.isArray(value)) return [String(value)];
  return (option.kind === 'list' && option.whole) || value.length === 0 ? value : [value.join(',')];
}
