// A trajectory written as a file of the benchmark; nothing that is there is lost by it.

import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { codeOf, EXIT, messageOf, UserError } from '../../core/errors.js';
import type { Io } from '../../core/types.js';
import { makeFolders } from '../../disk/make-folder.js';
import { trajectoryRow, type World } from '../../infer/world.js';

/**
 * Writes the world's trajectory as one row, and returns the file's path as it was made. The name ends in
 * `_test.jsonl`, whether it was given so or not, since `awb infer --data-dir` takes its folder by such files.
 * @param replace whether a file that is there may be replaced
 * @throws UserError: 2 where nothing has happened or the file is there already, 73 and 74 where it cannot be written
 */
export async function saveTrajectory(
  world: World,
  named: string,
  { replace, id }: { readonly replace: boolean; readonly id: string },
  { cwd }: Pick<Io, 'cwd'>,
): Promise<string> {
  const row = trajectoryRow(world, id);
  if (row === undefined) throw new UserError('there is nothing to save yet: no turn has happened');
  const shown = `${named.replace(/(?:_test)?(?:\.jsonl)?$/, '')}_test.jsonl`;
  const path = resolve(cwd, shown);
  await makeFolders(dirname(path)).catch((error: unknown) => {
    throw cannotSave(error, shown);
  });
  // An old file is there until the new one is whole.
  const place = replace ? `${path}.${process.pid}.new` : path;
  try {
    if (replace) await rm(place, { force: true });
    await writeFile(place, `${JSON.stringify(row)}\n`, { flag: 'wx' });
    if (replace) await rename(place, path);
  } catch (error) {
    if (!replace && codeOf(error) === 'EEXIST') {
      throw new UserError(
        `${shown} is there already, and was left as it is: give another name, or replace it with /save ${shown}!`,
      );
    }
    // What a full disk cut off would keep its name from the next /save, and be data to infer.
    await rm(place, { force: true });
    throw cannotSave(error, shown);
  }
  return shown;
}

/** There is a place, but no room in it, or it cannot be written. */
const UNWRITTEN: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO'];

function cannotSave(error: unknown, shown: string): UserError {
  const code = codeOf(error);
  const exitCode = UNWRITTEN.includes(code ?? '') ? EXIT.cannotWrite : EXIT.cannotCreate;
  return new UserError(`cannot save ${shown}: ${messageOf(error)}; make room, or give another place`, exitCode);
}
