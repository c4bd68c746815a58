// Writes requests into files, each of which is listed when it is whole: what a kill leaves is written again.

import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BlockWriter, bytesOf } from '../../block-writer.js';
import { type BatchPart, MOST_BYTES, MOST_REQUESTS, openAnew, partName, putInPlace, unwritable } from './folder.js';

/** What a file may hold at most. */
interface Bounds {
  readonly requests: number;
  readonly bytes: number;
}

export class PartWriter {
  readonly #dir: string;
  readonly #bounds: Bounds;
  readonly #list: (part: BatchPart) => Promise<void>;
  #number: number;
  /** The file that is being written. */
  #open: { readonly handle: FileHandle; readonly blocks: BlockWriter; readonly hash: Hash } | undefined;
  #requests = 0;
  #bytes = 0;

  /** @param number that of the first file; `list` is given each file that is whole */
  constructor(
    dir: string,
    number: number,
    list: (part: BatchPart) => Promise<void>,
    bounds: Bounds = { requests: MOST_REQUESTS, bytes: MOST_BYTES },
  ) {
    this.#dir = dir;
    this.#number = number;
    this.#list = list;
    this.#bounds = bounds;
  }

  /** A line as it is to stand in the file, in pieces, its end included. @throws UserError (74, 73) where the disk refuses */
  async add(line: readonly string[]): Promise<void> {
    const length = bytesOf(line);
    const isFull = this.#requests >= this.#bounds.requests || this.#bytes + length > this.#bounds.bytes;
    if (isFull && this.#requests > 0) await this.end();
    await this.#onDisk(async () => {
      this.#open ??= await this.#begin();
      await this.#open.blocks.add(line, length);
      this.#requests++;
      this.#bytes += length;
    });
  }

  async #begin() {
    const handle = await openAnew(this.#temporary);
    const hash = createHash('sha256');
    const blocks = new BlockWriter((block) => {
      hash.update(block);
      return handle.writeFile(block);
    });
    return { handle, blocks, hash };
  }

  /** Ends the file, if there is one. */
  async end(): Promise<void> {
    if (this.#open === undefined) return;
    const { handle, blocks, hash } = this.#open;
    const part = { file: partName(this.#number), requests: this.#requests, bytes: this.#bytes };
    await this.#onDisk(async () => {
      await blocks.end();
      await handle.sync();
      await handle.close();
      this.#open = undefined;
      await putInPlace(this.#temporary, join(this.#dir, part.file));
    });
    await this.#list({ ...part, sha256: hash.digest('hex') });
    this.#number++;
    this.#requests = 0;
    this.#bytes = 0;
  }

  /** Takes away what is not whole. */
  async discard(): Promise<void> {
    if (this.#open === undefined) return;
    const { handle, blocks } = this.#open;
    this.#open = undefined;
    await blocks.end().catch(() => undefined);
    await handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }

  get #temporary(): string {
    return join(this.#dir, `${partName(this.#number)}.tmp`);
  }

  async #onDisk(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const path = join(this.#dir, partName(this.#number));
      await this.discard();
      throw unwritable(path, error);
    }
  }
}
