// Parts of a run over the rows of the data put together: the rows that they chose, each with what was made of it.

import type { Dataset } from '../../bench/dataset.js';
import { isObject, type JsonObject } from '../../json.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import type { InferJob } from '../infer/inferring.js';
import { inferOutput, predictionState } from '../infer/inferring.js';
import { likelihoodOutput } from '../infer/likelihood.js';
import { planRollout, recordedRows } from '../infer/rollout/plan.js';
import { rolloutOutput } from '../infer/rollout/rolling-out.js';
import { isDoneTurn, type TurnJob, turnJobsOf } from '../infer/rollout/turns.js';
import { judgementState } from '../judge/records.js';
import { STAMP_KEY } from '../run.js';
import { mostOf, type PartSettings, wholeChoice } from './choice.js';
import type { MergedKind } from './joining.js';

/** What the rows of a merged run are made of. */
interface MergedRows {
  readonly manifest: Manifest;
  /** The settings of its parts. */
  readonly parts: readonly PartSettings[];
  readonly dataset: Dataset;
  readonly stop: AbortSignal;
}

/** Predictions of rows by themselves, or measures of their truths. */
export function mergedRows({ manifest, parts, dataset }: MergedRows): MergedKind<InferJob> {
  const mark = madeWith(manifest).dropped.join(' ');
  const [stateOf, outputOf] =
    manifest.kind === 'likelihood'
      ? ([judgementState, likelihoodOutput] as const)
      : ([predictionState, inferOutput] as const);
  const settings = mostOf(parts);
  const chosen = wholeChoice(dataset, parts);
  return {
    stateOf,
    isDone(record) {
      const { [STAMP_KEY.infer]: stamp = '' } = record.log;
      return stateOf(record).status === 'ok' && stamp === mark;
    },
    stageOf: (run) => outputOf({ settings, dataset, chosen }, run.journal),
  };
}

/** Predictions of a rollout, with its file of turns. */
export function mergedRollout({ manifest, parts, dataset, stop }: MergedRows): MergedKind<TurnJob> {
  const settings = mostOf(parts);
  const chosen = wholeChoice(dataset, parts);
  const from = rolloutFrom(manifest.identity);
  return {
    stateOf: predictionState,
    isDone: (record) => isDoneTurn(predictionState(record)),
    async stageOf(run) {
      const recorded = recordedRows(dataset, run.journal.ids());
      const plan = await planRollout({ dataset, chosen, recorded, from, stop });
      const order = { order: 'file', sampleSeed: 0, repeats: settings.repeats } as const;
      const jobs = turnJobsOf(dataset, plan, order, run.journal.ids());
      return rolloutOutput({ settings, dataset }, jobs, run);
    },
  };
}

/** Whether a run is a rollout, as its identity says. */
export function isRollout({ identity }: Manifest): boolean {
  return identity.rollout !== undefined;
}

function rolloutFrom({ rollout }: Manifest['identity']): number {
  const { from }: JsonObject = isObject(rollout) ? rollout : {};
  return typeof from === 'number' ? from : 0;
}
