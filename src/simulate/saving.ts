// A trajectory as a file of the benchmark, by which nothing that is there is lost.

import { rm, writeFile } from 'node:fs/promises';
import { replaceFile } from '../disk/files.js';

/** How the name of a file ends that `awb infer --data-dir` reads. */
export const ENDING = '_test.jsonl';

/**
 * Writes a row as a file of its own, whole or not at all.
 * @param path absolute
 * @param words its name for the user, and what to do where it cannot be written
 * @throws EEXIST where there is such a file, unless it is to be replaced; UserError (74) where it cannot be written
 */
export async function writeRow(
  path: string,
  row: object,
  words: { readonly name: string; readonly remedy: string },
  mayReplace: boolean,
): Promise<void> {
  // Its own name is taken first, so that no file is written over.
  if (!mayReplace) await writeFile(path, '', { flag: 'wx' });
  await replaceFile(path, [`${JSON.stringify(row)}\n`], words).catch(async (error: unknown) => {
    // What a full disk left would keep its name from the next try, and be data to infer.
    if (!mayReplace) await rm(path, { force: true });
    throw error;
  });
}
