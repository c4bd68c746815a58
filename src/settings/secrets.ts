// Which of the values given are secrets: they are noted before anything can fail, and taken out of whatever is written.

import { hideKeys } from '../redaction.js';
import type { Io } from '../types.js';
import { passwordsIn } from './address.js';
import type { FlagValues } from './command.js';
import type { ConfigFile } from './config-file.js';
import { type OptionTable, variableOf } from './options.js';

/** Placeholders such as `EMPTY` or `dummy` are no secrets, and taking them out would garble the output. */
const SHORTEST_SECRET = 8;
/** What MLflow's own clients read, too. */
const MLFLOW_SECRETS = ['MLFLOW_TRACKING_TOKEN', 'MLFLOW_TRACKING_PASSWORD'];

/** Adds what flags and environment hold of secrets: values of secret options, keys for other programs, passwords of proxies. */
export function noteSecrets(table: OptionTable, flags: FlagValues, env: Io['env'], secrets: Set<string>): void {
  for (const [variable, value] of Object.entries(env)) {
    if (variable.endsWith('_API_KEY') || MLFLOW_SECRETS.includes(variable)) note(value, secrets);
    if (/_proxy$/i.test(variable)) notePasswords(value, secrets);
  }
  for (const name of secretsIn(table)) {
    note(env[variableOf(name)], secrets);
    const given = flags.get(name);
    if (typeof given === 'object') for (const value of given) note(value, secrets);
  }
}

/** The same of the configuration file. */
export function noteSecretsOf({ section, top }: ConfigFile, table: OptionTable, secrets: Set<string>): void {
  for (const name of secretsIn(table)) for (const entries of [section, top]) note(entries.get(name)?.written, secrets);
}

/** Adds the passwords of a setting's value, where it is an address or a list of them. */
export function notePasswords(value: unknown, secrets: Set<string>): void {
  for (const text of [value].flat()) {
    if (typeof text === 'string') for (const password of passwordsIn(text)) note(password, secrets);
  }
}

/** Adds the keys in an option's JSON object. @returns a sentence that names them, where there are any */
export function noteKeys(name: string, value: unknown, secrets: Set<string>): string[] {
  const places = new Set<string>();
  hideKeys(value, (key, place) => {
    places.add(place);
    note(key, secrets);
    return undefined;
  });
  if (places.size === 0) return [];
  const named = [...places].join(', ');
  return [`--${name}: what is named like a key is sent, and left out of every file, batch files too: ${named}`];
}

function secretsIn(table: OptionTable): string[] {
  return Object.keys(table).filter((name) => table[name]?.secret);
}

function note(value: unknown, secrets: Set<string>): void {
  if (typeof value === 'string' && value.length >= SHORTEST_SECRET) secrets.add(value);
}
