// The work of inferring: the chosen rows through a world model or a baseline, in an open run.

import { BASELINES, donorsOf } from '../benchmark/baselines.js';
import type { Dataset, RowRef } from '../benchmark/dataset.js';
import { withMembers } from '../benchmark/row-text.js';
import { ORDERS } from '../benchmark/selection.js';
import { attacksIn, isSuspicious } from '../benchmark/suspicion.js';
import { present } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import type { Identity } from '../core/identity.js';
import {
  type PredictionFailure,
  type PredictionId,
  predicted,
  recordedPrediction,
  unpredicted,
} from '../core/prediction.js';
import { countTags, PREDICTION_TAG, pythonStrip, readPrediction, withoutThought } from '../core/reply.js';
import { parseRowId, rowId } from '../core/row-id.js';
import { groundTruthOf } from '../core/turn.js';
import type { CallLog, Flag, Io, ModelReply, Question, Sample } from '../core/types.js';
import { BATCH_OPTIONS } from '../run/batch/options.js';
import type { JournalRecord } from '../run/journal.js';
import type { Manifest } from '../run/manifest.js';
import { type RowState, type RowSummary, type Run, stampKeyOf } from '../run/run.js';
import { markOf, oneByOne, type Stage, type StageJob } from '../run/stage-contract.js';
import type { ShownSettings } from '../settings/command.js';
import { askedIdentity, type ChosenRows, invalidByDomain, placeOfRow, stageOver } from './chosen-rows.js';
import { buildMessages } from './messages.js';
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
  const { settings, dataset, chosen, prompts } = work;
  const says = settings.baseline && baselineOf(settings.baseline, dataset);
  const output = inferOutput(work, run.journal);
  const questionOf = async ({ row }: InferJob): Promise<Question> => {
    const sample = await dataset.readSample(row);
    return { messages: buildMessages(sample, settings.protocol, prompts.of(sample)) };
  };
  return {
    ...stageOver(work, run),
    ...output,
    options: { ...INFER_OPTIONS, ...BATCH_OPTIONS },
    order: inAskingOrder(output.rows, chosen, settings),
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
  };
}

/** The result of a row: a reply, a failure, or a baseline's answer, which has no log. */
type Outcome = ((Omit<ModelReply, 'log'> & { readonly log?: CallLog }) | PredictionFailure) & {
  /** The record's stamp; absent for rows without a model call. */
  readonly stamp?: string;
};

/** A baseline's answer for a row, or for a row's turn as given in `sample`. */
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
 * @param read the turn as it was sent to the model, read only for the few replies that contain an attack; absent if nobody judges the
 * prediction
 */
export async function recordOf(
  id: string,
  prediction: PredictionId,
  outcome: Outcome,
  read?: () => Promise<Sample>,
  more: readonly Flag[] = [],
): Promise<JournalRecord> {
  const log = { ...outcome.log, [stampKeyOf('infer')]: outcome.stamp };
  const at = new Date().toISOString();
  if (outcome.status === 'failed') return { id, row: unpredicted(prediction, outcome), log: { ...log, at } };
  const flags = flagsOf(outcome);
  if (read !== undefined) {
    const attacks = attacksIn(readPrediction(outcome.content));
    if (attacks.length > 0 && isSuspicious(attacks, await read())) flags.push('suspicious');
  }
  if (outcome.fittedMaxTokens !== undefined) flags.push('fitted-max-tokens');
  if (outcome.redacted !== undefined) flags.push('redacted');
  return {
    id,
    row: predicted(prediction, outcome, [...flags, ...more]),
    log: { ...log, model: outcome.servedModel, at },
  };
}

/** What is needed, with the journal, to write a file of rows with something added to each. */
export interface RowOutput<Needed extends keyof InferSettings> extends Pick<ChosenRows, 'dataset' | 'chosen'> {
  readonly settings: Pick<InferSettings, Needed>;
}

/** The rows of the output, and the line of each. */
export function inferOutput(work: RowOutput<'repeats' | 'lean' | 'skipInvalid' | 'domains'>, journal: Run['journal']) {
  return outputOf(work, work.settings.repeats, journal, leftOutBy(work.settings), (_job, row) => row);
}

/** @param membersOf what the record adds to the row */
export function outputOf(
  { settings, dataset, chosen }: RowOutput<'lean' | 'skipInvalid' | 'domains'>,
  repeats: number,
  journal: Run['journal'],
  leftOut: ReadonlySet<string>,
  membersOf: (job: InferJob, row: JournalRecord['row']) => JournalRecord['row'],
) {
  return {
    rows: jobsOf(dataset, chosen, repeats, journal.ids()),
    stampOf: (_job: InferJob, _failure: string | undefined, mark: string) => mark,
    isDone: (_job: InferJob, { status }: RowSummary) => status === 'ok',
    async compose(job: InferJob, { row }: JournalRecord) {
      return withMembers(await dataset.readText(job.row), leftOut, membersOf(job, row));
    },
    outputForm: { lean: settings.lean },
    absent: invalidByDomain(dataset.bad, settings),
  };
}

