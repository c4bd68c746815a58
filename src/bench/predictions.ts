// A predictions file, whole or lean, ours or the official script's -> an index of rows, each read when its turn comes.

import { crc32 } from 'node:zlib';
import { EXIT, UserError } from '../errors.js';
import { TextNumbers } from '../hashed-texts.js';
import { parseObject } from '../json.js';
import type { List } from '../list.js';
import { type ReadPrediction, readPredictionRow } from '../prediction.js';
import { rowId, WORDS_OF_KEY } from '../row-id.js';
import type { Sample } from '../types.js';
import type { Dataset } from './dataset.js';
import { decoded, openToRead, readSpan } from './line-file.js';
import { filteredInTurns } from './loop-turn.js';
import { indexPredictions } from './prediction-indexing.js';
import type { PredictionRef } from './prediction-ref.js';
import { readSampleAgain } from './sample.js';

/** A prediction, read. */
export interface PredictedRow extends Pick<ReadPrediction, 'gen' | 'awb'> {
  /** The line's own text. */
  readonly text: string;
  readonly sample: Sample;
}

export interface PredictionFile {
  readonly path: string;
  /** In file order; each is made when it is looked at. */
  readonly refs: List<PredictionRef>;
  /** SHA-256 hex of the file's bytes. */
  readonly sha256: string;
  /** @throws UserError (65) where another text lies in the row's place by now. */
  read(ref: PredictionRef): Promise<PredictedRow>;
  /** Bytes of the lines that hold the prediction and its row. */
  bytesOf(ref: PredictionRef): number;
  close(): Promise<void>;
}

/**
 * Indexes a predictions file, each prediction once: of a judged file that holds several judgements of it, the first stands for it.
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
  const seen = new TextNumbers(WORDS_OF_KEY);
  const refs = await filteredInTurns(file.refs, ({ key, repeat }) => {
    const before = seen.size;
    seen.add(rowId(key, repeat));
    return seen.size > before;
  });
  return { ...file, refs };
}

/**
 * Indexes the rows of a predictions file, or of a judged one. Lean rows are looked up in `data` by their key. A row without `gen`
 * (absent or null) was not predicted: it fails as `absent`, and the others are judged.
 * @throws UserError 66 where the file cannot be read; 65 for a line that is not a row, a `gen` that is no text, a row that stands
 * there twice, or a lean row without its data.
 */
export async function openRows(path: string, data: Dataset | undefined, stop?: AbortSignal): Promise<PredictionFile> {
  const hint = '--predictions names the file that awb infer wrote';
  const handle = await openToRead(path, hint);
  try {
    const { size: bytes } = await handle.stat();
    const { refs, sha256 } = await indexPredictions({ path, handle, bytes }, { rows: data?.rows, hint, stop });
    return {
      path,
      refs,
      sha256,
      async read(ref) {
        const bytes = await readSpan(handle, ref.offset, ref.length);
        // The same bytes hold the same prediction of the same row.
        const text = crc32(bytes) === ref.checksum ? decoded(bytes) : undefined;
        const fields = text === undefined ? undefined : parseObject(text);
        const prediction = fields && readPredictionRow(fields);
        if (text === undefined || fields === undefined || prediction === undefined) throw changed(path);
        const { gen, awb } = prediction;
        const sample = ref.row === undefined ? readSampleAgain(fields, ref) : await data?.readSample(ref.row);
        if (sample === undefined) throw changed(path);
        return { text, gen, awb, sample: { ...sample, key: ref.key } };
      },
      bytesOf: ({ length, row }) => length + (row === undefined ? 0 : (data?.rows.bytes(row) ?? 0)),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** @throws UserError (65) for a file without a single prediction. */
function requirePredicted(path: string, refs: Iterable<PredictionRef>): void {
  let rows = 0;
  for (const { failure } of refs) {
    if (failure?.class !== 'absent') return;
    rows++;
  }
  throw new UserError(
    rows === 0
      ? `${path} holds no rows; run awb infer first`
      : `${path} holds rows without predictions (none has a "gen"); run awb infer on them first`,
    EXIT.badData,
  );
}

function changed(path: string): UserError {
  return new UserError(`${path} was changed while it was being judged; run the same command again`, EXIT.badData);
}
