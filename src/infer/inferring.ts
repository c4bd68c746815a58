// The work of inferring: the chosen rows through a world model or a baseline, in an open run.

import { BASELINES, donorsOf } from '../benchmark/baselines.js';
import type { Dataset, RowRef } from '../benchmark/dataset.js';
import { withMembers } from '../benchmark/row-text.js';
import { ORDERS } from '../benchmark/selection.js';
import { isSuspicious, tricksIn } from '../benchmark/suspicion.js';
import { groupBy } from '../core/groups.js';
import type { Identity } from '../core/identity.js';
import {
  type PredictionFailure,
  type PredictionId,
  predicted,
  recordedPrediction,
  unpredicted,
} from '../core/prediction.js';
import { present } from '../core/present.js';
import { readPrediction } from '../core/reply.js';
import { parseRowId, rowId } from '../core/row-id.js';
import { groundTruthOf } from '../core/turn.js';
import type { CallLog, Flag, Io, ModelReply, Question, Sample } from '../core/types.js';
import { BATCH_OPTIONS } from '../run/batch/options.js';
import type { JournalRecord } from '../run/journal-record.js';
import type { Manifest } from '../run/manifest.js';
import { requirePriced } from '../run/pricing.js';
import { type RowState, type RowSummary, type Run, STAMP_KEY } from '../run/run.js';
import { markOf, oneByOne, type Stage, type StageJob } from '../run/stage-contract.js';
import type { ShownSettings } from '../settings/command.js';
import { askedIdentity, type ChosenRows, invalidByDomain, manifestOfData, placeOfRow } from './chosen-rows.js';
import { buildMessages } from './messages.js';
import { flagsOf } from './observation.js';
import { INFER_OPTIONS, type InferSettings } from './options.js';
import { ROLLOUT_VERSION } from './rollout/rollout-turn.js';

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
  const says = baseline && baselineOf(baseline, dataset);
  const output = inferOutput(work, run.journal);
  const questionOf = async ({ row }: InferJob): Promise<Question> => {
    const sample = await dataset.readSample(row);
    return { messages: buildMessages(sample, settings.protocol, prompts.of(sample)) };
  };
  return {
    io: work.io,
    run,
    settings,
    target,
    options: { ...INFER_OPTIONS, ...BATCH_OPTIONS },
    ...output,
    order: inAskingOrder(output.rows, chosen, settings),
    remarks: prompts.remarks,
    asks: () => baseline === undefined,
    solve: oneByOne(async (job, ask) => {
      const { id, row, repeat } = job;
      const read = () => dataset.readSample(row);
      const outcome = says
        ? await says(await read(), row)
        : { ...(await ask(async () => ({ ...(await questionOf(job)), seedOffset: repeat }))), stamp: markOf(run) };
      return recordOf(id, { key: row.key, trajectory: row.trajectory, repeat }, outcome, read);
    }),
    questions: async (job) => [await questionOf(job)],
    truth: async ({ row }) => groundTruthOf(await dataset.readSample(row)),
    placeOf: ({ row, repeat }) => (repeat > 0 ? undefined : placeOfRow(dataset, row)),
    manifest: manifestOfData(work, run, settings),
  };
}

/** What comes of a row: a reply, a failure, or what a baseline says, of which there is no log. */
export type Outcome = ((Omit<ModelReply, 'log'> & { readonly log?: CallLog }) | PredictionFailure) & {
  /** Of the record; absent for rows that no model was asked about. */
  readonly stamp?: string;
};

/** What a baseline says about a row, or about a row's turn as `sample` has it. */
export function baselineOf(name: keyof typeof BASELINES, dataset: Dataset) {
  const donors = name === 'shuffled' ? donorsOf(dataset.rows) : undefined;
  return async (sample: Sample, row: RowRef) => {
    const donor = donors?.(row);
    const content = BASELINES[name](sample, donor && (await dataset.readSample(donor)));
    return { status: 'ok', content } as const;
  };
}

