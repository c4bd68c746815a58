// The judgement record: what was judged about a prediction. Made only here, and read back from the journal.

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

/** The most judgements of one prediction. */
export const MOST_JUDGEMENTS = 1000;

/** Why a prediction has no judgement. */
export interface NoJudgement {
  readonly class: JudgementFailure;
  readonly reason: string;
}

/** The `awb.judge` object, which `detailsOf` extends. Like a prediction's record it contains no time and no attempt count. */
type JudgeMember = JsonObject & { readonly model?: string } & (
    | { readonly status: 'ok' }
    | { readonly status: 'failed'; readonly class: string; readonly reason: string; readonly raw_output?: string }
  );

/** One judgement as the journal keeps it. */
export type JudgementRecord = {
  /** The members that the official script writes; empty if it has none for this result. */
  readonly official: JsonObject;
  readonly judge: JudgeMember;
  readonly measures?: Measures;
};

/** What a judge was asked, and its (last) reply if it gave one. */
interface Asked {
  readonly rubrics?: { readonly name: string; readonly fingerprint: string };
  readonly reply?: ModelReply | undefined;
  /** All replies, if several parts were asked. */
  readonly replies?: readonly ModelReply[];
  /** What the truth cost a world model: the sums behind bits per byte. */
  readonly truth?: { readonly nats: number; readonly tokens: number; readonly bytes: number };
  /** What each judge of a panel gave: a panel is joined, not called. */
  readonly panel?: readonly JsonObject[];
}

/** The official script's texts for `error_message`: for a row without `gen`, and for a row whose tries all failed. */
const OFFICIAL_ERRORS = { unasked: 'No model generation', unreadable: 'Judge scoring failed' };

/** The measures of a checklist: the share of determined facts that the prediction met, and the share of its quotes that were found. */
export const FACTS_RECALL = 'facts_recall';
export const QUOTES_FOUND = 'quotes_found';

/** For a verdict, in the official members; its checklist counts if the rubrics ask for one. `quotable` is what it may quote. */
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

/** For a prediction without a verdict. The official script writes only this into such a row. */
export function unrated(failure: NoJudgement, asked: Asked): JudgementRecord {
  const official = isUnasked(failure.class)
    ? { failed: 1, error_message: OFFICIAL_ERRORS.unasked }
    : { total_score: 0, failed: 1, error_message: OFFICIAL_ERRORS.unreadable };
  return { official, judge: failedMember(failure, asked) };
}

/** For measures, which have no official members. */
export function measured(measures: Measures, asked: Asked = {}): JudgementRecord {
  return { official: {}, judge: { status: 'ok', ...detailsOf(asked) }, measures };
}

/** For a prediction that could not be measured. */
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

/** What a missing prediction means for a judge. */
export function withoutPrediction({ class: failure, reason }: NoPrediction): NoJudgement {
  return { class: failureToPredict(failure), reason };
}

/** Failures that judging again cannot fix, since they are the prediction's. */
export const FINAL_FAILURES: ReadonlySet<string> = new Set<JudgementFailure>([
  'prediction',
  'context-overflow',
  ...MODEL_CAUSED_FAILURES,
]);

/** Failures of the prediction for which a judge was asked. */
const UNREAD: ReadonlySet<string> = new Set<JudgementFailure>(['planted', 'confusing']);

/** Whether a judgement failed because there was no prediction, so that no judge was asked. */
export function isUnasked(failure: string | undefined): boolean {
  return failure !== undefined && !UNREAD.has(failure) && FINAL_FAILURES.has(failure);
}

/** The judgement record in what the journal keeps of a row. */
export function recordedJudgement({ official, judge, measures }: JsonObject): JudgementRecord {
  // The journal's checksums guarantee that judging made it.
  return (measures === undefined ? { official, judge } : { official, judge, measures }) as JudgementRecord;
}
