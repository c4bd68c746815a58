// A predictions file, complete or lean, from awb or from the official script -> a reference to each row, which is read when its turn
// comes; and the turns of its rollouts.

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { badData, closingOnFailure, present } from '../core/errors.js';
import { heldIn } from '../core/groups.js';
import { isInteger, type JsonObject, parseObject } from '../core/json.js';
import { judgementIndexIn } from '../core/judged-row.js';
import { type NoPrediction, type ReadPrediction, readPredictionRow } from '../core/prediction.js';
import { rowId } from '../core/row-id.js';
import type { Turn } from '../core/turn.js';
import type { Domain, Sample } from '../core/types.js';
import type { Dataset, RowRef } from './dataset.js';
import {
  badLine,
  type ObjectFile,
  type ObjectLine,
  objectLines,
  onceIn,
  openToRead,
  readAgain,
  type Span,
  spanOf,
} from './line-file.js';
import { isKeyOf, openRowKeys, readParsedRow, readSampleAgain } from './sample.js';

const HINT = '--predictions takes the file that awb infer writes';

/** The place of a prediction, and what judging needs before it is read. */
export interface PredictionRef extends Span {
  readonly key: string;
  /** The row's own id, as in `RowRef`. */
  readonly id: string;
  readonly trajectory: string;
  readonly repeat: number;
  readonly domain: Domain;
  readonly turnIdx: number;
  readonly line: number;
  /** Changes whenever `gen`, or the failure in its place, changes. */
  readonly stamp: string;
  /** Why there is no prediction. */
  readonly failure?: NoPrediction | undefined;
  /** The row in the data to which a lean prediction belongs. */
  readonly row?: RowRef | undefined;
}

/** A prediction, read. */
export interface PredictedRow extends Pick<ReadPrediction, 'gen' | 'awb'> {
  /** The line's own text. */
  readonly text: string;
  readonly sample: Sample;
}

export type PredictionFile = Awaited<ReturnType<typeof openPredictions>>;

/**
 * Reads a predictions file, or a judged one, once: if a prediction has several judgements, the first represents it. Lean rows are
 * looked up in `data` by key. A row without `gen` (absent or null) was not predicted: it fails as `absent`, and the others are judged.
 * @throws UserError 66 if the file cannot be read; 65 for a file without a single `gen`, a line that is not a row, a `gen` that is not
 * text, a duplicate row, or a lean row without its data; 130 or 143 once `stop` is aborted.
 */
export async function openPredictions(path: string, data: Dataset | undefined, stop?: AbortSignal) {
  const handle = await openToRead(path, HINT);
  return closingOnFailure(handle, async () => {
    const hash = createHash('sha256');
    const file = { path, hint: HINT, remedy: 'recreate the file with awb infer' };
    const lines = objectLines(handle, file, stop, (chunk) => hash.update(chunk));
    const refs = await refsIn(lines, file, data);
    requirePredicted(path, refs);
    return {
      path,
      /** In file order. */
      refs,
      /** SHA-256 hex of the file's bytes. */
      sha256: hash.digest('hex'),
      /** @throws UserError (65) if the row's place now has other text. */
      async read(ref: PredictionRef): Promise<PredictedRow> {
        const text = await readAgain(handle, ref, path);
        // The same bytes are the same prediction of the same row.
        const fields = present(parseObject(text));
        const { gen, awb } = present(readPredictionRow(fields));
        const sample = ref.row === undefined ? readSampleAgain(fields, ref) : await data?.readSample(ref.row);
        return { text, gen, awb, sample: { ...present(sample), key: ref.key } };
      },
      /** Bytes of the lines of the prediction and its row. */
      bytesOf: ({ length, row }: PredictionRef) => length + (row?.length ?? 0),
      close: () => handle.close(),
    };
  });
}

/** @throws UserError (65) for a file without a single prediction. */
function requirePredicted(path: string, refs: readonly PredictionRef[]): void {
  if (refs.some(({ failure }) => failure?.class !== 'absent')) return;
  throw badData(
    `${path} has ${refs.length === 0 ? 'no rows' : 'no predictions (no row has a "gen")'}; run awb infer first`,
  );
}

/** What a row's own fields, or the data's, say about a prediction. */
type Identified = Pick<PredictionRef, 'key' | 'id' | 'trajectory' | 'domain' | 'turnIdx' | 'row'>;

