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

/** The manifest of a judged file. */
export function manifestBeside(judgedFile: string): string {
  return `${stemOf(judgedFile)}.manifest.json`;
}

/** The journal of a judged file. */
export function journalBeside(judgedFile: string): string {
  return `${stemOf(judgedFile)}.journal.jsonl`;
}

function stemOf(judgedFile: string): string {
  return judgedFile.replace(/\.jsonl$/i, '');
}
