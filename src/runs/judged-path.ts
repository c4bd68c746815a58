// Where a judged file lies, and what lies beside it.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Io } from '../types.js';

/** What a folder of a run is read for, the first that is there. */
const IN_FOLDER = ['judged.jsonl', 'scenarios.jsonl'];

/** The judged file that a path stands for: the file itself, or the one in the folder of a run. */
export function judgedFileOf(path: string, { cwd }: Pick<Io, 'cwd'>): string {
  const whole = resolve(cwd, path);
  return IN_FOLDER.map((name) => join(whole, name)).find((path) => existsSync(path)) ?? whole;
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
