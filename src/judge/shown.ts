// What a judge is shown of each prediction: the recorded history or a rollout's simulated one, and what stands beside the prediction:
// that of another file, or the truth of another row.

import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import type { PredictedRow, PredictionFile, PredictionRef } from '../benchmark/predictions.js';
import { openRolloutTurns, type RolloutTurns, type SimulatedHistory } from '../benchmark/rollout-turns.js';
import { EXIT, UserError } from '../core/errors.js';
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
  // A judgement is stale where either of the two has changed.
  const refs = file.refs.map((ref) => ({ ...ref, stamp: `${ref.stamp}+${partnerOf(ref)?.stamp ?? ''}` }));
  const read = async (ref: PredictionRef) => {
    const partner = partnerOf(ref);
    const beside: Beside =
      partner === undefined
        ? { text: '', failure: { class: 'absent', reason: 'the reference has no prediction of this row' } }
        : {
            text: (await other.read(partner)).gen,
            ...(partner.failure && { failure: partner.failure }),
          };
    return { ...(await file.read(ref)), beside };
  };
  const alone = refs.filter((ref) => partnerOf(ref) === undefined).map(({ line }) => line);
  const close = async () => {
    await other.close();
    await file.close();
  };
  return { ...file, refs, read, close, notices: alone.length === 0 ? [] : [aloneNotice(alone, file, other)] };
}

function aloneNotice(lines: readonly number[], file: PredictionFile, other: PredictionFile): string {
  const named = lines.slice(0, MOST_NAMED).join(', ');
  const more = lines.length > MOST_NAMED ? ', ...' : '';
  return `${counted(lines.length, 'prediction')} of ${file.refs.length} in ${file.path} have no partner in ${other.path} and are not compared: ${basename(file.path)}, ${lines.length === 1 ? 'line' : 'lines'} ${named}${more}`;
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
    const reason = 'the file holds no other truth of this domain';
    return { ...row, beside: { text: '', failure: { class: 'absent', reason } } };
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
 * Predictions as the judge is to see them.
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
  const close = async () => {
    await turns.close();
    await file.close();
  };
  try {
    return { ...asSimulated(file, turns), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The predictions with the histories that their world model saw, and without the truth. @throws UserError as `asSeen`. */
function asSimulated(file: PredictionFile, turns: RolloutTurns): PredictionFile {
  for (const { key, repeat, line } of file.refs) {
    if (turns.stampOf(key, repeat) !== undefined) continue;
    throw new UserError(
      `${file.path}:${line}: ${turns.path} has no turn of this row (key ${key}), so the two do not belong together; name the predictions.jsonl that awb infer --rollout wrote beside it`,
      EXIT.badData,
    );
  }
  // A judgement is stale where the history has changed, too.
  const refs = file.refs.map((ref) => ({
    ...ref,
    stamp: `${ref.stamp}+${turns.stampOf(ref.key, ref.repeat) ?? ''}`,
  }));
  return {
    ...file,
    refs,
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
