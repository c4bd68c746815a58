// Files: read in full, or written so that a reader sees either the old file or the new one, never half of either.

import { createHash, randomBytes } from 'node:crypto';
import { closeSync, createReadStream, openSync, readSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { badData, cannotWrite, closing, codeOf, inputMissing, refusedBy } from '../core/errors.js';
import { type JsonObject, parseObject } from '../core/json.js';

/** The contents of a file in order: text, or bytes, which are used before the next piece is requested. */
type Pieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const RUN_AGAIN = 'every finished row is safe in the journal, so fix that and run the same command again';
/** Names that refer to a process's own open files. Replacing such a file would not affect a process that has it open. */
const OPEN_FILE = /^\/(dev\/(stdin|stdout|stderr|fd\/\d+)|proc\/(self|\d+)\/fd\/\d+)$/;

/**
 * Replaces a file's content, or creates the file. A regular file is replaced as a whole: a temporary one is created next to it, synced and
 * renamed over it, with its permissions. Links are followed and stay. Devices, and files the process was given open, are written to
 * directly; a FIFO is refused.
 * @param path absolute
 * @param words the name as given by the user, and the next step if it cannot be written
 * @throws UserError (74) if it cannot be written; the temporary file is removed and the old one stays.
 */
export async function replaceFile(
  path: string,
  pieces: Pieces,
  words: { readonly name?: string; readonly remedy: string },
): Promise<WrittenFile> {
  const { name = path, remedy } = words;
  try {
    if (OPEN_FILE.test(path)) return await writeThrough(path, pieces);
    const found = await unlessMissing(stat(path));
    // Opening a FIFO waits for its reader in a thread that nothing can end.
    if (found?.isFIFO()) throw cannotWrite(`cannot write ${name}: it is a FIFO; ${remedy}`);
    if (found === undefined || found.isFile()) return await writeAside(placeOf(path), found?.mode, pieces);
    return await writeThrough(path, pieces);
  } catch (error) {
    throw writeError(name, error, remedy);
  }
}

/** Writes a run's file line by line, as `replaceFile` does. */
export async function writeLines(
  path: string,
  lines: AsyncIterable<string>,
  remedy: string = RUN_AGAIN,
): Promise<WrittenFile> {
  const ended = async function* () {
    for await (const line of lines) yield `${line}\n`;
  };
  return replaceFile(path, ended(), { remedy });
}

/** Writes a run's JSON document, indented for people. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await replaceFile(path, [`${JSON.stringify(value, null, 2)}\n`], { remedy: RUN_AGAIN });
}

/** Removes what killed writers of this file have left next to it. Only for a process that has the file to itself. */
export async function clearRemains(path: string): Promise<void> {
  const own = `${basename(path)}.`;
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    if (name.startsWith(own) && /^([0-9a-f]{12}\.)?tmp$/.test(name.slice(own.length))) {
      await rm(join(dirname(path), name), { force: true });
    }
  }
}

/** Where a file is, or would be created: links are followed, and a broken one gives way to the file. */
export function placeOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(placeOf(folder), basename(path));
  }
}

/** The result of a promise; undefined if its file does not exist. */
export async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}

/** @param mode of the file to replace; undefined if there is none */
async function writeAside(path: string, mode: number | undefined, pieces: Pieces): Promise<WrittenFile> {
  // Created exclusively (`wx`): a link planted there is not followed.
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const opened = await open(temporary, 'wx');
  try {
    const written = await closing(opened, async (handle) => {
      if (mode !== undefined) await handle.chmod(mode & 0o7777);
      const found = await writePieces(handle, pieces);
      await handle.sync();
      return found;
    });
    await putInPlace(temporary, path);
    return written;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function writeThrough(path: string, pieces: Pieces): Promise<WrittenFile> {
  return closing(await open(path, 'w'), (handle) => writePieces(handle, pieces));
}

/** Writes pieces, and returns their total size and hash. */
export async function writePieces(handle: FileHandle, pieces: Pieces): Promise<WrittenFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of pieces) {
    hash.update(piece);
    bytes += Buffer.byteLength(piece);
    await handle.writeFile(piece);
  }
  return { bytes, sha256: hash.digest('hex') };
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EISDIR: 'it is a folder',
  ENOENT: 'its folder does not exist',
};

export function writeError(name: string, error: unknown, remedy: string): unknown {
  return refusedBy(error, (code) => cannotWrite(`cannot write ${name}: ${CAUSES[code] ?? code}; ${remedy}`));
}

// Files and folders that survive a crash: created, written and put in place so that a reader sees either the old one or the new one.

/**
 * Creates a folder if it is missing, with its parents, one by one: `recursive` never ends if a parent denies that its children exist
 * (/proc). @throws the file system's error, EEXIST for a file in its place
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

/** Creates a file, replacing what a kill may have left under that name; a link planted there is not followed. */
export async function openAnew(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx');
}

/** Renames a file that is on the disk; its new name is on the disk too when this resolves. */
export async function putInPlace(temporary: string, path: string): Promise<void> {
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** A new file's name is durable only once its folder is. Platforms that cannot sync a folder need not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

interface WrittenFile {
  readonly bytes: number;
  /** Of the bytes, in hex. */
  readonly sha256: string;
}

// Reading a run's files in full: their JSON, their size, their hash.

const READ_BYTES = 1 << 20;

/** Bytes of a file; undefined if there is none, or it cannot be examined. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

/** SHA-256 hex of a file's bytes. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(chunk);
  return hash.digest('hex');
}

/**
 * Reads a JSON object from a small file; undefined if there is none.
 * @throws UserError: 66 if it cannot be read, 65 if it is not a JSON object.
 */
export async function readJson(path: string): Promise<JsonObject | undefined> {
  const remedy = 'move it aside, or start over with --fresh';
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    // A path that leads through a file does not exist either.
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw refusedBy(error, (code) => inputMissing(`cannot read ${path} (${code}); ${remedy}`));
  });
  if (text === undefined) return undefined;
  const value = parseObject(text);
  if (value !== undefined) return value;
  throw badData(`${path} is not a JSON object; ${remedy}`);
}

/** The place of a line in a file. */
export interface Place {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** The bytes of a line. @throws UserError (66) if the file cannot be read (any more) */
export function bytesAt({ path, offset, length }: Place): Buffer {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, offset);
      return bytes;
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw inputMissing(`cannot read ${path} (${codeOf(error)}); fix its permissions`);
  }
}
