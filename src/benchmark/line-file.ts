// A file of lines, opened and read: for data, predictions and judged files alike.

import { isAscii } from 'node:buffer';
import { constants, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { badData, inputMissing, refusedBy, throwIfStopped, type UserError } from '../core/errors.js';
import { type JsonObject, parseObject } from '../core/json.js';
import { type Line, LONGEST_LINE_BYTES, splitLines } from '../disk/lines.js';

const CHUNK_BYTES = 1 << 18;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Opens a regular file for reading. A FIFO or a device could hang or never end, and rows are read a second time.
 * @throws UserError (66) that ends with the hint.
 */
export async function openToRead(path: string, hint: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK (which Windows lacks), opening a FIFO waits for its writer.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const found = await handle.stat();
    if (found.isFile()) return handle;
    await handle.close();
    throw inputMissing(`cannot read ${path}: it is ${found.isDirectory() ? 'a folder' : 'a special file'}; ${hint}`);
  } catch (error) {
    throw unreadable(path, error, hint);
  }
}

/**
 * The lines of an open file, which stays open.
 * @param onChunk receives every byte in order
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
    for await (const line of splitLines(chunksOf(handle, onChunk))) {
      throwIfStopped(stop);
      yield line;
    }
  } catch (error) {
    throw unreadable(path, error, hint);
  }
}

async function* chunksOf(handle: FileHandle, onChunk: (chunk: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false, highWaterMark: CHUNK_BYTES })) {
    onChunk(chunk);
    yield chunk;
  }
}

/** A read error as a UserError (66) that ends with the hint; other errors are returned unchanged. */
export function unreadable(path: string, error: unknown, hint: string): unknown {
  const causes: Readonly<Record<string, string>> = {
    EISDIR: 'it is a folder',
    ENOENT: 'there is no such file or folder',
  };
  return refusedBy(error, (code) => inputMissing(`cannot read ${path}: ${causes[code] ?? code}; ${hint}`));
}

/** Smaller rows are cheap: parsing all that are in flight, and making their messages, takes a few milliseconds. */
const LARGE_BYTES = 1 << 12;
let lastTurn: Promise<unknown> = Promise.resolve();

/** The place of a line in its file. */
export interface Span {
  /** Of the line's first byte. */
  readonly offset: number;
  /** Bytes of the line. */
  readonly length: number;
  /** CRC-32 of the line's bytes. */
  readonly checksum: number;
}

export function spanOf({ offset, bytes }: Line): Span {
  return { offset, length: bytes.length, checksum: crc32(bytes) };
}

/**
 * Reads a line again. A run may last for days, and its files may be replaced meanwhile.
 * @param changed what to say about a file whose place now has other text
 * @throws UserError (65) if the place now has other text
 */
export async function readAgain(
  handle: FileHandle,
  { offset, length, checksum }: Span,
  path: string,
  changed = 'was changed while it was being read; run the same command again',
): Promise<string> {
  const buffer = Buffer.allocUnsafe(length);
  let bytesRead: number;
  if (length < LARGE_BYTES) {
    // The file is still in the system's cache; reading on a thread would cost the slot a turn of a busy event loop.
    bytesRead = readSync(handle.fd, buffer, 0, length, offset);
  } else {
    ({ bytesRead } = await handle.read(buffer, 0, length, offset));
    // Many reads may end in one turn of the event loop, and timers, signals and sockets wait for everything done in it. So large rows
    // get a turn each: 64 rows of 400 kB in one turn took 200 to 500 ms.
    lastTurn = lastTurn.then(() => nextTurn());
    await lastTurn;
  }
  // Fewer if the file was shortened.
  const bytes = buffer.subarray(0, bytesRead);
  const text = crc32(bytes) === checksum ? decoded(bytes) : undefined;
  if (text !== undefined) return text;
  throw badData(`${path} ${changed}`);
}

/** Bytes as text, or undefined if they are not UTF-8. A byte order mark is dropped. */
export function decoded(bytes: Uint8Array): string | undefined {
  // Pure ASCII needs no decoding, and skipping it is more than twice as fast.
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A line's text, or why it has none. */
export function textOf(line: Line): { readonly text: string } | { readonly flaw: string } {
  if (line.tooLong) return { flaw: `too long: a line may have at most ${LONGEST_LINE_BYTES >> 20} MiB` };
  const text = decoded(line.bytes);
  return text === undefined ? { flaw: 'not valid UTF-8' } : { text };
}

/** A file whose lines are all JSON objects, and what to tell its readers if one is not. */
export interface ObjectFile {
  readonly path: string;
  /** The file's name in messages; its path if absent. */
  readonly shown?: string;
  /** Ends the message about a file that cannot be read. */
  readonly hint: string;
  /** Ends the message about a line that is not an object. */
  readonly remedy?: string;
  /** The command that wrote it, which continues if the last line is cut off. */
  readonly command?: string;
}

/** A line with its text and the object in it. */
export interface ObjectLine {
  readonly line: Line;
  readonly text: string;
  readonly fields: JsonObject;
}

/**
 * The lines of a file of objects, which is closed at the end.
 * @param onChunk receives every byte in order
 * @throws UserError 66 if the file cannot be read; 65 for a line that is not an object; 130 or 143 once `stop` is aborted.
 */
export async function* objectsIn(
  file: ObjectFile,
  stop?: AbortSignal,
  onChunk?: (chunk: Uint8Array) => void,
): AsyncGenerator<ObjectLine> {
  const handle = await openToRead(file.path, file.hint);
  try {
    yield* objectLines(handle, file, stop, onChunk);
  } finally {
    await handle.close();
  }
}

/** The same for an open file, which stays open. */
export async function* objectLines(
  handle: FileHandle,
  file: ObjectFile,
  stop?: AbortSignal,
  onChunk?: (chunk: Uint8Array) => void,
): AsyncGenerator<ObjectLine> {
  const { path, hint, remedy = REMEDY, command } = file;
  const cutOff = `the last line is cut off; run ${command} again, which skips finished rows`;
  for await (const line of readLines(handle, path, hint, stop, onChunk)) {
    const found = textOf(line);
    if ('flaw' in found) throw badLine(file, line, `${found.flaw}; ${remedy}`);
    const fields = parseObject(found.text);
    if (fields !== undefined) yield { line, text: found.text, fields };
    else throw badLine(file, line, command === undefined || line.ended ? `not a JSON object; ${remedy}` : cutOff);
  }
}

/** What to do about a line that a person may have edited. */
export const REMEDY = 'fix the line or remove it';

/** An error about a line, with its file and number. */
export function badLine({ path, shown = path }: ObjectFile, { number }: Line, reason: string): UserError {
  return badData(`${shown}:${number}: ${reason}`);
}

/** Takes the ids of lines. @throws UserError (65) for an id that an earlier line had. */
export function onceIn(file: ObjectFile, what: 'row' | 'judgement'): (id: string, line: Line) => void {
  const lines = new Map<string, number>();
  return (id, line) => {
    const earlier = lines.get(id);
    if (earlier !== undefined) {
      throw badLine(file, line, `the same ${what} as in line ${earlier}; remove one of the two`);
    }
    lines.set(id, line.number);
  };
}
