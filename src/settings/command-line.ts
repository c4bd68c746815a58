// The words behind `awb` as a command and its flags, by Node's parser; help, by commander, and version are answered here.

import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Command } from 'commander';
import { nearest } from '../core/edits.js';
import { EXIT, type ExitCode, present, UserError } from '../core/errors.js';
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
  const { ahead, words, called, group } = commandIn(argv, entries);
  const versionTold = () => {
    io.stdout.write(`${toolVersion()}\n`);
    return { exitCode: EXIT.done };
  };
  // Ahead of the command's name stand the program's own flags.
  const own = flagsIn(ahead, { options: {} }, 'awb');
  if (own.asksFor === 'version') return versionTold();
  if (own.asksFor === 'help') {
    (await helpOf(group, io)).outputHelp();
    return { exitCode: EXIT.done };
  }
  if (called === undefined) {
    if (own.problems.length > 0) throw new UserError(own.problems.join('\n'));
    (await helpOf(group, io)).outputHelp({ error: true });
    return { exitCode: EXIT.usage };
  }
  const { name } = called;
  const { command } = await called.load();
  const { asksFor, flags, problems } = flagsIn(words, command, `awb ${name}`);
  if (asksFor === undefined) return { name, command, flags, problems: [...own.problems, ...problems] };
  if (asksFor === 'version') return versionTold();
  const program = await helpOf(group, io);
  const subcommand = present(program.commands.find((each) => each.name() === name));
  addOptions(subcommand, command, wantsAll(argv));
  subcommand.outputHelp();
  return { exitCode: EXIT.done };
}

/**
 * The words ahead of a command's name and behind it, the command, and the commands that help shows.
 * @throws UserError (2) for a command that does not exist, and for the first word of several commands alone
 */
function commandIn(argv: readonly string[], entries: readonly CommandEntry[]) {
  const at = argv.findIndex((argument) => !argument.startsWith('-'));
  const [first, second] = at < 0 ? [] : argv.slice(at);
  if (first === undefined) return { ahead: argv, words: [], group: entries };
  const group = entries.filter((each) => each.name.startsWith(`${first} `));
  // Help on the group, or on nothing: its first word is no command.
  if (group.length > 0 && second?.startsWith('-')) return { ahead: argv.toSpliced(at, 1), words: [], group };
  const name = group.length > 0 && second !== undefined ? `${first} ${second}` : first;
  const called = entries.find((each) => each.name === name);
  const length = name === first ? 1 : 2;
  if (called !== undefined) {
    return { ahead: argv.slice(0, at), words: argv.slice(at + length), called, group: entries };
  }
  const names = (group.length > 0 ? group : entries).map((each) => each.name);
  if (group.length > 0 && second === undefined) {
    throw new UserError(`${first} is the first word of ${names.join(', ')}; see awb ${first} --help`);
  }
  const near = nearest(name, names);
  const advice = near === undefined ? 'see awb --help' : `did you mean ${near}?`;
  throw new UserError(`there is no command "${oneLine(name, 60)}"; ${advice}`);
}

/** `--help all`, and `awb help infer all`. */
function wantsAll(argv: readonly string[]): boolean {
  return argv.some((word, index) => /^(-h|--help)$/.test(word) && (argv[index + 1] ?? argv[index - 1]) === 'all');
}

/** What words say. */
interface Given {
  readonly flags: FlagValues;
  readonly asksFor: 'help' | 'version' | undefined;
  /** What is wrong, all of it, a sentence each. */
  readonly problems: readonly string[];
}

/**
 * Reads flags and operands.
 * @param owner whose flags they are, such as `awb infer`
 */
function flagsIn(
  words: readonly string[],
  command: Pick<CommandSpec, 'options' | 'operands'>,
  owner: string,
  before: readonly string[] = [],
): Given {
  const options = parserOptions(command.options);
  const { tokens } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true, tokens: true });
  const named = tokens.filter((token) => token.kind === 'option');
  // The parser takes whatever follows as the value: `--label --json` would lose both.
  const isFlag = (text = '') => text.startsWith('--') && Object.hasOwn(options, text.slice(2));
  const bare = named.find(({ value, inlineValue }) => inlineValue === false && isFlag(value));
  if (bare !== undefined) {
    const problem = `--${bare.name} needs a value; what follows it is the flag ${bare.value}`;
    return flagsIn(words.toSpliced(bare.index, 1), command, owner, [...before, problem]);
  }
  const problems = [...before];
  const flags = new Map<string, string[] | boolean>();
  /** Places of unknown flags. */
  const unknown = new Set<number>();
  for (const { name, index, value } of named) {
    const known = flags.get(name);
    if (!Object.hasOwn(options, name)) {
      // A word such as -abc is several flags to the parser.
      if (!unknown.has(index)) problems.push(unknownFlag(present(words[index]), Object.keys(options), owner));
      unknown.add(index);
    } else if (options[name]?.type === 'boolean') {
      if (value !== undefined) problems.push(`--${name} takes no value`);
      flags.set(name.replace(/^no-/, ''), !name.startsWith('no-'));
    } else if (value === undefined) problems.push(`--${name} needs a value; see ${owner} --help`);
    else if (typeof known !== 'object') flags.set(name, [value]);
    else if (takesSeveral(command.options[name])) known.push(value);
    // Which of the two was meant nobody can tell, and they may be secrets.
    else problems.push(`--${name} takes one value, and is given another`);
  }
  const names = tokens.flatMap((token) => {
    // The word behind an unknown flag was probably meant for it.
    const isMeant = unknown.has(token.index - 1) && !words[token.index - 1]?.includes('=');
    return token.kind === 'positional' && !isMeant ? token.value : [];
  });
  const asksFor = (['version', 'help'] as const).find((name) => flags.has(name));
  problems.push(...fillOperands(flags, names, command, owner));
  return { flags, asksFor, problems };
}

