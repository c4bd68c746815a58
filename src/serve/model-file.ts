// A model's GGUF file before it is loaded: its parts, whether it is whole, what it says of itself, and its SHA-256.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { badData, inputMissing, UserError } from '../core/errors.js';
import { makeFolders, replaceFile } from '../disk/files.js';
import { type Gpu, lineOf, startLlama } from './runtime.js';

/** A model's file, or all parts of a split one, whose path is that of its first. */
export type ModelFile = Awaited<ReturnType<typeof readModelFile>>;

/**
 * Reads the heads of a model's file, and checks that the file holds all that they list, before gigabytes are read.
 * Throws a UserError: the file or a part of it is missing (66), is not a GGUF, cut off or damaged (65), or the runtime or its binary for `gpu` is missing (69).
 */
export async function readModelFile(path: string, gpu: Gpu) {
  const parts = await partsOf(path);
  const { runtime, llama } = await startLlama(gpu);
  const damaged = (why: string) => badData(`${path} is cut off or damaged (${why}); download it again`);
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
      throw badData(`${path} is not a GGUF file; ${remedy}`);
    }
    throw damaged(lineOf(error));
  }
}

/** llama.cpp names parts `…-00001-of-00003.gguf`. */
async function partsOf(path: string) {
  const [, base, index, count = '00001'] = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/.exec(path) ?? [];
  if (index !== undefined && Number(index) !== 1) {
    throw new UserError(`${path} is part ${Number(index)} of a split model; name its first part`);
  }
  const parts = Array.from({ length: Number(count) }, async (_, at) => {
    const part = base === undefined ? path : `${base}-${String(at + 1).padStart(5, '0')}-of-${count}.gguf`;
    const found = await stat(part).catch(() => undefined);
    if (found?.isFile()) return { path: part, bytes: found.size };
    throw inputMissing(`${part}: no such file; name a GGUF file that has all of its parts`);
  });
  return Promise.all(parts);
}

const CHUNK_BYTES = 2 ** 22;
/** What is read in the blink of an eye is not worth remembering. */
const LEAST_REMEMBERED_BYTES = 2 ** 26;

/**
 * SHA-256 in hex of a file, or of several one after the other. Remembered between starts, since reading 22 GB takes minutes: files that
 * have kept place, size and times are not read again. Rejects where a file cannot be read, and with the signal's reason.
 * @param directory where hashes are remembered; made where it is missing. Absent: nothing is remembered.
 * @param onProgress is told how much of the files was read, 0 to 1; not called where the hash was remembered
 */
export async function hashFiles(
  paths: readonly string[],
  signal: AbortSignal,
  directory?: string,
  onProgress?: (read: number) => void,
): Promise<string> {
  const before = await Promise.all(paths.map(stateOf));
  const total = before.reduce((sum, { size }) => sum + Number(size), 0);
  const name = createHash('sha256').update(JSON.stringify(before)).digest('hex').slice(0, 32);
  const isWorthIt = directory !== undefined && total >= LEAST_REMEMBERED_BYTES;
  const record = isWorthIt ? join(directory, 'hashes', name) : undefined;
  const known = record && (await readFile(record, 'utf8').catch(() => ''));
  if (known && /^[0-9a-f]{64}$/.test(known)) return known;
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
  const after = await Promise.all(paths.map(stateOf));
  if (record !== undefined && JSON.stringify(after) === JSON.stringify(before)) {
    const kept = makeFolders(dirname(record)).then(() => replaceFile(record, [digest], { remedy: '' }));
    // A folder that cannot be written costs time at the next start, and nothing else.
    await kept.catch(() => undefined);
  }
  return digest;
}

/** A file as it is now. Times in nanoseconds: the last is set by the system at every change and by nobody else. */
async function stateOf(path: string) {
  const real = await realpath(path);
  const { size, mtimeNs, ctimeNs } = await stat(real, { bigint: true });
  return { path: real, size: String(size), modified: String(mtimeNs), changed: String(ctimeNs) };
}
