// The program: finds the subcommand, reads its settings, runs it, and turns what goes wrong into a message and an exit code.

import { inspect } from 'node:util';
import { Command, CommanderError, Option } from 'commander';
import {
  type CommandSpec,
  describeSettings,
  detailsOf,
  type FlagValue,
  flagOf,
  indented,
  type OtherCommands,
  optionsOf,
  type RunAwb,
  requireSettings,
  resolveSettings,
} from './commands/settings.js';
import { toolVersion } from './commands/version.js';
import { EXIT, type ExitCode, nearest, UserError } from './errors.js';
import { oneLine, printable } from './printable.js';
import type { Io, TextSink } from './types.js';

/** A subcommand as `awb --help` shows it; what it does is loaded when it is called. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<{ readonly command: CommandSpec }>;
}

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'quickstart',
    summary: 'run the whole job over recorded rows: no key, no network, no GPU',
    load: () => import('./commands/quickstart.js'),
  },
  {
    name: 'infer',
    summary: 'ask a world model for the next observation of every row',
    load: () => import('./commands/infer.js'),
  },
  {
    name: 'judge',
    summary: 'rate predictions against the ground truth',
    load: () => import('./commands/judge.js'),
  },
  {
    name: 'score',
    summary: 'turn judgements into scores, a table and a SQLite file',
    load: () => import('./commands/score.js'),
  },
  {
    name: 'compare',
    summary: 'show how a run differs from another, row by row, and how sure that is',
    load: () => import('./commands/compare.js'),
  },
  {
    name: 'gate',
    summary: 'decide whether a checkpoint passes: GO, NO-GO or not enough evidence',
    load: () => import('./commands/gate.js'),
  },
  {
    name: 'leaderboard',
    summary: 'show runs side by side: a table for a terminal, a README, a paper or the web',
    load: () => import('./commands/leaderboard.js'),
  },
  {
    name: 'report',
    summary: 'write an HTML page about a run, with every sample',
    load: () => import('./commands/report.js'),
  },
  {
    name: 'serve',
    summary: "serve a GGUF model on this machine over OpenAI's wire format",
    load: () => import('./commands/serve.js'),
  },
];

const DESCRIPTION = 'The evaluation harness for language world models: infer, judge and score AgentWorldBench.';
const SETTINGS_NOTE = `Settings come from flags, then AWB_<FLAG> in the environment
(--output-dir is AWB_OUTPUT_DIR), then --config FILE, then defaults.`;

/**
 * Runs the program in this process. Nothing is thrown: errors become messages on `io.stderr` and the exit code, and
 * secrets are taken out of everything that is written.
 * @param argv the arguments behind the program's name
 */
export async function main(
  argv: readonly string[],
  processIo: Io,
  commands: readonly CommandEntry[] = COMMANDS,
): Promise<ExitCode> {
  const secrets = new Set<string>();
  const io: Io = {
    ...processIo,
    stdout: withoutSecrets(processIo.stdout, secrets),
    stderr: withoutSecrets(processIo.stderr, secrets),
  };
  try {
    return await runProgram(argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv, io, commands, secrets);
  } catch (error) {
    return report(error, io, argv.includes('--verbose') || Boolean(io.env.AWB_DEBUG));
  }
}

/** The same sink, its size live, with secrets taken out of what is written. */
function withoutSecrets(sink: TextSink, secrets: ReadonlySet<string>): TextSink {
  const write = (text: string) =>
    sink.write([...secrets].reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text));
  return Object.create(sink, { write: { value: write } }) as TextSink;
}

function report(error: unknown, io: Io, verbose: boolean): ExitCode {
  const write = (text: string) => io.stderr.write(`${printable(text, { multiline: true })}\n`);
  if (error instanceof UserError) {
    write(`awb: ${error.message}`);
    return error.exitCode;
  }
  write(`awb: unexpected error: ${error instanceof Error ? error.message : String(error)}`);
  write(
    verbose
      ? inspect(error)
      : 'This is a fault in awb, not in your data. Please report it with what the same command prints under AWB_DEBUG=1.',
  );
  return EXIT.unexpected;
}

