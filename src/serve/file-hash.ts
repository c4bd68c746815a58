// The SHA-256 of a model's files, remembered between starts: reading 22 GB takes minutes, and they seldom change.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders } from '../files.js';

interface HashOptions {
  /** Where hashes are remembered; made where it is missing. Absent: nothing is remembered. */
  readonly directory?: string | undefined;
  readonly signal: AbortSignal;
  /** Told how much of the files was read, 0 to 1; not called where the hash was remembered. */
  readonly onProgress?: (read: number) => void;
}

/** A file as it was when it was read. Times in nanoseconds: the last is set by the system at every change and by nobody else. */
interface Seen {
  readonly path: string;
  readonly bytes: string;
  readonly modified: string;
  readonly changed: string;
}

const SHA256 = /^[0-9a-f]{64}$/;
const CHUNK_BYTES = 2 ** 22;
/** What is read in the blink of an eye is not worth remembering. */
const LEAST_REMEMBERED_BYTES = 2 ** 26;

/**
 * SHA-256 in hex of a file, or of several one after the other. The hash of files that have kept place, size and times since it was
 * last asked for is not computed again. Rejects where a file cannot be read, and with the signal's reason.
 */
export async function hashFiles(
  paths: readonly string[],
  { directory, signal, onProgress }: HashOptions,
): Promise<string> {
  const before = await Promise.all(paths.map(seen));
  const total = before.reduce((sum, { bytes }) => sum + Number(bytes), 0);
  const isWorthIt = directory !== undefined && total >= LEAST_REMEMBERED_BYTES;
  const record = isWorthIt ? recordOf(directory, before) : undefined;
  const known = record === undefined ? undefined : await recall(record, before);
  if (known !== undefined) return known;
  const hash = createHash('sha256');
  let read = 0;
  for (const path of paths) {
    const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal });
    for await (const chunk of chunks) {
      hash.update(chunk);
      read += chunk.length;
      onProgress?.(total === 0 ? 1 : Math.min(1, read / total));
    }
  }
  const digest = hash.digest('hex');
  const after = await Promise.all(paths.map(seen));
  if (record !== undefined && JSON.stringify(after) === JSON.stringify(before)) await remember(record, before, digest);
  return digest;
}

async function seen(path: string): Promise<Seen> {
  const real = await realpath(path);
  const { size, mtimeNs, ctimeNs } = await stat(real, { bigint: true });
  return { path: real, bytes: String(size), modified: String(mtimeNs), changed: String(ctimeNs) };
}

function recordOf(directory: string, files: readonly Seen[]): string {
  const name = createHash('sha256')
    .update(JSON.stringify(files.map(({ path }) => path)))
    .digest('hex');
  return join(directory, 'hashes', `${name.slice(0, 32)}.json`);
}

async function recall(record: string, files: readonly Seen[]): Promise<string | undefined> {
  try {
    const kept = JSON.parse(await readFile(record, 'utf8'));
    const isSame = JSON.stringify(kept.files) === JSON.stringify(files);
    return isSame && SHA256.test(kept.sha256) ? kept.sha256 : undefined;
  } catch {
    return undefined;
  }
}

/** A folder that cannot be written costs time at the next start, and nothing else. */
async function remember(record: string, files: readonly Seen[], sha256: string): Promise<void> {
  const part = `${record}.${process.pid}.part`;
  try {
    await makeFolders(dirname(record));
    await writeFile(part, `${JSON.stringify({ sha256, files }, undefined, 2)}\n`, { flag: 'wx' });
    await rename(part, record);
  } catch {
    await rm(part, { force: true }).catch(() => undefined);
  }
}
