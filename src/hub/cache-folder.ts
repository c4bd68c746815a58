// Where downloads lie by default, and what is remembered of models.

import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Io } from '../types.js';

/** An absolute path. An empty HOME, as some services have, is none; and a container's user may have no home at all. */
export function cacheFolder({ HOME }: Io['env']): string {
  return join(HOME || homeOfUser() || tmpdir(), '.cache', 'agentworldbench');
}

function homeOfUser(): string {
  try {
    return userInfo().homedir;
  } catch {
    return '';
  }
}
