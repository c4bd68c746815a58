// The work of inferring: the chosen rows through a world model or a baseline, in an open run.

import { BASELINES, donorsOf } from '../../baselines.js';
import type { Dataset } from '../../bench/dataset.js';
import { withMembers } from '../../bench/row-text.js';
import { buildMessages } from '../../infer/messages.js';
import { flagsOf } from '../../infer/observation.js';
import { predicted, recordedPrediction, unpredicted } from '../../prediction.js';
import { present } from '../../present.js';
import { readPrediction } from '../../reply.js';
import type { Identity } from '../../run/identity.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Manifest } from '../../run/manifest.js';
import type { ShownSettings } from '../../settings/command.js';
import { isSuspicious, tricksIn } from '../../suspicion.js';
import type { Flag, Io, ModelFailure, ModelReply } from '../../types.js';
import { requirePriced } from '../budget.js';
import { manifestOfData, placeOfRow } from '../data-rows.js';
import { type AskedStage, openInstrument } from '../instrument.js';
import { listenersOf } from '../listening.js';
import type { RowState } from '../row-summary.js';
import { type Run, STAMP_KEY } from '../run.js';
import { samplingIdentity } from '../sampling.js';
import { runStage, type StageResult } from '../stage.js';
import type { Stage } from '../stage-contract.js';
import type { ChosenRows } from './chosen-rows.js';
import { type InferJob, inAskingOrder, jobsOf } from './jobs.js';
import type { InferSettings } from './options.js';
import { invalidByDomain } from './rows.js';

/** Everything that one inference works on. */
export interface Inference extends ChosenRows {
  readonly settings: InferSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
}

/** Puts the chosen rows to the world model, in an open run. */
export async function inferRows(work: Inference, run: Run): Promise<StageResult> {
  const { io, settings } = work;
  return runStage(inferStage(work, run), listenersOf(io, settings));
}

/** The chosen rows as a stage. @throws UserError (2) for a budget in dollars without a price */
export function inferStage(work: Inference, run: Run): Stage<InferJob> {
  const { settings, dataset, chosen, prompts, target } = work;
  if (settings.baseline === undefined) requirePriced(settings, run.ledger.usd !== undefined, target);
  const jobs = jobsOf(dataset.rows, chosen, settings.repeats, run.journal.ids());
  const { baseline } = settings;
  const donors = baseline === 'shuffled' ? donorsOf(dataset.rows) : undefined;
  const stage: AskedStage<InferJob> = {
    io: work.io,
    run,
    settings,
    rows: jobs,
    order: inAskingOrder(dataset.rows, chosen, settings),
    remarks: prompts.remarks,
    stampOf: (_job, _failure, mark) => mark,
    isDone: (_job, summary) => summary.status === 'ok',
    asks: () => baseline === undefined,
    async settleAlone(job) {
      const donor = donors?.(job.row);
      const gen = BASELINES[present(baseline)](
        await dataset.readSample(job.row),
        donor === undefined ? undefined : await dataset.readSample(donor),
      );
      return {
        id: job.id,
        row: predicted(idOf(work, job), { content: gen }, await flagsOfText(dataset, job, { content: gen })),
        log: logOf({}),
      };
    },
    async request(job) {
      const sample = await dataset.readSample(job.row);
      return { messages: buildMessages(sample, settings.protocol, prompts.of(sample)), seedOffset: job.repeat };
    },
    settle: async (job, outcome, mark) => recordOf(work, job, outcome, mark),
    placeOf: ({ row, repeat }) => (repeat > 0 ? undefined : placeOfRow(dataset, row)),
    async compose(job, record) {
      const text = await dataset.readText(job.row);
      return withMembers(text, settings.lean ? TRAJECTORY_KEYS : NO_KEYS, record.row);
    },
    outputForm: { lean: settings.lean },
    manifest: manifestOfData(work, run, settings),
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  };
  return openInstrument(run, target, settings).guard(stage);
}

const NO_KEYS: ReadonlySet<string> = new Set();
/** What a lean row leaves out. */
export const TRAJECTORY_KEYS: ReadonlySet<string> = new Set(['prompt', 'response', 'current_prompt', 'system_str']);

/** What the predictions depend on, and nothing else: addresses, keys, speed and the choice of rows may change. */
export function inferIdentity(work: Inference, stored: Manifest | undefined): Identity {
  const { settings, dataset, prompts, target } = work;
  if (settings.baseline !== undefined) return { data: dataset.fingerprint, baseline: settings.baseline };
  return {
    data: dataset.fingerprint,
    // A model that was not started is taken to be the run's own.
    model: target.identity ?? stored?.identity.model,
    protocol: settings.protocol,
    system_prompt: prompts.identity,
    sampling: samplingIdentity(settings, stored),
  };
}

function idOf({ dataset: { rows } }: Inference, { row, repeat }: InferJob) {
  return { key: rows.key(row), trajectory: rows.trajectory(row), repeat };
}

async function recordOf(
  work: Inference,
  job: InferJob,
  outcome: ModelReply | ModelFailure,
  mark: string,
): Promise<JournalRecord> {
  const log = { ...outcome.log, [STAMP_KEY.infer]: mark };
  return outcome.status === 'failed'
    ? { id: job.id, row: unpredicted(idOf(work, job), outcome), log: logOf(log) }
    : {
        id: job.id,
        row: predicted(idOf(work, job), outcome, await flagsOfReply(work.dataset, job, outcome)),
        log: logOf({ ...log, model: outcome.servedModel }),
      };
}

function logOf(log: object): Record<string, unknown> {
  return { ...log, at: new Date().toISOString() };
}

async function flagsOfReply(dataset: Dataset, job: InferJob, reply: ModelReply): Promise<Flag[]> {
  const flags = await flagsOfText(dataset, job, reply);
  if (reply.fittedMaxTokens !== undefined) flags.push('fitted-max-tokens');
  if (reply.redacted !== undefined) flags.push('redacted');
  return flags;
}

/** The row is read for the few replies alone that try something. */
async function flagsOfText(dataset: Dataset, { row }: InferJob, reply: Parameters<typeof flagsOf>[0]): Promise<Flag[]> {
  const flags = flagsOf(reply);
  const tricks = tricksIn(readPrediction(reply.content));
  if (tricks.length > 0 && isSuspicious(tricks, await dataset.readSample(row))) flags.push('suspicious');
  return flags;
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
