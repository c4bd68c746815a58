// What the pool works with: courses of jobs, calls (a job with its current question), and lanes (an endpoint with its slots).

import {
  type Ask,
  type AskSignals,
  type CallCost,
  type CallLog,
  CHARS_A_TOKEN,
  type ModelRequest,
  type Outage,
} from '../../core/types.js';
import type { AttemptFailure, AttemptReply } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { afterRateLimit, afterReply, afterTrouble, type LimitState, startLimit } from './concurrency.js';
import type { Clock, Pace } from './pace.js';

/** How many calls run at once, how often and how long a failure is retried, and the clock. */
export interface ScheduleOptions {
  /** Calls at once per endpoint. Each endpoint has its own limit; a number is fixed. */
  readonly concurrency: number | 'adaptive';
  /** The maximum of an adaptive limit (256). */
  readonly ceiling?: number;
  /** Tries of one request. Tries that met a rate limit or an outage do not count, since neither may lose a row. */
  readonly maxAttempts: number;
  /** A request is not retried after this time since its first failure; no outage is waited out for longer, either. */
  readonly retryMs: number;
  /** How long to wait for an endpoint that has never answered (0: as long as a row has tries). */
  readonly waitReadyMs?: number;
  /** Continues although the first twenty rows failed in the same way. */
  readonly keepGoing?: boolean;
  readonly clock?: Clock;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
  readonly onNotice?: (text: string) => void;
  /** Limits the calls per minute. */
  readonly pace?: Pace;
}

/** The pool's options with their defaults. */
export type PoolSettings = Required<ScheduleOptions>;

/** A job: its work, and a callback for the cost of each of its tries. */
export type Task = Readonly<{ group: string; solve: (ask: Ask) => Promise<void>; tried: (cost: CallCost) => void }>;

/** Jobs that are asked together and end together: a run's, or a single one. */
export class Course {
  /** How many of the jobs have not begun. */
  waiting = 0;
  /** Calls that have begun and are not done. */
  readonly calls = new Set<Call>();
  /** Aborted with the error that ends the course, which also ends the calls in flight. The first error counts. */
  readonly failed = new AbortController();
  /** Ends calls in flight. */
  readonly abort: AbortSignal;
  /** Stops new starts. */
  readonly halt: AbortSignal;
  /** Resolves when nothing is in flight and either nothing is left or a signal says to stop. */
  readonly done: Promise<void>;
  #finish = () => {};

  constructor({ stop, abort }: AskSignals) {
    this.abort = AbortSignal.any([abort, this.failed.signal]);
    this.halt = AbortSignal.any([stop, this.abort]);
    const onHalt = () => {
      for (const call of this.calls) call.wake?.();
      this.finishIfIdle();
    };
    this.halt.addEventListener('abort', onHalt);
    this.done = new Promise((resolve) => {
      this.#finish = () => {
        // A signal with a listener lives as long as its source signals, and would keep the course alive.
        this.halt.removeEventListener('abort', onHalt);
        resolve();
      };
    });
  }

  finishIfIdle(): void {
    if (this.calls.size === 0 && (this.halt.aborted || this.waiting === 0)) this.#finish();
  }
}

/**
 * Jobs that share a prompt prefix: how many have begun and are not released, and the endpoint where the group started, whose cache
 * contains the prefix.
 */
export type Group = { running: number; home: Lane | undefined };

/** The state of a question so far. */
export class Question {
  request: ModelRequest | undefined;
  attempts = 0;
  /** The cost of all its tries, and how many of them the server counted tokens for. */
  cost: CallCost = { usage: {} };
  counts = 0;
  /** Failures that lengthen its back-off, and tries that are used up. */
  failures = 0;
  counted = 0;
  /** Failures for which it is not yet known whether the row or the endpoint is at fault; `isLimit` for a rate limit. */
  pending: readonly { readonly lane: Lane; readonly isLimit: boolean }[] = [];
  /** How often it has failed at each endpoint outside of outages. */
  failedAt = new Map<Lane, number>();
  /** How many outages it was in whose failures were not counted. */
  forgiven = 0;
  /** It waits through no fault of its own, so it precedes the rows that have not begun. */
  isFirst = false;
  /** Rate limits met since then, while no other call that had met one was answered. */
  refused: { since: number; times: number };
  /** When its back-off ends. */
  dueAt: number;
  firstFailureAt: number | undefined;
  lastFailure: AttemptFailure | undefined;
  /** The lane of the last try. */
  lastLane: Lane | undefined;

