// A piece of a predictions file -> what its lines say of themselves, before they are held against each other and against the data.

import type { ByteSource } from '../spans.js';
import { eachLine, type Piece, type PieceLines } from './piece.js';
import { type PredictionLine, readPredictionLine } from './prediction-line.js';

export interface PredictionPiece extends PieceLines {
  /** Lines are counted from the piece's start, offsets from the file's. */
  readonly found: readonly PredictionLine[];
  /** The first line that holds no prediction; nothing behind it was read. */
  readonly bad?: { readonly line: number; readonly reason: string };
}

/** @throws as `PieceReader`. */
export async function readPredictionPiece(
  source: ByteSource,
  piece: Piece,
  stop?: AbortSignal,
): Promise<PredictionPiece> {
  const found: PredictionLine[] = [];
  let bad: PredictionPiece['bad'];
  const lines = await eachLine(source, piece, stop, (line) => {
    const read = readPredictionLine(line, piece.start);
    if (typeof read !== 'string') {
      found.push(read);
      return undefined;
    }
    bad = { line: line.number, reason: read };
    return 'last';
  });
  return { found, lines, ...(bad === undefined ? {} : { bad }) };
}
