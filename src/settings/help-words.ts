// The words of --help: an option's flag and sentence, which of them are shown, and what stands below them.

import type { CommandSpec } from './command.js';
import { COMMON, type OptionSpec } from './options.js';

/** What `awb --help` says first. */
export const DESCRIPTION = 'The evaluation harness for language world models: infer, judge and score AgentWorldBench.';
/** What it says last. */
export const FURTHER_HELP = "\nawb <command> --help shows a command's daily flags and examples, --help all every flag.";

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
export function sentenceOf(option: OptionSpec): string {
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
export function isDaily(name: string, option: OptionSpec, { daily }: CommandSpec): boolean {
  return option.required === true || daily === undefined || name in COMMON || daily.includes(name);
}

/**
 * What stands below the options of a command.
 * @param hidden how many options are not shown
 */
export function closingWords(name: string, { examples }: CommandSpec, hidden: number): string {
  const shown = examples.map(({ line, does }) => `  ${does}:\n${indented(indented(line))}`);
  const more = hidden === 0 ? [] : [`awb ${name} --help all shows ${hidden} further flags.`, ''];
  return ['', ...(shown.length > 0 ? ['Examples:', ...shown, ''] : []), ...more, SETTINGS_NOTE].join('\n');
}

/** Indents each line by two columns. */
export function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}
