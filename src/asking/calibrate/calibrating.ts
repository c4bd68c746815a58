// The work of calibrating: predictions of known quality through a judge, in an open run, by the engine that judges any others.

import { createHash } from 'node:crypto';
import type { Dataset } from '../../bench/dataset.js';
import type { Method, Mode, Subject } from '../../judge/mode.js';
import { checkedMethod } from '../../judge/mode.js';
import { judgementMembers } from '../../judged-row.js';
import { type JudgementRecord, recordedJudgement } from '../../judgement.js';
import { MOST_REPEATS } from '../../prediction.js';
import { present } from '../../present.js';
import type { Identity } from '../../run/identity.js';
import type { Manifest } from '../../run/manifest.js';
import type { ShownSettings } from '../../settings/command.js';
import type { Io } from '../../types.js';
import { requirePriced } from '../budget.js';
import { manifestOfData, placeOfRow } from '../data-rows.js';
import { type AskedStage, openInstrument } from '../instrument.js';
import { openParts } from '../judge/parts.js';
import { isDone, LegibilityWatch, recordOf, stampOf } from '../judge/records.js';
import { replyFormOf } from '../judge/reply-form.js';
import { adoptSnapshot, requireSameSnapshot } from '../judge/snapshot.js';
import type { StageListener } from '../listeners.js';
import type { Pricing, Run } from '../run.js';
import { samplingIdentity } from '../sampling.js';
import type { Stage } from '../stage-contract.js';
import type { Target } from '../target.js';
import type { MadePredictions } from './made-predictions.js';
import type { CalibrateSettings } from './options.js';
import { type CalibrationJob, takesCall } from './plan.js';

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
  readonly mode: Mode;
  /** The mode, opened. */
  readonly method: Method;
  readonly target: Target;
  readonly pricing: Pricing;
}

/** The planned judgements as a stage, with who else is to hear it. @throws UserError (2) for a budget in dollars without a price */
export function calibrationStage(
  work: Calibrating,
  run: Run,
): Stage<CalibrationJob> & { readonly listeners: readonly StageListener[] } {
  const { settings, dataset, mode, target, jobs } = work;
  requirePriced(settings, run.ledger.usd !== undefined, target);
  const method = checkedMethod('rubric', mode, work.method);
  const instrument = openInstrument(run, target, settings, replyFormOf(settings, work.method));
  const watch = new LegibilityWatch(run.journal, settings);
  const parts = openParts(method, settings.maxRetries, seedOffsetOf);
  adoptSnapshot(run);
  const stage: AskedStage<CalibrationJob> = {
    io: work.io,
    run,
    settings,
    rows: jobs,
    order: jobs,
    // An empty prediction counts as judged, but no judge was asked.
    stampOf: (job, failure, mark) => (takesCall(job) ? stampOf(job, failure, mark) : job.stamp),
    isDone: (_job, summary) => isDone(summary),
    asks: takesCall,
    async settleAlone(job, mark) {
      const reason = 'the prediction is empty';
      return recordOf(job, method.fail({ class: 'empty', reason }, await subjectOf(work, job)), {}, mark);
    },
    async request(job) {
      return parts.request(job, await subjectOf(work, job));
    },
    left: (job) => parts.forget(job),
    async questions(job) {
      return method.parts(await subjectOf(work, job)).map((part) => part.request(0));
    },
    async settle(job, outcome, mark) {
      if (outcome.status === 'ok') requireSameSnapshot(run, outcome.servedModel);
      const made = parts.settle(job, await subjectOf(work, job), outcome, mark);
      // Of batch files each further try is another batch: what cannot be read is noted at once.
      if (made === 'again' && run.batch !== undefined && outcome.status === 'ok' && parts.isUnread(job))
        watch.unread(job.id, outcome.content);
      return made === 'again' ? made : recordOf(job, made.record, made.log, mark);
    },
    placeOf: ({ row, isFurther }) => (isFurther ? undefined : placeOfRow(dataset, row)),
    async compose(job, { row }) {
      return lineOf(work, job, await subjectOf(work, job), recordedJudgement(row));
    },
    outputForm: { predictions: fingerprintOfJobs(jobs) },
    manifest: manifestOfData(work, run, { label: undefined, meta: {} }),
    absent: {},
  };
  return { ...instrument.guard(stage), listeners: [watch] };
}

/** What the ratings depend on. Which rows and variants are judged, and how often, is no part of it: more of them go into the same file. */
export function calibrationIdentity(work: Calibrating, stored: Manifest | undefined): Identity {
  const { settings, dataset, target, method } = work;
  return {
    mode: 'rubric',
    // A judge that was not started is taken to be the run's own.
    judge: target.identity ?? stored?.identity.judge,
    ...(stored?.identity.snapshot === undefined ? {} : { snapshot: stored.identity.snapshot }),
    ...method.identity,
    sampling: samplingIdentity(settings, stored),
    calibration: { data: dataset.fingerprint, seed: settings.sampleSeed },
  };
}

/** Seeds go as those of a judging without repeats: judgements of a prediction are told apart by their index. */
function seedOffsetOf({ index }: CalibrationJob, part: number, tried: number, maxRetries: number): number {
  return (index + part) * MOST_REPEATS * maxRetries + tried;
}

async function subjectOf({ predictions }: Calibrating, { row, variant }: CalibrationJob): Promise<Subject> {
  // The plan holds only what can be made.
  return present(await predictions.make(row, variant));
}

/** A line of calibration.jsonl: what tells the row and the variant, the prediction, and what judging adds to a row. */
function lineOf(
  { dataset: { rows } }: Calibrating,
  { row, variant, index }: CalibrationJob,
  { sample, gen }: Subject,
  record: JudgementRecord,
): string {
  const { key, trajectory, domain: task, turnIdx: turn_idx } = sample;
  const prediction = { key, trajectory, repeat: 0, gen, awb: { variant }, flags: [] };
  return JSON.stringify({
    task,
    id: rows.id(row),
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
