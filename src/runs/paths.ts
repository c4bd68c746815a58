// Where runs lie: what a path stands for, and where a SQLite file may be.

import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { shownPath } from '../settings/shown-path.js';
import type { Io } from '../types.js';

/** The SQLite file of every command that is not told another one, in the working folder. */
export const DEFAULT_DB = 'awb.sqlite';

/** The judged file that a path stands for: the file itself, or the one in the folder of a run. */
export function judgedFileOf(path: string, { cwd }: Pick<Io, 'cwd'>): string {
  const whole = resolve(cwd, path);
  const inFolder = join(whole, 'judged.jsonl');
  return existsSync(inFolder) ? inFolder : whole;
}

const MOST_NAMED = 5;

/**
 * @param lead what else is wrong, in front of the message
 * @throws UserError (66) that names the SQLite files one folder down, where there are some.
 */
export function requireDatabase(path: string, io: Io, lead = ''): void {
  if (existsSync(path)) return;
  const found = databasesBelow(io.cwd).map((file) => shownPath(file, io));
  const remedy =
    found.length === 0
      ? 'awb score RUN makes it, and --db or AWB_DB name another'
      : `there ${found.length === 1 ? 'is' : 'are'} ${found.slice(0, MOST_NAMED).join(', ')}${found.length > MOST_NAMED ? ' ...' : ''}: name one with --db or AWB_DB, or make this one with awb score RUN`;
  throw new UserError(`${lead}there is no SQLite file ${shownPath(path, io)}; ${remedy}`, EXIT.inputMissing);
}

function databasesBelow(folder: string): string[] {
  const folders = listed(folder).filter((entry) => entry.isDirectory() && !/^(\.|node_modules$)/.test(entry.name));
  return folders
    .map((entry) => join(folder, entry.name))
    .flatMap((inner) =>
      listed(inner)
        .filter((entry) => entry.isFile() && entry.name.endsWith('.sqlite'))
        .map((entry) => join(inner, entry.name)),
    )
    .sort();
}

function listed(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
