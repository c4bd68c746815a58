// A model's GGUF file before it is loaded: its parts, and whether it is whole.

import { open, stat } from 'node:fs/promises';
import { EXIT, UserError } from '../errors.js';
import { BLOCKS } from './plan.js';
import { type LlamaCpp, lineOf, type Runtime } from './runtime.js';

export interface ModelFile {
  readonly path: string;
  readonly bytes: number;
}

/** The file, or all parts of a split one, each at least begun like a GGUF file: known before gigabytes are read. */
export async function checkFiles(path: string): Promise<ModelFile[]> {
  const files = await Promise.all(
    partsOf(path).map(async (part) => {
      const found = await stat(part).catch(() => undefined);
      if (!found?.isFile()) throw new UserError(`${part}: no such file; name a GGUF file`, EXIT.inputMissing);
      return { path: part, bytes: found.size };
    }),
  );
  for (const file of files) await requireMagic(file.path);
  return files;
}

/** llama.cpp names parts `…-00001-of-00003.gguf`. */
function partsOf(path: string): string[] {
  const match = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/.exec(path);
  if (match === null) return [path];
  return Array.from(
    { length: Number(match[3]) },
    (_, index) => `${match[1]}-${String(index + 1).padStart(5, '0')}-of-${match[3]}.gguf`,
  );
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

/** Whether the file is as long as its own table of contents says; the library reads zeros behind a file's end. */
export async function requireWhole(runtime: Runtime, { path, bytes }: ModelFile): Promise<void> {
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
  const ends = (info.tensorInfo ?? []).map(({ fileOffset, dimensions, ggmlType }) => {
    // Of an encoding that is not in the table the size is not checked.
    const [values, size] = BLOCKS[ggmlType] ?? [1, 0];
    return (
      Number(fileOffset) + (dimensions.reduce<number>((product, width) => product * Number(width), 1) / values) * size
    );
  });
  const needed = ends.reduce((most, end) => Math.max(most, end), info.infoEndOffset ?? 0);
  if (needed > bytes) throw damaged(`it holds ${bytes} of at least ${needed} bytes`);
}
