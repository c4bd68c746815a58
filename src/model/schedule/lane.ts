// What the schedule works with: courses of jobs, calls (a job with the question that it asks now), and lanes (an endpoint with its slots).

import { CHARS_A_TOKEN, charactersOf } from '../../core/question.js';
import type {
  AskSignals,
  BackendStatus,
  CallCost,
  CallLog,
  Job,
  ModelRequest,
  Outage,
  Solve,
} from '../../core/types.js';
import type { AttemptFailure, AttemptReply } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import type { Clock } from './clock.js';
import { afterRateLimit, afterReply, afterTrouble, type LimitState, startLimit, type Use } from './concurrency.js';
import { type Health, type Pause, UNKNOWN_HEALTH } from './health.js';

/** Jobs that are asked together and end together: a run's, or a single one. */
export class Course {
  /** How many of the jobs have not begun. */
  waiting = 0;
  /** Calls that have begun and are not done. */
  readonly calls = new Set<Call>();
  failure: { readonly error: unknown } | undefined;
  #finish = () => {};

  constructor(
    readonly solve: Solve<Job>,
    private readonly signals: AskSignals,
    /** Is told what a try has cost. */
    readonly tried: (job: Job, cost: CallCost) => void,
  ) {}

  /** Whether nothing new is started any more. */
  get halted(): boolean {
    return this.signals.stop.aborted || this.aborted;
  }

  /** Whether calls in flight are ended. */
  get aborted(): boolean {
    return this.signals.abort.aborted || this.failure !== undefined;
  }

  /** Ends it with an error, and aborts the calls in flight. The first error counts. */
  fail(error: unknown): void {
    this.failure ??= { error };
    this.#endCalls();
  }

  /** Resolves when nothing is in flight and nothing is left, or when a signal says to stop and nothing is in flight. */
  async untilDone(begin: () => void): Promise<void> {
    const { stop, abort } = this.signals;
    const onStop = () => this.#endWaits();
    const onAbort = () => this.#endCalls();
    stop.addEventListener('abort', onStop);
    abort.addEventListener('abort', onAbort);
    await new Promise<void>((resolve) => {
      this.#finish = resolve;
      begin();
      this.finishIfIdle();
    });
    stop.removeEventListener('abort', onStop);
    abort.removeEventListener('abort', onAbort);
  }

  finishIfIdle(): void {
    if (this.calls.size === 0 && (this.halted || this.waiting === 0)) this.#finish();
  }

  #endWaits(): void {
    for (const call of this.calls) {
      call.backOff?.abort();
      call.resume?.();
    }
    this.finishIfIdle();
  }

  #endCalls(): void {
    for (const call of this.calls) call.inFlight?.abort();
    this.#endWaits();
  }
}

/** Jobs that share a prompt prefix. */
export interface Group<Endpoint> {
  /** Jobs that have begun and are not released. */
  running: number;
  /** The endpoint where it started, whose prefix cache holds it; undefined before, and where it was taken away from there. */
  home: Endpoint | undefined;
}

/** A job that has begun and is not done. It asks one question after the other. */
export interface Call extends Question {
  readonly job: Job;
  readonly course: Course;
  /** Its group, until that goes on without it. */
  group: Group<Lane> | undefined;
  hasAsked: boolean;
  /** Where it holds a slot; undefined while it waits for the next try. */
  lane?: Lane | undefined;
  /** Has the call that waits look again: it holds a slot by then, or its course has ended. */
  resume?: (() => void) | undefined;
  /** These end the try in flight, and a wait in the slot. */
  inFlight?: AbortController | undefined;
  backOff?: AbortController | undefined;
}

/** What has come of a question so far. */
interface Question {
  request: ModelRequest | undefined;
  startedAt: number;
  attempts: number;
  /** Of all its tries. */
  cost: CallCost;
  /** Those of the tries that the server counted tokens of. */
  counts: number;
  /** Failures that lengthen its back-off, and tries that are used up. */
  failures: number;
  counted: number;
  /** Failures of which is not known yet whether the row or the endpoint is at fault; `isLimit` for a rate limit. */
  pending: readonly { readonly lane: Lane; readonly isLimit: boolean }[];
  /** How often it has failed at each endpoint through no outage. */
  failedAt: Map<Lane, number>;
  /** How many outages it was in whose failures were not counted. */
  forgiven: number;
  /** It waits through no fault of its own, so it goes before the rows that have not begun. */
  isFirst: boolean;
  /** Rate limits met since then, while no other call that had met one was answered. */
  refused: { since: number; times: number };
  /** When its back-off ends. */
  dueAt: number;
  firstFailureAt: number | undefined;
  lastFailure: AttemptFailure | undefined;
  /** Where it was tried last. */
  lastLane: Lane | undefined;
}

