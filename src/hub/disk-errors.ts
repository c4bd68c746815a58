// What the disk refuses while a download is written, in a user's words.

import { codeOf, EXIT, UserError } from '../errors.js';
import { printable } from '../printable.js';

/** The result of some work on the disk. Throws a UserError (73 or 74) that names `path` and the next step where the disk refuses. */
export async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof UserError ? error : diskError(path, systemCode(error));
  }
}

function diskError(path: string, code: string): UserError {
  const shown = printable(path);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new UserError(
      `no space is left for ${shown}; what came is kept: free some and run the same command again`,
      EXIT.cannotWrite,
    );
  }
  const exitCode = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST'].includes(code)
    ? EXIT.cannotCreate
    : EXIT.cannotWrite;
  return new UserError(
    `cannot write ${shown} (${code || 'unknown cause'}); keep downloads elsewhere, or mend its rights`,
    exitCode,
  );
}

/** The system's name for what is behind an error, such as ENOSPC; empty where there is none. */
export function systemCode(error: unknown): string {
  return (error instanceof Error ? codeOf(error.cause) : undefined) ?? codeOf(error) ?? '';
}