async function runProgram(
  argv: readonly string[],
  io: Io,
  commands: readonly CommandEntry[],
  secrets: Set<string>,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  const program = configured(new Command('awb'), io)
    .description(DESCRIPTION)
    .version(toolVersion(), '--version', 'show the version')
    .helpCommand(false)
    .addHelpText('after', `\nawb <command> --help shows a command's flags and examples.`);
  const asked = argv.find((argument) => !argument.startsWith('-'));
  for (const { name, summary, load } of commands) {
    const subcommand = configured(program.command(name), io).summary(summary);
    if (name !== asked) continue;
    const { command } = await load();
    addOptions(subcommand, command);
    subcommand.action(async () => {
      const flags = withOperands(flagsGiven(subcommand, command), subcommand, command);
      exitCode = await runCommand(name, command, flags, io, commands, secrets);
    });
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.done;
    // Without any command, commander has shown the help.
    if (error.code === 'commander.help') return EXIT.usage;
    const subcommand = program.commands.find((command) => command.name() === asked);
    throw misuse(error, subcommand ?? program, subcommand === undefined ? 'awb' : `awb ${asked}`);
  }
  return exitCode;
}

function misuse(error: CommanderError, command: Command, name: string): UserError {
  const message = error.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
  // What stands behind a mistyped flag may be a key, and is not repeated.
  const flag = error.code === 'commander.unknownOption' ? /'-*([^'=]*)/.exec(message)?.[1] : undefined;
  if (flag === undefined) return new UserError(`${message}; see ${name} --help`);
  const near = nearest(flag, ['help', ...command.options.map((option) => option.name())]);
  const advice = near === undefined ? `see ${name} --help` : `did you mean --${near}?`;
  return new UserError(`unknown flag --${flag}; ${advice}`);
}

async function runCommand(
  name: string,
  command: CommandSpec,
  flags: ReadonlyMap<string, FlagValue>,
  io: Io,
  commands: readonly CommandEntry[],
  secrets: Set<string>,
): Promise<ExitCode> {
  const resolved = await resolveSettings(name, command, flags, io, othersIn(commands), secrets);
  const { settings, shown } = resolved;
  if (settings.printConfig) {
    io.stdout.write(describeSettings(name, command, resolved, settings.json === true));
    return EXIT.done;
  }
  requireSettings(name, command, resolved);
  const awb: RunAwb = (argv, itsIo) => main(argv, itsIo, commands);
  return command.run(settings as Parameters<CommandSpec['run']>[0], io, shown, awb);
}

function othersIn(commands: readonly CommandEntry[]): OtherCommands {
  return {
    names: commands.map(({ name }) => name),
    tables: async () => Promise.all(commands.map(async ({ load }) => optionsOf((await load()).command))),
  };
}

/** A commander command that writes through `io`, throws instead of ending the process, and fits 80 columns. */
function configured(command: Command, io: Io): Command {
  const width = () => Math.min(80, io.stdout.columns);
  return command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // The message is thrown as well, and written by `report`.
      outputError: () => {},
      getOutHelpWidth: width,
      getErrHelpWidth: width,
    })
    .helpOption('-h, --help', 'show this help');
}

function addOptions(subcommand: Command, command: CommandSpec): void {
  const table = optionsOf(command);
  const value = (name: string, text: string) => {
    // Commander takes whatever follows as the value: `--label --json` would lose both.
    if (table[text.replace(/^--(no-)?/, '')] === undefined || !text.startsWith('--')) return text;
    throw new UserError(`--${name} needs a value; what follows it is the flag ${text}`);
  };
  subcommand.description(command.description);
  subcommand.addHelpOption(new Option('-h, --help', 'show this help').helpGroup('Common:'));
  for (const name of command.operands ?? []) subcommand.argument(`[${name}]`);
  for (const [name, spec] of Object.entries(table)) {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const option = new Option(short + flagOf(name, spec), spec.help + detailsOf(spec)).helpGroup(
      `${spec.group ?? 'Options'}:`,
    );
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
  const sections = ['', ...(examples.length > 0 ? ['Examples:', ...examples, ''] : []), SETTINGS_NOTE];
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

/** Operands fill, in their order, what no flag gave. @throws UserError (2) for one too many. */
function withOperands(
  flags: Map<string, FlagValue>,
  subcommand: Command,
  command: CommandSpec,
): Map<string, FlagValue> {
  const free = (command.operands ?? []).filter((name) => !flags.has(name));
  for (const [index, text] of subcommand.args.entries()) {
    const name = free[index];
    if (name === undefined) {
      throw new UserError(`"${oneLine(text, 60)}" is one name too many; see awb ${subcommand.name()} --help`);
    }
    flags.set(name, [text]);
  }
  return flags;
}
