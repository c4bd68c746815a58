// A model's GGUF file before it is loaded: its parts, whether it is whole, and what it says of itself. Its heads are read here alone.

import { open, stat } from 'node:fs/promises';
import { EXIT, UserError } from '../errors.js';
import { type GgufMetadata, type GgufTensor, tensorBytes } from './gguf-contents.js';
import { importRuntime, type LlamaCpp, lineOf, type Runtime } from './runtime.js';

/** A model's file, or all parts of a split one. */
export interface ModelFile {
  /** Of a split model, its first part. */
  readonly path: string;
  readonly parts: readonly FilePart[];
  readonly metadata: GgufMetadata;
  readonly tensors: readonly GgufTensor[];
}

interface FilePart {
  readonly path: string;
  readonly bytes: number;
}

/**
 * Reads the heads of a model's file, and checks that the file holds all that they list, before gigabytes are read.
 * Throws a UserError: the file is missing (66), no GGUF, cut off or damaged (65), or the runtime is missing (69).
 */
export async function readModelFile(path: string): Promise<ModelFile> {
  const parts = await Promise.all(partPaths(path).map(partOf));
  for (const part of parts) await requireMagic(part.path);
  const { runtime } = await importRuntime();
  const infos: LlamaCpp.GgufFileInfo[] = [];
  for (const part of parts) infos.push(await wholeInfo(runtime, part));
  // The first part has the metadata, and each the tensors that it holds.
  return {
    path,
    parts,
    metadata: infos[0]?.metadata ?? {},
    tensors: infos.flatMap(({ tensorInfo = [] }) => tensorInfo),
  };
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

async function requireMagic(path: string): Promise<void> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (bytesRead < 4 || buffer.toString('latin1') !== 'GGUF') {
      throw new UserError(
        `${path} is not a GGUF file; download a GGUF file of the model, or convert it with llama.cpp`,
        EXIT.badData,
      );
    }
  } finally {
    await file.close();
  }
}

/** The head of a part that is as long as its own table of contents says; the library reads zeros behind a file's end. */
async function wholeInfo(runtime: Runtime, { path, bytes }: FilePart): Promise<LlamaCpp.GgufFileInfo> {
  const damaged = (why: string) =>
    new UserError(`${path} is cut off or damaged (${why}); download it again`, EXIT.badData);
  let info: LlamaCpp.GgufFileInfo;
  try {
    info = await runtime.readGgufFileInfo(path, {
      sourceType: 'filesystem',
      spliceSplitFiles: false,
      logWarnings: false,
    });
  } catch (error) {
    throw damaged(lineOf(error));
  }
  // Of an encoding that is not in the table the size is not checked.
  const ends = (info.tensorInfo ?? []).map((tensor) => Number(tensor.fileOffset) + tensorBytes(tensor, 0));
  const needed = ends.reduce((most, end) => Math.max(most, end), info.infoEndOffset ?? 0);
  if (needed > bytes) throw damaged(`it holds ${bytes} of at least ${needed} bytes`);
  return info;
}
