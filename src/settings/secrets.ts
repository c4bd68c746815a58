// Notes which values are secrets before anything can fail, so that output can be cleaned of them; and makes settings safe to show.

import { printable } from '../core/printable.js';
import { hideKeys } from '../core/redaction.js';
import { cutPasswords, passwordsIn } from './address.js';
import {
  type CommandLine,
  FLAGS_ONLY,
  type OptionSpec,
  type OptionTable,
  type ShownSettings,
  variableOf,
} from './command.js';
import type { Found, Sources } from './sources.js';

/** Placeholders such as `EMPTY` or `dummy` are not secrets, and removing them would garble the output. */
const SHORTEST_SECRET = 8;
/** MLflow's own clients read these variables as well. */
const MLFLOW_SECRETS = ['MLFLOW_TRACKING_TOKEN', 'MLFLOW_TRACKING_PASSWORD'];

/** Adds the secrets in the sources: values of secret options, keys for other programs, passwords of proxies. */
export function noteSecrets(table: OptionTable, { flags, env, config }: Sources, secrets: Set<string>): void {
  for (const [variable, value] of Object.entries(env)) {
    if (variable.endsWith('_API_KEY') || MLFLOW_SECRETS.includes(variable)) note(value, secrets);
    if (/_proxy$/i.test(variable)) notePasswords(value, secrets);
  }
  for (const name of Object.keys(table).filter((name) => table[name]?.secret)) {
    note(env[variableOf(name)], secrets);
    const given = flags.get(name);
    if (typeof given === 'object') for (const value of given) note(value, secrets);
    for (const values of [config?.section, config?.top]) note(values?.[name], secrets);
  }
}

/** Adds the passwords in a setting's value if it is an address or a list of addresses. */
export function notePasswords(value: unknown, secrets: Set<string>): void {
  for (const text of [value].flat()) {
    if (typeof text === 'string') for (const password of passwordsIn(text)) note(password, secrets);
  }
}

/** Adds the keys in an option's JSON object. @returns a sentence that names them, if there are any */
export function noteKeys(name: string, value: unknown, secrets: Set<string>): string[] {
  const places = new Set<string>();
  hideKeys(value, (key, place) => {
    places.add(place);
    note(key, secrets);
    return undefined;
  });
  if (places.size === 0) return [];
  const named = [...places].join(', ');
  return [`--${name}: members named like keys are sent but not written to any file, batch files included: ${named}`];
}

function note(value: unknown, secrets: Set<string>): void {
  if (typeof value === 'string' && value.length >= SHORTEST_SECRET) secrets.add(value);
}

/** The settings that may go into the manifest. */
export function shownSettings(table: OptionTable, found: ReadonlyMap<string, Found>): ShownSettings {
  return Object.fromEntries(
    [...found]
      .filter(([key, { value }]) => value !== undefined && !table[key]?.secret && !FLAGS_ONLY.includes(key))
      .map(([key, { value }]) => [key, withoutSecrets(table[key], value)]),
  );
}

/** The output of --print-config: every setting with its source, as JSON or in columns. A secret is shown only as set. */
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
    return `${JSON.stringify({ schema: 'awb.settings/1', command: name, settings }, null, 2)}\n`;
  }
  const cells = rows.map(({ key, value, from }) => [key, cellOf(value), from] as const);
  const width = (column: 0 | 1) => Math.min(40, Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map(([key, value, from]) => `${key.padEnd(width(0))}  ${value.padEnd(width(1))}  ${printable(from)}\n`)
    .join('');
}

/** A value on one line. */
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
