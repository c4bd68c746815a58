// What the disk refuses while a download is written, in a user's words.

import { EXIT, UserError } from '../errors.js';
import { isObject } from '../json.js';
import { printable } from '../printable.js';

/** The result of some work on the disk. Throws a UserError (73 or 74) that names `path` and the next step where the disk refuses. */
export async function onDisk<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof UserError ? error : diskError(path, codeOf(error));
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

/** The system's name for an error, such as ENOSPC, or of its cause; empty where it has none. */
export function codeOf(error: unknown): string {
  const { code, cause }: { code?: unknown; cause?: unknown } = isObject(error) ? error : {};
  const found = isObject(cause) ? (cause.code ?? code) : code;
  return typeof found === 'string' ? found : '';
}