/** Reads the lines of a file in order. @throws UserError (65) for a line that is not a row, or that occurs again */
async function refsIn(lines: AsyncIterable<ObjectLine>, file: ObjectFile, data: Dataset | undefined) {
  const refs = new Map<string, PredictionRef>();
  const requireNew = onceIn(file, 'row');
  /** For rows of the official script, which have no key of awb's. */
  const keyOf = openRowKeys();

  /** What is known about the row in a line, or why the line cannot be used. */
  function wholeRow(text: string, fields: JsonObject, id: ReadPrediction['id']): Identified | string {
    const reading = readParsedRow(text, fields);
    if (!reading.ok) return reading.flaw.reason;
    const { key, trajectory, domain, turnIdx } = reading.row.sample;
    if (id !== undefined && !isKeyOf(id.key, key)) {
      return 'the row was changed after awb infer wrote it (its key does not match); recreate it';
    }
    return { key: id?.key ?? keyOf(key), id: reading.row.id, trajectory, domain, turnIdx };
  }

  /** The row of a line without the trajectory's text. */
  function leanRow(id: ReadPrediction['id']): Identified | string {
    if (id === undefined) return 'it has neither "prompt" nor "awb"; use the file that awb infer wrote';
    if (data === undefined) {
      return 'it is lean (the trajectory text was left out); name the benchmark folder with --data-dir';
    }
    const row = data.find(id.key);
    if (row === undefined)
      return `no row in --data-dir has its key ${id.key}; give the folder that awb infer was run on`;
    const { key, trajectory, domain, turnIdx } = row;
    return { key, id: row.id, trajectory, domain, turnIdx, row };
  }

  for await (const { line, text, fields } of lines) {
    const refused = (reason: string) => badLine(file, line, reason);
    const prediction = readPredictionRow(fields);
    if (prediction === undefined) {
      throw refused('"gen" is not a string; it has to be the model\'s reply, or be left out if there is none');
    }
    const { gen, id, awb, failure } = prediction;
    const row = 'prompt' in fields ? wholeRow(text, fields, id) : leanRow(id);
    if (typeof row === 'string') throw refused(row);
    const repeat = id?.repeat ?? 0;
    requireNew(rowId(row.key, repeat, judgementIndexIn(awb)), line);
    const place = { line: line.number, ...spanOf(line) };
    const ref = { ...row, repeat, ...place, stamp: stampOf(gen, failure), failure };
    heldIn(refs, rowId(row.key, repeat), () => ref);
  }
  return [...refs.values()];
}

/** Changes whenever a prediction, or the failure in its place, changes. */
export function stampOf(gen: string, failure: NoPrediction | undefined): string {
  return createHash('sha256')
    .update(`${failure?.class ?? ''}\n`)
    .update(gen)
    .digest()
    .toString('hex', 0, 8);
}

// The turns of a rollout, which infer wrote next to its predictions: the history that the world model saw, read when a row's turn comes.

const ROLLOUT_HINT =
  'awb infer --rollout writes it next to predictions.jsonl, and --judge-sees rollout shows it; keep both together, or leave --judge-sees out';
const ROLLOUT_REMEDY = 'run awb infer again to rewrite it';

/** @throws UserError: 66 if the file cannot be read, 65 for a line that is not a turn of a rollout, 130 or 143 once `stop` is aborted. */
export async function openRolloutTurns(path: string, stop?: AbortSignal) {
  const handle = await openToRead(path, ROLLOUT_HINT);
  return closingOnFailure(handle, async () => {
    const places = await placesIn(path, handle, stop);
    return {
      path,
      /** Changes whenever a row's simulated history does; undefined for a row that is not in the file. */
      stampOf: (key: string, repeat: number) => places.get(rowId(key, repeat))?.stamp,
      /**
       * The history that a benchmark row was asked after. @throws UserError (65) if the row is not in the file, or its place now has
       * other text.
       */
      async read(key: string, repeat: number) {
        const { spans } = places.get(rowId(key, repeat)) ?? { spans: [] };
        // The same bytes are the same turn.
        const texts = await Promise.all(spans.map((span) => readAgain(handle, span, path)));
        const lines = texts.map((text) => present(turnOf(present(parseObject(text)))));
        const own = lines.pop();
        if (own === undefined) throw badData(`${path} has no turn of the row ${key}; ${ROLLOUT_REMEDY}`);
        const turns = lines.map(({ prompt, observation }): Turn => ({ prompt, response: observation }));
        // `turns` are the world model's, beginning with turn `from + 1`; `prompt` is that of the row's own turn after them.
        return { turns, from: own.from, prompt: own.prompt };
      },
      close: () => handle.close(),
    };
  });
}

async function placesIn(path: string, handle: FileHandle, stop: AbortSignal | undefined) {
  /** By row: the turns of its chain up to and including its own, and a hash over them. */
  const places = new Map<string, { readonly spans: readonly Span[]; readonly stamp: string }>();
  const chains = new Map<string, { readonly spans: Span[]; hash: number; step: number }>();
  const file = { path, hint: ROLLOUT_HINT, command: 'awb infer' };
  for await (const { line, fields } of objectLines(handle, file, stop)) {
    const turn = turnOf(fields);
    if (turn === undefined) throw badLine(file, line, `not a turn of a rollout; ${ROLLOUT_REMEDY}`);
    const chainId = rowId(turn.chain, turn.repeat);
    const chain = chains.get(chainId) ?? { spans: [], hash: 0, step: turn.from };
    if (turn.step !== chain.step + 1) {
      throw badLine(file, line, `found turn ${turn.step} instead of turn ${chain.step + 1}; ${ROLLOUT_REMEDY}`);
    }
    chain.spans.push(spanOf(line));
    chain.hash = crc32(turn.prompt, chain.hash);
    if (turn.row !== null)
      places.set(rowId(turn.row, turn.repeat), { spans: [...chain.spans], stamp: String(chain.hash) });
    chain.hash = crc32(turn.observation, chain.hash);
    chain.step = turn.step;
    chains.set(chainId, chain);
  }
  return places;
}

/** The turn in a line; undefined if there is none. */
function turnOf({ chain, step, distance, repeat = 0, row, prompt, observation }: JsonObject) {
  const isPlaced = typeof chain === 'string' && isInteger(step) && isInteger(distance) && isInteger(repeat);
  if (!isPlaced || distance < 1 || step < distance) return undefined;
  if (typeof prompt !== 'string' || typeof observation !== 'string') return undefined;
  if (row !== null && typeof row !== 'string') return undefined;
  return { chain, step, from: step - distance, repeat, row, prompt, observation };
}
