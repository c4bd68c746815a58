// A piece of a file of lines, and what every reader of one has in common: it is what one thread reads at a time.

import { throwIfStopped } from '../errors.js';
import { type Line, splitLines } from '../lines.js';
import type { ByteSource } from '../spans.js';
import { chunksOf } from './line-file.js';

/** Lines of a file, by their bytes: from the first one's start to the last one's end. */
export interface Piece {
  readonly start: number;
  /** Absent for all that the file holds from the start on. */
  readonly end?: number;
}

/** What came of a piece. Its lines are counted from the piece's start. */
export interface PieceLines {
  /** Line feeds of the piece. */
  readonly lines: number;
}

/** @throws what reading throws; UserError (130 or 143) once `stop` is aborted. */
export type PieceReader<T extends PieceLines> = (source: ByteSource, piece: Piece, stop?: AbortSignal) => Promise<T>;

const LINE_FEED = 0x0a;

/**
 * Gives each line of a piece, with its number and offset in the piece, until one is the last that is wanted; what comes back are the
 * line feeds that were read.
 * @throws as `PieceReader`.
 */
export async function eachLine(
  source: ByteSource,
  piece: Piece,
  stop: AbortSignal | undefined,
  take: (line: Line) => 'last' | undefined,
): Promise<number> {
  let lines = 0;
  const onChunk = (chunk: Uint8Array) => {
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines++;
  };
  for await (const line of splitLines(chunksOf(source, { ...piece, onChunk }))) {
    throwIfStopped(stop);
    if (take(line) === 'last') break;
  }
  return lines;
}
