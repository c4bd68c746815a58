// The work of calibrating: predictions of known quality through a judge, in an open run, by the engine that judges any others.

import { createHash } from 'node:crypto';
import type { Dataset } from '../../benchmark/dataset.js';
import type { Identity } from '../../core/identity.js';
import { judgementMembers } from '../../core/judged-row.js';
import { type JudgementRecord, recordedJudgement } from '../../core/judgement.js';
import { MOST_REPEATS } from '../../core/prediction.js';
import { present } from '../../core/present.js';
import type { Io } from '../../core/types.js';
import { manifestOfData, placeOfRow } from '../../infer/chosen-rows.js';
import type { Manifest } from '../../run/manifest.js';
import type { Pricing, Run } from '../../run/run.js';
import { markOf, oneByOne, type Stage } from '../../run/stage-contract.js';
import { requirePriced, type Target } from '../../run/target.js';
import type { ShownSettings } from '../../settings/command.js';
import { identityOfJudge, openJudge } from '../asking.js';
import type { Method, Subject } from '../mode.js';
import { isDone, recordOf, stampOf } from '../records.js';
import { CALIBRATE_OPTIONS, type CalibrateSettings } from './options.js';
import { type CalibrationJob, type MadePredictions, takesCall } from './plan.js';

/** Everything that one calibration works on. */
export interface Calibrating {
  readonly settings: CalibrateSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  /** Which part of the rows it takes, as `I/N`. */
  readonly shard: string | undefined;
  readonly dataset: Dataset;
  readonly predictions: MadePredictions;
  readonly jobs: readonly CalibrationJob[];
  /** The mode of the rubric, opened. */
  readonly method: Method;
  readonly target: Target;
  readonly pricing: Pricing;
}

/** The planned judgements as a stage. @throws UserError (2) for a budget in dollars without a price */
export function calibrationStage(work: Calibrating, run: Run): Stage<CalibrationJob> {
  const { settings, dataset, target, jobs, method, predictions } = work;
  requirePriced(settings, run.ledger.usd !== undefined, target);
  const judge = openJudge(run, settings, method);
  // The plan holds only what can be made.
  const subjectOf = async ({ row, variant }: CalibrationJob) => present(await predictions.make(row, variant));
  return {
    io: work.io,
    run,
    settings,
    target,
    options: CALIBRATE_OPTIONS,
    responseFormat: method.replyForm,
    rows: jobs,
    order: jobs,
    // An empty prediction counts as judged, but no judge was asked.
    stampOf: (job, failure, mark) => (takesCall(job) ? stampOf(job, failure, mark) : job.stamp),
    isDone: (_job, summary) => isDone(summary),
    asks: takesCall,
    solve: oneByOne(async (job, ask) => {
      const read = () => subjectOf(job);
      const seedOf = (part: number, tried: number) => seedOffsetOf(job, part, tried, settings.maxRetries);
      if (takesCall(job)) return judge.judge(job, read, seedOf, ask);
      const record = method.fail({ class: 'empty', reason: 'the prediction is empty' }, await read());
      return recordOf(job, record, markOf(run));
    }),
    questions: (job) => judge.questions(() => subjectOf(job)),
    placeOf: ({ row, isFurther }) => (isFurther ? undefined : placeOfRow(dataset, row)),
    compose: async (job, { row }) => lineOf(job, await subjectOf(job), recordedJudgement(row)),
    outputForm: { predictions: fingerprintOfJobs(jobs) },
    manifest: manifestOfData(work, run, { label: undefined, meta: {} }),
    absent: {},
    listeners: [judge.watch],
  };
}

/** What the ratings depend on. Which rows and variants are judged, and how often, is no part of it: more of them go into the same file. */
export function calibrationIdentity(work: Calibrating, stored: Manifest | undefined): Identity {
  const calibration = { data: work.dataset.fingerprint, seed: work.settings.sampleSeed };
  return { mode: 'rubric', ...identityOfJudge(work, stored), calibration };
}

/** Seeds go as those of a judging without repeats: judgements of a prediction are told apart by their index. */
function seedOffsetOf({ index }: CalibrationJob, part: number, tried: number, maxRetries: number): number {
  return (index + part) * MOST_REPEATS * maxRetries + tried;
}

/** A line of calibration.jsonl: what tells the row and the variant, the prediction, and what judging adds to a row. */
function lineOf({ row, variant, index }: CalibrationJob, { sample, gen }: Subject, record: JudgementRecord): string {
  const { key, trajectory, domain: task, turnIdx: turn_idx } = sample;
  const prediction = { key, trajectory, repeat: 0, gen, awb: { variant }, flags: [] };
  return JSON.stringify({
    task,
    id: row.id,
    turn_idx,
    variant,
    gen,
    ...judgementMembers(prediction, record, index),
  });
}

function fingerprintOfJobs(jobs: readonly CalibrationJob[]): string {
  const hash = createHash('sha256');
  for (const { id, stamp } of jobs) hash.update(`${id} ${stamp}\n`);
  return hash.digest('hex');
}
