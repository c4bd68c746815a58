// Whole files, written so that a reader sees the old one or the new one and never half of either.

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import { FileWriter, putInPlace, type WrittenFile } from './make-folder.js';

/** Of a file, in order: text, or bytes, which are used before the next piece is asked for. */
type Pieces = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const RUN_AGAIN = 'every finished row is safe in the journal, so mend that and run the same command again';
const FIFO_POLL_MS = 50;
/** As many links as Linux follows. */
const MOST_LINKS = 40;
/** Names of a process's own open files. Replacing the file behind such a name would not reach whoever holds it open. */
const OPEN_FILE = /^\/(dev\/(stdin|stdout|stderr|fd\/\d+)|proc\/(self|\d+)\/fd\/\d+)$/;

/**
 * Puts text in the place of a file's content, or makes the file. A regular file is replaced as a whole: a temporary one is
 * made beside it, synced and renamed over it, with its permissions. Links are followed and stay. Whatever else has the name
 * (a device, a FIFO) is written to.
 * @param path absolute
 * @param words the name that the user gave it, and what to do where it cannot be written
 * @throws UserError (74) where it cannot be written; the temporary file is removed and the old one stays.
 */
export async function replaceFile(
  path: string,
  pieces: Pieces,
  words: { readonly name?: string; readonly remedy: string },
): Promise<WrittenFile> {
  try {
    const target = await regularFile(path);
    return target === undefined ? await writeThrough(path, pieces) : await writeAside(target, pieces);
  } catch (error) {
    throw writeError(words.name ?? path, error, words.remedy);
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

/** Takes away what killed writers of this file have left beside it. Only for a process that has the file to itself. */
export async function clearRemains(path: string): Promise<void> {
  const own = `${basename(path)}.`;
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    if (name.startsWith(own) && /^([0-9a-f]{12}\.)?tmp$/.test(name.slice(own.length))) {
      await rm(join(dirname(path), name), { force: true });
    }
  }
}

/** The regular file behind a name and its links, whether it exists or not; undefined for anything else. */
async function regularFile(path: string): Promise<string | undefined> {
  if (OPEN_FILE.test(path)) return undefined;
  const found = await unlessMissing(stat(path));
  if (found !== undefined) return found.isFile() ? await realpath(path) : undefined;
  let at = path;
  for (let links = 0; links < MOST_LINKS; links++) {
    if ((await unlessMissing(lstat(at))) === undefined) return at;
    at = resolve(await realpath(dirname(at)), await readlink(at));
  }
  return undefined;
}

async function unlessMissing<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}

async function writeAside(path: string, pieces: Pieces): Promise<WrittenFile> {
  // Made by us alone (`wx`): a link that someone has laid there is not followed.
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const before = await unlessMissing(stat(path));
  const handle = await open(temporary, 'wx');
  try {
    let written: WrittenFile;
    try {
      if (before !== undefined) await handle.chmod(before.mode & 0o7777);
      written = await writePieces(handle, pieces);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await putInPlace(temporary, path);
    return written;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function writeThrough(path: string, pieces: Pieces): Promise<WrittenFile> {
  const handle = await openOnceRead(path);
  try {
    return await writePieces(handle, pieces);
  } finally {
    await handle.close();
  }
}

/**
 * Opens what is no regular file. A FIFO is opened once somebody reads it: opened before, it would hold a thread until then, and a
 * process with such a thread cannot even end.
 */
async function openOnceRead(path: string): Promise<FileHandle> {
  while (!OPEN_FILE.test(path) && (await stat(path)).isFIFO()) {
    const probe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      if (codeOf(error) !== 'ENXIO') throw error;
      return undefined;
    });
    if (probe === undefined) {
      await wait(FIFO_POLL_MS);
      continue;
    }
    // What is written waits for its reader, so the probe, which would not, gives way.
    const handle = await open(path, 'w');
    await probe.close();
    return handle;
  }
  return open(path, 'w');
}

async function writePieces(handle: FileHandle, pieces: Pieces): Promise<WrittenFile> {
  const writer = new FileWriter(handle);
  for await (const piece of pieces) await writer.add(piece);
  return writer.end();
}

const CAUSES: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EISDIR: 'it is a folder',
  ENOENT: 'its folder does not exist',
};

function writeError(name: string, error: unknown, remedy: string): unknown {
  if (error instanceof UserError) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  return new UserError(`cannot write ${name}: ${CAUSES[code] ?? code}; ${remedy}`, EXIT.cannotWrite);
}
