// The words of --help: an option's flag and sentence, and how they are laid out.

import type { OptionSpec } from './options.js';

/** Indents each line by two columns. */
export function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

/** A flag with the name of its value, as --help shows it; a boolean in the form that changes something. */
export function flagOf(name: string, option: OptionSpec): string {
  if (option.kind === 'boolean') return option.default ? `--no-${name}` : `--${name}`;
  const value = {
    text: 'TEXT',
    integer: 'N',
    number: 'X',
    duration: 'TIME',
    choice: 'NAME',
    list: 'A,B',
    map: 'K=V',
    json: 'JSON',
  };
  const words = 'words' in option && option.words !== undefined ? option.words : [];
  return `--${name} <${[option.value ?? value[option.kind], ...words].join('|')}>`;
}

/** What --help adds to an option's sentence: choices and default. */
export function detailsOf(option: OptionSpec): string {
  const details: string[] = [];
  if (option.kind === 'choice') details.push(option.choices.join(', '));
  if (option.required) details.push('required');
  if (option.kind !== 'boolean' && 'default' in option && option.default !== undefined) {
    const unit = option.kind === 'duration' && typeof option.default === 'number' ? ' s' : '';
    details.push(`default: ${[option.default].flat().join(',')}${unit}`);
  }
  return details.length === 0 ? '' : ` (${details.join('; ')})`;
}
