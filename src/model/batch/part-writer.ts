// Writes requests into files, each of which is listed when it is whole: what a kill leaves is written again.

import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type BatchPart, MOST_BYTES, MOST_REQUESTS, partName, putInPlace, unwritable } from './folder.js';

const BLOCK_BYTES = 1 << 20;
/** As many pieces as systems take at once. */
const BLOCK_PIECES = 1000;

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
  #handle: FileHandle | undefined;
  #requests = 0;
  #bytes = 0;
  #waiting: Buffer[] = [];
  #size = 0;
  /** The block that is on its way to the disk: the next one is filled meanwhile, and no third. */
  #writing: Promise<unknown> = Promise.resolve();

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
  async add(line: readonly Buffer[]): Promise<void> {
    const length = line.reduce((sum, piece) => sum + piece.length, 0);
    const isFull = this.#requests >= this.#bounds.requests || this.#bytes + length > this.#bounds.bytes;
    if (isFull && this.#requests > 0) await this.end();
    await this.#onDisk(async () => {
      this.#handle ??= await open(this.#temporary, 'w');
      this.#waiting.push(...line);
      this.#requests++;
      this.#bytes += length;
      this.#size += length;
      if (this.#size >= BLOCK_BYTES || this.#waiting.length >= BLOCK_PIECES) await this.#flush();
    });
  }

  /** Ends the file, if there is one. */
  async end(): Promise<void> {
    const handle = this.#handle;
    if (handle === undefined) return;
    const part = { file: partName(this.#number), requests: this.#requests, bytes: this.#bytes };
    await this.#onDisk(async () => {
      await this.#flush();
      await this.#writing;
      await handle.sync();
      await handle.close();
      this.#handle = undefined;
      await putInPlace(this.#temporary, join(this.#dir, part.file));
    });
    await this.#list(part);
    this.#number++;
    this.#requests = 0;
    this.#bytes = 0;
  }

  /** Takes away what is not whole. */
  async discard(): Promise<void> {
    const handle = this.#handle;
    if (handle === undefined) return;
    this.#handle = undefined;
    await this.#writing.catch(() => undefined);
    await handle.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }

  get #temporary(): string {
    return join(this.#dir, `${partName(this.#number)}.tmp`);
  }

  async #flush(): Promise<void> {
    await this.#writing;
    const lines = this.#waiting;
    const size = this.#size;
    this.#waiting = [];
    this.#size = 0;
    this.#writing = this.#handle === undefined ? Promise.resolve() : writeAll(this.#handle, lines, size);
    // Whoever waits for it next is told.
    this.#writing.catch(() => {});
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

/** The lines one behind the other, without putting them together first. */
async function writeAll(handle: FileHandle, lines: readonly Buffer[], size: number): Promise<void> {
  if (size === 0) return;
  const { bytesWritten } = await handle.writev(lines);
  if (bytesWritten < size) await handle.writeFile(Buffer.concat(lines).subarray(bytesWritten));
}
