// The vocabulary of the complete program: read this file first. Functions on its types are at the end: the size of a question, rollout
// steps.

import type { Fact } from './facts.js';
import { isInteger, isObject } from './json.js';

/** The seven published domains, in the order of the published table's columns. */
export const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'] as const;

/** A domain's name: the last part of a row's `task`. Open, since rubric packs may cover more than the published seven. */
export type Domain = string;

/** The five dimensions of the rubric, in the order in which the benchmark lists them. */
export const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** One turn put to the world model: a benchmark row, decoded. */
export interface Sample {
  /** Hash of the decoded official input fields, followed by `-N` for the Nth further row that is equal. */
  readonly key: string;
  /** Hash shared by the rows of one trajectory. */
  readonly trajectory: string;
  readonly domain: Domain;
  /** 1-based; the turn to predict is `prompts[turnIdx - 1]`, its ground truth `responses[turnIdx - 1]`. */
  readonly turnIdx: number;
  readonly prompts: readonly string[];
  readonly responses: readonly string[];
  /** The turn's prompt without the request to predict after it; empty if the row has none. */
  readonly currentPrompt: string;
  /** `system_str`; empty if the row has none. */
  readonly systemPrompt: string;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/**
 * What a model is asked: the next message of a chat, or the text that follows a prompt (without a chat template). If `scored`, the last
 * message is a given reply, and the question is only how likely the model finds it.
 */
export type Question =
  | { readonly messages: readonly ChatMessage[]; readonly scored?: true }
  | { readonly prompt: string };

export type ModelRequest = Question & {
  /** Distinguishes repeats and re-asked replies, so that each is sampled with its own seed. */
  readonly seedOffset: number;
  /** Replaces the run's seed if the caller has its own. */
  readonly seed?: number;
  /** Replaces the run's output budget if the caller knows that the context leaves less. */
  readonly maxTokens?: number;
};

/** Kinds of tokens. `writtenTokens`: of the prompt, what went into the provider's cache; some charge more for it. */
// biome-ignore format: a list
export const TOKEN_KINDS = ['promptTokens', 'cachedTokens', 'writtenTokens', 'completionTokens', 'reasoningTokens'] as const;

/** Token counts of one call or of many; a count that the server did not report is absent. */
export type Usage = Partial<Record<(typeof TOKEN_KINDS)[number], number>>;

/** What one try of a call cost, or all tries: what the server counted, and what it did not. */
export interface CallCost {
  readonly usage: Usage;
  readonly uncounted?: Uncounted | undefined;
}

/**
 * Characters (UTF-16 units) whose tokens nobody counted although they were probably paid for: the server reports none, or the try was
 * broken off while the server worked on it.
 */
export interface Uncounted {
  readonly sent: number;
  readonly received: number;
}

/**
 * Why a call gave no reply. `rate-limit`, `transient`, `timeout` and `malformed` are retried; `auth` stops the run, and so does `fatal`
 * if no other row would fare better.
 */
export type FailureClass =
  | 'rate-limit'
  | 'transient'
  | 'timeout'
  | 'context-overflow'
  | 'refused'
  | 'malformed'
  | 'auth'
  | 'fatal';

/** The result of a request, after all tries. */
export type ModelOutcome = ModelReply | ModelFailure | ModelInterruption;

export interface ModelReply {
  readonly status: 'ok';
  /** The reply's `content`, or a completion's `text`, unchanged; empty if the model ended without any. */
  readonly content: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  /** The model's name as the server reported it. */
  readonly servedModel?: string;
  /** Set if `max_tokens` was lowered to what the context left. */
  readonly fittedMaxTokens?: number;
  /** Set if the server echoed the API key, which was then removed. */
  readonly redacted?: true;
  /** For a scored question: the prompt's last tokens in order, including those of the given reply. */
  readonly promptScores?: readonly TokenScore[];
  readonly log: CallLog;
}

/** A token of a prompt, and how likely the model found it at its position. */
export interface TokenScore {
  /** Bytes that are not a complete character appear as U+FFFD, or are left out. */
  readonly text: string;
  /** The negative natural logarithm of its probability. */
  readonly nats: number;
}

export interface ModelFailure {
  readonly status: 'failed';
  readonly class: FailureClass;
  /** One sentence, free of secrets, times and attempt counts: the same failure reads the same in every run. */
  readonly reason: string;
  readonly log: CallLog;
}

/** The request gets no further result in this session. */
interface ModelInterruption {
  readonly status: 'interrupted';
  /** Absent if it was never sent. */
  readonly log?: CallLog;
  /** The failure of its last completed try. */
  readonly failure?: (Pick<ModelFailure, 'class' | 'reason'> & { readonly stop?: Error | undefined }) | undefined;
}

/** What a request cost: for the journal, never for the output file. */
export interface CallLog extends CallCost {
  readonly attempts: number;
  /** Milliseconds from the start of the first attempt to the end of the last. */
  readonly ms: number;
  /** Milliseconds to the first token of the last attempt, if it was streamed. */
  readonly firstTokenMs?: number;
  /** Host and port that answered. */
  readonly host: string;
  /** How many calls `usage` covers, if several: a price may depend on the length of each prompt, and may charge per call. */
  readonly tries?: number;
  /** Characters (UTF-16 units) sent, if `usage` covers only this call: together they give characters per token. */
  readonly chars?: number;
  /** Requests in batch files that went into it, including those of earlier records of its row. */
  readonly batched?: number;
}

/** What is odd about a prediction without making it a failure. */
export type Flag =
  | 'truncated'
  | 'untagged'
  | 'empty'
  | 'repetitive'
  | 'several-tags'
  | 'suspicious'
  | 'fitted-max-tokens'
  | 'redacted'
  | 'off-script';

/** Ratings of 1 to 5 by dimension; in the official reading, an unrated dimension is absent. */
export type Ratings = Partial<Record<Dimension, number>>;

/** What one judge reply says. */
export type Verdict =
  | {
      readonly status: 'ok';
      readonly ratings: Ratings;
      /** Mean of the ratings present, 0 if there are none (as the official script writes it). */
      readonly total: number;
      readonly strengths: readonly string[];
      readonly weaknesses: readonly string[];
      /** The checklist given with the ratings, or why it cannot be read; absent if there is none. */
      readonly facts?: readonly Fact[] | string;
    }
  | { readonly status: 'unreadable'; readonly reason: string };

/**
 * Why a row has no judgement. The first group is caused by the world model and can be scored at rating 1 (`too-long`: in a rollout, the
 * model's own earlier turns no longer fit into the context; `confusing`: every try was unreadable although the judge could be read for
 * nearly all other rows, see `src/benchmark/judged.ts`; `planted`: the same, detected differently by earlier versions); the second
 * (transport or judge) is missing data.
 */
export type JudgementFailure = ModelCausedFailure | MissingFailure;
export const MODEL_CAUSED_FAILURES = ['empty', 'refused', 'planted', 'too-long', 'confusing'] as const;
export type ModelCausedFailure = (typeof MODEL_CAUSED_FAILURES)[number];
/**
 * `prediction`: infer failed in transport; `context-overflow`: the row did not fit into the served context, or not together with the
 * output budget, which says how the model was run and not what it can do; `unreadable`: no verdict could be read; `judge-…`: the
 * judge's call failed.
 */
type MissingFailure = 'prediction' | 'context-overflow' | 'unreadable' | `judge-${FailureClass}`;

/** Text measures of a prediction against its ground truth, each 0 to 100. A measure that does not apply is absent. */
export type Measures = Readonly<Record<string, number>>;

/** One judged row as `score` reads it, from awb's files or the official script's. Numbers are exactly those in the file. */
export interface JudgedRow {
  readonly key: string;
  readonly trajectory: string;
  readonly repeat: number;
  /** Which judgement of its prediction this is, from 0. */
  readonly index: number;
  readonly domain: Domain;
  readonly turnIdx: number;
  /** The official keys; `failed` is absent if the file has none. */
  readonly failed?: number;
  readonly total: number;
  readonly ratings: Ratings;
  readonly failure?: { readonly class: JudgementFailure; readonly reason: string };
  readonly measures?: Measures;
  readonly flags: readonly string[];
  /** The place of its prediction in a rollout; absent if no rollout was asked for, so all of its history was true. */
  readonly rollout?: RolloutStep;
}

/** The schema name in each line of a ratings file, as the page of `awb rate` saves it. */
export const PERSON_RATING_SCHEMA = 'awb.person-rating/1';

/** A line of the file that the page saves; a CSV file has the same names in its header. */
export type PersonRatingLine = {
  readonly schema: typeof PERSON_RATING_SCHEMA;
  readonly key: string;
  readonly repeat: number;
  readonly trajectory: string;
  readonly domain: string;
  /** The run's name; null if names were hidden. */
  readonly run: string | null;
  readonly rater: string;
  readonly prediction_sha256: string;
  readonly revised: boolean;
  readonly comment?: string;
  /** ISO 8601, in UTC. */
  readonly rated_at: string;
} & Readonly<Record<Dimension, number>>;

/** The fewest clusters (trajectories) that allow a test: with four, flipping signs cannot give a two-sided p below 0.125. */
export const LEAST_CLUSTERS = 5;

/** A figure with its uncertainty: a score of 0 to 100, or a difference of two scores. */
export interface Estimate {
  /** Unrounded. */
  readonly value: number;
  /** Rows used (repeats of a row averaged first), and the trajectories they belong to. */
  readonly rows: number;
  readonly clusters: number;
  /**
   * Standard error clustered by trajectory, its degrees of freedom and the 95 % interval; absent below `LEAST_CLUSTERS`. Only the
   * interval is absent if the standard error is meaningless: if it is 0 from fewer than 50 clusters, or the score is exactly 0 or 100.
   */
  readonly se?: number;
  readonly df?: number;
  readonly low?: number;
  readonly high?: number;
}

/**
 * The parts of an estimate's variance (SE²), in its unit squared. `row`: the choice of rows and trajectories, which repeats cannot
 * shrink; includes generation if a run generated nothing twice. `generation`: sampling of the world model, and also of the judge if
 * `judge` is absent, since every prediction is judged anew; absent if a run has no repeats. `judge`: sampling of the judge, from the
 * differences between judgements of one prediction; absent if a run judged nothing twice. `perRepeat`: sampling of both if every row
 * had one repeat in each run, judged as often as now: n repeats leave one nth of it.
 */
export type VarianceSplit = Readonly<
  Record<'row', number> & Partial<Record<'generation' | 'judge' | 'perRepeat', number>>
>;

/** Scores of the five dimensions and of their mean (`total`); a score that no row counts for is absent. */
export type ScoreSet = Readonly<Partial<Record<Dimension | 'total', Estimate>>>;

type Tally = Readonly<Record<string, number>>;

/**
 * Counts are of rows times repeats: of predictions, however often each was judged. `chosen`: those that the run chose, the denominator
 * of coverage. `valid`: those with `failed` exactly 0, as the official script counts; in a file with only measures, those that were
 * measured. `failed`: those in the file that are not valid. `coverage`: the share of the chosen ones that have a rating (or measures)
 * or a model-caused failure, 0 to 1.
 */
type CardCounts = Readonly<Record<'chosen' | 'valid' | 'failed' | 'coverage', number>>;

export interface DomainScore extends CardCounts {
  readonly domain: Domain;
  /**
   * Failures by class; rows that were chosen but are not in the file under `not-judged`, failures without a class under `unstated`,
   * valid rows without a rating under `not-rated`.
   */
  readonly failures: Tally;
  readonly flags: Tally;
  /** Official counting: mean over valid rows whose value is not 0. */
  readonly scores: ScoreSet;
  /** The same with model-caused failures at rating 1. */
  readonly withFailures: ScoreSet;
  /** The parts of the variance of the total in `withFailures`, as far as repeats reveal them; absent if it has no standard error. */
  readonly variance?: VarianceSplit;
  /** Text measures, each unchanged at 0-100. */
  readonly measures: Readonly<Record<string, Estimate>>;
}

/**
 * What `score` prints, stores and passes on. `overall` is the unweighted mean of the domains' scores: the published Overall if all
 * seven are there, else a macro mean of `macroOf` domains; `overallMicro` is the mean over samples, as the official script prints.
 */
export interface ScoreCard
  extends CardCounts,
    Readonly<Record<'overall' | 'overallMicro' | 'overallWithFailures', ScoreSet>> {
  readonly domains: readonly DomainScore[];
  readonly macroOf: number;
  /** The parts of the variance of the total with failures; absent if a domain has none. */
  readonly variance?: VarianceSplit;
  readonly overallMeasures: DomainScore['measures'];
  /** If predictions were judged several times: the number of judgements, and their failures by class. */
  readonly judgements?: { readonly count: number; readonly failures: Tally };
}

/** A unit of work for a backend. Jobs of one group share a prompt prefix, so they go to one endpoint. */
export interface Job {
  readonly group: string;
}

/** A question to a model. */
export interface Asking {
  /** Makes the request when its turn comes, and again if the call had to wait meanwhile, so that no text is kept in memory. */
  make(): Promise<ModelRequest>;
  /** Receives each piece of the reply as it arrives, without secrets. */
  hear?(piece: string, kind: 'content' | 'reasoning'): void;
  /** A try has failed and another follows, after `waitMs` unless something else comes first: everything received so far is void. */
  again?(reason: string, waitMs: number): void;
}

/**
 * Asks a model and resolves to the result after all tries; never rejects because of the model or the network. `interrupted` means that
 * there is no further result in this session.
 */
export type Ask = (asking: Asking) => Promise<ModelOutcome>;

/** What a job does: it asks one question after another, and keeps its slot until it is done or a call waits for its next try. */
export type Solve<J extends Job> = (job: J, ask: Ask) => Promise<void>;

/** What a backend reports, and is told, about each job. */
export interface WorkHooks<J extends Job> {
  /** A try has ended, with any result: called with its cost at once, before any further try starts. Must not throw. */
  tried?(job: J, cost: CallCost): void;
  /** Needed by a backend that uses batch files. */
  readonly files?: FileHooks<J>;
}

/** What a backend that uses batch files is told about each job. */
export interface FileHooks<J extends Job> {
  /**
   * The id of a job across sessions, and how many of its requests in batch files went into its latest record. For a job that `isHeld`,
   * results are read, but nothing new is asked.
   */
  kept(job: J): { readonly id: string; readonly batched: number; readonly isHeld: boolean };
  /** Like `tried`, for a reply in a file: it is reported again in each session until the job has its record. */
  replayed(job: J, cost: CallCost): void;
}

/** What ends the asking: `stop` lets calls in flight finish, `abort` cancels them. */
export interface AskSignals {
  readonly stop: AbortSignal;
  readonly abort: AbortSignal;
}

/** Whatever is asked, by any route. */
export interface Backend {
  /**
   * Works through the jobs, in order as far as groups and slots allow. A job keeps its slot between questions, so that what it writes
   * is durable before the next call starts. Resolves when all are done, or when `stop` or `abort` was signalled and nothing is in
   * flight: jobs that had not begun are then left out, and questions of others resolve to `interrupted`. Rejects with a UserError if
   * the run must stop (auth, unknown model, rejected parameter, endpoint gone), or with what a job threw; calls in flight are aborted
   * first.
   */
  work<J extends Job>(jobs: readonly J[], solve: Solve<J>, signals: AskSignals, hooks?: WorkHooks<J>): Promise<void>;
  status(): BackendStatus;
  /** What a backend that uses batch files waits for; absent if replies come at once. */
  report?(): BatchReport | undefined;
  /** Closes all connections. May be called more than once, and after a failure. */
  close(): Promise<void>;
}

/** The state of the requests written to a batch folder. */
export interface BatchReport {
  /** The folder, absolute. */
  readonly dir: string;
  readonly model: string;
  readonly parts: readonly PartReport[];
  /** Requests that the run waits for. */
  readonly awaited: number;
  /** Awaited requests that were written just now. */
  readonly written: number;
  /** Whether rows with awaited results were asked live instead. */
  readonly isLive: boolean;
  /** Whether no further result can come that the run would use. */
  readonly isOver: boolean;
  /** What is odd about the results, one sentence each. */
  readonly notes: readonly string[];
}

interface PartReport {
  readonly file: string;
  readonly requests: number;
  readonly bytes: number;
  /** Requests with a result, usable or not. */
  readonly answered: number;
  /** Requests that the run waits for: rows that were asked in another way since then no longer need a result. */
  readonly awaited: number;
}

/** For progress. */
export interface BackendStatus {
  readonly inFlight: number;
  /** Calls that wait for their turn under the run's pace; absent if none does. */
  readonly paced?: number;
  /** The sum of the endpoints' limits. */
  readonly limit: number;
  /** Milliseconds until the end of a rate-limit pause; 0 if there is none. */
  readonly pausedMs: number;
  /** The latest failure of any call, with its host. */
  readonly failure?: { readonly text: string; readonly agoMs: number };
  /** Endpoints that give no replies, or are not ready yet. */
  readonly outages: readonly Outage[];
}

/** Times in milliseconds relative to now: how long it has lasted, until the next probe, and until the endpoint is given up. */
export interface Outage {
  readonly host: string;
  readonly hasAnswered: boolean;
  readonly forMs: number;
  readonly nextMs: number;
  readonly leftMs: number;
}

/** Where text goes; `columns` is 80 without a terminal. */
export interface TextSink {
  write(text: string): void;
  /** Writes commands for the runner of GitHub Actions, which `write` makes harmless there. Absent if no runner reads the output. */
  writeCommands?(text: string): void;
  readonly isTTY: boolean;
  readonly columns: number;
  /** Absent without a terminal. */
  readonly rows?: number | undefined;
}

/** Everything a command may touch of its process. */
export interface Io {
  /** Results, and nothing else. */
  readonly stdout: TextSink;
  /** Progress and messages. */
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether the command line names relative paths that lead out of `cwd`, such as `../data`. */
  readonly isBeside?: boolean;
  /** Aborted by the first SIGINT or SIGTERM, with the signal's name as its reason; the second ends the process at once. */
  readonly stop: AbortSignal;
  /** Sets what a second signal prints before it ends the process; the latest call wins. */
  setLastWords(words: string): void;
  /** Resolves when standard input has ended. Waiting for it does not keep the process alive. */
  stdinClosed(): Promise<undefined>;
  /** Standard input as it arrives; absent if there is none. */
  input?(): AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
}

// The size of what a model is asked.

/** Characters per token if nothing was measured: English text and code. */
export const CHARS_A_TOKEN = 4;

/** The texts of all messages, or a completion's prompt. */
export function textsOf(question: Question): readonly string[] {
  return 'prompt' in question ? [question.prompt] : question.messages.map(({ content }) => content);
}

/** Characters (UTF-16 units) of all messages, or of a completion's prompt. */
export function charactersOf(question: Question): number {
  return textsOf(question).reduce((sum, { length }) => sum + length, 0);
}

// The place of a prediction in a rollout: infer writes it; judging, scores and tables read it.

/** A step of a rollout. */
export interface RolloutStep {
  /** Its chain: the trajectory's key, followed by `~N` for the Nth further chain of the trajectory, from 1. */
  readonly chain: string;
  /** True turns before the rollout. */
  readonly from: number;
  /** The turn that was predicted, 1-based. */
  readonly step: number;
  /** Turns since the last true observation: 1 if all of the history was true, as in a run without rollout. */
  readonly distance: number;
  /** What the recorded action refers to but the rollout never showed, such as a path; empty if there is nothing. */
  readonly offScript: readonly string[];
}

/** The key of a turn between rows, which belongs to no row. */
export function turnKey(chain: string, turn: number): string {
  return `${chain}@${turn}`;
}

/** The chain of a record of a turn between rows; undefined for a row's record. */
export function chainOf(id: string): string | undefined {
  return /^(?<chain>.+)@\d+#\d+$/.exec(id)?.groups?.chain;
}

/** What a run's identity says about its rollout, such as `rollout from 3`; undefined if it has none. */
export function rolloutName(identity: unknown): string | undefined {
  if (!isObject(identity)) return undefined;
  const { from, version } = identity;
  return `rollout from ${isInteger(from) ? from : 'unknown'}${version === 1 ? '' : ` (version ${version})`}`;
}

/** How the world model was asked: the protocol, and the rollout. */
export function askedName(protocol: string | undefined, rollout: string | undefined): string | undefined {
  const parts = [protocol, rollout].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** The member `rollout` of a prediction's `awb` object. */
export function rolloutMember({ chain, from, step, distance, offScript }: RolloutStep): Record<string, unknown> {
  return { chain, from, step, distance, ...(offScript.length === 0 ? {} : { off_script: offScript }) };
}

/** The step in such a member; undefined if it is not valid. */
export function rolloutStep(member: unknown): RolloutStep | undefined {
  if (!isObject(member)) return undefined;
  const { chain, from, step, distance, off_script: offScript = [] } = member;
  if (typeof chain !== 'string' || !isInteger(from) || !isInteger(step) || !isInteger(distance)) return undefined;
  if (from < 0 || distance < 1 || step !== from + distance || !Array.isArray(offScript)) return undefined;
  return { chain, from, step, distance, offScript: offScript.filter((text) => typeof text === 'string') };
}
