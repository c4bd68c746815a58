// Open files, read in pieces by this thread or, where there is much to read, by several; what comes of the pieces is taken in order.

import type { FileHandle } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { present } from '../present.js';
import { unreadable } from './line-file.js';
import type { Piece } from './piece.js';
import { PIECE_READERS, type PieceKind, type Pieces } from './piece-readers.js';
import { readInThreads } from './reading-threads.js';

/** Less is read in a fifth of a second by one thread. */
const MUCH_BYTES = 32 << 20;
/** Each thread takes some 20 MB of memory. */
const MOST_THREADS = 4;
const PIECE_BYTES = 16 << 20;
const PROBE_BYTES = 1 << 16;
const LINE_FEED = 0x0a;

/** A file, open for reading. */
export interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly bytes: number;
}

/** How the work is shared out among threads. */
export interface Sharing {
  readonly threads: number;
  readonly pieceBytes: number;
  /** The heap of each thread; without it, what Node.js gives a thread. */
  readonly heapMb?: number;
}

interface Reading {
  /** Ends the error about a file that cannot be read. */
  readonly hint: string;
  readonly stop?: AbortSignal | undefined;
  readonly sharing?: Sharing | undefined;
}

/**
 * Reads files of a kind, one behind the other. What is taken, and in which order, does not depend on the sharing, apart from where it
 * is cut into pieces.
 * @param take is given the file's number, what a piece of it holds, and the file's line feeds before that piece
 * @throws UserError: 66 where a file cannot be read, 1 where a thread runs out of memory, 130 or 143 once `stop` is aborted; what
 * `take` throws.
 */
export async function readPieces<K extends PieceKind>(
  kind: K,
  files: readonly OpenFile[],
  take: (file: number, found: Pieces[K], linesBefore: number) => Promise<void>,
  { hint, stop, sharing = sharingOf(files) }: Reading,
): Promise<void> {
  const queue = new Queue(take);
  if (sharing === undefined) {
    for (const [file, { path, handle }] of files.entries()) {
      const found = await PIECE_READERS[kind](handle, { start: 0 }, stop).catch((error: unknown) => {
        throw unreadable(path, error, hint);
      });
      await queue.put(file, file, found);
    }
    return;
  }
  const pieces = await piecesOf(files, sharing.pieceBytes, hint);
  const { heapMb } = sharing;
  await readInThreads(kind, pieces, {
    threads: Math.min(sharing.threads, pieces.length),
    ...(heapMb === undefined ? {} : { heapMb }),
    onPiece: (number, found) => queue.put(number, present(pieces[number]).file, found),
    failureOf: (number, error) => unreadable(present(pieces[number]).path, error, hint),
    ...(stop === undefined ? {} : { stop }),
  });
}

/** Whether reading these files takes so long that it pays to share it out, or to keep what came of it. */
export function isMuch(files: readonly { readonly bytes: number }[]): boolean {
  return files.reduce((sum, { bytes }) => sum + bytes, 0) >= MUCH_BYTES;
}

function sharingOf(files: readonly OpenFile[]): Sharing | undefined {
  if (!isMuch(files)) return undefined;
  return { threads: Math.min(MOST_THREADS, availableParallelism()), pieceBytes: PIECE_BYTES };
}

/** A piece of an open file. */
interface FilePiece extends Piece {
  /** Its file's number, path and descriptor. */
  readonly file: number;
  readonly path: string;
  readonly fd: number;
}

/** Cuts files at line ends into pieces of about this size. The last piece of a file goes on for as long as the file does. */
async function piecesOf(files: readonly OpenFile[], pieceBytes: number, hint: string): Promise<FilePiece[]> {
  const pieces: FilePiece[] = [];
  for (const [file, { path, handle, bytes }] of files.entries()) {
    const own = { file, path, fd: handle.fd };
    let start = 0;
    while (bytes - start > pieceBytes) {
      const end = await lineEnd(handle, start + pieceBytes).catch((error: unknown) => {
        throw unreadable(path, error, hint);
      });
      if (end === undefined) break;
      pieces.push({ ...own, start, end });
      start = end;
    }
    pieces.push({ ...own, start });
  }
  return pieces;
}

/** The offset behind the first line feed from `from` on; undefined where there is none. */
async function lineEnd(handle: FileHandle, from: number): Promise<number | undefined> {
  const buffer = Buffer.allocUnsafe(PROBE_BYTES);
  for (let at = from; ; at += PROBE_BYTES) {
    const { bytesRead } = await handle.read(buffer, 0, PROBE_BYTES, at);
    if (bytesRead === 0) return undefined;
    const feed = buffer.subarray(0, bytesRead).indexOf(LINE_FEED);
    if (feed !== -1) return at + feed + 1;
  }
}

/** Gives on what comes of pieces in their order, in whichever it comes; what comes too early waits. */
class Queue<T extends { readonly lines: number }> {
  readonly #early = new Map<number, { readonly file: number; readonly found: T }>();
  #next = 0;
  #file = 0;
  #linesBefore = 0;
  #giving = Promise.resolve();

  constructor(private readonly take: (file: number, found: T, linesBefore: number) => Promise<void>) {}

  /** Resolves when whatever could be given on has been taken. */
  put(number: number, file: number, found: T): Promise<void> {
    this.#early.set(number, { file, found });
    this.#giving = this.#giving.then(() => this.#giveOn());
    return this.#giving;
  }

  async #giveOn(): Promise<void> {
    for (let piece = this.#early.get(this.#next); piece !== undefined; piece = this.#early.get(this.#next)) {
      this.#early.delete(this.#next);
      this.#next++;
      await this.#give(piece.file, piece.found);
    }
  }

  async #give(file: number, found: T): Promise<void> {
    if (file !== this.#file) this.#linesBefore = 0;
    this.#file = file;
    await this.take(file, found, this.#linesBefore);
    this.#linesBefore += found.lines;
  }
}
