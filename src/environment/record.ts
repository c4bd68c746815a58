// `--record DIR`: every episode as a row of the benchmark in a file of its own, whole after each step.

import { access, type FileHandle, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EXIT, messageOf, UserError } from '../errors.js';
import { makeFolders } from '../files.js';
import type { LiveWorld } from './simulator.js';

/** Keeps one episode. */
export interface EpisodeRecord {
  /** Writes the episode as it stands now; resolves when it is on the disk. */
  keep(world: LiveWorld): Promise<void>;
}

/** What `awb infer --data-dir` reads. */
const ENDING = '_test.jsonl';
const LONGEST_NAME = 80;

/** @throws UserError (73) where there can be no such folder */
export async function openRecords(directory: string): Promise<{ begin(episodeId: string): EpisodeRecord }> {
  try {
    await makeFolders(directory);
  } catch (error) {
    throw new UserError(`cannot make ${directory} (--record): ${messageOf(error)}`, EXIT.cannotCreate);
  }
  return { begin: (episodeId) => new FileRecord(directory, episodeId) };
}

/**
 * The file is named by its first step. It is written beside its place and moved there, so that a process that is killed leaves the last
 * step that it finished.
 */
class FileRecord implements EpisodeRecord {
  readonly #directory: string;
  readonly #episodeId: string;
  #name: string | undefined;
  /** The part that holds the name until the first step is written. */
  #claimed: FileHandle | undefined;

  constructor(directory: string, episodeId: string) {
    this.#directory = directory;
    this.#episodeId = episodeId;
  }

  async keep(world: LiveWorld): Promise<void> {
    const text = `${JSON.stringify(world.row(this.#episodeId))}\n`;
    this.#name ??= await this.#claim(world.domain);
    const place = join(this.#directory, `${this.#name}${ENDING}`);
    const part = `${place}.part`;
    // Made by us alone: a link that someone has laid there is not followed.
    if (this.#claimed === undefined) await rm(part, { force: true });
    const file = this.#claimed ?? (await open(part, 'wx'));
    this.#claimed = undefined;
    try {
      await file.writeFile(text);
      await rename(part, place);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  /** A name that no other file has, nor any other process is about to write. */
  async #claim(domain: string): Promise<string> {
    const base = `${domain}-${this.#episodeId}`.replace(/[^\w.-]/g, '_').slice(0, LONGEST_NAME);
    for (let number = 1; ; number++) {
      const name = number === 1 ? base : `${base}-${number}`;
      const place = join(this.#directory, `${name}${ENDING}`);
      if (await isThere(place)) continue;
      this.#claimed = await madeFile(`${place}.part`);
      if (this.#claimed === undefined) continue;
      // Another process may have moved its part there in between.
      if (!(await isThere(place))) return name;
      await this.#claimed.close();
      await rm(`${place}.part`);
    }
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Makes a file; undefined where there is one. */
async function madeFile(path: string): Promise<FileHandle | undefined> {
  return open(path, 'wx').catch((error: unknown) => {
    if (codeOf(error) === 'EEXIST') return undefined;
    throw error;
  });
}
