// Settings of a made-up command, resolved as the program resolves them.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT, UserError } from '../../src/core/errors.js';
import { httpUrl } from '../../src/settings/address.js';
import {
  COMMON,
  type CommandLine,
  type CommandSpec,
  type FlagValues,
  type OptionSpec,
  type OptionTable,
} from '../../src/settings/command.js';
import { requireSettings, resolveSettings } from '../../src/settings/settings.js';

/** The working directory, with the file `awb.yaml` if one was given. */
export const cwd = mkdtempSync(join(tmpdir(), 'awb-settings-'));

/** An option of each kind. */
export const KINDS = {
  text: { kind: 'text', help: 'x' },
  url: { kind: 'text', check: httpUrl, help: 'x' },
  integer: { kind: 'integer', min: 1, max: 10, help: 'x' },
  number: { kind: 'number', min: 0, words: ['default'], help: 'x' },
  duration: { kind: 'duration', min: 1, help: 'x' },
  boolean: { kind: 'boolean', help: 'x' },
  choice: { kind: 'choice', choices: ['prefix', 'file', 'random'], help: 'x' },
  list: { kind: 'list', help: 'x' },
  map: { kind: 'map', help: 'x' },
  object: { kind: 'json', help: 'x' },
} as const satisfies Record<string, OptionSpec>;

const OTHER: OptionTable = { 'judge-model': { kind: 'text', help: 'x' }, strict: { kind: 'boolean', help: 'x' } };

export interface Given {
  readonly flags?: Readonly<Record<string, readonly string[] | boolean>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Content of awb.yaml, which AWB_CONFIG names. */
  readonly yaml?: string;
  readonly secrets?: Set<string>;
}

export type Resolved = Awaited<ReturnType<typeof resolveSettings>>;

/** A line that calls the command `infer`. */
export function lineOf(command: CommandSpec, flags: FlagValues = new Map()): CommandLine {
  return { name: 'infer', command, flags };
}

export function commandWith(options: OptionTable): CommandSpec {
  return { description: 'x', examples: {}, options: { ...options, ...COMMON }, run: async () => EXIT.done };
}

/** The settings of a command with these options, despite any problem with them. */
export async function resolveWith(options: OptionTable, given: Given): Promise<Resolved> {
  const config: Record<string, string> = {};
  if (given.yaml !== undefined) {
    writeFileSync(join(cwd, 'awb.yaml'), given.yaml);
    config.AWB_CONFIG = 'awb.yaml';
  }
  const io = { cwd, env: { ...config, ...given.env } };
  const line = lineOf(commandWith(options), new Map(Object.entries(given.flags ?? {})));
  const tables = { infer: options, judge: OTHER };
  const commands = Object.entries(tables).map(([name, table]) => ({
    name,
    summary: 'x',
    load: async () => ({ command: commandWith(table) }),
  }));
  return resolveSettings(line, io, commands, given.secrets ?? new Set());
}

/** The same, but refused if there is a problem. */
export async function settingsWith(options: OptionTable, given: Given): Promise<Resolved> {
  const resolved = await resolveWith(options, given);
  requireSettings(lineOf(commandWith(options)), resolved);
  return resolved;
}

/** The error with which settings are refused. */
export async function refusalOf(work: Promise<unknown>): Promise<UserError> {
  const error = await work.then(
    () => new Error('nothing was refused'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof UserError)) throw error;
  return error;
}