  constructor(public startedAt: number) {
    this.dueAt = startedAt;
    this.refused = { since: startedAt, times: 0 };
  }
}

/** A job that has begun and is not done. It asks one question after another. */
export class Call extends Question {
  /** The lane in which it has a slot; undefined while it waits for the next try. */
  lane: Lane | undefined;
  /** Ends its wait, in its slot or for one: by then it has a slot, or its course has ended. */
  wake: (() => void) | undefined;
  isInFlight = false;

  constructor(
    readonly job: Task,
    readonly course: Course,
    now: number,
    /** Its group, until the group continues without it. */
    public group?: Group | undefined,
  ) {
    super(now);
  }

  /** Its cost so far, for the journal. */
  log(now: number): CallLog {
    const { attempts, cost, counts, startedAt, lastLane } = this;
    const host = lastLane?.endpoint.host ?? '';
    return { attempts, ...cost, ...(counts > 1 && { tries: counts }), ms: now - startedAt, host };
  }

  /** Waits in its slot for `ms`, or until it is woken. */
  async wait(ms: number, { clock }: PoolSettings): Promise<void> {
    const over = new AbortController();
    this.wake = () => over.abort();
    await clock.sleep(ms, over.signal);
    this.wake = undefined;
  }

  /** Whether it has no try left if all its failures count. */
  isSpent({ maxAttempts, retryMs, clock }: PoolSettings): boolean {
    const { counted, pending, firstFailureAt = Number.POSITIVE_INFINITY } = this;
    return pending.length > 0 && (counted + pending.length >= maxAttempts || clock.now() >= firstFailureAt + retryMs);
  }

  /** Removes the failures at an endpoint, or only its rate limits. @returns how many there were */
  takePending(lane: Lane, limitsOnly = false): number {
    const kept = this.pending.filter((failure) => failure.lane !== lane || (limitsOnly && !failure.isLimit));
    const taken = this.pending.length - kept.length;
    this.pending = kept;
    return taken;
  }

  /** The same for failures that are not the row's own: its next try may be there as well as elsewhere. */
  forget(lane: Lane, limitsOnly = false): number {
    const failures = this.takePending(lane, limitsOnly);
    this.failedAt.set(lane, (this.failedAt.get(lane) ?? 0) - failures);
    return failures;
  }
}

/** Once a probe has failed, the endpoint is known to be out; at `until` it is given up. */
type Pause = { nextProbeAt: number; failed: number; until: number };

const FIRST_PROBE_MS = 1_000;
export const LONGEST_BETWEEN_PROBES_MS = 15_000;
/** The longest wait between probes that a server may ask for, so that the wait does not outlast the outage. */
const LONGEST_ASKED_WAIT_MS = 60_000;
/** If this many rows fail in the same way before any succeeds, the others would fail, too. */
export const HOPELESS = 20;
/** If this many rows fail without an answer in between, the rows may not be the cause. */
export const ROWS_IN_DOUBT = 3;

const BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

