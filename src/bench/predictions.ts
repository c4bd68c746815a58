// A predictions file, whole or lean, ours or the official script's -> an index of rows, each read when its turn comes.

import { createHash } from 'node:crypto';
import { EXIT, UserError } from '../errors.js';
import { type JsonObject, parseObject } from '../json.js';
import { judgementIndexIn } from '../judged-row.js';
import type { Line } from '../lines.js';
import { type NoPrediction, type ReadPrediction, readPredictionRow } from '../prediction.js';
import type { Domain, Sample } from '../types.js';
import { type Dataset, EqualRows, isKeyOf, type RowRef } from './dataset.js';
import { decoded, openToRead, placeOf, readLines, readSpan, textOf } from './line-file.js';
import { domainOf, readRow } from './sample.js';

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
  /** Changes whenever `gen`, or the failure in its place, changes. */
  readonly stamp: string;
  /** Why there is no prediction. */
  readonly failure?: NoPrediction;
  /** The row of the data that a lean prediction belongs to. */
  readonly row?: RowRef;
}

/** A prediction, read. */
export interface PredictedRow extends Pick<ReadPrediction, 'gen' | 'awb'> {
  /** The line's own text. */
  readonly text: string;
  readonly sample: Sample;
}

export interface PredictionFile {
  readonly path: string;
  /** In file order. */
  readonly refs: readonly PredictionRef[];
  /** SHA-256 hex of the file's bytes. */
  readonly sha256: string;
  /** @throws UserError (65) where another text lies in the row's place by now. */
  read(ref: PredictionRef): Promise<PredictedRow>;
  close(): Promise<void>;
}

type Fields = JsonObject;

/**
 * Indexes a predictions file, each prediction once: of a judged file that holds several judgements of it, the first stands for it.
 * @throws UserError as `openRows`.
 */
export async function openPredictions(
  path: string,
  data: Dataset | undefined,
  stop?: AbortSignal,
): Promise<PredictionFile> {
  const file = await openRows(path, data, stop);
  const seen = new Set<string>();
  const refs = file.refs.filter(({ key, repeat }) => {
    const id = `${key}#${repeat}`;
    const isFirst = !seen.has(id);
    seen.add(id);
    return isFirst;
  });
  return { ...file, refs };
}

/**
 * Indexes the rows of a predictions file, or of a judged one. Lean rows are looked up in `data` by their key. A row without `gen`
 * (absent or null) was not predicted: it fails as `absent`, and the others are judged.
 * @throws UserError 66 where the file cannot be read; 65 for a line that is not a row, a `gen` that is no text, a row that stands
 * there twice, a lean row without its data, or a file without a single `gen`.
 */
