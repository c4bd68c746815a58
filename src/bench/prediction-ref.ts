// What a line says of its prediction -> where the prediction lies, and what judging needs to know of it, the data's row included.

import type { NoPrediction } from '../prediction.js';
import type { Domain } from '../types.js';
import type { LeanRow, PredictionLine, WholeRow } from './prediction-line.js';
import type { RowIndex } from './row-index.js';
import type { EqualRows } from './row-keys.js';

/** Where a prediction lies, and what judging needs to know of it before it is read. */
export interface PredictionRef {
  readonly key: string;
  readonly trajectory: string;
  readonly repeat: number;
  /** Of a judged file: which judgement of its prediction the row holds, from 0. */
  readonly index: number;
  readonly domain: Domain;
  readonly turnIdx: number;
  readonly line: number;
  readonly offset: number;
  readonly length: number;
  /** CRC-32 of the line's bytes. */
  readonly checksum: number;
  /** Changes whenever `gen`, or the failure in its place, changes. */
  readonly stamp: string;
  /** Why there is no prediction. */
  readonly failure?: NoPrediction | undefined;
  /** The number of the data's row that a lean prediction belongs to. */
  readonly row?: number | undefined;
}

/** What the lines of a predictions file are held against. */
interface Known {
  /** The whole rows that stand before it. */
  readonly equals: EqualRows;
  /** The data's rows; absent where no data was named. */
  readonly rows: RowIndex | undefined;
}

/** The prediction of a line, or why the line cannot be used. Lines are given in their order. */
export function refOf({ row, ...line }: PredictionLine, { equals, rows }: Known): PredictionRef | string {
  const identified = row.kind === 'whole' ? wholeRow(row, equals) : leanRow(row, rows);
  return typeof identified === 'string' ? identified : { ...line, ...identified };
}

type Identified = Pick<PredictionRef, 'key' | 'trajectory' | 'domain' | 'turnIdx' | 'row'>;

function wholeRow({ key, isKeyed, trajectory, domain, turnIdx }: WholeRow, equals: EqualRows): Identified {
  return { key: isKeyed ? key : equals.keyOf(key), trajectory, domain, turnIdx };
}

function leanRow({ key, domain }: LeanRow, rows: RowIndex | undefined): Identified | string {
  if (rows === undefined) {
    return 'it is lean (the trajectory text was left out); name the benchmark folder with --data-dir';
  }
  const row = rows.find(key);
  if (row === undefined) {
    return `no row of --data-dir has its key ${key}; name the folder that awb infer was run on`;
  }
  if (domain !== rows.domain(row)) return '"task" was changed after awb infer wrote it; make it again';
  return { key, trajectory: rows.trajectory(row), domain, turnIdx: rows.turnIdx(row), row };
}