/** Names fill, in their order, the operands that no flag gave. @returns a sentence for each that is too many */
function fillOperands(
  flags: Map<string, readonly string[] | boolean>,
  names: readonly string[],
  { operands = [], options }: Pick<CommandSpec, 'options' | 'operands'>,
  owner: string,
): string[] {
  const left = [...names];
  for (const operand of operands.filter((operand) => !flags.has(operand))) {
    const texts = left.splice(0, options[operand]?.kind === 'list' ? left.length : 1);
    if (texts.length > 0) flags.set(operand, texts);
  }
  return left.map((text) => `"${oneLine(text, 60)}" is one name too many; see ${owner} --help`);
}

/** A table's flags as Node's own parser takes them, and help and version. */
function parserOptions(table: OptionTable): NonNullable<ParseArgsConfig['options']> {
  const options: ReturnType<typeof parserOptions> = { help: { type: 'boolean', short: 'h' } };
  for (const [name, { kind, short }] of Object.entries(table)) {
    options[name] = { type: kind === 'boolean' ? kind : 'string', ...(short !== undefined && { short }) };
    if (kind === 'boolean') options[`no-${name}`] = { type: kind };
  }
  return { ...options, version: { type: 'boolean', short: 'V' } };
}

function unknownFlag(word: string, flags: readonly string[], owner: string): string {
  // The text behind a mistyped flag may be a key, and is not repeated.
  const [, dashes, name = ''] = /^(-*)([^=]*)/.exec(word) ?? [];
  const near = longer(name, flags) ?? nearest(name, flags);
  const remedy = near === undefined ? `see ${owner} --help` : `did you mean --${near}?`;
  const isNumber = /^\.?\d/.test(name);
  return `unknown flag ${dashes}${oneLine(name, 60)}; ${isNumber ? 'a number below zero needs -- in front' : remedy}`;
}

/** The shortest flag that begins with three letters or more that were typed. */
function longer(name: string, flags: readonly string[]): string | undefined {
  const found = name.length < 3 ? [] : flags.filter((flag) => flag.startsWith(name));
  return found.sort((a, b) => a.length - b.length)[0];
}

/** The program with commands as commander shows them; it is loaded where help is wanted alone. */
async function helpOf(group: readonly CommandEntry[], io: Io): Promise<Command> {
  const { Command } = await import('commander');
  const width = () => Math.min(80, io.stdout.columns);
  const program = new Command('awb')
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: width,
      getErrHelpWidth: width,
    })
    .helpOption('-h, --help', 'show this help')
    .description(DESCRIPTION)
    .version(toolVersion(), '-V, --version', 'show the version')
    .helpCommand(false)
    .addHelpText('after', FURTHER_HELP);
  for (const { name, summary } of group) {
    program.addCommand(new Command(name).copyInheritedSettings(program).summary(summary));
  }
  return program;
}

function addOptions(subcommand: Command, command: CommandSpec, all: boolean): void {
  subcommand.description(command.description);
  subcommand.addHelpOption(
    subcommand.createOption('-h, --help', 'show this help; --help all shows every flag').helpGroup('Common:'),
  );
  for (const name of command.operands ?? []) {
    subcommand.argument(command.options[name]?.kind === 'list' ? `[${name}...]` : `[${name}]`);
  }
  let hidden = 0;
  for (const [name, spec] of Object.entries(command.options)) {
    const short = spec.short === undefined ? '' : `-${spec.short}, `;
    const isHidden = !all && !isDaily(name, spec, command);
    const option = subcommand
      .createOption(short + flagOf(name, spec), sentenceOf(spec))
      .helpGroup(`${spec.group ?? 'Options'}:`);
    // Groups stand in the order of all their options.
    subcommand.addOption(option.hideHelp(isHidden));
    if (isHidden) hidden++;
  }
  subcommand.addHelpText('after', closingWords(subcommand.name(), command, hidden));
}

/** Whether an option may be given several times. */
export function takesSeveral(option: OptionSpec | undefined): boolean {
  return option?.kind === 'list' || option?.kind === 'map';
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