/** An endpoint with its slots, and what was learned about it. Times are milliseconds of the pool's clock. */
export class Lane {
  /** Absent if the limit is fixed. */
  #control: LimitState | undefined;
  /** It has given a good reply. */
  answered = false;
  /** Rows that failed for good before its first reply, by class of failure. */
  readonly #lost = new Map<string, number>();
  /** How many different rows have failed since its last answer, with a pause while only probes start; absent if its latest result was an answer. */
  trouble: { readonly since: number; rows: number; pause?: Pause } | undefined;
  /** Calls that occupy a slot. */
  readonly calls = new Set<Call>();
  /** Those of the calls that are in back-off after a rate limit, the one waiting longest first. */
  readonly throttled = new Set<Call>();
  /** Those of the calls that wait for their turn under the run's pace. */
  readonly paced = new Set<Call>();
  /** Those of the calls that probe whether the endpoint is back. */
  readonly probes = new Set<Call>();
  /** The smallest request that it has answered: asked again for one token, it shows whether the endpoint or a row is at fault. */
  witness: { readonly job: Task; readonly request: ModelRequest } | undefined;
  /** When the witness was last answered, and when a row that had met a rate limit was. */
  vouchedAt = Number.NEGATIVE_INFINITY;
  recoveredAt = Number.NEGATIVE_INFINITY;
  /** How many rows have to fail without an answer in between to put the endpoint in doubt. */
  doubtAfter = ROWS_IN_DOUBT;
  /** Rate limits met since it last answered a row. */
  limits = 0;
  /** The end of a rate limit's pause. */
  pausedUntil = 0;
  /** Its rows go to the other endpoints, now or at some time before. */
  isRelieved = false;
  wasRelieved = false;
  /** Why the endpoint was given up, and what to do about it. A run ends with these reasons if every endpoint was given up. */
  end: { readonly why: string; readonly remedy: string } | undefined;
  latestFailure: { readonly host: string; readonly reason: string; readonly at: number } | undefined;
  /** What the user was told about it, and the notice of its return if its absence was reported. */
  saidUnreachable = false;
  saidWaitTooLong = false;
  awaited: string | undefined;

  constructor(
    readonly endpoint: Endpoint,
    private readonly settings: PoolSettings,
  ) {
    if (settings.concurrency === 'adaptive') this.#control = startLimit(settings.ceiling);
  }

  /** Calls at once. */
  get limit(): number {
    return this.#control?.limit ?? Number(this.settings.concurrency);
  }

  /** The pause of an endpoint that gives no replies. */
  get pause(): Pause | undefined {
    return this.trouble?.pause;
  }

  get isInService(): boolean {
    return this.pause === undefined;
  }

  /** Whether probes have shown that the endpoint does not answer. */
  get isOut(): boolean {
    return (this.pause?.failed ?? 0) > 0 || this.end !== undefined;
  }

  /** Milliseconds to the end of a rate limit's pause, during which nothing starts; not positive if it is over. */
  get pauseMs(): number {
    return this.pausedUntil - this.settings.clock.now();
  }

  /** Whether a slot is free, and no rate limit's pause is in effect. */
  get hasRoom(): boolean {
    return this.calls.size < this.limit && this.pauseMs <= 0;
  }

  /** Whether the call has to wait for the endpoint to come back. */
  holdsBack(call: Call): boolean {
    return !this.isInService && !this.probes.has(call);
  }

  /** A call got a reply (`good`), or a refusal that concerns its row: the endpoint works. */
  noteAnswer(good: boolean): void {
    this.answered ||= good;
    if (this.answered) this.#lost.clear();
    this.trouble = undefined;
  }

