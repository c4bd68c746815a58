// A file under way: what came of it so far on disk, and the hash of that.

import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { printable } from '../printable.js';
import { interrupted } from './client.js';
import { onDisk } from './disk-errors.js';
import type { RepositoryFile } from './repository.js';

/** Parts are named by their content, so that a file that changed on the hub is not continued with another's bytes. */
export function partPath(target: string, { sha256 }: RepositoryFile): string {
  return `${target}${sha256 === undefined ? '' : `.${sha256.slice(0, 12)}`}.part`;
}

/** Every method throws a UserError: 73 or 74 where the disk refuses, 65 for content that is not what the hub announced. */
export class Part {
  readonly #path: string;
  readonly #target: string;
  readonly #handle: FileHandle;
  /** Of the whole file, as the hub lists it. */
  readonly #wholeBytes: number;
  #sha256: string | undefined;
  #bytes = 0;
  #hash: Hash = createHash('sha256');

  private constructor(path: string, target: string, handle: FileHandle, file: RepositoryFile) {
    this.#path = path;
    this.#target = target;
    this.#handle = handle;
    this.#wholeBytes = file.bytes;
    this.#sha256 = file.sha256;
  }

  /** Opens the part of an earlier run, or a new one. Close it, whatever comes. */
  static async open(target: string, file: RepositoryFile): Promise<Part> {
    const path = partPath(target, file);
    await onDisk(path, mkdir(dirname(target), { recursive: true }));
    return new Part(path, target, await onDisk(path, open(path, 'a')), file);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isWhole(): boolean {
    return this.#bytes >= this.#wholeBytes;
  }

  /** Notes what the whole must be, unless that is known already. */
  expect(sha256: string | undefined): void {
    this.#sha256 ??= sha256;
  }

  /** Takes up what an earlier run left, unless it is longer than the file. Throws a UserError (130 or 143) when interrupted. */
  readBack(signal: AbortSignal, report: (bytes: number) => void): Promise<void> {
    return onDisk(this.#path, this.#readBack(signal, report));
  }

  async #readBack(signal: AbortSignal, report: (bytes: number) => void): Promise<void> {
    const { size } = await this.#handle.stat();
    if (size > this.#wholeBytes) await this.#handle.truncate(0);
    if (size === 0 || size > this.#wholeBytes) return;
    const chunks: AsyncIterable<Buffer> = createReadStream(this.#path);
    for await (const chunk of chunks) {
      if (signal.aborted) throw interrupted(signal);
      this.#count(chunk);
      report(this.#bytes);
    }
  }

  async append(chunk: Uint8Array): Promise<void> {
    if (this.#bytes + chunk.length > this.#wholeBytes) {
      await this.#discard(`holds more than the ${this.#wholeBytes} bytes that the hub lists`);
    }
    await onDisk(this.#path, this.#handle.appendFile(chunk));
    this.#count(chunk);
  }

  #count(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  /** Drops what is there. */
  async restart(): Promise<void> {
    await onDisk(this.#path, this.#handle.truncate(0));
    this.#bytes = 0;
    this.#hash = createHash('sha256');
  }

  /** Everything is on the disk, not only on its way there. */
  sync(): Promise<void> {
    return onDisk(this.#path, this.#handle.sync());
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** Checks the whole and gives it its final name, with its hash beside it where the hub states one. After `close`. */
  async finish(): Promise<void> {
    const digest = this.#hash.digest('hex');
    if (this.#sha256 !== undefined && digest !== this.#sha256) {
      await this.#discard(`has the SHA-256 ${digest}, which is not what the hub states`);
    }
    await onDisk(this.#path, rename(this.#path, this.#target));
    if (this.#sha256 === undefined) return;
    const note = `${digest}  ${basename(this.#target)}\n`;
    await onDisk(this.#path, writeFile(noteOf(this.#target), note));
  }

  /** Nothing of it is worth continuing. */
  async #discard(why: string): Promise<never> {
    await rm(this.#path, { force: true });
    const message = `what came as ${basename(this.#target)} ${why}, and was removed; run the same command again, or check HF_ENDPOINT`;
    throw new UserError(printable(message), EXIT.badData);
  }
}

/** Where the hash of a downloaded file is noted, in the notation of sha256sum. */
export function noteOf(target: string): string {
  return `${target}.sha256`;
}
