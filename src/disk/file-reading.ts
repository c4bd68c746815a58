// What is read of a run's files whole: their JSON, their size, their hash.

import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import { type JsonObject, parseObject } from '../core/json.js';

const READ_BYTES = 1 << 20;

/** Bytes of a file; undefined where there is none, or none that can be looked at. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

/** SHA-256 hex of a file's bytes. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  const handle = await open(path);
  try {
    // One buffer for all of it: fresh ones would cost more than the hash.
    const buffer = Buffer.allocUnsafe(READ_BYTES);
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, READ_BYTES);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/**
 * Reads a JSON object out of a small regular file; undefined where there is none. Anything else (a FIFO, a device) could hang or never end.
 * @throws UserError: 66 where it cannot be read, 65 where it is not a JSON object.
 */
export async function readJson(path: string): Promise<JsonObject | undefined> {
  const remedy = 'move it aside, or start over with --fresh';
  let text: string | undefined;
  try {
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if ((await handle.stat()).isFile()) text = await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = codeOf(error);
    // Under a path that leads through a file there is none either.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === undefined) throw error;
    throw new UserError(`cannot read ${path} (${code}); ${remedy}`, EXIT.inputMissing);
  }
  if (text === undefined) throw new UserError(`${path} is no regular file; ${remedy}`, EXIT.inputMissing);
  const value = parseObject(text);
  if (value !== undefined) return value;
  throw new UserError(`${path} is not a JSON object; ${remedy}`, EXIT.badData);
}

/** Where a line of a file lies. */
export interface Place {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** The bytes of a line. @throws UserError (66) where the file cannot be read (any more) */
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
    throw new UserError(`cannot read ${path} (${codeOf(error)}); mend its permissions`, EXIT.inputMissing);
  }
}
