// The vocabulary of the whole program: read this file first. Functions on its types stand at the end: the size of a question, steps of a rollout.

import type { Fact } from './facts.js';
import { isInteger, isObject } from './json.js';

/** The seven published domains, in the order of the published table's columns. */
export const DOMAINS = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'] as const;

/** A domain's name: the last part of a row's `task`. Open, since rubric packs may know more than the published seven. */
export type Domain = string;

/** The five dimensions of the rubric, in the order in which the benchmark lists them. */
export const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** One turn put to the world model: a benchmark row, decoded. */
export interface Sample {
  /** Hash of the decoded official input fields, with `-N` behind it for the Nth further row that is equal. */
  readonly key: string;
  /** Hash that rows of one trajectory share. */
  readonly trajectory: string;
  readonly domain: Domain;
  /** 1-based; the turn to predict is `prompts[turnIdx - 1]`, its ground truth `responses[turnIdx - 1]`. */
  readonly turnIdx: number;
  readonly prompts: readonly string[];
  readonly responses: readonly string[];
  /** The turn's prompt without the request to predict behind it; empty where the row has none. */
  readonly currentPrompt: string;
  /** `system_str`; empty where the row has none. */
  readonly systemPrompt: string;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/**
 * What a model is asked: the next message of a chat, or the text that follows a prompt (no template stands around it then). Where
 * `scored`, the last message is a reply that is given, and how likely the model held it to be is all that is asked.
 */
export type Question =
  | { readonly messages: readonly ChatMessage[]; readonly scored?: true }
  | { readonly prompt: string };

export type ModelRequest = Question & {
  /** Distinguishes repeats and re-asked replies, so that each is sampled under a seed of its own. */
  readonly seedOffset: number;
  /** In place of the run's seed, where the caller has one of its own. */
  readonly seed?: number;
  /** In place of the run's output budget, where the caller knows that the context leaves less. */
  readonly maxTokens?: number;
};

/** Kinds of tokens. `writtenTokens`: of the prompt, what went into the provider's cache; some charge more for it. */
// biome-ignore format: a list
export const TOKEN_KINDS = ['promptTokens', 'cachedTokens', 'writtenTokens', 'completionTokens', 'reasoningTokens'] as const;

/** Token counts of one call or of many; a count the server did not report is absent. */
export type Usage = Partial<Record<(typeof TOKEN_KINDS)[number], number>>;

/** What one try of a call cost, or all tries of one: what the server counted, and what it did not. */
export interface CallCost {
  readonly usage: Usage;
  readonly uncounted?: Uncounted | undefined;
}

/**
 * Characters (UTF-16 units) of which nobody counted the tokens although they were probably paid for: the server reports none, or the
 * try was broken off while the server worked on it.
 */
export interface Uncounted {
  readonly sent: number;
  readonly received: number;
}

/**
 * Why a call gave no reply. `rate-limit`, `transient`, `timeout` and `malformed` are tried again; `auth`, and `fatal` where no other
 * row would fare better, stop the run.
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

/** What came of a request, after all tries. */
export type ModelOutcome = ModelReply | ModelFailure | ModelInterruption;

export interface ModelReply {
  readonly status: 'ok';
  /** The reply's `content`, or a completion's `text`, untouched; empty where the model ended without any. */
  readonly content: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  /** The model's name as the server reported it. */
  readonly servedModel?: string;
  /** Set where `max_tokens` was lowered to what the context left. */
  readonly fittedMaxTokens?: number;
  /** Set where the server echoed the API key and it was taken out. */
  readonly redacted?: true;
  /** Of a scored question: the prompt's last tokens in their order, those of the given reply among them. */
  readonly promptScores?: readonly TokenScore[];
  readonly log: CallLog;
}

/** A token of a prompt, and how likely the model held it to be where it stands. */
export interface TokenScore {
  /** Bytes that are no whole character stand as U+FFFD, or are left out. */
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

/** Nothing more comes of the request in this session. */
interface ModelInterruption {
  readonly status: 'interrupted';
  /** Absent where it was never sent. */
  readonly log?: CallLog;
  /** What its last try that ended came to. */
  readonly failure?: (Pick<ModelFailure, 'class' | 'reason'> & { readonly stop?: Error | undefined }) | undefined;
}

/** What a request cost: for the journal, never for the output file. */
export interface CallLog extends CallCost {
  readonly attempts: number;
  /** Milliseconds from the first attempt's start to the end of the last. */
  readonly ms: number;
  /** Milliseconds to the first token of the last attempt, where it was streamed. */
  readonly firstTokenMs?: number;
  /** Host and port that answered. */
  readonly host: string;
  /** Calls that `usage` is of, where they were several: a price may depend on the length of each prompt, and count calls. */
  readonly tries?: number;
  /** Characters (UTF-16 units) that were sent, where `usage` is that of this one call: together they tell characters a token. */
  readonly chars?: number;
  /** Requests in batch files that went into it, those of earlier records of its row among them. */
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

/** Ratings of 1 to 5 by dimension; under the official reading a dimension that was not rated is absent. */
export type Ratings = Partial<Record<Dimension, number>>;

/** What one judge reply says. */
export type Verdict =
  | {
      readonly status: 'ok';
      readonly ratings: Ratings;
      /** Mean of the ratings that are there, 0 where there is none (as the official script writes it). */
      readonly total: number;
      readonly strengths: readonly string[];
      readonly weaknesses: readonly string[];
      /** The checklist that stands beside them, or why it cannot be read; absent where there is none. */
      readonly facts?: readonly Fact[] | string;
    }
  | { readonly status: 'unreadable'; readonly reason: string };

/**
 * Why a row has no judgement. The first group is the world model's doing and can be scored at rating 1 (`too-long`: in a
 * rollout, what the model said before no longer fits into the context; `confusing`: no try could be read of a judge that could be read of
 * nearly all else, see `src/benchmark/judged.ts`; `planted`: the same, found in another way by earlier versions); the second (transport or judge) is missing data.
 */
export type JudgementFailure = ModelCausedFailure | MissingFailure;
export const MODEL_CAUSED_FAILURES = ['empty', 'refused', 'planted', 'too-long', 'confusing'] as const;
export type ModelCausedFailure = (typeof MODEL_CAUSED_FAILURES)[number];
/**
 * `prediction`: infer failed by transport; `context-overflow`: the row did not fit into the context that was served, or not with
 * the output budget beside it, which is how the model was run and not what it can do; `unreadable`: no verdict could be read;
 * `judge-…`: the judge's call failed.
 */
type MissingFailure = 'prediction' | 'context-overflow' | 'unreadable' | `judge-${FailureClass}`;

/** Text measures of a prediction against its ground truth, each 0 to 100. A measure that does not apply is absent. */
export type Measures = Readonly<Record<string, number>>;

/** One judged row as `score` reads it, from our files or the official script's. Numbers are exactly those in the file. */
export interface JudgedRow {
  readonly key: string;
  readonly trajectory: string;
  readonly repeat: number;
  /** Which judgement of its prediction this is, from 0. */
  readonly index: number;
  readonly domain: Domain;
  readonly turnIdx: number;
  /** The official keys; `failed` absent where the file has none. */
  readonly failed?: number;
  readonly total: number;
  readonly ratings: Ratings;
  readonly failure?: { readonly class: JudgementFailure; readonly reason: string };
  readonly measures?: Measures;
  readonly flags: readonly string[];
  /** Where in a rollout its prediction stands; absent where all of its history was true because no rollout was asked for. */
  readonly rollout?: RolloutStep;
}

/**
 * The fewest clusters (trajectories) of which a test can say anything: of four, flipping signs cannot give a two-sided p below
 * 0.125.
 */
export const LEAST_CLUSTERS = 5;

/** A figure with its uncertainty: a score of 0 to 100, or a difference of two. */
export interface Estimate {
  /** Unrounded. */
  readonly value: number;
  /** Rows behind it (repeats of a row averaged first), and trajectories they fall into. */
  readonly rows: number;
  readonly clusters: number;
  /**
   * Standard error clustered by trajectory, its degrees of freedom and the 95 % interval; absent below `LEAST_CLUSTERS`.
   * The interval alone is absent where the standard error says nothing: where it is 0 from fewer than 50 clusters, and for a
   * score of exactly 0 or 100.
   */
  readonly se?: number;
  readonly df?: number;
  readonly low?: number;
  readonly high?: number;
}

/**
 * What the variance (SE²) of an estimate is made of, in its unit squared. `row`: the choice of rows and trajectories, which repeats cannot
 * shrink; with generation in it where a run generated nothing twice. `generation`: sampling of the world model, and of the judge, too,
 * where `judge` is absent: every prediction is judged anew; absent where a run has no repeats. `judge`: sampling of the judge, as the
 * judgements of one prediction differ; absent where a run judged nothing twice. `perRepeat`: sampling of both, if every row had one repeat
 * in each run, judged as often as now: n repeats leave the nth part of it.
 */
export type VarianceSplit = Readonly<
  Record<'row', number> & Partial<Record<'generation' | 'judge' | 'perRepeat', number>>
>;

/** Scores of the five dimensions and of their mean (`total`); one that no row counts for is absent. */
export type ScoreSet = Readonly<Partial<Record<Dimension | 'total', Estimate>>>;

type Tally = Readonly<Record<string, number>>;

/**
 * Counts are of rows times repeats: of predictions, however often each was judged. `chosen`: those that the run chose, the denominator of
 * coverage. `valid`: with `failed` exactly 0, as the official script counts; in a file of measures alone, those that were measured.
 * `failed`: those in the file that are not valid. `coverage`: the share of the chosen that have a rating (or measures) or a model-caused
 * failure, 0 to 1.
 */
type CardCounts = Readonly<Record<'chosen' | 'valid' | 'failed' | 'coverage', number>>;

export interface DomainScore extends CardCounts {
  readonly domain: Domain;
  /**
   * Failures by class; rows chosen but not in the file under `not-judged`, failures without a class under `unstated`, valid
   * rows without a rating under `not-rated`.
   */
  readonly failures: Tally;
  readonly flags: Tally;
  /** Official counting: mean over valid rows whose value is not 0. */
  readonly scores: ScoreSet;
  /** The same with model-caused failures at rating 1. */
  readonly withFailures: ScoreSet;
  /** What the variance of the total among these is made of, as far as repeats tell; absent where it has no standard error. */
  readonly variance?: VarianceSplit;
  /** Text measures, each 0-100 as they are. */
  readonly measures: Readonly<Record<string, Estimate>>;
}

/**
 * What `score` prints, stores and hands on. `overall` is the unweighted mean of the domains' scores: the published Overall when all seven
 * are there, else a macro mean of `macroOf` domains; `overallMicro` is the mean over samples, as the official script prints.
 */
export interface ScoreCard
  extends CardCounts,
    Readonly<Record<'overall' | 'overallMicro' | 'overallWithFailures', ScoreSet>> {
  readonly domains: readonly DomainScore[];
  readonly macroOf: number;
  /** What the variance of the total with failures is made of; absent where a domain has none. */
  readonly variance?: VarianceSplit;
  readonly overallMeasures: DomainScore['measures'];
  /** Where predictions were judged several times: their judgements, and those of them that failed, by class. */
  readonly judgements?: { readonly count: number; readonly failures: Tally };
}

/** A unit of work for a backend. Jobs of one group share a prompt prefix, so they go to one endpoint. */
export interface Job {
  readonly group: string;
}

/** What is asked of a model. */
export interface Asking {
  /** Makes the request when its turn has come, and again where the call had to wait meanwhile, so that no text is held. */
  make(): Promise<ModelRequest>;
  /** Is told each piece of the reply as it comes, without secrets. */
  hear?(piece: string, kind: 'content' | 'reasoning'): void;
  /** A try has failed and another one follows, after so long where nothing else comes first: what was heard is void. */
  again?(reason: string, waitMs: number): void;
}

/**
 * Asks a model, and resolves to what came of it after all tries; never rejects for what the model or the network did. `interrupted` says
 * that nothing more comes of it in this session.
 */
export type Ask = (asking: Asking) => Promise<ModelOutcome>;

/** What a job does: it asks one question after the other, and holds its slot until it is done or a call waits for its next try. */
export type Solve<J extends Job> = (job: J, ask: Ask) => Promise<void>;

/** What a backend tells, and is told, of each job. */
export interface WorkHooks<J extends Job> {
  /** A try has ended, whatever came of it: told at once, before any further try starts, with what it cost. Must not throw. */
  tried?(job: J, cost: CallCost): void;
  /** For a backend by batch files, which needs it. */
  readonly files?: FileHooks<J>;
}

/** What a backend by batch files is told of each job. */
export interface FileHooks<J extends Job> {
  /**
   * By what a job is known from one session to the next, and how many of its requests in batch files went into its latest record. Of a
   * job that `isHeld`, results are read, and nothing is asked that was not asked before.
   */
  kept(job: J): { readonly id: string; readonly batched: number; readonly isHeld: boolean };
  /** As `tried`, of a reply that lies in a file: it is told again in each session, until the job has its record. */
  replayed(job: J, cost: CallCost): void;
}

/** What ends the asking: `stop` lets calls in flight end, `abort` ends them. */
export interface AskSignals {
  readonly stop: AbortSignal;
  readonly abort: AbortSignal;
}

/** Who is asked, by whatever route. */
export interface Backend {
  /**
   * Works off the jobs, in their order as far as groups and slots allow. A job's slot is held between its questions, so that what it
   * writes is durable before the next call starts. Resolves when all are done, or when `stop` or `abort` was signalled and nothing is in
   * flight: jobs that had not begun are left out then, and what others ask comes to `interrupted`.
   * Rejects with a UserError when the run must stop (auth, unknown model, rejected parameter, endpoint gone), or with what a job threw;
   * calls in flight are aborted first.
   */
  work<J extends Job>(jobs: readonly J[], solve: Solve<J>, signals: AskSignals, hooks?: WorkHooks<J>): Promise<void>;
  status(): BackendStatus;
  /** What a backend by batch files waits for; absent where replies come at once. */
  report?(): BatchReport | undefined;
  /** Closes all connections. May be called more than once, and after a failure. */
  close(): Promise<void>;
}

/** What has come of the requests that were written into a batch folder, and what is left of them. */
export interface BatchReport {
  /** The folder, absolute. */
  readonly dir: string;
  readonly model: string;
  readonly parts: readonly PartReport[];
  /** Requests that the run waits for. */
  readonly awaited: number;
  /** Those of them that were written just now. */
  readonly written: number;
  /** Whether rows whose results were awaited have been asked live. */
  readonly isLive: boolean;
  /** Whether no result can come any more that the run would take. */
  readonly isOver: boolean;
  /** What is odd about the results, a sentence each. */
  readonly notes: readonly string[];
}

interface PartReport {
  readonly file: string;
  readonly requests: number;
  readonly bytes: number;
  /** Requests of which a result is there, whether it can be used or not. */
  readonly answered: number;
  /** Those that the run waits for: rows that were asked in another way meanwhile need no result any more. */
  readonly awaited: number;
}

/** For progress. */
export interface BackendStatus {
  readonly inFlight: number;
  /** Calls that wait for their turn under the run's pace; absent where none does. */
  readonly paced?: number;
  /** The sum of the endpoints' limits. */
  readonly limit: number;
  /** Milliseconds until the end of a rate-limit pause; 0 when none. */
  readonly pausedMs: number;
  /** The latest failure of any call, with its host. */
  readonly failure?: { readonly text: string; readonly agoMs: number };
  /** Endpoints that give no replies, or are not ready yet. */
  readonly outages: readonly Outage[];
}

/** Times are milliseconds from now: since when, until the next probe, and until it is given up. */
export interface Outage {
  readonly host: string;
  readonly hasAnswered: boolean;
  readonly forMs: number;
  readonly nextMs: number;
  readonly leftMs: number;
}

/** Where text goes; `columns` is 80 where there is no terminal. */
export interface TextSink {
  write(text: string): void;
  /** Writes commands for the runner of GitHub Actions, which `write` makes harmless there. Absent where no runner reads along. */
  writeCommands?(text: string): void;
  readonly isTTY: boolean;
  readonly columns: number;
  /** Absent where there is no terminal. */
  readonly rows?: number | undefined;
}

/** Everything a command may touch of the process it runs in. */
export interface Io {
  /** Results, and nothing else. */
  readonly stdout: TextSink;
  /** Progress and messages. */
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Whether the command line names paths from there that lead out of it, such as `../data`. */
  readonly isBeside?: boolean;
  /** Aborted by the first SIGINT or SIGTERM, with the signal's name as its reason; the second ends the process at once. */
  readonly stop: AbortSignal;
  /** What a second signal prints before it ends the process; the last words given hold. */
  setLastWords(words: string): void;
  /** Resolves when standard input has ended. Waiting for it does not keep the process alive. */
  stdinClosed(): Promise<undefined>;
  /** Standard input as it comes, for whoever talks over it or types there; absent where there is none. */
  input?(): AsyncIterable<Uint8Array> & { readonly isTTY?: boolean };
}

// What a model is asked, by its size.

/** Characters a token where nothing has been measured: English text and code. */
export const CHARS_A_TOKEN = 4;

/** The texts of all messages, or a completion's prompt. */
export function textsOf(question: Question): readonly string[] {
  return 'prompt' in question ? [question.prompt] : question.messages.map(({ content }) => content);
}

/** Characters (UTF-16 units) of all messages, or of a completion's prompt. */
export function charactersOf(question: Question): number {
  return textsOf(question).reduce((sum, { length }) => sum + length, 0);
}

// Where in a rollout a prediction stands: what infer writes of it, and judging, scores and tables read.

/** A step of a rollout. */
export interface RolloutStep {
  /** The chain that it belongs to: the trajectory's key, and `~N` behind it for the Nth further chain of the trajectory, from 1. */
  readonly chain: string;
  /** True turns in front of the rollout. */
  readonly from: number;
  /** The turn that was predicted, 1-based. */
  readonly step: number;
  /** Turns since the last true observation: 1 where all of the history was true, as in a run without rollout. */
  readonly distance: number;
  /** What the recorded action refers to and the rollout never showed, such as a path; empty where there is nothing. */
  readonly offScript: readonly string[];
}

/** The key of a turn between rows, which is of no row. */
export function turnKey(chain: string, turn: number): string {
  return `${chain}@${turn}`;
}

/** The chain that the record of a turn between rows is of; undefined of a row's. */
export function chainOf(id: string): string | undefined {
  return /^(?<chain>.+)@\d+#\d+$/.exec(id)?.groups?.chain;
}

/** What a run's identity says of its rollout, in words such as `rollout from 3`; undefined where it says nothing of one. */
export function rolloutName(identity: unknown): string | undefined {
  if (!isObject(identity)) return undefined;
  const { from, version } = identity;
  return `rollout from ${isInteger(from) ? from : 'unknown'}${version === 1 ? '' : ` (version ${version})`}`;
}

/** How the world model was asked: under which protocol, and in what rollout. */
export function askedName(protocol: string | undefined, rollout: string | undefined): string | undefined {
  const parts = [protocol, rollout].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** The member `rollout` of a prediction's `awb` object. */
export function rolloutMember({ chain, from, step, distance, offScript }: RolloutStep): Record<string, unknown> {
  return { chain, from, step, distance, ...(offScript.length === 0 ? {} : { off_script: offScript }) };
}

/** The step that such a member tells; undefined where it tells none. */
export function rolloutStep(member: unknown): RolloutStep | undefined {
  if (!isObject(member)) return undefined;
  const { chain, from, step, distance, off_script: offScript = [] } = member;
  if (typeof chain !== 'string' || !isInteger(from) || !isInteger(step) || !isInteger(distance)) return undefined;
  if (from < 0 || distance < 1 || step !== from + distance || !Array.isArray(offScript)) return undefined;
  return { chain, from, step, distance, offScript: offScript.filter((text) => typeof text === 'string') };
}
