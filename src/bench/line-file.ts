// A file of lines, opened and read: for data, predictions and judged files alike.

import { isAscii } from 'node:buffer';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf, EXIT, throwIfStopped, UserError } from '../errors.js';
import { type Line, LONGEST_LINE_BYTES, splitLines } from '../lines.js';
import type { ByteSource } from '../spans.js';
import { roomInTurn } from './loop-turn.js';

const CHUNK_BYTES = 1 << 18;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Opens a regular file for reading. A FIFO or a device could hang or never end, and rows are read a second time.
 * @throws UserError (66) that ends with the hint.
 */
export async function openToRead(path: string, hint: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK (which Windows lacks) opening a FIFO waits for its writer.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = await handle.stat();
    if (found.isFile()) return handle;
    await handle.close();
    throw new UserError(
      `cannot read ${path}: it is ${found.isDirectory() ? 'a folder' : 'no regular file'}; ${hint}`,
      EXIT.inputMissing,
    );
  } catch (error) {
    throw unreadable(path, error, hint);
  }
}

/**
 * The lines of an open file, which stays open.
 * @param onChunk is given every byte in order
 * @throws UserError: 66 that ends with the hint, 130 or 143 once `stop` is aborted.
 */
export async function* readLines(
  handle: FileHandle,
  path: string,
  hint: string,
  stop: AbortSignal | undefined,
  onChunk: (chunk: Uint8Array) => void = () => {},
): AsyncGenerator<Line> {
  try {
    for await (const line of splitLines(chunksOf(handle, { start: 0, onChunk }))) {
      throwIfStopped(stop);
      yield line;
    }
  } catch (error) {
    throw unreadable(path, error, hint);
  }
}

/**
 * The bytes of a file from `start` to `end`, or to its own end. One buffer is used again and again, so that garbage does not pile up
 * with the file's size.
 */
export async function* chunksOf(
  source: ByteSource,
  span: { readonly start: number; readonly end?: number; readonly onChunk: (chunk: Uint8Array) => void },
): AsyncGenerator<Uint8Array> {
  const { start, end = Infinity, onChunk } = span;
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let position = start;
  while (position < end) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, end - position), position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const chunk = buffer.subarray(0, bytesRead);
    onChunk(chunk);
    yield chunk;
  }
}

/** What went wrong in reading, as a UserError (66) that ends with the hint; other errors come back as they are. */
export function unreadable(path: string, error: unknown, hint: string): unknown {
  const code = codeOf(error);
  if (code === undefined) return error;
  const cause = { EISDIR: 'it is a folder', ENOENT: 'there is no such file or folder' }[code] ?? code;
  return new UserError(`cannot read ${path}: ${cause}; ${hint}`, EXIT.inputMissing);
}

/** Reads `length` bytes at `offset`; fewer where the file has become shorter. They come in a turn of the event loop with room for them. */
export async function readSpan(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafe(length);
  const { bytesRead } = await handle.read(bytes, 0, length, offset);
  await roomInTurn();
  return bytes.subarray(0, bytesRead);
}

/** Bytes as text, or undefined where they are not UTF-8. A byte order mark is dropped. */
export function decoded(bytes: Uint8Array): string | undefined {
  // Of ASCII alone no character need be looked at, which is more than twice as fast.
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A line's text, or why it has none. */
export function textOf(line: Line): { readonly text: string } | { readonly flaw: string } {
  if (line.tooLong) return { flaw: `too long: a line may have ${LONGEST_LINE_BYTES >> 20} MiB` };
  const text = decoded(line.bytes);
  return text === undefined ? { flaw: 'not valid UTF-8' } : { text };
}
