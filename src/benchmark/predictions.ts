// A predictions file, whole or lean, ours or the official script's -> a reference to each row, which is read when its turn comes.

import { createHash } from 'node:crypto';
import { badData, present } from '../core/errors.js';
import { type JsonObject, parseObject } from '../core/json.js';
import { judgementIndexIn } from '../core/judged-row.js';
import { type NoPrediction, type ReadPrediction, readPredictionRow } from '../core/prediction.js';
import { rowId } from '../core/row-id.js';
import type { Domain, Sample } from '../core/types.js';
import type { Dataset, RowRef } from './dataset.js';
import {
  badLine,
  type ObjectFile,
  type ObjectLine,
  objectLines,
  openToRead,
  readAgain,
  type Span,
  spanOf,
} from './line-file.js';
import { domainOf, EqualRows, isKeyOf, readParsedRow, readSampleAgain } from './sample.js';

const HINT = '--predictions names the file that awb infer wrote';

/** Where a prediction lies, and what judging needs to know of it before it is read. */
export interface PredictionRef extends Span {
  readonly key: string;
  readonly trajectory: string;
  readonly repeat: number;
  /** Of a judged file: which judgement of its prediction the row holds, from 0. */
  readonly index: number;
  readonly domain: Domain;
  readonly turnIdx: number;
  readonly line: number;
  /** Changes whenever `gen`, or the failure in its place, changes. */
  readonly stamp: string;
  /** Why there is no prediction. */
  readonly failure?: NoPrediction | undefined;
  /** The data's row that a lean prediction belongs to. */
  readonly row?: RowRef | undefined;
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
  /** Bytes of the lines that hold the prediction and its row. */
  bytesOf(ref: PredictionRef): number;
  close(): Promise<void>;
}

/**
 * Goes once through a predictions file and takes each prediction once: of a judged file that holds several judgements of it, the first
 * stands for it.
 * @throws UserError as `openRows`, and 65 for a file without a single `gen`.
 */
export async function openPredictions(
  path: string,
  data: Dataset | undefined,
  stop?: AbortSignal,
): Promise<PredictionFile> {
  const file = await openRows(path, data, stop);
  try {
    requirePredicted(path, file.refs);
  } catch (error) {
    await file.close();
    throw error;
  }
  const first = new Map<string, PredictionRef>();
  for (const ref of file.refs) {
    const id = rowId(ref.key, ref.repeat);
    if (!first.has(id)) first.set(id, ref);
  }
  return { ...file, refs: [...first.values()] };
}

/**
 * Goes once through a predictions file, or a judged one. Lean rows are looked up in `data` by their key. A row without `gen` (absent or
 * null) was not predicted: it fails as `absent`, and the others are judged.
 * @throws UserError 66 where the file cannot be read; 65 for a line that is not a row, a `gen` that is no text, a row that stands
 * there twice, or a lean row without its data; 130 or 143 once `stop` is aborted.
 */
