// awb likelihood: its options, and the work of measuring how likely the world model holds the true observation of each row to be.

import { withMembers } from '../benchmark/row-text.js';
import type { Identity } from '../core/identity.js';
import { JUDGEMENT_KEYS, judgementMembers } from '../core/judged-row.js';
import { type JudgementRecord, measured, recordedJudgement, unmeasured } from '../core/judgement.js';
import { failureToPredict } from '../core/points.js';
import type { Io, ModelFailure, ModelReply, Question, Sample } from '../core/types.js';
import type { JournalRecord } from '../run/journal-record.js';
import type { Manifest } from '../run/manifest.js';
import { ASKING_OPTIONS, type AskingSettings } from '../run/options.js';
import { requirePriced } from '../run/pricing.js';
import { type RowSummary, type Run, STAMP_KEY } from '../run/run.js';
import { markOf, oneByOne, type Stage } from '../run/stage-contract.js';
import type { ShownSettings } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { askedIdentity, type ChosenRows, invalidByDomain, manifestOfData, placeOfRow } from './chosen-rows.js';
import { type InferJob, inAskingOrder, jobsOf, type RowOutput, TRAJECTORY_KEYS } from './inferring.js';
import { buildMessages } from './messages.js';
import { INFER_OPTIONS } from './options.js';
import { costOfTruth, measuresOfTruth, TRUTH_VERSION, trueObservation, trueReply } from './true-observation.js';

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
