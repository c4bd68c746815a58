// awb likelihood: its options, and the work of measuring how likely the world model holds the true observation of each row to be.

import { withMembers } from '../benchmark/row-text.js';
import type { Identity } from '../core/identity.js';
import { JUDGEMENT_KEYS, judgementMembers } from '../core/judged-row.js';
import { type JudgementRecord, measured, recordedJudgement, unmeasured } from '../core/judgement.js';
import { failureToPredict } from '../core/points.js';
import { PREDICTION_TAG, withoutMarker } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { Io, ModelFailure, ModelReply, Question, Sample, TokenScore } from '../core/types.js';
import type { JournalRecord } from '../run/journal.js';
import type { Manifest } from '../run/manifest.js';
import { ASKING_OPTIONS, type AskingSettings } from '../run/options.js';
import { type RowSummary, type Run, STAMP_KEY } from '../run/run.js';
import { markOf, oneByOne, type Stage } from '../run/stage-contract.js';
import { requirePriced } from '../run/target.js';
import type { ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { askedIdentity, type ChosenRows, invalidByDomain, manifestOfData, placeOfRow } from './chosen-rows.js';
import { type InferJob, inAskingOrder, jobsOf, type RowOutput, TRAJECTORY_KEYS } from './inferring.js';
import { buildMessages } from './messages.js';
import { INFER_OPTIONS } from './options.js';

/** Nothing is generated, so there is nothing to sample, to stream or to fit in. */
const {
  baseline,
  repeats,
  'max-tokens': maxTokens,
  temperature,
  'top-p': topP,
  'top-k': topK,
  'min-p': minP,
  'presence-penalty': presencePenalty,
  'reasoning-effort': reasoningEffort,
  seed,
  preset,
  'allow-param-drop': allowParamDrop,
  'fit-max-tokens': fitMaxTokens,
  stream,
  'first-token-timeout': firstTokenTimeout,
  'gap-timeout': gapTimeout,
  ...taken
} = INFER_OPTIONS;

export const LIKELIHOOD_OPTIONS = {
  ...taken,
  lean: { ...taken.lean, help: 'leave the trajectory text out of likelihood.jsonl' },
} as const satisfies OptionTable;

export type LikelihoodSettings = Settings<typeof LIKELIHOOD_OPTIONS>;

/** As all stages ask: one token, which servers do not take less than, and the likeliest one, so that nothing is left to chance. */
export function askedAs(settings: LikelihoodSettings): LikelihoodSettings & AskingSettings {
  return {
    ...settings,
    maxTokens: 1,
    temperature: 0,
    topP: undefined,
    topK: undefined,
    minP: undefined,
    presencePenalty: undefined,
    reasoningEffort: undefined,
    seed: undefined,
    preset: undefined,
    allowParamDrop: false,
    fitMaxTokens: false,
    stream: false,
    // Of whole replies no first token and no gap is seen.
    firstTokenTimeout: ASKING_OPTIONS['first-token-timeout'].default,
    gapTimeout: ASKING_OPTIONS['gap-timeout'].default,
  };
}

/** Everything that one measuring works on. */
export interface Measuring extends ChosenRows {
  readonly settings: LikelihoodSettings & AskingSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
}

/** Every row is asked once: the same text costs the same each time. */
const ONCE = 1;

/** The chosen rows as a stage. @throws UserError (2) for a budget in dollars without a price */
export function likelihoodStage(work: Measuring, run: Run): Stage<InferJob> {
  const { settings, dataset, chosen, prompts, target } = work;
  requirePriced(settings, run.ledger.usd !== undefined, target);
  const output = likelihoodOutput(work, run.journal);
  return {
    io: work.io,
    run,
    settings,
    target,
    ...output,
    order: inAskingOrder(output.rows, chosen, { ...settings, repeats: ONCE }),
    asks: () => true,
    solve: oneByOne(async ({ id, row }, ask) => {
      const read = () => dataset.readSample(row);
      const outcome = await ask(async () => ({ ...questionOf(work, await read()), seedOffset: 0 }));
      const log = { ...outcome.log, [STAMP_KEY.likelihood]: markOf(run), at: now() };
      return { id, row: measuredRow(outcome, await read()), log };
    }),
    questions: async ({ row }) => [questionOf(work, await dataset.readSample(row))],
    placeOf: ({ row }) => placeOfRow(dataset, row),
    remarks: prompts.remarks,
    manifest: manifestOfData(work, run, settings),
  };
}

/** The rows of the output, and the line of each. */
export function likelihoodOutput(
  { settings, dataset, chosen }: RowOutput<'lean' | 'skipInvalid' | 'domains'>,
  journal: Run['journal'],
) {
  const leftOut = settings.lean ? new Set([...JUDGEMENT_KEYS, ...TRAJECTORY_KEYS]) : JUDGEMENT_KEYS;
  return {
    rows: jobsOf(dataset, chosen, ONCE, journal.ids()),
    stampOf: (_job: InferJob, _failure: string | undefined, mark: string) => mark,
    isDone: (_job: InferJob, { status }: RowSummary) => status === 'ok',
    async compose(job: InferJob, { row }: JournalRecord) {
      return withMembers(await dataset.readText(job.row), leftOut, membersOf(job, recordedJudgement(row)));
    },
    outputForm: { lean: settings.lean },
    absent: settings.skipInvalid ? invalidByDomain(dataset.bad, settings) : {},
  };
}

function questionOf({ settings, prompts }: Measuring, sample: Sample): Question {
  const messages = buildMessages(sample, settings.protocol, prompts.of(sample));
  const content = trueReply(trueObservation(sample));
  return { messages: [...messages, { role: 'assistant', content }], scored: true };
}

function measuredRow(outcome: ModelReply | ModelFailure, sample: Sample): JudgementRecord {
  if (outcome.status === 'failed') {
    return unmeasured({ class: failureToPredict(outcome.class), reason: outcome.reason });
  }
  const { finishReason: _cut, reasoning: _thought, ...reply } = outcome;
  const cost = costOfTruth(outcome.promptScores ?? [], trueObservation(sample));
  if ('flaw' in cost) return unmeasured({ class: 'unreadable', reason: cost.flaw });
  return measured(measuresOfTruth(cost), { reply, truth: cost });
}

function membersOf({ row, repeat }: InferJob, record: JudgementRecord) {
  const prediction = { key: row.key, trajectory: row.trajectory, repeat, gen: '', awb: {}, flags: [] };
  return judgementMembers(prediction, record, 0);
}

/** What the figures depend on, and nothing else: addresses, keys, speed and the choice of rows may change. */
export function likelihoodIdentity(work: Measuring, stored: Manifest | undefined): Identity {
  const data = work.dataset.fingerprint;
  return { mode: 'likelihood', data, ...askedIdentity(work, stored), reading: TRUTH_VERSION };
}

function now(): string {
  return new Date().toISOString();
}

/** Rises when the same scores give other figures than before, or the truth is put to the model in another form. */
const TRUTH_VERSION = 1;

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;

/** The truth as judges are shown it: without the marker, stripped at both ends. */
export function trueObservation(sample: Sample): string {
  return withoutMarker(groundTruthOf(sample));
}

/** The reply of a world model that knows the truth: the tag, each on a line of its own, and nothing besides. */
export function trueReply(truth: string): string {
  return `${OPEN}\n${truth}\n${CLOSE}`;
}

/** What the truth's tokens cost, and over how many of them and how many UTF-8 bytes. */
interface TruthCost {
  readonly nats: number;
  readonly tokens: number;
  readonly bytes: number;
}

/**
 * The cost of the truth, given the scores of a prompt that ends with `trueReply(truth)` and what a chat template puts behind it. A
 * token that holds any of the truth counts whole, so that nothing of the truth is free: such as one of a full stop and the line feed
 * behind it.
 * @returns a sentence's end where the truth does not stand in the prompt as it was given
 */
export function costOfTruth(scores: readonly TokenScore[], truth: string): TruthCost | { readonly flaw: string } {
  const bytes = new TextEncoder().encode(truth).length;
  if (bytes === 0) return { flaw: 'the true observation is empty, and has no bytes to spread bits over' };
  const text = scores.map((score) => score.text).join('');
  // Tags that the truth itself holds stand between the two that are wanted.
  const start = nthLast(text, OPEN, countOf(truth, OPEN));
  const close = nthLast(text, CLOSE, 0);
  if (start === undefined || close === undefined || close < start) {
    return { flaw: 'the tag does not stand among the tokens that the server scored' };
  }
  const [from, to] = [start + OPEN.length + 1, close - 1];
  if (visible(text.slice(from, to)) !== visible(truth)) {
    return {
      flaw: "the model's chat template changes the true observation, or the server names its tokens by other texts",
    };
  }
  let [at, nats, tokens] = [0, 0, 0];
  for (const score of scores) {
    const end = at + score.text.length;
    const isInside = score.text === '' ? at >= from && at < to : at < to && end > from;
    if (isInside) {
      nats += score.nats;
      tokens++;
    }
    at = end;
  }
  return { nats, tokens, bytes };
}

/** The figures of one truth. */
export function measuresOfTruth({
  nats,
  tokens,
  bytes,
}: TruthCost): Record<'bits_per_byte' | 'nats_per_token', number> {
  return { bits_per_byte: nats / Math.LN2 / bytes, nats_per_token: nats / tokens };
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Where a part stands for the last time but so many, in UTF-16 units. */
function nthLast(text: string, part: string, before: number): number | undefined {
  let at = text.length;
  for (let left = before; left >= 0; left--) {
    at = at < 1 ? -1 : text.lastIndexOf(part, at - 1);
    if (at < 0) return undefined;
  }
  return at;
}

/** What every server tells alike: tokens of a part of a character, and of spaces at a start, go by several texts. */
function visible(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '');
}
