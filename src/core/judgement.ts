// The judgement record: what was judged of a prediction, made here alone, and read back from the journal.

import { quotesIn, readFacts, recallOf } from './facts.js';
import type { JsonObject } from './json.js';
import { failureToPredict } from './points.js';
import type { NoPrediction } from './prediction.js';
import {
  DIMENSIONS,
  type JudgementFailure,
  type Measures,
  MODEL_CAUSED_FAILURES,
  type ModelReply,
  type Verdict,
} from './types.js';

/** How often one prediction is judged at most. */
export const MOST_JUDGEMENTS = 1000;

/** Why a prediction has no judgement. */
export interface NoJudgement {
  readonly class: JudgementFailure;
  readonly reason: string;
}

/** The `awb.judge` object, in which `detailsOf` puts more. Like a prediction's record it holds no time and no attempt count. */
type JudgeMember = JsonObject & { readonly model?: string } & (
    | { readonly status: 'ok' }
    | { readonly status: 'failed'; readonly class: string; readonly reason: string; readonly raw_output?: string }
  );

/** One judgement as the journal keeps it. */
export type JudgementRecord = {
  /** The members that the official script writes; empty where it has no word for what was found. */
  readonly official: JsonObject;
  readonly judge: JudgeMember;
  readonly measures?: Measures;
};

/** What a judge was told, and its (last) reply where it gave one. */
interface Asked {
  readonly rubrics?: { readonly name: string; readonly fingerprint: string };
  readonly reply?: ModelReply | undefined;
  /** All replies, where several parts were asked. */
  readonly replies?: readonly ModelReply[];
  /** What the truth cost a world model: the sums behind bits a byte. */
  readonly truth?: { readonly nats: number; readonly tokens: number; readonly bytes: number };
  /** What each judge of a panel gave: a panel is joined, and nobody asks it. */
  readonly panel?: readonly JsonObject[];
}

/** The texts that the official script writes as `error_message`: for a row without a `gen`, and for one whose tries all failed. */
const OFFICIAL_ERRORS = { unasked: 'No model generation', unreadable: 'Judge scoring failed' };

/** The measures of a checklist: which share of the determined facts the prediction met, and which of its quotes were found. */
export const FACTS_RECALL = 'facts_recall';
export const QUOTES_FOUND = 'quotes_found';

/** Of a verdict, in the official members; its checklist counts where the rubrics ask for one. `quotable` is what it may quote. */
export function rated(
  verdict: Verdict & { status: 'ok' },
  asked: Asked & { readonly asksFacts?: boolean; readonly quotable?: readonly string[] },
): JudgementRecord {
  const official = {
    total_score: verdict.total,
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, verdict.ratings[dimension] ?? 0])),
    failed: 0,
    strengths: verdict.strengths,
    weaknesses: verdict.weaknesses,
    ...(asked.reply === undefined ? {} : { judge_raw_output: asked.reply.content }),
  };
  const judge = { status: 'ok' as const, ...detailsOf(asked) };
  if (asked.asksFacts !== true) return { official, judge };
  const facts = verdict.facts ?? readFacts(undefined);
  if (typeof facts === 'string') return { official, judge: { ...judge, facts_fault: facts } };
  const recall = recallOf(facts);
  const { given, unmatched } = quotesIn(facts, asked.quotable ?? []);
  const measures = {
    ...(recall === undefined ? {} : { [FACTS_RECALL]: recall }),
    ...(given === 0 ? {} : { [QUOTES_FOUND]: (100 * (given - unmatched)) / given }),
  };
  return {
    official,
    judge: { ...judge, facts, ...(given === 0 ? {} : { unmatched_quotes: unmatched }) },
    ...(Object.keys(measures).length === 0 ? {} : { measures }),
  };
}

/** Of a prediction that got no verdict. The official script writes no more than this in such a row. */
export function unrated(failure: NoJudgement, asked: Asked): JudgementRecord {
  const official = isUnasked(failure.class)
    ? { failed: 1, error_message: OFFICIAL_ERRORS.unasked }
    : { total_score: 0, failed: 1, error_message: OFFICIAL_ERRORS.unreadable };
  return { official, judge: failedMember(failure, asked) };
}

/** Of measures, for which the official script has no members. */
export function measured(measures: Measures, asked: Asked = {}): JudgementRecord {
  return { official: {}, judge: { status: 'ok', ...detailsOf(asked) }, measures };
}

/** Of a prediction that could not be measured. */
export function unmeasured(failure: NoJudgement, asked: Asked = {}): JudgementRecord {
  return { official: {}, judge: failedMember(failure, asked) };
}

function failedMember({ class: failure, reason }: NoJudgement, asked: Asked): JudgeMember {
  const raw = asked.reply && { raw_output: asked.reply.content };
  return { status: 'failed', class: failure, reason, ...detailsOf(asked), ...raw };
}

function detailsOf({ rubrics, reply, replies, panel, truth }: Asked) {
  return {
    ...(rubrics === undefined ? {} : { rubrics: { name: rubrics.name, fingerprint: rubrics.fingerprint } }),
    ...(reply?.servedModel === undefined ? {} : { model: reply.servedModel }),
    ...(reply?.finishReason === undefined ? {} : { finish_reason: reply.finishReason }),
    ...(reply?.redacted === undefined ? {} : { redacted: true }),
    ...(reply?.reasoning === undefined ? {} : { reasoning: reply.reasoning }),
    ...(panel === undefined ? {} : { panel }),
    ...(replies === undefined ? {} : { raw_outputs: replies.map(({ content }) => content) }),
    ...(truth === undefined ? {} : { truth: { nats: truth.nats, tokens: truth.tokens, bytes: truth.bytes } }),
  };
}

/** What a missing prediction is to those who judge. */
export function withoutPrediction({ class: failure, reason }: NoPrediction): NoJudgement {
  return { class: failureToPredict(failure), reason };
}

/** Failures that judging again cannot mend: they are the prediction's. */
export const FINAL_FAILURES: ReadonlySet<string> = new Set<JudgementFailure>([
  'prediction',
  'context-overflow',
  ...MODEL_CAUSED_FAILURES,
]);

/** Failures of the prediction that a judge was asked about. */
const UNREAD: ReadonlySet<string> = new Set<JudgementFailure>(['planted', 'confusing']);

/** Whether a judgement failed for want of a prediction, so that no judge was asked. */
export function isUnasked(failure: string | undefined): boolean {
  return failure !== undefined && !UNREAD.has(failure) && FINAL_FAILURES.has(failure);
}

/** The record among what the journal keeps of a row. */
export function recordedJudgement({ official, judge, measures }: JsonObject): JudgementRecord {
  // The journal's checksums say that it is what judging made.
  return (measures === undefined ? { official, judge } : { official, judge, measures }) as JudgementRecord;
}
