// The words behind `awb` as a command and its flags; help and version are answered here.

import { EXIT, type ExitCode, nearest, present, UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import { wrapped } from '../core/terminal.js';
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
const FURTHER_HELP = "awb <command> --help shows a command's daily flags and examples, --help all every flag.";

/**
 * Reads a command line, or answers it where it asks for help or the version: then there is only an exit code.
 * @throws UserError (2) where it names no command, or one that does not exist
 */
export async function readCommandLine(
  argv: readonly string[],
  entries: readonly CommandEntry[],
  io: Io,
): Promise<CommandLine | { readonly exitCode: ExitCode }> {
  const { words, entry, group } = commandIn(argv, entries);
  const command = (await entry?.load())?.command;
  const called = entry === undefined ? 'awb' : `awb ${entry.name}`;
  const { flags, operands, asked, problems } = readWords(words, command?.options ?? {}, `see ${called} --help`);
  const width = Math.min(80, io.stdout.columns);
  const help = () =>
    entry === undefined || command === undefined
      ? programHelp(group, width)
      : commandHelp(entry.name, command, wantsAll(argv), width);
  if (asked !== undefined) {
    io.stdout.write(asked === 'help' ? help() : `${toolVersion()}\n`);
    return { exitCode: EXIT.done };
  }
  if (entry === undefined || command === undefined) {
    if (problems.length > 0) throw new UserError(problems.join('\n'));
    io.stderr.write(help());
    return { exitCode: EXIT.usage };
  }
  const { name } = entry;
  const excess = placeOperands(flags, operands, command).map(
    (text) => `"${oneLine(text, 60)}" is one name too many; see awb ${name} --help`,
  );
  return { name, command, flags, problems: [...problems, ...givenTwice(flags, command), ...excess] };
}

/**
 * A command among the words of a line; the line without its name; and the commands to show: all of them, or those whose first word was
 * given without a second.
 * @throws UserError (2) for a command that does not exist, and for the first word of several commands alone
 */
function commandIn(argv: readonly string[], entries: readonly CommandEntry[]) {
  const at = argv.findIndex((argument) => !argument.startsWith('-'));
  const first = argv[at];
  if (first === undefined) return { words: argv, entry: undefined, group: entries };
  const group = entries.filter((each) => each.name.startsWith(`${first} `));
  const second = argv[at + 1];
  // Help on the group, or on nothing: its first word is no command.
  if (group.length > 0 && second?.startsWith('-')) return { words: argv.toSpliced(at, 1), entry: undefined, group };
  const name = group.length > 0 && second !== undefined ? `${first} ${second}` : first;
  const entry = entries.find((each) => each.name === name);
  if (entry !== undefined) return { words: argv.toSpliced(at, name === first ? 1 : 2), entry, group: entries };
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

/** Reads words as flags and operands. All that is wrong is gathered, so that it can be said at once. */
export function readWords(words: readonly string[], table: OptionTable, help = '') {
  const flags = new Map<string, string[] | boolean>();
  const operands: string[] = [];
  const problems: string[] = [];
  let asked: 'help' | 'version' | undefined;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const next = words[at + 1];
    if (word === '--') {
      operands.push(...words.slice(at + 1));
      break;
    }
    const { typed, name, inline } = flagIn(word, table);
    const option = table[name];
    const negated = name.startsWith('no-') ? name.slice('no-'.length) : '';
    if (!/^-./.test(word)) operands.push(word);
    else if (/^(-h|--help)$/.test(word)) asked ??= 'help';
    else if (/^(-V|--version)$/.test(word)) asked ??= 'version';
    else if (option?.kind === 'boolean' && inline === undefined) flags.set(name, true);
    else if (table[negated]?.kind === 'boolean' && inline === undefined) flags.set(negated, false);
    else if (option === undefined || option.kind === 'boolean') {
      problems.push(option ? `${typed} takes no value` : `unknown flag ${typed}; ${nearFlag(name, table) ?? help}`);
      // The next word was probably meant for it.
      if (inline === undefined && next?.startsWith('-') === false) at++;
    } else {
      const value = inline ?? next;
      const isFlag = inline === undefined && value?.startsWith('--') && table[value.replace(/^--(no-)?/, '')];
      if (value === undefined) problems.push(`--${name} needs a value; ${help}`);
      else if (isFlag) problems.push(`--${name} needs a value; what follows it is the flag ${value}`);
      else flags.set(name, [flags.get(name) ?? [], value].flat().map(String));
      if (inline === undefined && !isFlag) at++;
    }
  }
  return { flags, operands, asked, problems };
}

/** The flag that a word gives, as it was typed and by its name, and the value in the same word. That may be a key, and is not repeated. */
function flagIn(word: string, table: OptionTable) {
  const { long, value } = /^--(?<long>[^=]+)(?:=(?<value>.*))?$/s.exec(word)?.groups ?? {};
  if (long !== undefined) return { typed: `--${oneLine(long, 60)}`, name: long, inline: value };
  const name = Object.keys(table).find((name) => table[name]?.short === word[1]);
  const typed = word.split('=', 1).join();
  return { typed: oneLine(typed, 60), name: name ?? typed.slice(1), inline: name && (word.slice(2) || undefined) };
}

/** The shortest flag that begins with three letters or more that were typed, or the nearest one. */
function nearFlag(name: string, table: OptionTable): string | undefined {
  const flags = Object.keys(table);
  const longer = name.length < 3 ? [] : flags.filter((flag) => flag.startsWith(name));
  const near = longer.sort((a, b) => a.length - b.length)[0] ?? nearest(name, ['help', 'version', ...flags]);
  return near && `did you mean --${near}?`;
}

/** Says of options of one value that they were given several: which of these was meant nobody can tell. Values may be secrets. */
function givenTwice(flags: FlagValues, { options }: CommandSpec): string[] {
  return [...flags].flatMap(([name, texts]) =>
    typeof texts !== 'boolean' && texts.length > 1 && !takesSeveral(options[name])
      ? [`--${name} takes one value, and is given ${texts.length} times`]
      : [],
  );
}

/** Whether an option may be given several times. */
export function takesSeveral(option: OptionSpec | undefined): boolean {
  return option?.kind === 'list' || option?.kind === 'map';
}

/** Fills with operands, in their order, what no flag gave. @returns those that are too many */
function placeOperands(flags: Map<string, string[] | boolean>, given: string[], command: CommandSpec): string[] {
  let left = given;
  for (const name of (command.operands ?? []).filter((name) => !flags.has(name))) {
    const taken = takesSeveral(command.options[name]) ? left : left.slice(0, 1);
    if (taken.length > 0) flags.set(name, taken);
    left = left.slice(taken.length);
  }
  return left;
}

const SETTINGS_NOTE = `Settings come from flags, then AWB_<FLAG> in the environment
(--output-dir is AWB_OUTPUT_DIR), then --config FILE, then defaults.`;

/** A line of help: how something is called, and what it does. */
type Item = readonly [term: string, help: string];

/** Sections of help under their headings, with one column for all terms. */
function sections(groups: Readonly<Record<string, readonly Item[]>>, width: number): string[] {
  const indent = 4 + Math.max(...Object.values(groups).flatMap((items) => items.map(([term]) => term.length)));
  return Object.entries(groups).flatMap(([heading, items]) => [
    `${heading}:`,
    ...items.flatMap(([term, help]) => wrapped(`  ${term}`.padEnd(indent) + help, width, indent)),
    '',
  ]);
}

function programHelp(entries: readonly CommandEntry[], width: number): string {
  const commands = entries.map(({ name, summary }): Item => [name, summary]);
  const groups = { Options: PROGRAM_OPTIONS, Commands: commands };
  const lines = [...wrapped(DESCRIPTION, width), '', ...sections(groups, width), FURTHER_HELP];
  return `Usage: awb [options] [command]\n\n${lines.join('\n')}\n`;
}

const PROGRAM_OPTIONS: readonly Item[] = [
  ['-V, --version', 'show the version'],
  ['-h, --help', 'show this help'],
];
const HELP: Item = ['-h, --help', 'show this help; --help all shows every flag'];

/** @param all whether options are shown that are not of daily use, too */
function commandHelp(name: string, command: CommandSpec, all: boolean, width: number): string {
  const { options, operands = [], description, examples, daily } = command;
  const isShown = (key: string, { required }: OptionSpec) =>
    all || daily === undefined || required || key in COMMON || daily.split(' ').includes(key);
  const shown = Object.entries(options).filter(([key, option]) => isShown(key, option));
  const groups: Record<string, Item[]> = {};
  for (const [key, option] of shown) {
    const { group = 'Options', short } = option;
    groups[group] ??= [];
    groups[group].push([(short === undefined ? '' : `-${short}, `) + flagOf(key, option), sentenceOf(option)]);
  }
  groups.Common?.push(HELP);
  const usage = operands.map((operand) => ` [${operand}${takesSeveral(options[operand]) ? '...' : ''}]`).join('');
  const hidden = Object.keys(options).length - shown.length;
  const does = Object.entries(examples).map(([line, does]) => `  ${does}:\n${indented(indented(line))}`);
  const lines = [
    ...[`Usage: awb ${name} [options]${usage}`, '', ...wrapped(description, width), '', ...sections(groups, width)],
    ...(does.length > 0 ? ['Examples:', ...does, ''] : []),
    ...(hidden === 0 ? [] : [`awb ${name} --help all shows ${hidden} further flags.`, '']),
  ];
  return `${lines.join('\n')}\n${SETTINGS_NOTE}\n`;
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

/** Indents each line by two columns. */
export function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

// Settings as the words of a command line, so that a command can be given once more.

/** The flags that say what these settings say, in the order of the names; what is as it would be without them is left out. */
export function wordsOf(table: OptionTable, shown: ShownSettings, names = Object.keys(table)): string[] {
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
