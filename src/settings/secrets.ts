// Which of the values given are secrets: they are noted before anything can fail, and taken out of whatever is written.

import type { Io } from '../types.js';
import { passwordsIn } from './address.js';
import { variableOf } from './names.js';
import type { OptionTable } from './options.js';
import type { FlagValue } from './sources.js';

/** Placeholders such as `EMPTY` or `dummy` are no secrets, and taking them out would garble the output. */
const SHORTEST_SECRET = 8;

export function keepSecret(value: string | undefined, secrets: Set<string>): void {
  if (value !== undefined && value.length >= SHORTEST_SECRET) secrets.add(value);
}

export function keepPasswords(text: string, secrets: Set<string>): void {
  for (const password of passwordsIn(text)) keepSecret(password, secrets);
}

export function noteSecrets(
  table: OptionTable,
  flags: ReadonlyMap<string, FlagValue>,
  env: Io['env'],
  secrets: Set<string>,
): void {
  for (const [variable, value] of Object.entries(env)) {
    if (variable.endsWith('_API_KEY')) keepSecret(value, secrets);
    if (/_proxy$/i.test(variable)) keepPasswords(value ?? '', secrets);
  }
  for (const [key, option] of Object.entries(table)) {
    if (!option.secret) continue;
    keepSecret(env[variableOf(key)], secrets);
    const given = flags.get(key);
    if (typeof given === 'object') for (const value of given) keepSecret(value, secrets);
  }
}
