// Parses the arguments of `awb` into a command and its flags (with Node's parser), and answers --help (with commander) and --version.

import { parseArgs } from 'node:util';
import type { Command } from 'commander';
import { nearest } from '../core/edits.js';
import { EXIT, type ExitCode, messageOf, present, UserError } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
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

const DESCRIPTION = `The evaluation harness for language world models, on AgentWorldBench.

Three steps:
  awb infer --model-base-url http://localhost:8000/v1 --model-name MODEL \\
    --output-dir results/step-100
  awb judge results/step-100 --judge-base-url URL --judge-model JUDGE
  awb score results/step-100`;
const FURTHER_HELP = "awb COMMAND --help shows a command's flags and examples; --help all, every flag.";

/**
 * Reads a command line. If it asks for help or the version, prints that and returns only an exit code.
 * @throws UserError (2) for an unknown command or invalid flags
 */
export async function readCommandLine(
  argv: readonly string[],
  entries: readonly CommandEntry[],
  io: Io,
): Promise<CommandLine | { readonly exitCode: ExitCode }> {
  const [first = '', second = ''] = argv;
  const group = entries.filter(({ name }) => name.startsWith(`${first} `));
  const [shown, name] = group.length > 0 ? [group, `${first} ${second}`] : [entries, first];
  const entry = shown.find((each) => each.name === name);
  const owner = group.length > 0 ? `awb ${first}` : 'awb';
  const typed = group.length > 0 ? second : first;
  if (entry === undefined && /^[^-]/.test(typed)) throw new UserError(noCommand(name, shown, owner));
  const command = (await entry?.load())?.command;
  const words = argv.slice(entry === undefined ? Number(group.length > 0) : name.split(' ').length);
  const flags = flagsIn(words, command ?? { options: {} }, entry === undefined ? owner : `awb ${name}`);
  if (flags.has('version')) {
    io.stdout.write(`${toolVersion()}\n`);
    return { exitCode: EXIT.done };
  }
  const isAsked = flags.has('help');
  if (command !== undefined && !isAsked) return { name, command, flags };
  const program = await helpOf(entry === undefined ? shown : [entry], io, owner);
  const [subcommand] = program.commands;
  if (command !== undefined && subcommand !== undefined) {
    addOptions(subcommand, command, wantsAll(argv));
    subcommand.outputHelp();
  } else program.outputHelp({ error: !isAsked });
  return { exitCode: isAsked ? EXIT.done : EXIT.usage };
}

function noCommand(name: string, entries: readonly CommandEntry[], owner: string): string {
  const known = entries.flatMap((each) => [each.name, each.name.replace(/ .*/, '')]);
  const near = nearest(name, [...new Set(known)]);
  const advice = near === undefined ? `see ${owner} --help` : `did you mean ${near}?`;
  return `there is no command "${oneLine(name.trim(), 60)}"; ${advice}`;
}

/** `--help all`, and `awb help infer all`. */
function wantsAll(argv: readonly string[]): boolean {
  return argv.some((word, index) => /^(-h|--help)$/.test(word) && (argv[index + 1] ?? argv[index - 1]) === 'all');
}

type Taking = Pick<CommandSpec, 'options' | 'operands'>;

/**
 * Reads flags and operands.
 * @param owner the command that the flags belong to, such as `awb infer`
 * @throws UserError (2) for the first invalid one
 */
function flagsIn(words: readonly string[], { options, operands = [] }: Taking, owner: string): FlagValues {
  const { values, positionals } = parsed(words, options, owner);
  const flags = new Map<string, string[] | boolean>();
  for (const [name, given = []] of Object.entries(values)) {
    const texts = given.filter((value) => typeof value === 'string');
    flags.set(name, texts.length > 0 ? texts : given.at(-1) === true);
    // Does not quote the values: they may be secrets.
    if (texts.length > 1 && !['list', 'map'].includes(options[name]?.kind ?? '')) {
      throw new UserError(`--${name} takes one value but was given more than once`);
    }
  }
  if (flags.has('help') || flags.has('version')) return flags;
  // Positional arguments fill, in order, the operands that no flag has set.
  for (const operand of operands.filter((each) => !flags.has(each))) {
    const texts = positionals.splice(0, options[operand]?.kind === 'list' ? positionals.length : 1);
    if (texts.length > 0) flags.set(operand, texts);
  }
  const [left] = positionals;
  if (left === undefined) return flags;
  throw new UserError(`unexpected argument "${oneLine(left, 60)}"; see ${owner} --help`);
}

