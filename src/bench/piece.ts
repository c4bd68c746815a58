// A piece of a data file -> columns of its rows: what one thread reads at a time.

import { crc32 } from 'node:zlib';
import { throwIfStopped } from '../errors.js';
import { splitLines } from '../lines.js';
import type { Domain } from '../types.js';
import { type ByteSource, chunksOf, textOf } from './line-file.js';
import { ColumnsBuilder, type RowColumns } from './row-columns.js';
import { readRow } from './sample.js';

/** Lines of a file, by their bytes: from the first one's start to the last one's end. */
export interface Piece {
  readonly start: number;
  /** Absent for all that the file holds from the start on. */
  readonly end?: number;
}

/** A line of a piece that is not a usable row. */
export interface BadLine {
  /** 1-based within the piece. */
  readonly line: number;
  readonly reason: string;
  /** Where at least that could be read. */
  readonly domain?: Domain;
}

export interface PieceRows {
  /** Lines are counted from the piece's start, offsets from the file's. */
  readonly columns: RowColumns;
  readonly bad: readonly BadLine[];
  /** Line feeds of the piece. */
  readonly lines: number;
}

const LINE_FEED = 0x0a;

/** @throws what reading throws; UserError (130 or 143) once `stop` is aborted. */
export async function readPiece(source: ByteSource, piece: Piece, stop?: AbortSignal): Promise<PieceRows> {
  const rows = new ColumnsBuilder();
  const bad: BadLine[] = [];
  let lines = 0;
  const onChunk = (chunk: Uint8Array) => {
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines++;
  };
  for await (const line of splitLines(chunksOf(source, { ...piece, onChunk }))) {
    throwIfStopped(stop);
    const found = textOf(line);
    const reading = 'flaw' in found ? { ok: false as const, flaw: { reason: found.flaw } } : readRow(found.text);
    if (!reading.ok) {
      bad.push({ line: line.number, ...reading.flaw });
      continue;
    }
    const { sample, id } = reading.row;
    const { key, trajectory, domain, turnIdx } = sample;
    rows.add({
      key,
      trajectory,
      domain,
      id,
      turnIdx,
      line: line.number,
      offset: piece.start + line.offset,
      length: line.bytes.length,
      checksum: crc32(line.bytes),
    });
  }
  return { columns: rows.columns(), bad, lines };
}