/**
 * The journal's record of a prediction.
 * @param read the turn as it was put to the model: it is looked at for the few replies alone that try something; absent where nobody
 * judges the prediction
 */
export async function recordOf(
  id: string,
  prediction: PredictionId,
  outcome: Outcome,
  read?: () => Promise<Sample>,
  more: readonly Flag[] = [],
): Promise<JournalRecord> {
  const log = { ...outcome.log, [STAMP_KEY.infer]: outcome.stamp };
  const at = new Date().toISOString();
  if (outcome.status === 'failed') return { id, row: unpredicted(prediction, outcome), log: { ...log, at } };
  const flags = flagsOf(outcome);
  if (read !== undefined) {
    const tricks = tricksIn(readPrediction(outcome.content));
    if (tricks.length > 0 && isSuspicious(tricks, await read())) flags.push('suspicious');
  }
  if (outcome.fittedMaxTokens !== undefined) flags.push('fitted-max-tokens');
  if (outcome.redacted !== undefined) flags.push('redacted');
  return {
    id,
    row: predicted(prediction, outcome, [...flags, ...more]),
    log: { ...log, model: outcome.servedModel, at },
  };
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
    stampOf: (_job: InferJob, _failure: string | undefined, mark: string) => mark,
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
  const { settings, dataset } = work;
  const rollout = rolloutIdentity(settings);
  if (settings.baseline !== undefined) return { data: dataset.fingerprint, baseline: settings.baseline, ...rollout };
  return { data: dataset.fingerprint, ...askedIdentity(work, stored), ...rollout };
}

function rolloutIdentity({ rollout, rolloutFrom: from = 0 }: InferSettings): Identity {
  return rollout ? { rollout: { from, version: ROLLOUT_VERSION } } : {};
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

/** One row in one of its repeats. */
export interface InferJob extends StageJob {
  readonly row: RowRef;
  readonly repeat: number;
}

/** Every repeat of a row that is chosen now or has a record, in the order of the data. `recorded` are the ids of the run's records. */
export function jobsOf(
  { rows, find }: Pick<Dataset, 'rows' | 'find'>,
  chosen: readonly RowRef[],
  repeats: number,
  recorded: Iterable<string>,
): InferJob[] {
  const isChosen = new Set(chosen);
  const repeatsOf = new Map<RowRef, number[]>();
  for (const row of rows) {
    if (isChosen.has(row))
      repeatsOf.set(
        row,
        Array.from({ length: repeats }, (_, repeat) => repeat),
      );
  }
  for (const id of recorded) {
    const { key = '', repeat = 0, index } = parseRowId(id) ?? {};
    const row = index === 0 ? find(key) : undefined;
    if (row === undefined || (isChosen.has(row) && repeat < repeats) || rowId(key, repeat) !== id) continue;
    const known = repeatsOf.get(row);
    if (known === undefined) repeatsOf.set(row, [repeat]);
    else known.push(repeat);
  }
  return rows.flatMap((row) => (repeatsOf.get(row) ?? []).sort((a, b) => a - b).map((repeat) => jobOf(row, repeat)));
}

function jobOf(row: RowRef, repeat: number): InferJob {
  return { id: rowId(row.key, repeat), domain: row.domain, group: row.trajectory, row, repeat };
}

/**
 * Under `prefix` the repeats of a row follow each other: they share all of their prompt, and only the first of them is paid in full.
 * Under other orders every row has been asked once before any is asked again. Whoever wants that under `prefix`, too, gives the command
 * once without repeats, and once with them.
 * @param jobs as `jobsOf` gives them for these rows and repeats
 */
export function inAskingOrder(
  jobs: readonly InferJob[],
  chosen: readonly RowRef[],
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
): InferJob[] {
  const ofRow = groupBy(jobs, ({ row }) => row);
  const ordered = ORDERS[order](chosen, sampleSeed).map((row) => present(ofRow.get(row)).slice(0, repeats));
  if (order === 'prefix') return ordered.flat();
  return Array.from({ length: repeats }, (_, repeat) => ordered.map((own) => present(own[repeat]))).flat();
}
