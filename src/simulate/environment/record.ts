// `--record DIR`: every episode as a row of the benchmark in a file of its own, whole after each step.

import { access, type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EXIT, messageOf, UserError } from '../../core/errors.js';
import { makeFolders } from '../../disk/make-folder.js';
import type { LiveWorld } from './simulator.js';

/** Keeps one episode. */
export interface EpisodeRecord {
  /** Writes the episode as it stands now; resolves when it is on the disk. */
  keep(world: LiveWorld): Promise<void>;
}

/** What `awb infer --data-dir` reads. */
const ENDING = '_test.jsonl';
const LONGEST_NAME = 80;

/**
 * Opens the folder of records. An episode's file is named by its first step. It is written beside its place and moved there, so that a
 * process that is killed leaves the last step that it finished.
 * @throws UserError (73) where there can be no such folder
 */
export async function openRecords(directory: string): Promise<{ begin(episodeId: string): EpisodeRecord }> {
  try {
    await makeFolders(directory);
  } catch (error) {
    throw new UserError(`cannot make ${directory} (--record): ${messageOf(error)}`, EXIT.cannotCreate);
  }
  return {
    begin(episodeId) {
      let place: string | undefined;
      return {
        async keep(world) {
          const text = `${JSON.stringify(world.row(episodeId))}\n`;
          let file: FileHandle;
          if (place === undefined) {
            ({ place, file } = await claimed(directory, `${world.domain}-${episodeId}`));
          } else {
            // Made by us alone: a link that someone has laid there is not followed.
            await rm(`${place}.part`, { force: true });
            file = await open(`${place}.part`, 'wx');
          }
          try {
            await file.writeFile(text);
            await rename(`${place}.part`, place);
          } catch (error) {
            await rm(`${place}.part`, { force: true });
            throw error;
          } finally {
            await file.close();
          }
        },
      };
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** A place that no other file has, nor any other process is about to write, and the part that holds it until the first step is written. */
async function claimed(directory: string, named: string): Promise<{ place: string; file: FileHandle }> {
  const base = named.replace(/[^\w.-]/g, '_').slice(0, LONGEST_NAME);
  for (let number = 1; ; number++) {
    const place = join(directory, `${number === 1 ? base : `${base}-${number}`}${ENDING}`);
    if (await isThere(place)) continue;
    const file = await open(`${place}.part`, 'wx').catch((error: unknown) => {
      if (codeOf(error) === 'EEXIST') return undefined;
      throw error;
    });
    if (file === undefined) continue;
    // Another process may have moved its part there in between.
    if (!(await isThere(place))) return { place, file };
    await file.close();
    await rm(`${place}.part`);
  }
}
