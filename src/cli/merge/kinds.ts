// What each kind of run makes of a joined journal: which records stand, which rows there are, and the output as its own command makes it.

import { z } from 'zod';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import type { PredictionFile } from '../../benchmark/predictions.js';
import { chooseRows, inInputOrder } from '../../benchmark/selection.js';
import { asObject } from '../../core/json.js';
import { isUnasked } from '../../core/judgement.js';
import { rowId } from '../../core/row-id.js';
import { choiceOf } from '../../infer/chosen-rows.js';
import { type InferJob, inferOutput, predictionState } from '../../infer/inferring.js';
import { likelihoodOutput } from '../../infer/likelihood.js';
import { planRollout, recordedRows } from '../../infer/rollout/plan.js';
import { isDoneTurn, rolloutOutput, type TurnJob, turnJobsOf } from '../../infer/rollout/rolling-out.js';
import { isDone, judgementState } from '../../judge/asking.js';
import { absentFrom, type JudgeJob, judgeOutput } from '../../judge/judging.js';
import type { JournalRecord } from '../../run/journal.js';
import { madeWith } from '../../run/made-with.js';
import type { Manifest } from '../../run/manifest.js';
import { type RowState, type Run, STAMP_KEY } from '../../run/run.js';
import type { StageJob, StageOutput } from '../../run/stage-contract.js';

const TEXTS = z.array(z.string()).catch([]);
const COUNT = z.int().optional().catch(undefined);
const FLAG = z.boolean().catch(false);

/** What is read of a run's settings. What somebody took out stands at its default. */
const SETTINGS = z.object({
  domains: TEXTS,
  ids: TEXTS,
  limit: COUNT,
  sample: COUNT,
  'sample-seed': z.int().catch(0),
  repeats: z.int().catch(1),
  lean: FLAG,
  'skip-invalid': FLAG,
  'judge-repeats': z.int().catch(1),
  'judge-sees': z.enum(['history', 'rollout']).catch('history'),
});

type PartSettings = z.infer<typeof SETTINGS>;

export function settingsIn({ settings }: Pick<Manifest, 'settings'>): PartSettings {
  return SETTINGS.parse(settings);
}

/** The settings of a whole whose parts have these: as many repeats as any, and lean where all are. */
export function mostOf(parts: readonly PartSettings[]) {
  return {
    domains: parts.some(({ domains }) => domains.length === 0) ? [] : parts.flatMap(({ domains }) => domains),
    repeats: Math.max(...parts.map(({ repeats }) => repeats)),
    judgeRepeats: Math.max(...parts.map((part) => part['judge-repeats'])),
    lean: parts.every(({ lean }) => lean),
    skipInvalid: parts.some((part) => part['skip-invalid']),
    judgeSees: parts.some((part) => part['judge-sees'] === 'rollout') ? ('rollout' as const) : ('history' as const),
  };
}

/** The rows that the parts took, or would have taken without --shard, in input order. @throws UserError as `chooseRows` */
function wholeChoice(dataset: Dataset, parts: readonly PartSettings[]): RowRef[] {
  const choices = parts.map((part) =>
    choiceOf({ ...part, shard: undefined, sampleSeed: part['sample-seed'] }, dataset),
  );
  return inInputOrder(new Set(choices.flatMap((choice) => chooseRows(dataset.rows, choice))));
}

/** How runs of a kind are put together. */
export interface MergedKind<J extends StageJob> {
  stateOf(record: JournalRecord): RowState;
  /** Whether a record stands against another of its row that is not done. @throws TypeError for what no run writes */
  isDone(record: JournalRecord): boolean;
  outputOf(run: Run): Promise<Omit<StageOutput<J>, 'io' | 'run' | 'manifest'>>;
  /** Whether the id is that of a judgement whose prediction is not there. */
  isAstray?(id: string): boolean;
}

/** Predictions of rows by themselves, or measures of their truths. */
export function mergedRows(manifest: Manifest, parts: readonly PartSettings[], dataset: Dataset): MergedKind<InferJob> {
  const mark = madeWith(manifest).dropped.join(' ');
  const isLikelihood = manifest.kind === 'likelihood';
  const stateOf = isLikelihood ? judgementState : predictionState;
  const outputOf = isLikelihood ? likelihoodOutput : inferOutput;
  const rows = { settings: mostOf(parts), dataset, chosen: wholeChoice(dataset, parts) };
  return {
    stateOf,
    isDone(record) {
      const { [STAMP_KEY.infer]: stamp = '' } = record.log;
      return stateOf(record).status === 'ok' && stamp === mark;
    },
    outputOf: async (run) => outputOf(rows, run.journal),
  };
}

/** Predictions of a rollout, with its file of turns. */
export function mergedRollout(
  { identity }: Manifest,
  parts: readonly PartSettings[],
  dataset: Dataset,
  stop: AbortSignal,
): MergedKind<TurnJob> {
  const settings = mostOf(parts);
  const chosen = wholeChoice(dataset, parts);
  const { from } = asObject(identity.rollout);
  return {
    stateOf: predictionState,
    isDone: (record) => isDoneTurn(predictionState(record)),
    async outputOf(run) {
      const recorded = recordedRows(dataset, run.journal.ids());
      const plan = await planRollout({ dataset, chosen }, recorded, typeof from === 'number' ? from : 0, stop);
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
): MergedKind<JudgeJob> {
  const mark = madeWith(manifest).dropped.join(' ');
  const { refs } = predictions;
  const stamps = new Map(refs.map(({ key, repeat, stamp }) => [rowId(key, repeat), stamp]));
  const predictionOf = (id: string) => id.split('#', 2).join('#');
  return {
    stateOf: judgementState,
    isDone(record) {
      const state = judgementState(record);
      const { [STAMP_KEY.judge]: stamp } = record.log;
      const now = stamps.get(predictionOf(record.id));
      return isDone(state) && typeof stamp === 'string' && holds(stamp, now, state.class, mark);
    },
    async outputOf(run) {
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
