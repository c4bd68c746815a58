// One line of a predictions file -> what it says of itself, without the lines before it and without the data.

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type JsonObject, parseObject } from '../json.js';
import { judgementIndexIn } from '../judged-row.js';
import type { Line } from '../lines.js';
import { type NoPrediction, type ReadPrediction, readPredictionRow } from '../prediction.js';
import type { Domain, Sample } from '../types.js';
import { textOf } from './line-file.js';
import { isKeyOf } from './row-keys.js';
import { domainOf, readParsedRow } from './sample.js';

/** A prediction as its line has it. Plain values, which pass between threads. */
export interface PredictionLine {
  readonly line: number;
  readonly offset: number;
  readonly length: number;
  /** CRC-32 of the line's bytes. */
  readonly checksum: number;
  /** Changes whenever `gen`, or the failure in its place, changes. */
  readonly stamp: string;
  readonly repeat: number;
  /** Of a judged file: which judgement of its prediction the row holds, from 0. */
  readonly index: number;
  /** Why there is no prediction. */
  readonly failure?: NoPrediction;
  readonly row: WholeRow | LeanRow;
}

/** The row in a line that holds all of it. */
export interface WholeRow extends Pick<Sample, 'key' | 'trajectory' | 'domain' | 'turnIdx'> {
  readonly kind: 'whole';
  /** Whether infer wrote the key, with the ordinal among equal rows; else it is still the bare hash. */
  readonly isKeyed: boolean;
}

/** The row in a line from which the trajectory's text was left out. */
export interface LeanRow {
  readonly kind: 'lean';
  readonly key: string;
  readonly domain: Domain;
}

/** The prediction in a line, or why there is none. @param start where the stream of lines begins in its file */
export function readPredictionLine(line: Line, start: number): PredictionLine | string {
  const found = textOf(line);
  if ('flaw' in found) return `${found.flaw}; make the file again with awb infer`;
  const { text } = found;
  const fields = parseObject(text);
  if (fields === undefined) return 'not a JSON object; make the file again with awb infer';
  const prediction = readPredictionRow(fields);
  if (prediction === undefined) {
    return '"gen" is not a text; it has to hold the model\'s reply, or to be left out where there is none';
  }
  const { gen, id, awb, failure } = prediction;
  const row = 'prompt' in fields ? wholeRow(text, fields, id) : leanRow(fields, id);
  if (typeof row === 'string') return row;
  return {
    line: line.number,
    offset: start + line.offset,
    length: line.bytes.length,
    checksum: crc32(line.bytes),
    stamp: stampOf(gen, failure),
    repeat: id?.repeat ?? 0,
    index: judgementIndexIn(awb),
    ...(failure === undefined ? {} : { failure }),
    row,
  };
}

function wholeRow(text: string, fields: JsonObject, id: ReadPrediction['id']): WholeRow | string {
  const reading = readParsedRow(text, fields);
  if (!reading.ok) return reading.flaw.reason;
  const { key, trajectory, domain, turnIdx } = reading.row.sample;
  if (id !== undefined && !isKeyOf(id.key, key)) {
    return 'the row was changed after awb infer wrote it (its key does not fit); make it again';
  }
  return { kind: 'whole', key: id?.key ?? key, trajectory, domain, turnIdx, isKeyed: id !== undefined };
}

function leanRow({ task, scenario, twin }: JsonObject, id: ReadPrediction['id']): LeanRow | string {
  if (scenario !== undefined || twin !== undefined) {
    return 'it is of awb infer --scenarios, whose predictions are verified and not judged; awb score tells what came of them';
  }
  if (id === undefined) return 'it has neither "prompt" nor "awb"; give the file that awb infer wrote';
  return { kind: 'lean', key: id.key, domain: domainOf(typeof task === 'string' ? task : '') };
}

/** Changes whenever a prediction, or the failure in its place, changes. */
export function stampOf(gen: string, failure: NoPrediction | undefined): string {
  return createHash('sha256')
    .update(`${failure?.class ?? ''}\n`)
    .update(gen)
    .digest('hex')
    .slice(0, 16);
}
