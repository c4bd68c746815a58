// Writes requests into files, each of which is listed when it is whole: what a kill leaves is written again.

import { type FileHandle, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FileWriter, openAnew, putInPlace } from '../../files.js';
import { type BatchPart, MOST_BYTES, MOST_REQUESTS, partName, unwritable } from './folder.js';

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
  #open: { readonly handle: FileHandle; readonly writer: FileWriter } | undefined;
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
    const text = line.join('');
    const length = Buffer.byteLength(text);
    const isFull = this.#requests >= this.#bounds.requests || this.#bytes + length > this.#bounds.bytes;
    if (isFull && this.#requests > 0) await this.end();
    await this.#onDisk(async () => {
      this.#open ??= await this.#begin();
      await this.#open.writer.add(text);
      this.#requests++;
      this.#bytes += length;
    });
  }

  async #begin() {
    const handle = await openAnew(this.#temporary);
    return { handle, writer: new FileWriter(handle) };
  }

  /** Ends the file, if there is one. */
  async end(): Promise<void> {
    if (this.#open === undefined) return;
    const { handle, writer } = this.#open;
    const file = partName(this.#number);
    const written = await this.#onDisk(async () => {
      const ended = await writer.end();
      await handle.sync();
      await handle.close();
      this.#open = undefined;
      await putInPlace(this.#temporary, join(this.#dir, file));
      return ended;
    });
    await this.#list({ file, requests: this.#requests, ...written });
    this.#number++;
    this.#requests = 0;
    this.#bytes = 0;
  }

  /** Takes away what is not whole. */
  async discard(): Promise<void> {
    if (this.#open === undefined) return;
    const { handle } = this.#open;
    this.#open = undefined;
    await handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }

  get #temporary(): string {
    return join(this.#dir, `${partName(this.#number)}.tmp`);
  }

  async #onDisk<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const path = join(this.#dir, partName(this.#number));
      await this.discard();
      throw unwritable(path, error);
    }
  }
}
