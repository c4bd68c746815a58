// The kinds of files that are read in pieces, and who reads a piece of each.

import { type DataPiece, readDataPiece } from './data-piece.js';
import type { PieceReader } from './piece.js';
import { type PredictionPiece, readPredictionPiece } from './prediction-piece.js';

/** What comes of a piece, by the kind of its file. All of it passes between threads. */
export interface Pieces {
  readonly data: DataPiece;
  readonly predictions: PredictionPiece;
}

export type PieceKind = keyof Pieces;

export const PIECE_READERS: { readonly [K in PieceKind]: PieceReader<Pieces[K]> } = {
  data: readDataPiece,
  predictions: readPredictionPiece,
};
