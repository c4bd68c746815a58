// The work of a run on scenarios: rows under instructions and their twins through a world model or a baseline, in an open run.

import { createHash } from 'node:crypto';
import type { Identity } from '../../core/identity.js';
import { isModelCaused } from '../../core/points.js';
import { present } from '../../core/present.js';
import type { Io, Question } from '../../core/types.js';
import { askedIdentity, type ChosenRows, manifestOfData, placeOfRow } from '../../infer/chosen-rows.js';
import { baselineOf, recordOf } from '../../infer/inferring.js';
import type { InferSettings } from '../../infer/options.js';
import type { Manifest } from '../../run/manifest.js';
import type { Run } from '../../run/run.js';
import { markOf, oneByOne, type Stage } from '../../run/stage-contract.js';
import { requirePriced } from '../../run/target.js';
import type { ShownSettings } from '../../settings/command.js';
import { keyOfStep, type ScenarioJob } from './chain.js';
import { answersOf, lineOf } from './line.js';
import { messagesAt, startOf } from './messages.js';
import type { ScenarioSuite } from './scenario.js';

/** Everything that one run on scenarios works on. */
export interface Instructing extends ChosenRows {
  readonly settings: InferSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly suite: ScenarioSuite;
  readonly jobs: readonly ScenarioJob[];
}

/** The planned chains as a stage. @throws UserError (2) for a budget in dollars without a price */
export function scenarioStage(work: Instructing, run: Run): Stage<ScenarioJob> {
  const { settings, dataset, target, jobs } = work;
  const { baseline } = settings;
  if (baseline === undefined) requirePriced(settings, run.ledger.usd !== undefined, target);
  const { journal } = run;
  const recordIn = (id: string) => (journal.has(id) ? journal.read(id) : undefined);
  const answersBefore = ({ chain, step }: ScenarioJob) => answersOf(chain, step, recordIn);
  const says = baseline && baselineOf(baseline, dataset);
  /** A later step's record holds as long as the answers that it was asked behind. */
  const stampOf = (job: ScenarioJob, mark: string) =>
    job.step === 0 ? mark : `${hashOf(answersBefore(job).map(({ gen }) => gen))} ${mark}`;
  const questionOf = async (job: ScenarioJob): Promise<Question> => {
    const predictions = answersBefore(job).map(({ prediction }) => prediction);
    const messages = messagesAt(await startOf(work, job.chain), job.step, predictions, job.chain.twin !== undefined);
    return { messages };
  };
  return {
    io: work.io,
    run,
    settings,
    target,
    rows: jobs,
    order: jobs,
    remarks: work.prompts.remarks,
    stampOf: (job, _failure, mark) => stampOf(job, mark),
    isDone: ({ chain }, { status, class: failure }) => status === 'ok' || (chain.steps > 1 && isModelCaused(failure)),
    asks: () => baseline === undefined,
    solve: oneByOne(async (job, ask) => {
      const { row, trajectory } = job.chain;
      const outcome = says
        ? await says(await dataset.readSample(present(row)), present(row))
        : await ask(async () => ({ ...(await questionOf(job)), seedOffset: 0 }));
      const prediction = { key: keyOfStep(job.chain, job.step), trajectory, repeat: 0 };
      return recordOf(job.id, prediction, { ...outcome, stamp: stampOf(job, markOf(run)) });
    }),
    questions: async (job) => [await questionOf(job)],
    // A scenario's prompt is that of its twin, but for the instruction.
    placeOf: ({ chain: { row, twin }, step }) =>
      row === undefined || twin !== undefined || step > 0 ? undefined : placeOfRow(dataset, row),
    compose: async (job, record) => lineOf(job, record, await startOf(work, job.chain), recordIn),
    outputForm: { jobs: hashOf(jobs.map(({ id }) => id)) },
    manifest: manifestOfData(work, run, settings),
    absent: {},
  };
}

/** Of a suite's fingerprint, in identities and headings. */
const FINGERPRINT_DIGITS = 12;

/** What the answers depend on. Which rows stand under which scenarios is no part of it: more of them go into the same file. */
export function scenarioIdentity(work: Instructing, stored: Manifest | undefined): Identity {
  const { settings, dataset, suite } = work;
  const shared = {
    mode: 'scenarios',
    suite: `${suite.name} ${suite.fingerprint.slice(0, FINGERPRINT_DIGITS)}`,
    data: dataset.fingerprint,
  };
  if (settings.baseline !== undefined) return { ...shared, baseline: settings.baseline };
  return { ...shared, ...askedIdentity(work, stored) };
}

function hashOf(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
}