export function newCall(job: Job, course: Course, now: number, group?: Group<Lane>): Call {
  return { job, course, group, hasAsked: false, ...newQuestion(now) };
}

export function newQuestion(now: number): Question {
  return {
    request: undefined,
    startedAt: now,
    attempts: 0,
    cost: { usage: {} },
    counts: 0,
    failures: 0,
    counted: 0,
    pending: [],
    failedAt: new Map(),
    forgiven: 0,
    isFirst: false,
    refused: { since: now, times: 0 },
    dueAt: now,
    firstFailureAt: undefined,
    lastFailure: undefined,
    lastLane: undefined,
  };
}

/** What a call has cost so far, for the journal. */
export function logOf({ attempts, cost, counts, startedAt, lastLane }: Call, now: number): CallLog {
  const host = lastLane?.endpoint.host ?? '';
  return { attempts, ...cost, ...(counts > 1 && { tries: counts }), ms: now - startedAt, host };
}

/** Has the call wait in its slot: so long, or until something ends its back-off. */
export async function waitInSlot(call: Call, ms: number, clock: Clock): Promise<void> {
  call.backOff = new AbortController();
  await clock.sleep(ms, call.backOff.signal);
  call.backOff = undefined;
}

/** Whether a call has no try left, if all its failures count. */
export function isSpent(
  { counted, pending, firstFailureAt = Number.POSITIVE_INFINITY }: Call,
  now: number,
  { maxAttempts, retryMs }: { readonly maxAttempts: number; readonly retryMs: number },
): boolean {
  return pending.length > 0 && (counted + pending.length >= maxAttempts || now >= firstFailureAt + retryMs);
}

const BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

/**
 * Milliseconds to wait after one more failure: exponential back-off with full jitter behind the wait that the server asks for, at
 * most `leftMs`. `random` is 0 to 1. Rate limits without an answer in between lengthen it: each slot has met eight more at each level.
 */
export function backOffMs(call: Call, lane: Lane, random: number, retryAfterMs: number, leftMs: number): number {
  const level = Math.floor(lane.limits / (8 * lane.limit));
  const jitterMs = random * Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.max(call.failures++, level));
  return Math.min(retryAfterMs + jitterMs, leftMs);
}

/** An endpoint with its slots, and what was learnt about it. */
export interface Lane {
  readonly endpoint: Endpoint;
  /** Calls at once. */
  limit: number;
  /** Absent where the limit is fixed. */
  control: LimitState | undefined;
  health: Health;
  /** Calls that hold a slot. */
  readonly calls: Set<Call>;
  /** Those of the calls that are in back-off after a rate limit, the one waiting longest first. */
  readonly throttled: Set<Call>;
  /** Those of the calls that wait for their turn under the run's pace. */
  readonly paced: Set<Call>;
  /** Those of the calls that try out whether the endpoint is back. */
  readonly probes: Set<Call>;
  /** The smallest request that it has answered: asked again, for one token, it tells whether the endpoint or a row is at fault. */
  witness?: { readonly job: Job; readonly request: ModelRequest };
  /** When the witness was last answered, and when a row that had met a rate limit. */
  vouchedAt: number;
  recoveredAt: number;
  /** So many rows have to fail without an answer in between for the endpoint to be in doubt. */
  doubtAfter: number;
  /** Rate limits met since it last answered a row. */
  limits: number;
  /** The end of a rate limit's pause. */
  pausedUntil: number;
  /** Its rows have gone to the other endpoints. */
  isRelieved: boolean;
  /** Why the endpoint was given up, and what to do about it. A run ends with these reasons when every endpoint was. */
  end?: { readonly why: string; readonly remedy: string } | undefined;
  latestFailure?: { readonly reason: string; readonly at: number };
  saidUnreachable: boolean;
  saidWaitTooLong: boolean;
  /** The notice of its return; set when its absence was told. */
  awaited?: string | undefined;
}

/** When so many rows fail without an answer in between, the rows may not be the cause. */
export const ROWS_IN_DOUBT = 3;

