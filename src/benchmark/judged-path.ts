// Where a judged file is, and the files next to it.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { badData } from '../core/errors.js';
import { printable, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';

/** What to read in a run's folder: the first of these that exists. */
const IN_FOLDER = ['judged.jsonl', 'scenarios.jsonl'];
const JOURNAL = /\.journal\.jsonl$/i;

/**
 * The judged file meant by a path: the file itself, or the one in a run's folder.
 * @param note reports other judged files in the folder
 * @throws UserError (65) for a journal
 */
export function judgedFileOf(path: string, io: Pick<Io, 'cwd'>, note?: (text: string) => void): string {
  const whole = requireNoJournal(resolve(io.cwd, path), io);
  const file = IN_FOLDER.map((name) => join(whole, name)).find((path) => existsSync(path));
  if (file !== undefined && note !== undefined) noteOthers(file, io, note);
  return file ?? whole;
}

function noteOthers(file: string, io: Pick<Io, 'cwd'>, note: (text: string) => void): void {
  const isJudging = (name: string) =>
    /^judged\..+\.jsonl$/.test(name) && !/\.recheck-/.test(name) && !JOURNAL.test(name);
  const others = readdirSync(dirname(file)).filter(isJudging).sort();
  if (others.length === 0) return;
  const paths = others.map((name) => shownPath(join(dirname(file), name), io)).join(' or ');
  const other = others.length === 1 ? 'the other' : 'another';
  note(
    `${shownPath(dirname(file), io)} has ${others.length + 1} judged files; ${basename(file)} is used; for ${other}, give ${paths} instead of the folder`,
  );
}

/** The judged files meant by several paths. Journals, which a glob finds next to their files, are left out and noted. */
export function judgedFilesOf(paths: readonly string[], io: Pick<Io, 'cwd'>, note: (text: string) => void): string[] {
  const files = paths.filter((path) => !JOURNAL.test(path));
  if (files.length === 0) return paths.map((path) => judgedFileOf(path, io));
  for (const path of paths) if (JOURNAL.test(path)) note(`${printable(path)} is left out: it is a journal`);
  return files.map((path) => judgedFileOf(path, io));
}

/** The predictions meant by a path: the file itself, or predictions.jsonl in a folder. @throws UserError (65) for a journal */
export function predictionsFileOf(path: string, io: Pick<Io, 'cwd'>): string {
  const whole = requireNoJournal(resolve(io.cwd, path), io);
  return statSync(whole, { throwIfNoEntry: false })?.isDirectory() ? join(whole, 'predictions.jsonl') : whole;
}

function requireNoJournal(path: string, io: Pick<Io, 'cwd'>): string {
  if (!JOURNAL.test(path)) return path;
  const file = shownPath(path.replace(JOURNAL, '.jsonl'), io);
  throw badData(`${shownPath(path, io)} is a journal, which awb keeps for its own use; use ${file} instead`);
}

/** The manifest of a judged file, or of predictions. */
export function manifestBeside(file: string): string {
  return `${stemOf(file)}.manifest.json`;
}

/** The journal of a judged file, or of predictions. */
export function journalBeside(file: string): string {
  return `${stemOf(file)}.journal.jsonl`;
}

function stemOf(file: string): string {
  return file.replace(/\.jsonl$/i, '');
}
