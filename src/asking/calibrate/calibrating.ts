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
import { manifestOfData, placeOfRow } from '../infer/chosen-rows.js';
import { judgementOf } from '../judge/asking.js';
import { isDone, LegibilityWatch, recordOf, stampOf } from '../judge/records.js';
import { replyFormOf } from '../judge/reply-form.js';
import { adoptSnapshot, sameSnapshot } from '../judge/snapshot.js';
import type { StageListener } from '../listeners.js';
import { requirePriced } from '../pricing.js';
import type { Pricing, Run } from '../run.js';
import { samplingIdentity } from '../sampling.js';
import { markOf, oneByOne, type Stage } from '../stage-contract.js';
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
  const watch = new LegibilityWatch(run.journal, settings);
  const { maxRetries } = settings;
  adoptSnapshot(run);
  return {
    io: work.io,
    run,
    settings,
    target,
    responseFormat: replyFormOf(settings, work.method),
    rows: jobs,
    order: jobs,
    // An empty prediction counts as judged, but no judge was asked.
    stampOf: (job, failure, mark) => (takesCall(job) ? stampOf(job, failure, mark) : job.stamp),
    isDone: (_job, summary) => isDone(summary),
    asks: takesCall,
    solve: oneByOne(async (job, ask) => {
      const read = () => subjectOf(work, job);
      if (!takesCall(job)) {
        const record = method.fail({ class: 'empty', reason: 'the prediction is empty' }, await read());
        return recordOf(job, record, markOf(run));
      }
      const seedOf = (part: number, tried: number) => seedOffsetOf(job, part, tried, maxRetries);
      // Of batch files each further try is another batch: what cannot be read is noted at once.
      const onUnread = (reply: string) => run.batch !== undefined && watch.unread(job.id, reply);
      const record = await judgementOf({ method, read, maxRetries, seedOf, onUnread }, sameSnapshot(run, ask));
      return recordOf(job, record, markOf(run));
    }),
    async questions(job) {
      return method.parts(await subjectOf(work, job)).map((part) => part.request(0));
    },
    placeOf: ({ row, isFurther }) => (isFurther ? undefined : placeOfRow(dataset, row)),
    async compose(job, { row }) {
      return lineOf(job, await subjectOf(work, job), recordedJudgement(row));
    },
    outputForm: { predictions: fingerprintOfJobs(jobs) },
    manifest: manifestOfData(work, run, { label: undefined, meta: {} }),
    absent: {},
    listeners: [watch],
  };
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
