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
import { countTags, PREDICTION_TAG, pythonStrip, readPrediction, withoutThought } from '../core/reply.js';
import { parseRowId, rowId } from '../core/row-id.js';
import { groundTruthOf } from '../core/turn.js';
import type { CallLog, Flag, Io, ModelReply, Question, Sample } from '../core/types.js';
import { BATCH_OPTIONS } from '../run/batch/options.js';
import type { JournalRecord } from '../run/journal.js';
import type { Manifest } from '../run/manifest.js';
import { type RowState, type RowSummary, type Run, STAMP_KEY } from '../run/run.js';
import { markOf, oneByOne, type Stage, type StageJob } from '../run/stage-contract.js';
import { requirePriced } from '../run/target.js';
import type { ShownSettings } from '../settings/command.js';
import { askedIdentity, type ChosenRows, invalidByDomain, manifestOfData, placeOfRow } from './chosen-rows.js';
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

/**
 * The flags that a reply's text and end give, in the order of the `Flag` type (`fitted-max-tokens` and `redacted` belong to the call).
 * `truncated`: the token budget ended it. `untagged`: something is left beside thinking, but no `<predicted_observation>` opens in it.
 * `empty`: nothing is left beside thinking and white space. `repetitive`: see `isRepetitive`; thinking counts here, since that is where
 * models loop. `several-tags`: the tag opens more than once outside thinking.
 */
export function flagsOf(reply: { readonly content: string; readonly finishReason?: string }): Flag[] {
  const text = withoutThought(reply.content);
  const tags = countTags(text, PREDICTION_TAG);
  const flags: Flag[] = [];
  if (reply.finishReason === 'length') flags.push('truncated');
  if (text !== '' && tags === 0) flags.push('untagged');
  if (text === '') flags.push('empty');
  if (isRepetitive(reply.content)) flags.push('repetitive');
  if (tags > 1) flags.push('several-tags');
  return flags;
}

/** Thresholds, with room above every recorded observation; a unit or line counts as worded when it holds a letter. */
const LINES_IN_A_ROW = 48;
const REPEATS_AT_END = 8;
const WORDED_LENGTH = 2_000;
/** Real screens and dumps are full of rows of zeros, rules and blanks, so these must go on for longer. */
const WORDLESS_LENGTH = 16_000;
/** Only this much of the end is searched, so the unit of the longest loop that is found is an eighth of it. */
const END_LENGTH = 32_000;
/** Room for one search, used by each: new room for each of many replies would be a third of all that is allocated for them. */
const BACKWARDS = new Uint16Array(END_LENGTH);
const MATCHES = new Int32Array(END_LENGTH);

/**
 * Whether a text shows degenerate repetition: 48 equal lines in a row, or an end that is one unit of any length repeated 8 times or
 * more. A unit that holds a letter must fill 2,000 UTF-16 units at the end; a line or unit without one must fill 16,000. Blank lines
 * and white space at the end never count. Loops that change from round to round, such as counters, are not found. Linear in the
 * text's length.
 */
function isRepetitive(text: string): boolean {
  return hasRepeatedLine(text) || endsInLoop(text);
}

function hasRepeatedLine(text: string): boolean {
  let previous = '';
  let run = 0;
  for (const line of text.split('\n')) {
    run = line === previous ? run + 1 : 1;
    previous = line;
    if (run >= LINES_IN_A_ROW && line.trim() !== '' && spansEnough(line, run * (line.length + 1), 0)) return true;
  }
  return false;
}

function endsInLoop(text: string): boolean {
  const closing = new RegExp(`</${PREDICTION_TAG}>$`, 'i');
  const end = pythonStrip(pythonStrip(text.slice(-END_LENGTH)).replace(closing, ''));
  const backwards = BACKWARDS.subarray(0, end.length);
  for (let i = 0; i < end.length; i++) backwards[i] = end.charCodeAt(end.length - 1 - i);
  const same = prefixMatches(backwards);
  for (let period = 1; period * REPEATS_AT_END <= end.length; period++) {
    const length = period + (same[period] ?? 0);
    if (length < period * REPEATS_AT_END) continue;
    if (spansEnough(end.slice(-period), length, WORDED_LENGTH)) return true;
  }
  return false;
}

function spansEnough(unit: string, length: number, wordedLength: number): boolean {
  return length >= (/\p{L}/u.test(unit) ? wordedLength : WORDLESS_LENGTH);
}

/**
 * The Z-array, valid until the next search: how many values from each index on equal those at the start (its own place holds nothing;
 * Gusfield, "Algorithms on Strings, Trees, and Sequences", 1.4).
 */
function prefixMatches(values: Uint16Array): Int32Array {
  const matches = MATCHES.subarray(0, values.length);
  let left = 0;
  let right = 0;
  for (let i = 1; i < values.length; i++) {
    let length = i < right ? Math.min(right - i, matches[i - left] ?? 0) : 0;
    while (i + length < values.length && values[length] === values[i + length]) length++;
    matches[i] = length;
    if (i + length > right) [left, right] = [i, i + length];
  }
  return matches;
}
