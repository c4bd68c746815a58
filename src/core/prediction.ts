// The prediction record: what infer adds to a row of predictions.jsonl (`gen` and `awb`), made and read here alone.

import { isObject, type JsonObject } from './json.js';
import { type Flag, type ModelFailure, type ModelReply, type RolloutStep, rolloutMember } from './types.js';

/** How often infer asks for one row at most. */
export const MOST_REPEATS = 1000;

/** Which prediction of which row it is; `repeat` is 0-based. */
export interface PredictionId {
  readonly key: string;
  readonly trajectory: string;
  readonly repeat: number;
  /** Where in a rollout it stands; absent in an ordinary run. */
  readonly rollout?: RolloutStep | undefined;
}

/** The `awb` object, in which `predicted` puts more. It holds no time and no attempt count, so that a continued run ends byte-identical. */
type PredictionRecord = JsonObject & { readonly flags: readonly string[] } & (
    | { readonly status: 'ok' }
    | { readonly status: 'failed'; readonly class: string; readonly reason: string }
  );

/** What infer adds to a row: of a world model's reply, or of the text that a baseline gives in its place. */
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

/** Why there is no prediction: why the call failed, or that what the model itself said in a rollout no longer fits into the context. */
export type PredictionFailure = Omit<ModelFailure, 'class'> & { readonly class: ModelFailure['class'] | 'too-long' };

/** The same of a call that failed. */
export function unpredicted(id: PredictionId, { class: failure, reason }: Pick<PredictionFailure, 'class' | 'reason'>) {
  return { gen: '', awb: { ...idOf(id), status: 'failed', class: failure, reason, flags: [] } };
}

function idOf({ key, trajectory, repeat, rollout }: PredictionId) {
  return { key, trajectory, repeat, ...(rollout === undefined ? {} : { rollout: rolloutMember(rollout) }) };
}

/** The record among the members that infer wrote. */
export function recordedPrediction({ awb }: JsonObject): PredictionRecord {
  // The journal's checksums say that it is what `predicted` or `unpredicted` made.
  return awb as PredictionRecord;
}

/** What a row of a predictions file says of its prediction, whoever wrote it. */
export interface ReadPrediction {
  /** Empty where the row has none. */
  readonly gen: string;
  /** Undefined where infer did not write the row. */
  readonly id: Pick<PredictionId, 'key' | 'repeat'> | undefined;
  /** The `awb` object as it stands there, unknown keys kept; empty where infer did not write the row. */
  readonly awb: JsonObject;
  /** Undefined where there is a prediction. */
  readonly failure: NoPrediction | undefined;
}

/** Why a row holds no prediction. */
export interface NoPrediction {
  /** The class of infer's failure; `empty` where the model gave nothing, `absent` where the row has no `gen` at all. */
  readonly class: string;
  readonly reason: string;
}

/** Reads a row of a predictions file, ours or the official script's; undefined where its `gen` is no text. */
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