  /**
   * A row, or a probe (if `row` is absent), failed in a way that may pass. An endpoint in doubt is paused: it gets single probes, the
   * first at once if it has answered before, the next ones after 1 s and then less and less often, down to one every 15 s. An endpoint
   * that has never answered is paused only if it is to be waited for.
   */
  noteFailure({ reason, retryAfterMs = 0, unreachable, down }: AttemptFailure, row?: Pick<Call, 'pending'>): void {
    const now = this.settings.clock.now();
    this.latestFailure = { host: this.endpoint.host, reason, at: now };
    this.trouble ??= { since: now, rows: 0 };
    const { trouble } = this;
    // A row counts only once per period of trouble.
    if (row !== undefined && !row.pending.some(({ lane }) => lane === this)) trouble.rows++;
    const isDoubtful = this.answered ? trouble.rows >= this.doubtAfter : unreachable || down;
    if (trouble.pause === undefined) {
      if (isDoubtful) this.doubt(this.answered ? now : now + this.#probeWait(0, retryAfterMs));
    } else if (row === undefined) {
      trouble.pause.nextProbeAt = now + this.#probeWait(trouble.pause.failed++, retryAfterMs);
    }
  }

  /** Pauses the endpoint: only a probe can show what is wrong; the next is at `probeAt`. */
  doubt(probeAt: number): void {
    const patienceMs = this.answered ? this.settings.retryMs : this.settings.waitReadyMs;
    if (this.trouble === undefined || patienceMs === 0) return;
    this.trouble.pause ??= { failed: 0, nextProbeAt: probeAt, until: this.trouble.since + patienceMs };
  }

  #probeWait(failed: number, retryAfterMs: number): number {
    const jitter = 0.5 + this.settings.random() / 2;
    const ms = Math.min(LONGEST_BETWEEN_PROBES_MS, FIRST_PROBE_MS * 2 ** failed) * jitter;
    return Math.max(ms, Math.min(retryAfterMs, LONGEST_ASKED_WAIT_MS));
  }

  /** A row failed for good. @returns whether so many have failed in the same way, and none succeeded, that the others would fail, too */
  noteLoss(failure: string): boolean {
    if (this.answered) return false;
    const rows = (this.#lost.get(failure) ?? 0) + 1;
    this.#lost.set(failure, rows);
    return rows >= HOPELESS;
  }

  /** Restores the initial state after the endpoint was given up, for whoever asks next. */
  forget(): void {
    this.#lost.clear();
    this.trouble = undefined;
    this.end = undefined;
    this.isRelieved = false;
  }

  /** Adapts the limit to the result of an attempt of `ms` milliseconds. */
  adapt(attempt: AttemptReply | AttemptFailure, ms: number): void {
    const control = this.#control;
    if (control === undefined) return;
    const { clock, retryMs } = this.settings;
    // A call delayed by the run itself says nothing about the endpoint.
    const use = { inUse: this.calls.size - this.paced.size, waiting: this.throttled.size };
    if (attempt.status === 'ok') {
      const { usage, content, reasoning = '' } = attempt;
      // If the server did not count, four characters per token are close enough to see a rise.
      const tokens = usage.completionTokens ?? (content.length + reasoning.length) / CHARS_A_TOKEN;
      this.#control = afterReply(control, clock.now(), { tokens, ms }, use);
    } else if (attempt.class === 'rate-limit') {
      const retryAfterMs = Math.min(attempt.retryAfterMs ?? 0, retryMs);
      this.#control = afterRateLimit(control, clock.now(), { ...use, waiting: use.waiting + 1 }, retryAfterMs);
    } else if (attempt.class === 'transient' || attempt.class === 'timeout') this.#control = afterTrouble(control);
  }

  /**
   * Milliseconds that a call waits after another failure: exponential back-off with full jitter, after the wait that the server asks
   * for, at most `leftMs`. Rate limits without an answer in between lengthen it: each level is eight more of them per slot.
   */
  backOffMs(call: Call, retryAfterMs: number, leftMs: number): number {
    const level = Math.floor(this.limits / (8 * this.limit));
    const most = Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.max(call.failures++, level));
    return Math.min(retryAfterMs + this.settings.random() * most, leftMs);
  }

  /** The progress display's view of an endpoint that is out. */
  outage(): Outage[] {
    const { trouble, pause, answered: hasAnswered } = this;
    if (trouble === undefined || pause === undefined || (hasAnswered && pause.failed === 0)) return [];
    const now = this.settings.clock.now();
    const msUntil = (at: number) => Math.max(0, at - now);
    const [nextMs, leftMs] = [msUntil(pause.nextProbeAt), msUntil(pause.until)];
    return [{ host: this.endpoint.host, hasAnswered, forMs: now - trouble.since, nextMs, leftMs }];
  }
}
