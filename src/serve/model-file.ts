// A model's GGUF file before it is loaded: its parts, whether it is whole, what it says of itself, and its SHA-256.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EXIT, UserError } from '../core/errors.js';
import { makeFolders } from '../disk/make-folder.js';
import { type Gpu, importRuntime, type LlamaCpp, lineOf, startLlama } from './runtime.js';

/** A model's file, or all parts of a split one. */
export interface ModelFile {
  /** Of a split model, its first part. */
  readonly path: string;
  readonly parts: readonly FilePart[];
  readonly insights: LlamaCpp.GgufInsights;
}

interface FilePart {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Reads the heads of a model's file, and checks that the file holds all that they list, before gigabytes are read.
 * Throws a UserError: the file is missing (66), no GGUF, cut off or damaged (65), or the runtime or its binary for `gpu` is missing (69).
 */
export async function readModelFile(path: string, gpu: Gpu): Promise<ModelFile> {
  const parts = await Promise.all(partPaths(path).map(partOf));
  const { runtime } = await importRuntime();
  const { llama } = await startLlama(runtime, gpu);
  const damaged = (why: string) =>
    new UserError(`${path} is cut off or damaged (${why}); download it again`, EXIT.badData);
  try {
    const info = await runtime.readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false });
    const insights = await runtime.GgufInsights.from(info, llama);
    // A little more stands between tensors, and heads of further parts; the library reads zeros behind a file's end.
    const needed = (info.infoEndOffset ?? 0) + insights.estimateModelResourceRequirements({ gpuLayers: 0 }).cpuRam;
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (needed > bytes) throw damaged(`it holds ${bytes} of at least ${needed} bytes`);
    return { path, parts, insights };
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (error instanceof Error && error.constructor.name === 'InvalidGgufMagicError') {
      const remedy = 'download a GGUF file of the model, or convert it with llama.cpp';
      throw new UserError(`${path} is not a GGUF file; ${remedy}`, EXIT.badData);
    }
    throw damaged(lineOf(error));
  }
}

/** llama.cpp names parts `…-00001-of-00003.gguf`. */
function partPaths(path: string): string[] {
  const match = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/.exec(path);
  if (match === null) return [path];
  return Array.from(
    { length: Number(match[3]) },
    (_, index) => `${match[1]}-${String(index + 1).padStart(5, '0')}-of-${match[3]}.gguf`,
  );
}

async function partOf(path: string): Promise<FilePart> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) throw new UserError(`${path}: no such file; name a GGUF file`, EXIT.inputMissing);
  return { path, bytes: found.size };
}

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
 * SHA-256 in hex of a file, or of several one after the other. Remembered between starts, since reading 22 GB takes minutes: files that
 * have kept place, size and times are not read again. Rejects where a file cannot be read, and with the signal's reason.
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
