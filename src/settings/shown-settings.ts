// Settings as they may be stored and shown: secrets hidden, passwords cut out of addresses.

import { printable } from '../printable.js';
import { hideKeys } from '../redaction.js';
import { cutPasswords } from './address.js';
import type { CommandLine, ShownSettings } from './command.js';
import { FLAGS_ONLY, type OptionSpec, type OptionTable } from './options.js';
import type { Found } from './sources.js';

/** The settings that the manifest may hold. */
export function shownSettings(table: OptionTable, found: ReadonlyMap<string, Found>): ShownSettings {
  return Object.fromEntries(
    [...found]
      .filter(([key, { value }]) => value !== undefined && !table[key]?.secret && !FLAGS_ONLY.includes(key))
      .map(([key, { value }]) => [key, withoutSecrets(table[key], value)]),
  );
}

/** What --print-config prints: every setting with its source, as JSON or as columns. Of a secret it says only that it is set. */
export function describeSettings(
  { name, command }: CommandLine,
  found: ReadonlyMap<string, Found>,
  json: boolean,
): string {
  const table = command.options;
  const rows = [...found]
    .filter(([key]) => !FLAGS_ONLY.includes(key))
    .map(([key, { value, from }]) => {
      const secret = table[key]?.secret && value !== undefined;
      return { key, value: secret ? 'set' : (withoutSecrets(table[key], value) ?? null), from };
    });
  if (json) {
    const settings = Object.fromEntries(rows.map(({ key, value, from }) => [key, { value, from }]));
    return `${JSON.stringify({ command: name, settings }, null, 2)}\n`;
  }
  const cells = rows.map(({ key, value, from }) => [key, cellOf(value), from] as const);
  const width = (column: 0 | 1) => Math.min(40, Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map(([key, value, from]) => `${key.padEnd(width(0))}  ${value.padEnd(width(1))}  ${printable(from)}\n`)
    .join('');
}

/** A value on one line, whatever it holds. */
function cellOf(value: unknown): string {
  if (value === null) return '-';
  const isPlain = typeof value === 'string' && printable(value) === value;
  return isPlain ? value : printable(JSON.stringify(value));
}

function withoutSecrets(option: OptionSpec | undefined, value: unknown): unknown {
  if (option?.kind === 'json') return hideKeys(value, () => '[secret]');
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(option, item));
  return typeof value === 'string' ? cutPasswords(value) : value;
}
