// Handles outages: distinguishes them from rows at fault, delays calls, decides when to probe, moves rows to other endpoints, and gives
// endpoints up.

import { unavailable } from '../../core/errors.js';
import type { AttemptFailure } from '../attempt.js';
import {
  type Call,
  type Course,
  HOPELESS,
  type Lane,
  LONGEST_BETWEEN_PROBES_MS,
  type PoolSettings,
  ROWS_IN_DOUBT,
} from './lane.js';
import type { Todo } from './todo.js';

/** A row that was in flight in more outages than this may be their cause: its failures count. */
const MOST_FORGIVEN = 3;
/** While many rows fail and the endpoint is known to work, it is probed ever more rarely, down to once in this many rows. */
const MOST_DOUBTED = 64;
/** The least time between two probes of an endpoint that works. */
const LOOK_AGAIN_MS = 2_000;

export class Outages {
  /** The caller that reports an attempt must refill the slots afterwards. */
  constructor(
    private readonly lanes: readonly Lane[],
    private readonly todo: Todo,
    private readonly settings: PoolSettings,
    private readonly courses: ReadonlySet<Course>,
  ) {}

  /** All calls that have begun and are not done. */
  get #calls(): readonly Call[] {
    return [...this.courses].flatMap(({ calls }) => [...calls]);
  }

  get #now(): number {
    return this.settings.clock.now();
  }

  /**
   * A call that was sent at `triedAt` got a reply (`good`), or a failure of its own row: the endpoint works, and answers rows. A reply
   * to a call from before an outage does not show that the outage is over.
   */
  noteAnswer(lane: Lane, good: boolean, triedAt: number): void {
    if (lane.answered && lane.isOut && triedAt < (lane.trouble?.since ?? 0)) return;
    lane.doubtAfter = ROWS_IN_DOUBT;
    if (lane.limits > 0) {
      // Other calls held the capacity that these calls were refused.
      for (const call of this.#calls) call.forget(lane, true);
      lane.limits = 0;
    }
    this.#works(lane, good);
    if (!good || lane.pauseMs > 0) return;
    // A reply shows free capacity: the call that has waited longest after a rate limit is retried immediately.
    const [longest] = lane.throttled;
    if (longest === undefined) this.todo.wakeFirst(this.#now);
    else lane.throttled.delete(longest);
    longest?.wake?.();
  }

  /** The witness was answered, with any result: the endpoint works, so the rows that have failed there are at fault. */
  noteWitness(lane: Lane): void {
    lane.vouchedAt = this.#now;
    lane.doubtAfter = Math.min(2 * lane.doubtAfter, MOST_DOUBTED);
    this.#works(lane, true);
  }

  /** Failures at the endpoint since its last answer are their rows' own, unless they were forgiven as part of an outage. */
  #works(lane: Lane, good: boolean): void {
    const { maxAttempts, retryMs, onNotice } = this.settings;
    const hadTrouble = lane.trouble !== undefined;
    lane.noteAnswer(good);
    if (!hadTrouble) return;
    const now = this.#now;
    for (const call of this.#calls) {
      const failures = call.takePending(lane);
      const isLate = now >= (call.firstFailureAt ?? now) + retryMs;
      if (failures > 0) call.counted = isLate ? maxAttempts : call.counted + failures;
    }
    lane.end = undefined;
    lane.isRelieved = false;
    if (lane.awaited !== undefined) onNotice(lane.awaited);
    lane.awaited = undefined;
  }

  /** A row has failed for good. If twenty have failed in the same way and none has succeeded, the endpoint is given up. */
  noteLoss(lane: Lane, { class: failure, reason }: AttemptFailure): void {
    if (!lane.noteLoss(failure) || this.settings.keepGoing) return;
    const why = `the first ${HOPELESS} rows failed in the same way, and none succeeded (${failure}, the latest: ${reason})`;
    this.#giveUp(lane, why, 'fix the cause (--keep-going asks for the other rows anyway)');
  }

  /** A failure that may pass, of one row or of the endpoint: the row waits for its next try, at `dueAt`. `lost` if it has none left. */
  afterTrouble(call: Call, attempt: AttemptFailure, lane: Lane): 'deferred' | 'lost' {
    const { retryMs } = this.settings;
    const now = this.#now;
    if (lane.probes.delete(call)) {
      call.isFirst = true;
      this.noteSilence(lane, attempt);
      return 'deferred';
    }
    lane.noteFailure(attempt, call);
    this.#sayTrouble(lane, attempt);
    const { retryAfterMs = 0 } = attempt;
    const leftMs = Math.max(0, (call.firstFailureAt ?? now) + retryMs - now);
    this.charge(call, lane, false);
    call.dueAt = now + lane.backOffMs(call, retryAfterMs > leftMs ? 0 : retryAfterMs, leftMs);
    if (!lane.isInService) this.#standBack(lane);
    else if (lane.answered) return retryMs === 0 ? 'lost' : 'deferred';
    else if (this.#isAnswered && (lane.trouble?.rows ?? 0) >= ROWS_IN_DOUBT) this.#giveUpUnready(lane, attempt);
    else if (call.isSpent(this.settings)) {
      // If the row is hardly the cause, another endpoint may take it over.
      if (!attempt.unreachable && !this.#isAnswered && !(attempt.down && this.isOther(lane))) return 'lost';
      this.#giveUpUnready(lane, attempt);
      this.#forgive(call, lane);
    }
    return 'deferred';
  }

  /** Records a failure that may or may not be the row's own. A rate limit is not, as long as no call was answered. */
  charge(call: Call, lane: Lane, isLimit: boolean): void {
    call.isFirst = false;
    call.failedAt.set(lane, (call.failedAt.get(lane) ?? 0) + 1);
    if (lane.answered || !isLimit) call.pending = [...call.pending, { lane, isLimit }];
  }

  /** Whether another endpoint is in service. */
  isOther(lane: Lane): boolean {
    return this.lanes.some((other) => other !== lane && other.isInService);
  }

  /** A probe was not answered, was answered by a gateway, or met a rate limit, which does not show that a model is there. */
  noteSilence(lane: Lane, attempt: AttemptFailure): void {
    lane.noteFailure(attempt);
    this.#sayTrouble(lane, attempt);
    this.#standBack(lane);
  }

  /**
   * Probes the endpoints of calls that would have no try left if all their failures counted. @returns when to probe an endpoint that
   * was probed just now; Infinity if there is none
   */
  lookAtSpent(): number {
    const now = this.#now;
    const spent = [...this.todo.deferred].filter((call) => call.isSpent(this.settings));
    let nextAt = Number.POSITIVE_INFINITY;
    for (const lane of this.lanes) {
      const there = spent.filter(({ pending }) => pending.some((failure) => failure.lane === lane));
      // An endpoint that has never answered says nothing about a row if another endpoint has answered.
      if (!lane.answered && this.#isAnswered) for (const call of there) this.#forgive(call, lane);
      if (there.length === 0 || !lane.isInService || !lane.answered) continue;
      const lookAt = lane.vouchedAt + LOOK_AGAIN_MS;
      if (lookAt > now) nextAt = Math.min(nextAt, lookAt);
      else {
        lane.trouble ??= { since: now, rows: 0 };
        lane.doubt(now);
      }
    }
    return nextAt;
  }

  /** Gives up an endpoint that has been out for as long as the user waits, unless calls from before may still be answered. */
  endPatience(lane: Lane): void {
    const { retryMs, waitReadyMs } = this.settings;
    const isAwaited = [...lane.calls].some((call) => call.isInFlight && !lane.probes.has(call));
    if (this.#now < (lane.pause?.until ?? Number.POSITIVE_INFINITY) || lane.end !== undefined || isAwaited) return;
    const why = lane.answered ? `no reply for ${waitOf(retryMs)}` : `not ready after ${waitOf(waitReadyMs)}`;
    const remedy = lane.answered
      ? 'check the server (--retry-minutes sets how long an outage may last)'
      : 'check the base URL and that the server is running, or wait longer with --wait-ready';
    this.#giveUp(lane, `${why}: ${lane.latestFailure?.reason}`, remedy);
  }

  /**
   * From now on the endpoint gets only probes. Once one has failed, failures there count against no row; and if another endpoint is in
   * service, it takes over.
   */
  #standBack(lane: Lane): void {
    if (!lane.isOut) return;
    for (const call of lane.calls) call.wake?.();
    for (const call of this.#calls) this.#forgive(call, lane);
    if (lane.isRelieved || !this.lanes.some(({ isInService }) => isInService)) return;
    const { host } = lane.endpoint;
    lane.isRelieved = true;
    lane.wasRelieved = true;
    lane.awaited = `${host} answers again`;
    this.settings.onNotice(
      `${host} is out of service (${lane.end?.why ?? lane.latestFailure?.reason}); its rows go to the other endpoints`,
    );
  }

  /** Failures in an outage cost a row nothing. */
  #forgive(call: Call, lane: Lane): void {
    const failures = call.forget(lane);
    if (failures === 0) return;
    if (lane.answered && ++call.forgiven > MOST_FORGIVEN) {
      call.counted += failures;
      return;
    }
    if (call.counted + call.pending.length > 0) return;
    call.failures = 0;
    call.firstFailureAt = undefined;
    call.dueAt = this.#now;
    call.isFirst = true;
  }

  /** Gives up an endpoint that has never answered. */
  #giveUpUnready(lane: Lane, { unreachable, reason }: AttemptFailure): void {
    const remedy =
      'check the base URL and that the server is running (--wait-ready 15m waits for one that is still loading its model)';
    this.#giveUp(lane, `${unreachable ? 'cannot be reached' : 'is not ready'}: ${reason}`, remedy);
  }

  /**
   * Gives an endpoint up: it is paused. As long as there are others, it is still probed. If none is left, all asking ends, and later
   * calls find the endpoints in their initial state.
   */
  #giveUp(lane: Lane, why: string, remedy: string): void {
    if (lane.end !== undefined) return;
    const now = this.#now;
    const { since = now, rows = 0, pause } = lane.trouble ?? {};
    const { nextProbeAt = now + LONGEST_BETWEEN_PROBES_MS, failed = 0 } = pause ?? {};
    lane.trouble = { since, rows, pause: { nextProbeAt, failed, until: now } };
    lane.end = { why, remedy };
    if (this.lanes.some((other) => other.end === undefined)) {
      this.#standBack(lane);
      return;
    }
    const each = this.lanes.map(({ endpoint, end }) => `${endpoint.host}: ${end?.why}`).join('; ');
    const remedies = [...new Set(this.lanes.map(({ end }) => end?.remedy))].join('; ');
    const message = `${each}; ${remedies}, then repeat the command: finished rows are kept`;
    for (const course of this.courses) course.failed.abort(unavailable(message));
    for (const other of this.lanes) other.forget();
  }

  #sayTrouble(lane: Lane, { reason, unreachable, down }: AttemptFailure): void {
    const { onNotice, waitReadyMs, retryMs } = this.settings;
    const { host } = lane.endpoint;
    if (lane.pause === undefined) {
      if (lane.answered || lane.saidUnreachable || !(unreachable || down)) return;
      lane.saidUnreachable = true;
      if (unreachable) onNotice(`${host} cannot be reached: ${reason}; retrying`);
      else onNotice(`${host} is not ready: ${reason}; retrying (--wait-ready 15m waits for it)`);
    } else if (lane.awaited !== undefined) {
      return;
    } else if (!lane.answered) {
      lane.awaited = `${host} is ready`;
      onNotice(`${host} is not ready (${reason}): waiting for it, up to ${waitOf(waitReadyMs)} (--wait-ready)`);
    } else if (lane.isOut && !this.lanes.some(({ isInService }) => isInService)) {
      lane.awaited = `${host} answers again`;
      const until = `up to ${waitOf(retryMs)} (--retry-minutes)`;
      onNotice(`${host} does not answer (${reason}): probing it with one call at a time, ${until}`);
    }
  }

  /** Whether an endpoint that was not given up has answered. */
  get #isAnswered(): boolean {
    return this.lanes.some(({ answered, end }) => answered && end === undefined);
  }
}

/** A wait in words, in a suitable unit. */
export function waitOf(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'forever';
  if (ms < 60_000) return `${Math.ceil(ms / 1_000)} s`;
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1440)} days`;
}