export function openLane(
  endpoint: Endpoint,
  { concurrency, ceiling }: { readonly concurrency: number | 'adaptive'; readonly ceiling: number },
): Lane {
  const control = concurrency === 'adaptive' ? startLimit(ceiling) : undefined;
  return {
    endpoint,
    limit: concurrency === 'adaptive' ? startLimit(ceiling).limit : concurrency,
    control,
    health: UNKNOWN_HEALTH,
    calls: new Set(),
    throttled: new Set(),
    paced: new Set(),
    probes: new Set(),
    vouchedAt: Number.NEGATIVE_INFINITY,
    recoveredAt: Number.NEGATIVE_INFINITY,
    doubtAfter: ROWS_IN_DOUBT,
    limits: 0,
    pausedUntil: 0,
    isRelieved: false,
    saidUnreachable: false,
    saidWaitTooLong: false,
  };
}

/** The pause of an endpoint that gives no replies. */
export function pauseOf(lane: Lane): Pause | undefined {
  return lane.health.trouble?.pause;
}

export function isInService(lane: Lane): boolean {
  return pauseOf(lane) === undefined;
}

/** Whether probes have shown that nobody answers there. */
export function isOut(lane: Lane): boolean {
  return (pauseOf(lane)?.failed ?? 0) > 0 || lane.end !== undefined;
}

/** Whether the call has to wait for its endpoint to come back. */
export function isHeldBack(call: Call, lane: Lane): boolean {
  return !isInService(lane) && !lane.probes.has(call);
}

/** Keeps the smallest request that the endpoint has answered. */
export function noteRequest(lane: Lane, job: Job, request: ModelRequest): void {
  if (lane.witness !== undefined && charactersOf(lane.witness.request) <= charactersOf(request)) return;
  lane.witness = { job, request };
}

/** Adapts the limit to what an attempt of `ms` milliseconds shows; `longestWaitMs` bounds a wait that a server asks for. */
export function adaptLimit(
  lane: Lane,
  attempt: AttemptReply | AttemptFailure,
  now: number,
  ms: number,
  longestWaitMs: number,
): void {
  const { control } = lane;
  if (control === undefined) return;
  // A call that the run itself holds back says nothing of the endpoint.
  const use: Use = { inUse: lane.calls.size - lane.paced.size, waiting: lane.throttled.size };
  if (attempt.status === 'ok') lane.control = afterReply(control, now, { tokens: tokensOf(attempt), ms }, use);
  else if (attempt.class === 'rate-limit') {
    const retryAfterMs = Math.min(attempt.retryAfterMs ?? 0, longestWaitMs);
    lane.control = afterRateLimit(control, now, { ...use, waiting: use.waiting + 1 }, retryAfterMs);
  } else if (attempt.class === 'transient' || attempt.class === 'timeout') lane.control = afterTrouble(control);
  lane.limit = lane.control?.limit ?? lane.limit;
}

/** If the server did not count, four characters a token are close enough to see a rise. */
function tokensOf({ usage, content, reasoning = '' }: AttemptReply): number {
  return usage.completionTokens ?? (content.length + reasoning.length) / CHARS_A_TOKEN;
}

/** What progress shows of all endpoints together. */
export function statusOf(lanes: readonly Lane[], now: number): BackendStatus {
  const sum = (of: (lane: Lane) => number) => lanes.reduce((total, lane) => total + of(lane), 0);
  const paced = sum((lane) => lane.paced.size);
  const failures = lanes.flatMap(({ endpoint: { host }, latestFailure }) =>
    latestFailure === undefined ? [] : [{ text: `${host}: ${latestFailure.reason}`, agoMs: now - latestFailure.at }],
  );
  const [failure] = failures.sort((a, b) => a.agoMs - b.agoMs);
  return {
    inFlight: sum((lane) => lane.calls.size) - paced,
    ...(paced > 0 && { paced }),
    limit: sum((lane) => (lane.isRelieved ? 0 : lane.limit)),
    pausedMs: Math.max(0, ...lanes.map((lane) => (lane.isRelieved ? 0 : lane.pausedUntil - now))),
    ...(failure !== undefined && { failure }),
    outages: lanes.flatMap((lane) => outageOf(lane, now)),
  };
}

function outageOf({ endpoint: { host }, health: { answered, trouble } }: Lane, now: number): Outage[] {
  if (trouble?.pause === undefined || (answered && trouble.pause.failed === 0)) return [];
  const { nextProbeAt, until } = trouble.pause;
  const leftMs = Math.max(0, until - now);
  return [{ host, hasAnswered: answered, forMs: now - trouble.since, nextMs: Math.max(0, nextProbeAt - now), leftMs }];
}
