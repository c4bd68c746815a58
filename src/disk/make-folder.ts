// Files and folders that outlast a crash: made, written and put in place so that a reader sees the old one or the new one.

import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../core/errors.js';

/**
 * Makes a folder where there is none, with those above it, one by one: `recursive` never ends where a parent denies that its children
 * exist (/proc). @throws the file system's error, EEXIST for a file in its place
 */
export async function makeFolders(path: string): Promise<void> {
  try {
    await makeOne(path);
  } catch (error) {
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path) throw error;
    await makeFolders(parent);
    await makeOne(path);
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  }
}

/** Makes a file in the place of what a kill may have left under that name; a link that somebody has laid there is not followed. */
export async function openAnew(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx');
}

/** Renames a file that is on the disk; its name is there, too, when this resolves. */
export async function putInPlace(temporary: string, path: string): Promise<void> {
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** A new file's name is durable only when its folder is. Platforms that cannot sync a folder need not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

export interface WrittenFile {
  readonly bytes: number;
  /** Of the bytes, in hex. */
  readonly sha256: string;
}

const BLOCK_BYTES = 1 << 20;

/** Writes pieces into an open file in blocks, and says what they came to. */
export class FileWriter {
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #block: Buffer[] = [];
  #blockBytes = 0;

  constructor(private readonly handle: FileHandle) {}

  async add(piece: string | Uint8Array): Promise<void> {
    // A copy: bytes may be used again for the next piece.
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece);
    this.#block.push(bytes);
    this.#blockBytes += bytes.length;
    if (this.#blockBytes >= BLOCK_BYTES) await this.#flush();
  }

  async end(): Promise<WrittenFile> {
    await this.#flush();
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async #flush(): Promise<void> {
    const block = Buffer.concat(this.#block, this.#blockBytes);
    this.#block = [];
    this.#blockBytes = 0;
    this.#hash.update(block);
    this.#bytes += block.length;
    await this.handle.writeFile(block);
  }
}
