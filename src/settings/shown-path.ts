// Paths as people are shown them.

import { isAbsolute, relative } from 'node:path';
import { printable } from '../printable.js';
import type { Io } from '../types.js';

/** A path for people: below the working folder without it, elsewhere whole, and never through `..`. */
export function shownPath(path: string, { cwd }: Pick<Io, 'cwd'>): string {
  const below = relative(cwd, path);
  return printable(below === '' || below.startsWith('..') || isAbsolute(below) ? path : below);
}
