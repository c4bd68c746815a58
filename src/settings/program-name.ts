// How this program can be called again by whoever called it now.

import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellLine } from '../core/shell.js';
import type { Io } from '../core/types.js';

const BIN = fileURLToPath(new URL('../bin.js', import.meta.url));

/** What stands before the arguments in a command line that is shown: `awb` where the path leads to this very program. */
export function programName({ env, cwd }: Pick<Io, 'env' | 'cwd'>): string {
  // npx puts the program on the path of this process alone.
  if (env.npm_command === 'exec') return 'npx agentworldbench';
  // Sources that were not compiled have no program beside them.
  if (!existsSync(BIN)) return 'awb';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  if (folders.some((folder) => leadsHere(join(folder, 'awb')))) return 'awb';
  const path = relative(cwd, BIN);
  return shellLine(['node', path.startsWith('..') ? BIN : path]);
}

function leadsHere(path: string): boolean {
  try {
    return dirname(realpathSync(path)) === dirname(realpathSync(BIN));
  } catch {
    return false;
  }
}
