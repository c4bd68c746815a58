// A piece of a data file -> columns of its rows.

import { crc32 } from 'node:zlib';
import type { ByteSource } from '../spans.js';
import type { Domain } from '../types.js';
import { textOf } from './line-file.js';
import { eachLine, type Piece, type PieceLines } from './piece.js';
import { ColumnsBuilder, type RowColumns } from './row-columns.js';
import { readRow } from './sample.js';

/** A line of a piece that is not a usable row. */
export interface BadLine {
  /** 1-based within the piece. */
  readonly line: number;
  readonly reason: string;
  /** Where at least that could be read. */
  readonly domain?: Domain;
}

export interface DataPiece extends PieceLines {
  /** Lines are counted from the piece's start, offsets from the file's. */
  readonly columns: RowColumns;
  readonly bad: readonly BadLine[];
}

/** @throws as `PieceReader`. */
export async function readDataPiece(source: ByteSource, piece: Piece, stop?: AbortSignal): Promise<DataPiece> {
  const rows = new ColumnsBuilder();
  const bad: BadLine[] = [];
  const lines = await eachLine(source, piece, stop, (line) => {
    const found = textOf(line);
    const reading = 'flaw' in found ? { ok: false as const, flaw: { reason: found.flaw } } : readRow(found.text);
    if (!reading.ok) {
      bad.push({ line: line.number, ...reading.flaw });
      return undefined;
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
    return undefined;
  });
  return { columns: rows.columns(), bad, lines };
}
