// The prediction record: what infer adds to a row of predictions.jsonl (`gen` and `awb`), made and read only here.

import { isObject, type JsonObject } from './json.js';
import { type Flag, type ModelFailure, type ModelReply, type RolloutStep, rolloutMember } from './types.js';

/** The most times that infer asks for one row. */
export const MOST_REPEATS = 1000;

/** Identifies a prediction and its row; `repeat` is 0-based. */
export interface PredictionId {
  readonly key: string;
  readonly trajectory: string;
  readonly repeat: number;
  /** Its place in a rollout; absent in an ordinary run. */
  readonly rollout?: RolloutStep | undefined;
}

/** The `awb` object, which `predicted` extends. It contains no time and no attempt count, so that a continued run ends byte-identical. */
type PredictionRecord = JsonObject & { readonly flags: readonly string[] } & (
    | { readonly status: 'ok' }
    | { readonly status: 'failed'; readonly class: string; readonly reason: string }
  );

/** What infer adds to a row: from a world model's reply, or from the text of a baseline. */
export function predicted(
  id: PredictionId,
  reply: Pick<ModelReply, 'content' | 'finishReason' | 'fittedMaxTokens' | 'reasoning'>,
  flags: readonly Flag[],
) {
  const { content, finishReason, fittedMaxTokens, reasoning } = reply;
  const awb = {
    ...idOf(id),
    status: 'ok',
    flags,
    ...(finishReason === undefined ? {} : { finish_reason: finishReason }),
    ...(fittedMaxTokens === undefined ? {} : { fitted_max_tokens: fittedMaxTokens }),
    ...(reasoning === undefined ? {} : { reasoning }),
  };
  return { gen: content, awb };
}

/** Why there is no prediction: the call failed, or in a rollout the model's own earlier turns no longer fit into the context. */
export type PredictionFailure = Omit<ModelFailure, 'class'> & { readonly class: ModelFailure['class'] | 'too-long' };

/** What infer adds to a row whose call failed. */
export function unpredicted(id: PredictionId, { class: failure, reason }: Pick<PredictionFailure, 'class' | 'reason'>) {
  return { gen: '', awb: { ...idOf(id), status: 'failed', class: failure, reason, flags: [] } };
}

function idOf({ key, trajectory, repeat, rollout }: PredictionId) {
  return { key, trajectory, repeat, ...(rollout === undefined ? {} : { rollout: rolloutMember(rollout) }) };
}

/** The prediction record among the members that infer wrote. */
export function recordedPrediction({ awb }: JsonObject): PredictionRecord {
  // The journal's checksums guarantee that `predicted` or `unpredicted` made it.
  return awb as PredictionRecord;
}

/** What a row of a predictions file says about its prediction, whichever program wrote it. */
export interface ReadPrediction {
  /** Empty if the row has none. */
  readonly gen: string;
  /** Undefined if infer did not write the row. */
  readonly id: Pick<PredictionId, 'key' | 'repeat'> | undefined;
  /** The `awb` object, with unknown keys kept; empty if infer did not write the row. */
  readonly awb: JsonObject;
  /** Undefined if there is a prediction. */
  readonly failure: NoPrediction | undefined;
}

/** Why a row has no prediction. */
export interface NoPrediction {
  /** The class of infer's failure; `empty` if the model gave nothing, `absent` if the row has no `gen`. */
  readonly class: string;
  readonly reason: string;
}

/** Reads a row of a predictions file, from awb or from the official script; undefined if its `gen` is not text. */
export function readPredictionRow({ gen = null, awb }: JsonObject): ReadPrediction | undefined {
  if (gen !== null && typeof gen !== 'string') return undefined;
  const id = isObject(awb) ? idIn(awb) : undefined;
  const own = isObject(awb) && id !== undefined ? awb : {};
  return { gen: gen ?? '', id, awb: own, failure: own.status === 'failed' ? failureIn(own) : failureToAnswer(gen) };
}

function idIn({ key, repeat }: JsonObject): ReadPrediction['id'] {
  return typeof key === 'string' && typeof repeat === 'number' && Number.isInteger(repeat)
    ? { key, repeat }
    : undefined;
}

function failureIn({ class: failure, reason }: JsonObject): NoPrediction {
  return {
    class: typeof failure === 'string' ? failure : 'fatal',
    reason: typeof reason === 'string' ? reason : 'no reason recorded',
  };
}

function failureToAnswer(gen: string | null): NoPrediction | undefined {
  if (gen === null) return { class: 'absent', reason: 'not predicted: the row has no "gen"' };
  return gen === '' ? { class: 'empty', reason: 'the model gave no prediction' } : undefined;
}
