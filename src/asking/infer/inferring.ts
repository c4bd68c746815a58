// The work of inferring: the chosen rows through a world model or a baseline, in an open run.

import { BASELINES, donorsOf } from '../../baselines.js';
import { withMembers } from '../../bench/row-text.js';
import { buildMessages } from '../../infer/messages.js';
import { type PredictionId, recordedPrediction } from '../../prediction.js';
import type { Identity } from '../../run/identity.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Manifest } from '../../run/manifest.js';
import type { ShownSettings } from '../../settings/command.js';
import { ROLLOUT_VERSION } from '../../simulate/rollout-turn.js';
import { groundTruthOf } from '../../turn.js';
import type { Io, Question } from '../../types.js';
import { requirePriced } from '../budget.js';
import { manifestOfData, placeOfRow } from '../data-rows.js';
import { type AskedStage, openInstrument } from '../instrument.js';
import type { RowState, RowSummary } from '../row-summary.js';
import type { Run } from '../run.js';
import { samplingIdentity } from '../sampling.js';
import { oneByOne, type Stage } from '../stage-contract.js';
import type { ChosenRows } from './chosen-rows.js';
import { type InferJob, inAskingOrder, jobsOf } from './jobs.js';
import type { InferSettings } from './options.js';
import { recordOf, recordOfText } from './records.js';
import { invalidByDomain } from './rows.js';

/** Everything that one inference works on. */
export interface Inference extends ChosenRows {
  readonly settings: InferSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
}

/** The chosen rows as a stage. @throws UserError (2) for a budget in dollars without a price */
export function inferStage(work: Inference, run: Run): Stage<InferJob> {
  const { settings, dataset, chosen, prompts, target } = work;
  if (settings.baseline === undefined) requirePriced(settings, run.ledger.usd !== undefined, target);
  const { baseline } = settings;
  const donors = baseline === 'shuffled' ? donorsOf(dataset.rows) : undefined;
  const output = inferOutput(work, run.journal);
  const questionOf = async ({ row }: InferJob): Promise<Question> => {
    const sample = await dataset.readSample(row);
    return { messages: buildMessages(sample, settings.protocol, prompts.of(sample)) };
  };
  const stage: AskedStage<InferJob> = {
    io: work.io,
    run,
    settings,
    ...output,
    order: inAskingOrder(output.rows, chosen, settings),
    remarks: prompts.remarks,
    stampOf: (_job, _failure, mark) => mark,
    asks: () => baseline === undefined,
    solve: oneByOne(async (job, ask, mark: () => string) => {
      const read = () => dataset.readSample(job.row);
      if (baseline !== undefined) {
        const donor = donors?.(job.row);
        const gen = BASELINES[baseline](await read(), donor && (await dataset.readSample(donor)));
        return recordOfText(job.id, idOf(job), gen, read);
      }
      const outcome = await ask(async () => ({ ...(await questionOf(job)), seedOffset: job.repeat }));
      return recordOf(job.id, idOf(job), { ...outcome, stamp: mark() }, read);
    }),
    questions: async (job) => [await questionOf(job)],
    truth: async ({ row }) => groundTruthOf(await dataset.readSample(row)),
    placeOf: ({ row, repeat }) => (repeat > 0 ? undefined : placeOfRow(dataset, row)),
    manifest: manifestOfData(work, run, settings),
  };
  return openInstrument(run, target, settings).guard(stage);
}

/** What a file of rows with something added to each depends on, beside its journal. */
export interface RowOutput<Needed extends keyof InferSettings> extends Pick<ChosenRows, 'dataset' | 'chosen'> {
  readonly settings: Pick<InferSettings, Needed>;
}

/** The rows of the output, and the line of each. */
export function inferOutput(
  { settings, dataset, chosen }: RowOutput<'repeats' | 'lean' | 'skipInvalid' | 'domains'>,
  journal: Run['journal'],
) {
  return {
    rows: jobsOf(dataset, chosen, settings.repeats, journal.ids()),
    isDone: (_job: InferJob, { status }: RowSummary) => status === 'ok',
    async compose(job: InferJob, { row }: JournalRecord) {
      return withMembers(await dataset.readText(job.row), settings.lean ? TRAJECTORY_KEYS : NO_KEYS, row);
    },
    outputForm: { lean: settings.lean },
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  };
}

/** What a whole row leaves out. */
export const NO_KEYS: ReadonlySet<string> = new Set();
/** What a lean row leaves out. */
export const TRAJECTORY_KEYS: ReadonlySet<string> = new Set(['prompt', 'response', 'current_prompt', 'system_str']);

/** What the predictions depend on, and nothing else: addresses, keys, speed and the choice of rows may change. */
export function inferIdentity(work: Inference, stored: Manifest | undefined): Identity {
  const { settings, dataset, prompts, target } = work;
  const rollout = rolloutIdentity(settings);
  if (settings.baseline !== undefined) return { data: dataset.fingerprint, baseline: settings.baseline, ...rollout };
  return {
    data: dataset.fingerprint,
    // A model that was not started is taken to be the run's own.
    model: target.identity ?? stored?.identity.model,
    protocol: settings.protocol,
    system_prompt: prompts.identity,
    sampling: samplingIdentity(settings, stored),
    ...rollout,
  };
}

function rolloutIdentity({ rollout, rolloutFrom: from = 0 }: InferSettings): Identity {
  return rollout ? { rollout: { from, version: ROLLOUT_VERSION } } : {};
}

function idOf({ row: { key, trajectory }, repeat }: InferJob): PredictionId {
  return { key, trajectory, repeat };
}

/** What a prediction's record has come to. @throws TypeError for what infer never writes. */
export function predictionState({ row }: JournalRecord): RowState {
  const prediction = recordedPrediction(row);
  return {
    status: prediction.status,
    ...(prediction.status === 'failed' ? { class: prediction.class, reason: prediction.reason } : {}),
    flags: prediction.flags,
  };
}
