// A trajectory written as a file of the benchmark; nothing that is there is lost by it.

import { open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { codeOf, EXIT, messageOf, UserError } from '../../../errors.js';
import { makeFolders } from '../../../files.js';
import { trajectoryRow } from '../../../simulate/trajectory-row.js';
import type { World } from '../../../simulate/world.js';
import type { Io } from '../../../types.js';

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
  const text = `${JSON.stringify(row)}\n`;
  try {
    await makeFolders(dirname(path));
  } catch (error) {
    throw cannotSave(error, shown);
  }
  try {
    if (replace) await replaced(path, text);
    else await made(path, text);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw cannotSave(error, shown);
    throw new UserError(
      `${shown} is there already, and was left as it is: give another name, or replace it with /save ${shown}!`,
    );
  }
  return shown;
}

/** There is a place, but no room in it, or it cannot be written. */
const UNWRITTEN: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO'];

/** What a full disk cut off is taken away again: it would keep its name from the next /save, and be data to infer. */
async function made(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** The old file is there until the new one is whole. */
async function replaced(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.new`;
  try {
    await writeFile(beside, text, { flag: 'wx' });
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
}

function cannotSave(error: unknown, shown: string): UserError {
  const code = codeOf(error);
  const exitCode = UNWRITTEN.includes(code ?? '') ? EXIT.cannotWrite : EXIT.cannotCreate;
  return new UserError(`cannot save ${shown}: ${messageOf(error)}; make room, or give another place`, exitCode);
}