/** The arguments as Node's own parser reads them. */
function parsed(words: readonly string[], table: OptionTable, owner: string) {
  const several = { multiple: true } as const;
  const options: Record<string, { type: 'string' | 'boolean'; short?: string } & typeof several> = {
    help: { type: 'boolean', short: 'h', ...several },
    version: { type: 'boolean', short: 'V', ...several },
  };
  for (const [name, { kind, short }] of Object.entries(table)) {
    options[name] = { type: kind === 'boolean' ? kind : 'string', ...(short !== undefined && { short }), ...several };
  }
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    const message = messageOf(error);
    // The text after a mistyped flag may be a key; the parser's message does not repeat it.
    const unknown = /^Unknown option '(-+(.*?))'/.exec(message);
    if (unknown === null) throw new UserError(`${message.replace(/\.?\n/g, '; ')}`);
    const [, flag = '', name = ''] = unknown;
    const near = longer(name, Object.keys(options)) ?? nearest(name, Object.keys(options));
    const remedy = near === undefined ? `see ${owner} --help` : `did you mean --${near}?`;
    throw new UserError(`unknown flag ${oneLine(flag, 60)}; ${remedy}`);
  }
}

/** The shortest flag that begins with the typed name, if that has at least three letters. */
function longer(name: string, flags: readonly string[]): string | undefined {
  const found = name.length < 3 ? [] : flags.filter((flag) => flag.startsWith(name));
  return found.sort((a, b) => a.length - b.length)[0];
}

/** The program and its commands for commander's help. Commander is loaded only for this. */
async function helpOf(group: readonly CommandEntry[], io: Io, owner: string): Promise<Command> {
  const { Command } = await import('commander');
  const width = () => Math.min(80, io.stdout.columns);
  const isAll = owner === 'awb' && group.length > 1;
  const program = new Command('awb')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: width,
      getErrHelpWidth: width,
    })
    .helpOption(false)
    .usage(`${owner.slice('awb '.length)} COMMAND [options]`.trim())
    .description(isAll ? DESCRIPTION : '')
    .helpCommand(false)
    .addHelpText('after', `\n${FURTHER_HELP}`);
  for (const [name, [entry, ...others]] of groupBy(group, ({ name }) => (isAll ? present(name.split(' ')[0]) : name))) {
    const verbs = [entry, ...others].map((each) => each.name.slice(name.length + 1)).join(', ');
    const summary = name === entry.name ? entry.summary : `${verbs}: ${entry.of}`;
    const command = new Command(name).copyInheritedSettings(program).summary(summary);
    program.addCommand(isAll && entry.group !== undefined ? command.helpGroup(`${entry.group}:`) : command);
  }
  return program;
}

function addOptions(subcommand: Command, command: CommandSpec, all: boolean): void {
  subcommand.description(command.description);
  for (const name of command.operands ?? []) {
    subcommand.argument(command.options[name]?.kind === 'list' ? `[${name}...]` : `[${name}]`);
  }
  for (const [name, spec] of Object.entries(command.options)) {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const isHidden = !all && !isDaily(name, spec, command);
    const option = subcommand
      .createOption(short + flagOf(name, spec), sentenceOf(spec))
      .helpGroup(`${spec.group ?? 'Options'}:`);
    // Hidden options are added too, since they set the order of the groups.
    subcommand.addOption(option.hideHelp(isHidden));
  }
  subcommand.addHelpText('after', closingWords(subcommand.name(), command, all));
}

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

/** A flag with its value's name, as --help shows it; a boolean in the form that changes its default. */
export function flagOf(name: string, option: OptionSpec): string {
  if (option.kind === 'boolean') return option.default ? `--no-${name}` : `--${name}`;
  const words = 'words' in option ? (option.words ?? []) : [];
  return `--${name} <${[option.value ?? VALUE_NAMES[option.kind], ...words].join('|')}>`;
}

/** An option's description, with its choices and default. */
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
  return option.required === true || (!(name in COMMON) && (daily === undefined || daily.split(' ').includes(name)));
}

/** The most examples in the short --help. */
const SHORT_EXAMPLES = 4;

function closingWords(name: string, { examples, options }: CommandSpec, all: boolean): string {
  const shown = Object.entries(examples).slice(0, all ? undefined : SHORT_EXAMPLES);
  const lines = shown.map(([line, does]) => `  ${does}:\n${indented(indented(line))}`);
  const common = Object.entries(COMMON).map(([name, option]) => flagOf(name, option).replace(/ .*/, ''));
  const more = `awb ${name} --help all explains all ${Object.keys(options).length} flags, including the common ones:
${common.join(', ')}.`;
  const sources = `Settings come from flags, then AWB_<FLAG> in the environment (--output-dir is
AWB_OUTPUT_DIR), then --config FILE, then defaults.`;
  return ['', ...(lines.length > 0 ? ['Examples:', ...lines, ''] : []), ...(all ? [] : [more]), sources].join('\n');
}

/** Indents each line by two columns. */
export function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

// Settings as command-line arguments, so that a command can be repeated.

/** The flags that reproduce these settings, in the order of the names. Settings at their default are left out. */
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
  return textsOf(option, value).flatMap((text) => (text.startsWith('-') ? [`--${name}=${text}`] : [`--${name}`, text]));
}

function textsOf(option: OptionSpec, value: unknown): string[] {
  if (option.kind === 'json') return [JSON.stringify(value)];
  if (option.kind === 'map') return Object.entries(value ?? {}).map(([key, text]) => `${key}=${text}`);
  if (!Array.isArray(value)) return [String(value)];
  return (option.kind === 'list' && option.whole) || value.length === 0 ? value : [value.join(',')];
}
