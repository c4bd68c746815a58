// A model's GGUF file before it is loaded: its parts, whether it is whole, and what it says of itself.

import { stat } from 'node:fs/promises';
import { EXIT, UserError } from '../errors.js';
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
