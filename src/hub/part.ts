// A file under way: what came of it so far on disk, and the hash of that.

import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { EXIT, UserError } from '../errors.js';
import { makeFolders } from '../files.js';
import { printable } from '../printable.js';
import { interrupted } from './client.js';
import { Digest, isSame } from './digest.js';
import { onDisk } from './disk-errors.js';
import type { RepositoryFile } from './repository.js';

/** Parts are named by their content, so that a file that changed on the hub is not continued with another's bytes. */
export function partPath(target: string, { sha256, gitOid }: RepositoryFile): string {
  const content = sha256 ?? gitOid;
  return `${target}${content === undefined ? '' : `.${content.slice(0, 12)}`}.part`;
}

/** Like 'a', but follows no link that somebody has laid there. */
function openToAppend(path: string): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW = 0 } = constants;
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW);
}

/** A file that has come. */
export interface WholeFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Whether the hub says that this is its content; otherwise only the length is known to be right. */
  readonly isVerified: boolean;
}

/** Every method throws a UserError: 73 or 74 where the disk refuses, 65 for content that is not what the hub announced. */
export class Part {
  readonly #path: string;
  readonly #target: string;
  readonly #handle: FileHandle;
  /** The whole file, as the hub states it. */
  #stated: RepositoryFile;
  #digest: Digest;

  private constructor(path: string, target: string, handle: FileHandle, file: RepositoryFile) {
    this.#path = path;
    this.#target = target;
    this.#handle = handle;
    this.#stated = file;
    this.#digest = Digest.of(file);
  }

  /** Opens the part of an earlier run, or a new one. Close it, whatever comes. */
  static async open(target: string, file: RepositoryFile): Promise<Part> {
    const path = partPath(target, file);
    await onDisk(path, makeFolders(dirname(target)));
    return new Part(path, target, await onDisk(path, openToAppend(path)), file);
  }

  get bytes(): number {
    return this.#digest.bytes;
  }

  get isWhole(): boolean {
    return this.bytes >= this.#stated.bytes;
  }

  /** Notes what the whole must be, unless that is known already. */
  expect(sha256: string | undefined): void {
    this.#stated = { ...(sha256 !== undefined && { sha256 }), ...this.#stated };
  }

  /** Takes up what an earlier run left, unless it is longer than the file. Throws a UserError (130 or 143) when interrupted. */
  readBack(signal: AbortSignal, report: (bytes: number) => void): Promise<void> {
    return onDisk(this.#path, this.#readBack(signal, report));
  }

  async #readBack(signal: AbortSignal, report: (bytes: number) => void): Promise<void> {
    const { size } = await this.#handle.stat();
    if (size > this.#stated.bytes) await this.#handle.truncate(0);
    if (size === 0 || size > this.#stated.bytes) return;
    const chunks: AsyncIterable<Buffer> = createReadStream(this.#path);
    for await (const chunk of chunks) {
      if (signal.aborted) throw interrupted(signal);
      this.#digest.update(chunk);
      report(this.bytes);
    }
  }

  async append(chunk: Uint8Array): Promise<void> {
    if (this.bytes + chunk.length > this.#stated.bytes) {
      await this.#discard(`holds more than the ${this.#stated.bytes} bytes that the hub lists`);
    }
    await onDisk(this.#path, this.#handle.appendFile(chunk));
    this.#digest.update(chunk);
  }

  /** Drops what is there. */
  async restart(): Promise<void> {
    await onDisk(this.#path, this.#handle.truncate(0));
    this.#digest = Digest.of(this.#stated);
  }

  /** Everything is on the disk, not only on its way there. */
  sync(): Promise<void> {
    return onDisk(this.#path, this.#handle.sync());
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** Checks the whole and gives it its final name. After `close`. */
  async finish(): Promise<WholeFile> {
    const found = this.#digest.finish();
    const same = isSame(found, this.#stated);
    if (same === false) {
      const { sha256, gitOid } = this.#stated;
      const digest =
        sha256 === undefined && gitOid !== undefined ? `name ${found.gitOid} in git` : `SHA-256 ${found.sha256}`;
      await this.#discard(`has the ${digest}, which is not what the hub states`);
    }
    await onDisk(this.#path, rename(this.#path, this.#target));
    return { path: this.#target, bytes: found.bytes, sha256: found.sha256, isVerified: same === true };
  }

  /** Nothing of it is worth continuing. */
  async #discard(why: string): Promise<never> {
    await rm(this.#path, { force: true });
    const message = `what came as ${basename(this.#target)} ${why}, and was removed; run the same command again, or check HF_ENDPOINT`;
    throw new UserError(printable(message), EXIT.badData);
  }
}