export async function openRows(path: string, data: Dataset | undefined, stop?: AbortSignal): Promise<PredictionFile> {
  const hint = '--predictions names the file that awb infer wrote';
  const handle = await openToRead(path, hint);
  const hash = createHash('sha256');
  const equals = new EqualRows();
  const rows = new Map((data?.rows ?? []).map((row) => [row.key, row]));
  const seen = new Map<string, number>();
  const refs: PredictionRef[] = [];
  try {
    for await (const line of readLines(handle, path, hint, stop, (chunk) => hash.update(chunk))) {
      const ref = readRef(path, line, equals, rows, data !== undefined);
      const id = `${ref.key}#${ref.repeat}#${ref.index}`;
      const earlier = seen.get(id);
      if (earlier !== undefined) {
        throw bad(path, line.number, `the row of line ${earlier} stands here again; take one of the two out`);
      }
      seen.set(id, line.number);
      refs.push(ref);
    }
    if (refs.length === 0) throw new UserError(`${path} holds no rows; run awb infer first`, EXIT.badData);
    if (refs.every((ref) => ref.failure?.class === 'absent')) {
      throw new UserError(
        `${path} holds rows without predictions (none has a "gen"); run awb infer on them first`,
        EXIT.badData,
      );
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    path,
    refs,
    sha256: hash.digest('hex'),
    async read(ref) {
      const text = decoded(await readSpan(handle, ref.offset, ref.length)) ?? '';
      const prediction = readPredictionRow(parseObject(text) ?? {});
      if (prediction === undefined || stampOf(prediction.gen, ref.failure) !== ref.stamp) throw changed(path);
      const { gen, awb } = prediction;
      const sample = ref.row === undefined ? wholeSample(text) : await data?.readSample(ref.row);
      if (sample === undefined || !isKeyOf(ref.key, sample.key)) throw changed(path);
      return { text, gen, awb, sample: { ...sample, key: ref.key } };
    },
    close: () => handle.close(),
  };
}

function readRef(
  path: string,
  line: Line,
  equals: EqualRows,
  rows: ReadonlyMap<string, RowRef>,
  hasData: boolean,
): PredictionRef {
  const found = textOf(line);
  if ('flaw' in found) throw bad(path, line.number, `${found.flaw}; make the file again with awb infer`);
  const { text } = found;
  const fields = parseObject(text);
  if (fields === undefined) throw bad(path, line.number, 'not a JSON object; make the file again with awb infer');
  const prediction = readPredictionRow(fields);
  if (prediction === undefined) {
    throw bad(
      path,
      line.number,
      '"gen" is not a text; it has to hold the model\'s reply, or to be left out where there is none',
    );
  }
  const { gen, id, awb, failure } = prediction;
  const identified =
    'prompt' in fields ? wholeRow(path, line, text, equals, id) : leanRow(path, line, fields, id, rows, hasData);
  return {
    ...identified,
    repeat: id?.repeat ?? 0,
    index: judgementIndexIn(awb),
    line: line.number,
    ...placeOf(line),
    stamp: stampOf(gen, failure),
    ...(failure === undefined ? {} : { failure }),
  };
}

type Identified = Pick<PredictionRef, 'key' | 'trajectory' | 'domain' | 'turnIdx' | 'row'>;

function wholeRow(path: string, line: Line, text: string, equals: EqualRows, id: ReadPrediction['id']): Identified {
  const reading = readRow(text);
  if (!reading.ok) throw bad(path, line.number, reading.flaw.reason);
  const { sample } = reading.row;
  const { trajectory, domain, turnIdx } = sample;
  if (id === undefined) return { key: equals.keyOf(sample.key), trajectory, domain, turnIdx };
  if (!isKeyOf(id.key, sample.key)) {
    throw bad(path, line.number, 'the row was changed after awb infer wrote it (its key does not fit); make it again');
  }
  return { key: id.key, trajectory, domain, turnIdx };
}

function leanRow(
  path: string,
  line: Line,
  fields: Fields,
  id: ReadPrediction['id'],
  rows: ReadonlyMap<string, RowRef>,
  hasData: boolean,
): Identified {
  if (id === undefined)
    throw bad(path, line.number, 'it has neither "prompt" nor "awb"; give the file that awb infer wrote');
  if (!hasData) {
    throw bad(
      path,
      line.number,
      'it is lean (the trajectory text was left out); name the benchmark folder with --data-dir',
    );
  }
  const row = rows.get(id.key);
  if (row === undefined) {
    throw bad(
      path,
      line.number,
      `no row of --data-dir has its key ${id.key}; name the folder that awb infer was run on`,
    );
  }
  const task = typeof fields.task === 'string' ? fields.task : '';
  if (domainOf(task) !== row.domain)
    throw bad(path, line.number, '"task" was changed after awb infer wrote it; make it again');
  return { key: row.key, trajectory: row.trajectory, domain: row.domain, turnIdx: row.turnIdx, row };
}

function stampOf(gen: string, failure: NoPrediction | undefined): string {
  return createHash('sha256')
    .update(`${failure?.class ?? ''}\n`)
    .update(gen)
    .digest('hex')
    .slice(0, 16);
}

function wholeSample(text: string): Sample | undefined {
  const reading = readRow(text);
  return reading.ok ? reading.row.sample : undefined;
}

function bad(path: string, line: number, reason: string): UserError {
  return new UserError(`${path}:${line}: ${reason}`, EXIT.badData);
}

function changed(path: string): UserError {
  return new UserError(`${path} was changed while it was being judged; run the same command again`, EXIT.badData);
}
