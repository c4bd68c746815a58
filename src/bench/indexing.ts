// Open data files -> columns of their rows, by this thread or, where there is much to read, by several.

import type { FileHandle } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { present } from '../present.js';
import { unreadable } from './line-file.js';
import { type BadLine, type Piece, type PieceRows, readPiece } from './piece.js';
import { readInThreads } from './reading-threads.js';
import { ColumnsBuilder, type RowColumns } from './row-columns.js';

/** Less is read in a fifth of a second by one thread. */
const MUCH_BYTES = 32 << 20;
/** Each thread takes some 20 MB of memory. */
const MOST_THREADS = 4;
const PIECE_BYTES = 16 << 20;
const PROBE_BYTES = 1 << 16;
const LINE_FEED = 0x0a;

/** A data file, open for reading. */
interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
  readonly bytes: number;
}

/** How the work is shared out among threads. */
interface Sharing {
  readonly threads: number;
  readonly pieceBytes: number;
  /** The heap of each thread; without it, what Node.js gives a thread. */
  readonly heapMb?: number;
}

interface IndexedRows {
  readonly columns: RowColumns;
  /** Lines that are not usable rows, with the numbers of their files. */
  readonly bad: readonly (BadLine & { readonly file: number })[];
}

/**
 * Indexes the rows of files, one behind the other. What comes out does not depend on the sharing.
 * @param hint ends the error about a file that cannot be read
 * @throws UserError: 66 where a file cannot be read, 1 where a thread runs out of memory, 130 or 143 once `stop` is aborted.
 */
export async function indexRows(
  files: readonly OpenFile[],
  hint: string,
  stop?: AbortSignal,
  sharing: Sharing | undefined = sharingOf(files),
): Promise<IndexedRows> {
  const merger = new Merger();
  if (sharing === undefined) {
    for (const [file, { path, handle }] of files.entries()) {
      const rows = await readPiece(handle, { start: 0 }, stop).catch((error: unknown) => {
        throw unreadable(path, error, hint);
      });
      merger.take(file, file, rows);
    }
    return merger.merged(files.length);
  }
  const pieces = await piecesOf(files, sharing.pieceBytes, hint);
  const { heapMb } = sharing;
  await readInThreads(pieces, {
    threads: Math.min(sharing.threads, pieces.length),
    ...(heapMb === undefined ? {} : { heapMb }),
    onRows: (number, rows) => merger.take(number, present(pieces[number]).file, rows),
    failureOf: (number, error) => unreadable(present(pieces[number]).path, error, hint),
    ...(stop === undefined ? {} : { stop }),
  });
  return merger.merged(files.length);
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

/** Puts pieces together in their order, in whichever they come; those that come too early wait. */
class Merger {
  readonly #columns = new ColumnsBuilder();
  readonly #bad: (BadLine & { readonly file: number })[] = [];
  readonly #early = new Map<number, { readonly file: number; readonly rows: PieceRows }>();
  #next = 0;
  #file = 0;
  #linesBefore = 0;

  take(number: number, file: number, rows: PieceRows): void {
    this.#early.set(number, { file, rows });
    for (let piece = this.#early.get(this.#next); piece !== undefined; piece = this.#early.get(this.#next)) {
      this.#early.delete(this.#next);
      this.#next++;
      this.#add(piece.file, piece.rows);
    }
  }

  merged(files: number): IndexedRows {
    this.#endFilesBefore(files);
    return { columns: this.#columns.columns(), bad: this.#bad };
  }

  #add(file: number, { columns, bad, lines }: PieceRows): void {
    this.#endFilesBefore(file);
    this.#columns.addPiece(columns, this.#linesBefore);
    for (const line of bad) this.#bad.push({ ...line, file, line: line.line + this.#linesBefore });
    this.#linesBefore += lines;
  }

  #endFilesBefore(file: number): void {
    for (; this.#file < file; this.#file++) {
      this.#columns.endFile();
      this.#linesBefore = 0;
    }
  }
}
