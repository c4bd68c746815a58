// The words behind `awb` as a command and its flags; help and version are answered here.

import { Command, CommanderError, Option } from 'commander';
import { EXIT, type ExitCode, nearest, UserError } from '../errors.js';
import { oneLine } from '../printable.js';
import type { Io } from '../types.js';
import { type CommandSpec, optionsOf } from './command.js';
import { detailsOf, flagOf, indented } from './help-words.js';
import { COMMON, type OptionSpec } from './options.js';
import type { FlagValue } from './sources.js';
import { toolVersion } from './version.js';

/** A subcommand as `awb --help` shows it; what it does is loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}

/** A command and what its flags were given; `problems` says what is wrong with them, a sentence each. */
export interface CommandLine {
  readonly name: string;
  readonly command: CommandSpec;
  readonly flags: ReadonlyMap<string, FlagValue>;
  readonly problems: readonly string[];
}

const DESCRIPTION = 'The evaluation harness for language world models: infer, judge and score AgentWorldBench.';
const SETTINGS_NOTE = `Settings come from flags, then AWB_<FLAG> in the environment
(--output-dir is AWB_OUTPUT_DIR), then --config FILE, then defaults.`;

/**
 * Reads a command line, or answers it where it asks for help or the version: then there is only an exit code.
 * @throws UserError (2) where it names no command, or one that does not exist
 */
export async function readCommandLine(
  argv: readonly string[],
  entries: readonly CommandEntry[],
  io: Io,
): Promise<CommandLine | { readonly exitCode: ExitCode }> {
  const asked = argv.find((argument) => !argument.startsWith('-'));
  const entry = entries.find(({ name }) => name === asked);
  if (asked !== undefined && entry === undefined) throw noSuchCommand(asked, entries);

  const program = configured(new Command('awb'), io)
    .description(DESCRIPTION)
    .version(toolVersion(), '-V, --version', 'show the version')
    .helpCommand(false)
    .addHelpText('after', "\nawb <command> --help shows a command's daily flags and examples, --help all every flag.");
  for (const { name, summary } of entries) configured(program.command(name), io).summary(summary);
  const subcommand = program.commands.find((command) => command.name() === asked);
  const command = (await entry?.load())?.command;
  if (subcommand !== undefined && command !== undefined) addOptions(subcommand, command, wantsAll(argv));

  const parsed = parseAll(program, argv, subcommand ?? program);
  if ('exitCode' in parsed) return parsed;
  // The help was shown of a program that was called without a command.
  if (asked === undefined || subcommand === undefined || command === undefined) return { exitCode: EXIT.usage };
  const { flags, problems } = withOperands(flagsGiven(subcommand, command), subcommand, command);
  return { name: asked, command, flags, problems: [...parsed.problems, ...problems] };
}

function noSuchCommand(asked: string, entries: readonly CommandEntry[]): UserError {
  const near = nearest(
    asked,
    entries.map(({ name }) => name),
  );
  const advice = near === undefined ? 'see awb --help' : `did you mean ${near}?`;
  return new UserError(`there is no command "${oneLine(asked, 60)}"; ${advice}`);
}

/** `--help all`, and `awb help infer all`. */
function wantsAll(argv: readonly string[]): boolean {
  return argv.some((word, index) => /^(-h|--help)$/.test(word) && (argv[index + 1] ?? argv[index - 1]) === 'all');
}

/** Parses until nothing is wrong any more: what is wrong is noted and taken out, so that all of it can be said at once. */
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
      // What stands behind a flag that is not known was probably meant for it.
      const itsValue = at > 0 && words[at + 1]?.startsWith('-') === false && !words[at]?.includes('=') ? 1 : 0;
      words = [...words.slice(0, at), ...words.slice(at + 1 + itsValue)];
    }
  }
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

