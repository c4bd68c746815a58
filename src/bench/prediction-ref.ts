// One line of a predictions file -> where its prediction lies, and what judging needs to know of it.

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { EXIT, UserError } from '../errors.js';
import { type JsonObject, parseObject } from '../json.js';
import { judgementIndexIn } from '../judged-row.js';
import type { Line } from '../lines.js';
import { type NoPrediction, type ReadPrediction, readPredictionRow } from '../prediction.js';
import type { Domain } from '../types.js';
import { type EqualRows, isKeyOf } from './dataset.js';
import { placeOf, textOf } from './line-file.js';
import type { RowIndex } from './row-index.js';
import { domainOf, readParsedRow } from './sample.js';

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

/** What the lines of a predictions file are read with. */
interface PredictionLines {
  readonly path: string;
  readonly equals: EqualRows;
  /** The data's rows; absent where no data was named. */
  readonly rows: RowIndex | undefined;
}

/** The prediction in a line. @throws UserError (65) where the line holds none. */
export function readRef(line: Line, lines: PredictionLines): PredictionRef {
  const found = textOf(line);
  const refused = (reason: string) => badLine(lines.path, line, reason);
  if ('flaw' in found) throw refused(`${found.flaw}; make the file again with awb infer`);
  const { text } = found;
  const fields = parseObject(text);
  if (fields === undefined) throw refused('not a JSON object; make the file again with awb infer');
  const prediction = readPredictionRow(fields);
  if (prediction === undefined) {
    throw refused('"gen" is not a text; it has to hold the model\'s reply, or to be left out where there is none');
  }
  const { gen, id, awb, failure } = prediction;
  const row = 'prompt' in fields ? wholeRow(text, fields, id, lines.equals) : leanRow(fields, id, lines.rows);
  if (typeof row === 'string') throw refused(row);
  return {
    ...row,
    repeat: id?.repeat ?? 0,
    index: judgementIndexIn(awb),
    line: line.number,
    ...placeOf(line),
    checksum: crc32(line.bytes),
    stamp: stampOf(gen, failure),
    ...(failure === undefined ? {} : { failure }),
  };
}

type Identified = Pick<PredictionRef, 'key' | 'trajectory' | 'domain' | 'turnIdx' | 'row'>;

/** The row in a line that holds all of it, or why it cannot be used. */
function wholeRow(text: string, fields: JsonObject, id: ReadPrediction['id'], equals: EqualRows): Identified | string {
  const reading = readParsedRow(text, fields);
  if (!reading.ok) return reading.flaw.reason;
  const { key, trajectory, domain, turnIdx } = reading.row.sample;
  if (id === undefined) return { key: equals.keyOf(key), trajectory, domain, turnIdx };
  return isKeyOf(id.key, key)
    ? { key: id.key, trajectory, domain, turnIdx }
    : 'the row was changed after awb infer wrote it (its key does not fit); make it again';
}

/** The same of a line from which the trajectory's text was left out. */
function leanRow({ task }: JsonObject, id: ReadPrediction['id'], rows: RowIndex | undefined): Identified | string {
  if (id === undefined) return 'it has neither "prompt" nor "awb"; give the file that awb infer wrote';
  if (rows === undefined) {
    return 'it is lean (the trajectory text was left out); name the benchmark folder with --data-dir';
  }
  const row = rows.find(id.key);
  if (row === undefined) {
    return `no row of --data-dir has its key ${id.key}; name the folder that awb infer was run on`;
  }
  if (domainOf(typeof task === 'string' ? task : '') !== rows.domain(row)) {
    return '"task" was changed after awb infer wrote it; make it again';
  }
  return {
    key: id.key,
    trajectory: rows.trajectory(row),
    domain: rows.domain(row),
    turnIdx: rows.turnIdx(row),
    row,
  };
}

/** Changes whenever `gen`, or the failure in its place, changes. */
function stampOf(gen: string, failure: NoPrediction | undefined): string {
  return createHash('sha256')
    .update(`${failure?.class ?? ''}\n`)
    .update(gen)
    .digest('hex')
    .slice(0, 16);
}

/** A line that cannot be used. */
export function badLine(path: string, line: Line, reason: string): UserError {
  return new UserError(`${path}:${line.number}: ${reason}`, EXIT.badData);
}
