// Where downloads lie by default, and what is remembered of models.

import { tmpdir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Io } from '../../core/types.js';

/**
 * An absolute path: below XDG_CACHE_HOME where that is one, else below ~/.cache. An empty HOME, as some services have, is none; and a
 * container's user may have no home at all.
 */
export function cacheFolder({ HOME, XDG_CACHE_HOME = '' }: Io['env']): string {
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(HOME || homeOfUser() || tmpdir(), '.cache');
  return join(caches, 'agentworldbench');
}

function homeOfUser(): string {
  try {
    return userInfo().homedir;
  } catch {
    return '';
  }
}
