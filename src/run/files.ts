// Whole files, written so that a reader sees the old one or the new one and never half of either.

import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EXIT, UserError } from '../errors.js';

const FLUSH_BYTES = 1 << 20;

/**
 * Writes lines to a temporary file beside `path`, syncs it and renames it into place. Returns the bytes written.
 * @throws UserError (74) where it cannot be written; the temporary file is removed and the old one stays.
 */
export async function writeLines(path: string, lines: AsyncIterable<string>): Promise<number> {
  const temporary = `${path}.tmp`;
  try {
    const handle = await open(temporary, 'w');
    let bytes = 0;
    try {
      let waiting: Buffer[] = [];
      let size = 0;
      const flush = async () => {
        if (size > 0) await handle.writeFile(Buffer.concat(waiting));
        bytes += size;
        waiting = [];
        size = 0;
      };
      for await (const line of lines) {
        const encoded = Buffer.from(`${line}\n`);
        waiting.push(encoded);
        size += encoded.length;
        if (size >= FLUSH_BYTES) await flush();
      }
      await flush();
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
    return bytes;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw writeError(path, error);
  }
}

/** A new file's name is durable only when its folder is. Platforms that cannot sync a folder need not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

/** Writes a JSON document in the same way, indented for people. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await writeLines(
    path,
    (async function* () {
      yield JSON.stringify(value, null, 2);
    })(),
  );
}

/** Reads a JSON object; undefined where there is no such file. @throws UserError (65) where it is not a JSON object. */
export async function readJson(path: string): Promise<Record<string, unknown> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new UserError(`cannot read ${path} (${code})`, EXIT.inputMissing);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Falls through to the error below.
  }
  throw new UserError(`${path} is not a JSON object; move it aside, or start over with --fresh`, EXIT.badData);
}

function writeError(path: string, error: unknown): unknown {
  if (error instanceof UserError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const cause = code === 'ENOSPC' ? 'the disk is full' : code;
  return new UserError(
    `cannot write ${path} (${cause}); every finished row is safe in the journal, so mend that and run the same command again`,
    EXIT.cannotWrite,
  );
}
