// The index of a dataset, kept beside a run: while the data's files are what they were, the next start need not read them.

import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { decodeIndex, encodeIndex, type IndexedData } from './index-format.js';

/** What is seen of a file without reading it. */
export interface FileStamp {
  /** Name, size, times and inode in one text: the same while nobody has written to the file. */
  readonly text: string;
  readonly bytes: number;
  readonly modifiedNs: bigint;
}

/** File systems tell times apart to some milliseconds, and old ones to two seconds. */
const COARSEST_TIME_NS = 2_000_000_000n;
const NS_PER_MS = 1_000_000n;

/** Where a run keeps the index of its data. */
export function indexBeside(runDir: string): string {
  return join(runDir, '.data-index');
}

export async function stampOf(path: string, handle: FileHandle): Promise<FileStamp> {
  const { size, mtimeNs, ctimeNs, ino } = await handle.stat({ bigint: true });
  return {
    text: [size, mtimeNs, ctimeNs, ino, basename(path)].join(' '),
    bytes: Number(size),
    modifiedNs: mtimeNs,
  };
}

export function sameStamps(some: readonly FileStamp[], others: readonly FileStamp[]): boolean {
  return some.length === others.length && some.every(({ text }, at) => text === others[at]?.text);
}

/**
 * Whether a change after `nowMs` would be seen in the stamps. A file that was written only just before may be written again within
 * the same tick of its file system's clock.
 */
export function wouldShowChanges(stamps: readonly FileStamp[], nowMs: number): boolean {
  const latest = BigInt(nowMs) * NS_PER_MS - COARSEST_TIME_NS;
  return stamps.every(({ modifiedNs }) => modifiedNs < latest);
}

/** The index that was kept of these files; undefined where there is none, or it is damaged, of other files or of an earlier state. */
export async function loadIndex(path: string, stamps: readonly FileStamp[]): Promise<IndexedData | undefined> {
  const bytes = await readFile(path).catch(() => undefined);
  const texts = stamps.map(({ text }) => text);
  return bytes && decodeIndex(bytes, texts);
}

/**
 * Keeps an index. It is never needed, so where it cannot be written there is none. Nothing is written into the data's own folder.
 * Several processes may do this at once: each writes a file of its own, and the last one to rename it wins.
 */
export async function saveIndex(
  path: string,
  dataDir: string,
  stamps: readonly FileStamp[],
  data: IndexedData,
): Promise<void> {
  const folder = dirname(path);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    if ((await realpath(folder)) === (await realpath(dataDir))) return;
    await clearRemains(path);
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(
        encodeIndex(
          data,
          stamps.map(({ text }) => text),
        ),
      );
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined);
  }
}

/** Takes away an index that has turned out wrong. */
export async function dropIndex(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

/** Takes away what killed writers have left. One that is still writing keeps no index then, and loses nothing else. */
async function clearRemains(path: string): Promise<void> {
  const own = `${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    if (name.startsWith(own) && name.endsWith('.tmp')) await rm(join(dirname(path), name), { force: true });
  }
}
