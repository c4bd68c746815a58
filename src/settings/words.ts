// Settings as the words of a command line, so that a command can be given once more.

import type { OptionSpec, OptionTable, ShownSettings } from './command.js';

/** The flags that say what these settings say, in the table's order; what is as it would be without them is left out. */
export function wordsOf(table: OptionTable, shown: ShownSettings): string[] {
  return Object.entries(table).flatMap(([name, option]) => {
    const { [name]: value } = shown;
    const isDefault = 'default' in option && JSON.stringify(option.default) === JSON.stringify(value);
    return value === undefined || isDefault ? [] : wordsFor(name, option, value);
  });
}

function wordsFor(name: string, option: OptionSpec, value: unknown): string[] {
  const flag = `--${name}`;
  const each = (texts: readonly unknown[]) => texts.flatMap((text) => [flag, String(text)]);
  if (option.kind === 'boolean') {
    if (value === true) return [flag];
    return 'default' in option ? [`--no-${name}`] : [];
  }
  if (Array.isArray(value)) return option.kind === 'list' && option.whole ? each(value) : each(joined(value));
  if (option.kind === 'map') return each(Object.entries(value ?? {}).map(([key, text]) => `${key}=${text}`));
  return [flag, option.kind === 'json' ? JSON.stringify(value) : String(value)];
}

/** All items in one word, if there are any. */
function joined(items: readonly unknown[]): string[] {
  return items.length === 0 ? [] : [items.join(',')];
}
