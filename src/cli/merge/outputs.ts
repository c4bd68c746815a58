// What each kind of run makes of a joined journal: which records stand, and the output file, as the run's own command makes it.

import type { Dataset } from '../../benchmark/dataset.js';
import type { PredictionFile } from '../../benchmark/predictions.js';
import { asObject } from '../../core/json.js';
import { isUnasked } from '../../core/judgement.js';
import { rowId } from '../../core/row-id.js';
import { type InferJob, inferOutput, predictionState } from '../../infer/inferring.js';
import { likelihoodOutput } from '../../infer/likelihood.js';
import { planRollout, recordedRows } from '../../infer/rollout/plan.js';
import { isDoneTurn, rolloutOutput, type TurnJob, turnJobsOf } from '../../infer/rollout/rolling-out.js';
import { absentFrom, type JudgeJob, judgeOutput } from '../../judge/judging.js';
import { isDone, judgementState } from '../../judge/records.js';
import type { JournalRecord } from '../../run/journal.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { type RowState, type Run, STAMP_KEY } from '../../run/run.js';
import type { StageJob, StageOutput } from '../../run/stage-contract.js';
import { mostOf, type PartSettings, wholeChoice } from './choice.js';

type Output<J extends StageJob> = Omit<StageOutput<J>, 'io' | 'run' | 'manifest'>;

/** How runs of a kind are put together. */
export interface MergedKind<J extends StageJob> {
  stateOf(record: JournalRecord): RowState;
  /** Whether a record stands against another of its row that is not done. @throws TypeError for what no run writes */
  isDone(record: JournalRecord): boolean;
  outputOf(run: Run): Output<J> | Promise<Output<J>>;
}

/** What a merged run over the rows of the data is made of. */
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
    outputOf: (run) => outputOf({ settings, dataset, chosen }, run.journal),
  };
}

/** Predictions of a rollout, with its file of turns. */
export function mergedRollout({ manifest, parts, dataset, stop }: MergedRows): MergedKind<TurnJob> {
  const settings = mostOf(parts);
  const chosen = wholeChoice(dataset, parts);
  const { from } = asObject(manifest.identity.rollout);
  return {
    stateOf: predictionState,
    isDone: (record) => isDoneTurn(predictionState(record)),
    async outputOf(run) {
      const recorded = recordedRows(dataset, run.journal.ids());
      const plan = await planRollout({ dataset, chosen, recorded, from: typeof from === 'number' ? from : 0, stop });
      const order = { order: 'file', sampleSeed: 0, repeats: settings.repeats } as const;
      const jobs = turnJobsOf(dataset, plan, order, run.journal.ids());
      return rolloutOutput({ settings, dataset }, jobs, run);
    },
  };
}

/**
 * Judgements, each of a prediction as the whole file has it.
 * @param manifest of the merged run, whose `predictions` are the manifest of that file
 */
export function mergedJudging(
  manifest: Manifest,
  parts: readonly PartSettings[],
  predictions: PredictionFile,
): MergedKind<JudgeJob> & { isAstray(id: string): boolean } {
  const mark = madeWith(manifest).dropped.join(' ');
  const { refs } = predictions;
  const stamps = new Map(refs.map(({ key, repeat, stamp }) => [rowId(key, repeat), stamp]));
  const predictionOf = (id: string) => id.split('#', 2).join('#');
  return {
    stateOf: judgementState,
    isDone(record) {
      const state = judgementState(record);
      const { [STAMP_KEY.judge]: stamp } = record.log;
      return (
        isDone(state) &&
        typeof stamp === 'string' &&
        holds(stamp, stamps.get(predictionOf(record.id)), state.class, mark)
      );
    },
    outputOf(run) {
      const stampOf = (job: JudgeJob, failure: string | undefined, _mark: string, recorded: string) =>
        holds(recorded, job.stamp, failure, mark) ? recorded : undefined;
      const output = judgeOutput(predictions, refs, mostOf(parts).judgeRepeats, run.journal.ids(), (job) => {
        const summary = run.journal.summaryOf(job.id);
        return summary !== undefined && isDone(summary) && holds(summary.stamp, job.stamp, summary.class, mark);
      });
      return { ...output, stampOf, absent: absentFrom(manifest.predictions, refs) };
    },
    isAstray: (id) => !stamps.has(predictionOf(id)),
  };
}

/**
 * Whether a judgement is of the prediction as it stands, by a judge who was asked as the run's identity says. What may stand beside the
 * prediction (a reference, a simulated history) is behind a plus, and the judge command itself looks at it.
 */
function holds(recorded: string, stamp: string | undefined, failure: string | undefined, mark: string): boolean {
  const [made = '', ...asked] = recorded.split(' ');
  const isOfThis = made.split('+')[0] === stamp?.split('+')[0];
  return isOfThis && (isUnasked(failure) || asked.join(' ') === mark);
}