export async function openRows(path: string, data: Dataset | undefined, stop?: AbortSignal): Promise<PredictionFile> {
  const handle = await openToRead(path, HINT);
  try {
    const hash = createHash('sha256');
    const file = { path, hint: HINT, remedy: 'make the file again with awb infer' };
    const reader = new RefReader(file, data);
    for await (const line of objectLines(handle, file, stop, (chunk) => hash.update(chunk))) reader.take(line);
    return {
      path,
      refs: reader.refs,
      sha256: hash.digest('hex'),
      async read(ref) {
        const text = await readAgain(handle, ref, path);
        // The same bytes hold the same prediction of the same row.
        const fields = present(parseObject(text));
        const { gen, awb } = present(readPredictionRow(fields));
        const sample = ref.row === undefined ? readSampleAgain(fields, ref) : await data?.readSample(ref.row);
        return { text, gen, awb, sample: { ...present(sample), key: ref.key } };
      },
      bytesOf: ({ length, row }) => length + (row?.length ?? 0),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** @throws UserError (65) for a file without a single prediction. */
function requirePredicted(path: string, refs: readonly PredictionRef[]): void {
  if (refs.some(({ failure }) => failure?.class !== 'absent')) return;
  throw badData(
    refs.length === 0
      ? `${path} holds no rows; run awb infer first`
      : `${path} holds rows without predictions (none has a "gen"); run awb infer on them first`,
  );
}

/** What a row's own fields, or the data's, say of a prediction. */
type Identified = Pick<PredictionRef, 'key' | 'trajectory' | 'domain' | 'turnIdx' | 'row'>;

/** Takes in the lines of a file in their order. */
class RefReader {
  readonly refs: PredictionRef[] = [];
  readonly #lineOf = new Map<string, number>();
  /** The rows of the official script, which have no key of ours. */
  readonly #equals = new EqualRows();

  constructor(
    private readonly file: ObjectFile,
    private readonly data: Dataset | undefined,
  ) {}

  /** @throws UserError (65) */
  take({ line, text, fields }: ObjectLine): void {
    const refused = (reason: string) => badLine(this.file, line, reason);
    const prediction = readPredictionRow(fields);
    if (prediction === undefined) {
      throw refused('"gen" is not a text; it has to hold the model\'s reply, or to be left out where there is none');
    }
    const { gen, id, awb, failure } = prediction;
    const row = 'prompt' in fields ? this.#wholeRow(text, fields, id) : this.#leanRow(fields, id);
    if (typeof row === 'string') throw refused(row);
    const { key } = row;
    const [repeat, index] = [id?.repeat ?? 0, judgementIndexIn(awb)];
    const earlier = this.#lineOf.get(rowId(key, repeat, index));
    if (earlier !== undefined) throw refused(`the row of line ${earlier} stands here again; take one of the two out`);
    this.#lineOf.set(rowId(key, repeat, index), line.number);
    const { offset, length, checksum } = spanOf(line);
    // Field by field: what is spread into an object takes up to twice the memory.
    this.refs.push({
      key,
      trajectory: row.trajectory,
      domain: row.domain,
      turnIdx: row.turnIdx,
      row: row.row,
      repeat,
      index,
      line: line.number,
      offset,
      length,
      checksum,
      stamp: stampOf(gen, failure),
      failure,
    });
  }

  /** What is known of the row in a line, or why the line cannot be used. */
  #wholeRow(text: string, fields: JsonObject, id: ReadPrediction['id']): Identified | string {
    const reading = readParsedRow(text, fields);
    if (!reading.ok) return reading.flaw.reason;
    const { key, trajectory, domain, turnIdx } = reading.row.sample;
    if (id !== undefined && !isKeyOf(id.key, key)) {
      return 'the row was changed after awb infer wrote it (its key does not fit); make it again';
    }
    return { key: id?.key ?? this.#equals.keyOf(key), trajectory, domain, turnIdx };
  }

  /** The row in a line from which the trajectory's text was left out. */
  #leanRow({ task, scenario, twin }: JsonObject, id: ReadPrediction['id']): Identified | string {
    if (scenario !== undefined || twin !== undefined) {
      return 'it is of awb infer --scenarios, whose predictions are verified and not judged; awb score tells what came of them';
    }
    if (id === undefined) return 'it has neither "prompt" nor "awb"; give the file that awb infer wrote';
    if (this.data === undefined) {
      return 'it is lean (the trajectory text was left out); name the benchmark folder with --data-dir';
    }
    const row = this.data.find(id.key);
    if (row === undefined) {
      return `no row of --data-dir has its key ${id.key}; name the folder that awb infer was run on`;
    }
    if (row.domain !== domainOf(typeof task === 'string' ? task : '')) {
      return '"task" was changed after awb infer wrote it; make it again';
    }
    return { key: row.key, trajectory: row.trajectory, domain: row.domain, turnIdx: row.turnIdx, row };
  }
}

/** Changes whenever a prediction, or the failure in its place, changes. */
export function stampOf(gen: string, failure: NoPrediction | undefined): string {
  return createHash('sha256')
    .update(`${failure?.class ?? ''}\n`)
    .update(gen)
    .digest()
    .toString('hex', 0, 8);
}
