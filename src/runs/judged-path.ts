// Where a judged file lies, and what lies beside it.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Io } from '../types.js';

/** The judged file that a path stands for: the file itself, or the one in the folder of a run. */
export function judgedFileOf(path: string, { cwd }: Pick<Io, 'cwd'>): string {
  const whole = resolve(cwd, path);
  const inFolder = join(whole, 'judged.jsonl');
  return existsSync(inFolder) ? inFolder : whole;
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
