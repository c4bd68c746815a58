// `--record DIR`: every episode as a row of the benchmark in a file of its own, whole after each step.

import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exists } from '../../benchmark/prompts.js';
import { codeOf, EXIT, messageOf, UserError } from '../../core/errors.js';
import { makeFolders } from '../../disk/make-folder.js';
import { trajectoryRow, type World } from '../../infer/world.js';

/** Keeps one episode: writes it as it stands now, and resolves when it is on the disk. */
export interface EpisodeRecord {
  keep(world: World): Promise<void>;
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
  await makeFolders(directory).catch((error: unknown) => {
    throw new UserError(`cannot make ${directory} (--record): ${messageOf(error)}`, EXIT.cannotCreate);
  });
  return {
    begin(episodeId) {
      let place: string | undefined;
      return {
        async keep(world) {
          const text = `${JSON.stringify(trajectoryRow(world, episodeId))}\n`;
          try {
            if (place === undefined) place = await placeWith(text, directory, `${world.domain}-${episodeId}`);
            else {
              // A link that someone has laid there is not followed.
              await rm(`${place}.part`, { force: true });
              await writeFile(`${place}.part`, text, { flag: 'wx' });
            }
            await rename(`${place}.part`, place);
          } catch (error) {
            if (place !== undefined) await rm(`${place}.part`, { force: true });
            throw error;
          }
        },
      };
    },
  };
}

/** A place that no other file has, nor any other process is about to write. Its part, with the text, is there already. */
async function placeWith(text: string, directory: string, named: string): Promise<string> {
  const base = named.replace(/[^\w.-]/g, '_').slice(0, LONGEST_NAME);
  for (let number = 1; ; number++) {
    const place = join(directory, `${number === 1 ? base : `${base}-${number}`}${ENDING}`);
    if (await exists(place)) continue;
    try {
      await writeFile(`${place}.part`, text, { flag: 'wx' });
    } catch (error) {
      if (codeOf(error) === 'EEXIST') continue;
      throw error;
    }
    // Another process may have moved its part there in between.
    if (!(await exists(place))) return place;
    await rm(`${place}.part`);
  }
}