/** The keys left out of a row: for a lean one, its trajectory's text. */
export function leftOutBy({ lean }: { readonly lean: boolean }): ReadonlySet<string> {
  return new Set(lean ? ['prompt', 'response', 'current_prompt', 'system_str'] : []);
}

/** What the predictions depend on, and nothing else: addresses, keys, speed and the choice of rows may change. */
export function inferIdentity(work: Inference, stored: Manifest | undefined): Identity {
  const { baseline, rollout, rolloutFrom: from = 0 } = work.settings;
  return {
    data: work.dataset.fingerprint,
    ...(baseline === undefined ? askedIdentity(work, stored) : { baseline }),
    ...(rollout && { rollout: { from, version: ROLLOUT_VERSION } }),
  };
}

/** The state in a prediction's record. @throws TypeError for a record that infer cannot have written. */
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
  const repeatsOf = new Map(
    chosen.map((row) => [row, new Set(Array.from({ length: repeats }, (_, repeat) => repeat))]),
  );
  for (const id of recorded) {
    const { key = '', repeat = 0, index } = parseRowId(id) ?? {};
    const row = index === 0 && rowId(key, repeat) === id ? find(key) : undefined;
    if (row !== undefined) repeatsOf.set(row, (repeatsOf.get(row) ?? new Set()).add(repeat));
  }
  return rows.flatMap((row) =>
    [...(repeatsOf.get(row) ?? [])]
      .sort((a, b) => a - b)
      .map((repeat) => ({ id: rowId(row.key, repeat), domain: row.domain, group: row.trajectory, row, repeat })),
  );
}

/**
 * With `prefix`, the repeats of a row are consecutive: they share their complete prompt, and only the first one pays for it in full.
 * With other orders, every row is asked once before any is repeated. To get that with `prefix`, run the command once without
 * repeats, and once with them.
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

// What is odd about a world model's reply without making it a failure.

/**
 * The flags from a reply's text and end, in the order of the `Flag` type (`fitted-max-tokens` and `redacted` belong to the call).
 * `truncated`: the token budget ended it. `untagged`: there is text in addition to thinking, but it opens no `<predicted_observation>`.
 * `empty`: there is only thinking and white space. `repetitive`: see `endsInLoop`; thinking counts here, since that is where models
 * loop. `several-tags`: the tag opens more than once outside thinking.
 */
export function flagsOf(reply: { readonly content: string; readonly finishReason?: string }): Flag[] {
  const text = withoutThought(reply.content);
  const tags = countTags(text, PREDICTION_TAG);
  const found: readonly (readonly [Flag, boolean])[] = [
    ['truncated', reply.finishReason === 'length'],
    ['untagged', text !== '' && tags === 0],
    ['empty', text === ''],
    ['repetitive', endsInLoop(reply.content)],
    ['several-tags', tags > 1],
  ];
  return found.flatMap(([flag, isSet]) => (isSet ? [flag] : []));
}

/** Thresholds, well above every recorded observation. */
const REPEATS_AT_END = 8;
const WORDED_LENGTH = 2_000;
/** Real screens and dumps are full of rows of zeros, rules and blanks, so these must be longer. */
const WORDLESS_LENGTH = 16_000;
/** Only this much of the end is searched, so the longest unit that is found is an eighth of it. */
const END_LENGTH = 32_000;

/**
 * A text is degenerately repetitive if its end is one unit of any length repeated 8 times or more. A unit that contains a letter must
 * fill 2,000 UTF-16 units at the end, one without a letter 16,000. White space at the end never counts. Loops that change with each
 * repetition, such as counters, are not found, nor those that the model left again.
 */
function endsInLoop(text: string): boolean {
  const closing = new RegExp(`</${PREDICTION_TAG}>$`, 'i');
  const end = pythonStrip(pythonStrip(text.slice(-END_LENGTH)).replace(closing, ''));
  for (let period = 1; period * REPEATS_AT_END <= end.length; period++) {
    const loop = end.slice(-period * REPEATS_AT_END);
    if (loop.slice(period) !== loop.slice(0, -period)) continue;
    let length = loop.length;
    while (length < end.length && end.at(-length - 1) === end.at(period - length - 1)) length++;
    if (length >= (/\p{L}/u.test(end.slice(-period)) ? WORDED_LENGTH : WORDLESS_LENGTH)) return true;
    // Longer periods that fit in here belong to the same loop.
    period = Math.floor(length / REPEATS_AT_END);
  }
  return false;
}
