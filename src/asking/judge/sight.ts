// What the judge sees: the recorded histories, or of a rollout the simulated ones, and then no truth.

import { dirname, join } from 'node:path';
import type { PredictionFile } from '../../bench/predictions.js';
import { openRolloutTurns, type RolloutTurns, type SimulatedHistory } from '../../bench/rollout-turns.js';
import { EXIT, UserError } from '../../errors.js';
import type { Mode } from '../../judge/mode.js';
import type { Sample } from '../../types.js';
import type { JudgeSettings } from './options.js';

/** @throws UserError (2) for a mode that needs the truth. */
export function requireSight({ judgesWithoutTruth }: Mode, { judgeSees, mode }: JudgeSettings): void {
  if (judgeSees === 'history' || judgesWithoutTruth) return;
  throw new UserError(
    `--judge-sees rollout shows a judge no truth, and --mode ${mode} needs one; leave --judge-sees out, or take --mode rubric`,
  );
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