/** What is wrong, and with which of the words (-1 where that cannot be told). */
function faultIn(
  error: CommanderError | ValueMissing,
  words: readonly string[],
  command: Command,
): { readonly message: string; readonly at: number } {
  if (error instanceof ValueMissing) {
    const at = words.findIndex((word, index) => word === `--${error.flag}` && words[index + 1] === error.next);
    return { message: error.message, at };
  }
  const help = `see ${command.parent === null ? 'awb' : `awb ${command.name()}`} --help`;
  const message = error.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
  if (error.code === 'commander.optionMissingArgument') {
    return { message: `${message}; ${help}`, at: words.length - 1 };
  }
  // What stands behind a mistyped flag may be a key, and is not repeated.
  const flag = error.code === 'commander.unknownOption' ? /'(-*)([^'=]*)/.exec(message) : null;
  if (flag === null) return { message: `${message}; ${help}`, at: -1 };
  const [, dashes, name = ''] = flag;
  const near = nearest(name, ['help', ...command.options.map((option) => option.name())]);
  const advice = near === undefined ? help : `did you mean --${near}?`;
  const at = words.findIndex((word) => word.split('=')[0] === `${dashes}${name}`);
  return { message: `unknown flag ${dashes}${oneLine(name, 60)}; ${advice}`, at };
}

/** A commander command that writes through `io`, throws instead of ending the process, and fits 80 columns. */
function configured(command: Command, io: Io): Command {
  const width = () => Math.min(80, io.stdout.columns);
  return command
    .exitOverride()
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
  const table = optionsOf(command);
  const value = (name: string, text: string) => {
    // Commander takes whatever follows as the value: `--label --json` would lose both.
    if (table[text.replace(/^--(no-)?/, '')] === undefined || !text.startsWith('--')) return text;
    throw new ValueMissing(name, text);
  };
  subcommand.description(command.description);
  subcommand.addHelpOption(
    new Option('-h, --help', 'show this help; --help all shows every flag').helpGroup('Common:'),
  );
  // Excess names are counted by `withOperands`, which says whose they are.
  for (const name of command.operands ?? []) subcommand.argument(`[${name}]`);
  subcommand.allowExcessArguments();
  const isHidden = (name: string, { required }: OptionSpec) =>
    !(all || required || command.daily === undefined || name in COMMON || command.daily.includes(name));
  let hidden = 0;
  for (const [name, spec] of Object.entries(table)) {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const option = new Option(short + flagOf(name, spec), spec.help + detailsOf(spec)).helpGroup(
      `${spec.group ?? 'Options'}:`,
    );
    if (isHidden(name, spec)) {
      option.hideHelp();
      hidden++;
    }
    if (spec.kind === 'boolean') {
      const otherForm = new Option(spec.default ? `--${name}` : `--no-${name}`).hideHelp();
      subcommand.addOption(option).addOption(otherForm);
    } else {
      subcommand.addOption(
        option.argParser((text, previous) => [...((previous as string[]) ?? []), value(name, text)]),
      );
    }
  }
  const examples = command.examples.map(({ line, does }) => `  ${does}:\n${indented(indented(line))}`);
  const more = hidden === 0 ? [] : [`awb ${subcommand.name()} --help all shows ${hidden} further flags.`, ''];
  const sections = ['', ...(examples.length > 0 ? ['Examples:', ...examples, ''] : []), ...more, SETTINGS_NOTE];
  subcommand.addHelpText('after', sections.join('\n'));
}

function flagsGiven(subcommand: Command, command: CommandSpec): Map<string, FlagValue> {
  const table = optionsOf(command);
  const flags = new Map<string, FlagValue>();
  for (const option of subcommand.options) {
    const name = option.name().replace(/^no-/, '');
    const attribute = option.attributeName();
    if (table[name] === undefined || subcommand.getOptionValueSource(attribute) !== 'cli') continue;
    flags.set(name, subcommand.getOptionValue(attribute) as FlagValue);
  }
  return flags;
}

/** Operands fill, in their order, what no flag gave. */
function withOperands(
  flags: Map<string, FlagValue>,
  subcommand: Command,
  command: CommandSpec,
): { readonly flags: ReadonlyMap<string, FlagValue>; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const free = (command.operands ?? []).filter((name) => !flags.has(name));
  for (const [index, text] of subcommand.args.entries()) {
    const name = free[index];
    if (name === undefined) {
      problems.push(`"${oneLine(text, 60)}" is one name too many; see awb ${subcommand.name()} --help`);
    } else {
      flags.set(name, [text]);
    }
  }
  return { flags, problems };
}
