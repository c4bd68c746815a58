// awb likelihood: its options, and measuring how likely the world model finds the true observation of each row.

import type { Identity } from '../core/identity.js';
import { JUDGEMENT_KEYS, judgementMembers } from '../core/judged-row.js';
import { type JudgementRecord, measured, recordedJudgement, unmeasured } from '../core/judgement.js';
import { failureToPredict } from '../core/points.js';
import { PREDICTION_TAG, withoutMarker } from '../core/reply.js';
import { groundTruthOf } from '../core/turn.js';
import type { ModelFailure, ModelReply, Question, Sample, TokenScore } from '../core/types.js';
import type { Manifest } from '../run/manifest.js';
import { ASKING_OPTIONS, type AskingSettings } from '../run/options.js';
import { type Run, stampKeyOf } from '../run/run.js';
import { markOf, oneByOne, type Stage } from '../run/stage-contract.js';
import type { OptionTable, Settings } from '../settings/command.js';
import { askedIdentity, placeOfRow, stageOver } from './chosen-rows.js';
import { type Inference, type InferJob, inAskingOrder, leftOutBy, outputOf, type RowOutput } from './inferring.js';
import { buildMessages } from './messages.js';
import { INFER_OPTIONS, without } from './options.js';

/** Nothing is generated, so there is nothing to sample, to stream or to fit in. */
const taken = without(
  INFER_OPTIONS,
  ...(['baseline', 'repeats', 'max-tokens', 'temperature', 'top-p', 'top-k', 'min-p', 'presence-penalty'] as const),
  ...(['reasoning-effort', 'seed', 'preset', 'allow-param-drop', 'fit-max-tokens', 'stream'] as const),
  ...(['first-token-timeout', 'gap-timeout'] as const),
);

export const LIKELIHOOD_OPTIONS = {
  ...taken,
  lean: { ...taken.lean, help: 'leave the trajectory text out of likelihood.jsonl' },
} as const satisfies OptionTable;

type LikelihoodSettings = Settings<typeof LIKELIHOOD_OPTIONS>;

/** The settings in the form of all stages: one output token, the fewest that servers accept, chosen greedily so that nothing is random. */
export function askedAs(settings: LikelihoodSettings): LikelihoodSettings & AskingSettings {
  return {
    ...settings,
    ...{ maxTokens: 1, temperature: 0, allowParamDrop: false, fitMaxTokens: false, stream: false },
    ...{ topP: undefined, topK: undefined, minP: undefined, presencePenalty: undefined, reasoningEffort: undefined },
    ...{ seed: undefined, preset: undefined },
    // Replies that are not streamed have neither a first token nor gaps.
    firstTokenTimeout: ASKING_OPTIONS['first-token-timeout'].default,
    gapTimeout: ASKING_OPTIONS['gap-timeout'].default,
  };
}

/** Everything that one measurement works on. */
interface Measuring extends Omit<Inference, 'settings'> {
  readonly settings: LikelihoodSettings & AskingSettings;
}

/** Every row is asked once: the same text gets the same score each time. */
const ONCE = 1;

/** The chosen rows as a stage. @throws UserError (2) for a budget in dollars without a price */
export function likelihoodStage(work: Measuring, run: Run): Stage<InferJob> {
  const { settings, dataset, chosen } = work;
  const output = likelihoodOutput(work, run.journal);
  return {
    ...stageOver(work, run),
    ...output,
    order: inAskingOrder(output.rows, chosen, { ...settings, repeats: ONCE }),
    solve: oneByOne(async ({ id, row }, ask) => {
      const read = () => dataset.readSample(row);
      const outcome = await ask(async () => ({ ...questionOf(work, await read()), seedOffset: 0 }));
      const log = { ...outcome.log, [stampKeyOf('likelihood')]: markOf(run), at: new Date().toISOString() };
      return { id, row: measuredRow(outcome, await read()), log };
    }),
    questions: async ({ row }) => [questionOf(work, await dataset.readSample(row))],
    placeOf: ({ row }) => placeOfRow(dataset, row),
  };
}

/** The rows of the output, and the line of each. */
export function likelihoodOutput(work: RowOutput<'lean' | 'skipInvalid' | 'domains'>, journal: Run['journal']) {
  const leftOut = new Set([...JUDGEMENT_KEYS, ...leftOutBy(work.settings)]);
  return outputOf(work, ONCE, journal, leftOut, ({ row: { key, trajectory }, repeat }, row) =>
    judgementMembers({ key, trajectory, repeat, gen: '', awb: {}, flags: [] }, recordedJudgement(row), 0),
  );
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

/** What the figures depend on, and nothing else: addresses, keys, speed and the choice of rows may change. */
export function likelihoodIdentity(work: Measuring, stored: Manifest | undefined): Identity {
  const data = work.dataset.fingerprint;
  return { mode: 'likelihood', data, ...askedIdentity(work, stored), reading: TRUTH_VERSION };
}

/** Increased whenever the same scores give different figures, or the truth is sent to the model in another form. */
const TRUTH_VERSION = 1;

const OPEN = `<${PREDICTION_TAG}>`;
const CLOSE = `</${PREDICTION_TAG}>`;

/** The truth as judges see it: without the marker, stripped at both ends. */
export function trueObservation(sample: Sample): string {
  return withoutMarker(groundTruthOf(sample));
}

/** The reply of a world model that knows the truth: only the truth within the tags, each tag on its own line. */
export function trueReply(truth: string): string {
  return `${OPEN}\n${truth}\n${CLOSE}`;
}

/**
 * The cost of the truth, given the scores of a prompt that ends with `trueReply(truth)` and what a chat template adds after it. A token
 * that contains any part of the truth counts in full, so that nothing of the truth is free: for example a full stop with the line feed
 * after it.
 * @returns nats, and over how many tokens and UTF-8 bytes; the end of a sentence if the truth is not in the prompt verbatim
 */
export function costOfTruth(scores: readonly TokenScore[], truth: string) {
  const bytes = Buffer.byteLength(truth);
  if (bytes === 0) return { flaw: 'the true observation is empty, so bits per byte cannot be computed' };
  const text = scores.map((score) => score.text).join('');
  const opens = [...text.matchAll(new RegExp(OPEN, 'g'))];
  // Tags within the truth are between the two wanted ones.
  const start = opens.at(-truth.split(OPEN).length)?.index;
  const close = text.lastIndexOf(CLOSE);
  if (start === undefined || close < start) return { flaw: 'the tag is not among the tokens that the server scored' };
  const [from, to] = [start + OPEN.length + 1, close - 1];
  if (visible(text.slice(from, to)) !== visible(truth)) {
    return {
      flaw: "the model's chat template changes the true observation, or the server returns other texts for its tokens",
    };
  }
  let [at, nats, tokens] = [0, 0, 0];
  for (const score of scores) {
    const end = at + score.text.length;
    if (score.text === '' ? at >= from && at < to : at < to && end > from) {
      nats += score.nats;
      tokens++;
    }
    at = end;
  }
  return { nats, tokens, bytes };
}

/** The figures of one truth. */
export function measuresOfTruth({ nats, tokens, bytes }: { readonly [of in 'nats' | 'tokens' | 'bytes']: number }) {
  return { bits_per_byte: nats / Math.LN2 / bytes, nats_per_token: nats / tokens };
}

/** The part on which servers agree: tokens with part of a character, or with leading spaces, are reported in different ways. */
function visible(text: string): string {
  return text.replace(/[^\x21-\x7e]/g, '');
}
