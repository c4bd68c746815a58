// What a judge is shown of each prediction: the recorded history or a rollout's simulated one, and what stands beside the prediction:
// that of another file, or the truth of another row.

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type PredictedRow, type PredictionFile, type PredictionRef, openRolloutTurns, type SimulatedHistory } from '../benchmark/predictions.js';
import { badData } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { groupBy } from '../core/groups.js';
import { rowId } from '../core/row-id.js';
import { groundTruthOf } from '../core/turn.js';
import type { Sample } from '../core/types.js';
import type { Beside, Method, Mode } from './mode.js';
import type { JudgeSettings } from './options.js';

/** Predictions as a mode judges them. */
export interface JudgedPredictions extends PredictionFile {
  read(ref: PredictionRef): Promise<PredictedRow & { readonly beside?: Beside }>;
  /** Ids of the predictions that no judge need be asked about. */
  readonly settled?: ReadonlySet<string>;
  /** What the user should know of what stands beside them. */
  readonly notices?: readonly string[];
}

/**
 * The predictions with what the mode wants beside them. Each is read once here, since only its text tells whether a judge has to be
 * asked. @param openReference opens the file of --reference
 */
export async function withBeside(
  mode: Mode,
  method: Method,
  file: PredictionFile,
  openReference: () => Promise<PredictionFile>,
): Promise<JudgedPredictions> {
  if (mode.beside === undefined) return file;
  if (mode.beside === 'truth') return { ...file, read: truthsBeside(file) };
  const other = await openReference();
  const predictions = predictionsBeside(file, other);
  return { ...predictions, settled: await settledIn(predictions, method) };
}

async function settledIn(predictions: JudgedPredictions, method: Method): Promise<ReadonlySet<string>> {
  const settled = new Set<string>();
  for (const ref of predictions.refs) {
    if (ref.failure !== undefined) continue;
    if (method.alone?.(await predictions.read(ref)) !== undefined) settled.add(rowId(ref.key, ref.repeat));
  }
  return settled;
}

const MOST_NAMED = 5;

/** Each prediction beside that of the same row and repeat in the other file, or of the row's first repeat there. */
function predictionsBeside(file: PredictionFile, other: PredictionFile): JudgedPredictions {
  const partners = new Map<string, PredictionRef>();
  for (const ref of other.refs) {
    for (const id of [rowId(ref.key, ref.repeat), ref.key]) if (!partners.has(id)) partners.set(id, ref);
  }
  const partnerOf = ({ key, repeat }: PredictionRef) => partners.get(rowId(key, repeat)) ?? partners.get(key);
  const read = async (ref: PredictionRef) => {
    const partner = partnerOf(ref);
    if (partner === undefined) {
      return { ...(await file.read(ref)), beside: missing('the reference has no prediction of this row') };
    }
    const { gen: text } = await other.read(partner);
    return { ...(await file.read(ref)), beside: { text, failure: partner.failure } };
  };
  const alone = file.refs.filter((ref) => partnerOf(ref) === undefined).map(({ line }) => line);
  const named = `${alone.length === 1 ? 'line' : 'lines'} ${alone.slice(0, MOST_NAMED).join(', ')}${alone.length > MOST_NAMED ? ', ...' : ''}`;
  const notice = `${counted(alone.length, 'prediction')} of ${file.refs.length} in ${file.path} have no partner in ${other.path} and are not compared: ${basename(file.path)}, ${named}`;
  return {
    // A judgement is stale where either of the two has changed.
    ...withSource(file, other, (ref) => partnerOf(ref)?.stamp),
    read,
    notices: alone.length === 0 ? [] : [notice],
  };
}

/** The predictions with the stamps of what else they are judged by in theirs, which is closed with them. */
function withSource(
  file: PredictionFile,
  source: { close(): Promise<unknown> },
  stampOf: (ref: PredictionRef) => string | undefined,
): PredictionFile {
  return {
    ...file,
    refs: file.refs.map((ref) => ({ ...ref, stamp: `${ref.stamp}+${stampOf(ref) ?? ''}` })),
    async close() {
      await source.close();
      await file.close();
    },
  };
}

function missing(reason: string): Beside {
  return { text: '', failure: { class: 'absent', reason } };
}

/** How many other rows are looked at for a truth that is another one. */
const MOST_LOOKS = 8;

/** Each prediction beside the truth of another row of its domain, chosen by the row's key: of another trajectory where there is one. */
function truthsBeside(file: PredictionFile): JudgedPredictions['read'] {
  const domains = groupBy(file.refs, ({ domain }) => domain);
  return async (ref) => {
    const row = await file.read(ref);
    const truth = groundTruthOf(row.sample);
    for (const other of othersOf(ref, domains.get(ref.domain) ?? [])) {
      const text = groundTruthOf((await file.read(other)).sample);
      if (text !== truth) return { ...row, beside: { text } };
    }
    return { ...row, beside: missing('the file holds no other truth of this domain') };
  };
}

/** The rows that are looked at in turn: some of other trajectories before some of the same. */
function othersOf({ key, trajectory }: PredictionRef, refs: readonly PredictionRef[]): PredictionRef[] {
  const start = createHash('sha256').update(`known pair ${key}`).digest().readUInt32BE(0) % refs.length;
  const others = [...refs.slice(start), ...refs.slice(0, start)]
    .slice(0, MOST_LOOKS)
    .filter((other) => other.key !== key);
  const isFar = (other: PredictionRef) => other.trajectory !== trajectory;
  return [...others.filter(isFar), ...others.filter((other) => !isFar(other))];
}

/**
 * Predictions as the judge is to see them: of a rollout with the histories that their world model saw, and without the truth.
 * @param path what infer wrote: the turns of a rollout lie beside it, wherever a judged file of it lies
 * @throws UserError: 65 for a prediction whose turn the rollout does not have, and as `openRolloutTurns`
 */
export async function asSeen(
  file: PredictionFile,
  path: string,
  { judgeSees }: Pick<JudgeSettings, 'judgeSees'>,
  stop: AbortSignal,
): Promise<PredictionFile> {
  if (judgeSees === 'history') return file;
  const turns = await openRolloutTurns(join(dirname(path), 'rollout.jsonl'), stop).catch(async (error) => {
    await file.close();
    throw error;
  });
  // A judgement is stale where the history has changed, too.
  const seen = withSource(file, turns, ({ key, repeat }) => turns.stampOf(key, repeat));
  const strange = file.refs.find(({ key, repeat }) => turns.stampOf(key, repeat) === undefined);
  if (strange !== undefined) {
    await seen.close();
    throw badData(
      `${file.path}:${strange.line}: ${turns.path} has no turn of this row (key ${strange.key}), so the two do not belong together; name the predictions.jsonl that awb infer --rollout wrote beside it`,
    );
  }
  return {
    ...seen,
    async read(ref) {
      const read = await file.read(ref);
      return { ...read, sample: simulated(read.sample, await turns.read(ref.key, ref.repeat)) };
    },
  };
}

/** The row as the world model saw it; where the truth stood, there is nothing. */
function simulated(sample: Sample, { turns, from, prompt }: SimulatedHistory): Sample {
  return {
    ...sample,
    prompts: [...sample.prompts.slice(0, from), ...turns.map((turn) => turn.prompt), prompt],
    responses: [...sample.responses.slice(0, from), ...turns.map((turn) => turn.response), ''],
    currentPrompt: prompt,
  };
}
