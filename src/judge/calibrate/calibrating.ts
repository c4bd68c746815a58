// awb calibrate: its options, and a stage that puts predictions of known quality to a judge, through the same code that judges any others.

import type { Dataset } from '../../benchmark/dataset.js';
import { present } from '../../core/errors.js';
import { fingerprintOf, type Identity } from '../../core/identity.js';
import { judgementMembers } from '../../core/judged-row.js';
import { MOST_JUDGEMENTS, recordedJudgement } from '../../core/judgement.js';
import { MOST_REPEATS } from '../../core/prediction.js';
import { manifestOfData, placeOfRow } from '../../infer/chosen-rows.js';
import { INFER_OPTIONS } from '../../infer/options.js';
import { BATCH_OPTIONS } from '../../run/batch/options.js';
import type { Manifest } from '../../run/manifest.js';
import { ASKING_OPTIONS } from '../../run/options.js';
import type { Run } from '../../run/run.js';
import { markOf, oneByOne, type Stage } from '../../run/stage-contract.js';
import { requirePriced } from '../../run/target.js';
import { type OptionTable, option, type Settings, under } from '../../settings/command.js';
import { identityOfJudge, isDone, openJudge, recordOf, stampOf } from '../asking.js';
import type { Judging } from '../judging.js';
import { JUDGE_INSTRUMENT } from '../opening.js';
import { type CalibrationJob, type MadePredictions, takesCall } from './plan.js';

const { 'data-dir': dataDir, domains, shard, 'skip-invalid': skipInvalid, fresh } = INFER_OPTIONS;

export const CALIBRATE_OPTIONS = {
  'data-dir': dataDir,
  'output-dir': option.text('DIR', 'folder for calibration.jsonl', { default: './calibration', group: 'Data' }),
  domains,
  shard,
  'skip-invalid': { ...skipInvalid, help: 'leave unusable rows out' },
  'sample-seed': option.integer('seed for choosing rows, and for the predictions made from them', {
    min: 0,
    default: 0,
    group: 'Data',
  }),
  fresh,
  ...under('Calibration', {
    'max-calls': option.integer('maximum judgements; as many rows as they allow are taken, equally from every domain', {
      min: 1,
      default: 3000,
    }),
    trajectories: option.integer('maximum trajectories per domain; by default as many as --max-calls allows', {
      min: 1,
    }),
    corruptions: option.list('LIST', 'only these corruptions, or none (default: all)'),
    attacks: option.list('LIST', 'only these attacks on the judge, or none (default: all)'),
    'judge-repeats': option.integer(
      'judge the truth, light and heavy corruption and another row N times each, to measure the noise of the judge',
      { min: 1, max: MOST_JUDGEMENTS, default: 2 },
    ),
  }),
  ...JUDGE_INSTRUMENT,
  ...ASKING_OPTIONS,
  ...BATCH_OPTIONS,
} as const satisfies OptionTable;

/** Everything that one calibration works on; its method is the opened mode `rubric`. */
export interface Calibrating extends Pick<Judging, 'io' | 'shown' | 'method' | 'target' | 'pricing'> {
  readonly settings: Settings<typeof CALIBRATE_OPTIONS>;
  /** Which part of the rows it takes, as `I/N`. */
  readonly shard: string | undefined;
  readonly dataset: Dataset;
  readonly predictions: MadePredictions;
  readonly jobs: readonly CalibrationJob[];
}

/** The planned judgements as a stage. @throws UserError (2) for a budget in dollars without a price */
export function calibrationStage(work: Calibrating, run: Run): Stage<CalibrationJob> {
  const { settings, dataset, target, jobs, method, predictions } = work;
  requirePriced(settings, run.ledger.usd !== undefined, target);
  const judge = openJudge(run, settings, method);
  // The plan contains only predictions that can be made.
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
      // The same seeds as in a judging without repeats; judgements of one prediction differ by their index.
      const seedOf = (part: number, tried: number) => (job.index + part) * MOST_REPEATS * settings.maxRetries + tried;
      if (takesCall(job)) return judge.judge(job, read, seedOf, ask);
      const record = method.fail({ class: 'empty', reason: 'the prediction is empty' }, await read());
      return recordOf(job, record, markOf(run));
    }),
    questions: (job) => judge.questions(() => subjectOf(job)),
    placeOf: ({ row, isFurther }) => (isFurther ? undefined : placeOfRow(dataset, row)),
    async compose(job, { row: record }) {
      const { row, variant, index } = job;
      const { sample, gen } = await subjectOf(job);
      const { key, trajectory, domain: task, turnIdx: turn_idx } = sample;
      const prediction = { key, trajectory, repeat: 0, gen, awb: { variant }, flags: [] };
      const members = judgementMembers(prediction, recordedJudgement(record), index);
      return JSON.stringify({ task, id: row.id, turn_idx, variant, gen, ...members });
    },
    outputForm: { predictions: fingerprintOf({ jobs: jobs.map(({ id, stamp }) => `${id} ${stamp}`) }) },
    manifest: manifestOfData(work, run, { label: undefined, meta: {} }),
    absent: {},
    listeners: [judge.watch],
  };
}

/** What the ratings depend on. Which rows and variants are judged, and how often, is not included: more of them go into the same file. */
export function calibrationIdentity(work: Calibrating, stored: Manifest | undefined): Identity {
  const calibration = { data: work.dataset.fingerprint, seed: work.settings.sampleSeed };
  return { mode: 'rubric', ...identityOfJudge(work, stored), calibration };
}
