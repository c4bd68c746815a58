// The tries of one call at one endpoint: which failures are tried again, when, and how often.

import { charactersOf } from '../../question.js';
import type { CallCost, CallLog, FailureClass, ModelOutcome, ModelRequest } from '../../types.js';
import { callsCounted, costOfBoth } from '../../usage.js';
import { type Attempt, type AttemptFailure, type AttemptReply, INTERRUPTED } from '../attempt.js';
import { costOfTry } from '../try-cost.js';
import { backOffMs, type Call, forgetFailures } from './call.js';
import type { Course } from './course.js';
import { adaptLimit, type Lane, pauseOf } from './lane.js';
import { asksToWait, asksToWaitTooLong } from './notices.js';
import type { Outages } from './outages.js';
import type { Start } from './pace.js';

/** A pause at least this long is worth a line to the user. */
const NOTABLE_PAUSE_MS = 60_000;
/** Failures that may pass. */
export const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);

/** What a call without an outcome waits for: that its endpoint comes back, or that another one takes it over. */
export type Waiting = 'parked' | 'handed-over';

export class Tries {
  readonly #course: Course;
  readonly #outages: Outages;
  readonly #tried: (call: Call, cost: CallCost) => void;

  /** `tried` is told what each try cost. */
  constructor(course: Course, outages: Outages, tried: (call: Call, cost: CallCost) => void) {
    this.#course = course;
    this.#outages = outages;
    this.#tried = tried;
  }

  /** Tries until the call has its outcome, or has to wait without a slot. */
  async untilDone(call: Call, request: ModelRequest, lane: Lane): Promise<ModelOutcome | Waiting> {
    const { clock, maxAttempts, retryMs, pace } = this.#course.settings;
    for (;;) {
      if (this.#course.halted) return INTERRUPTED;
      if (this.#outages.holdsBack(call, lane)) return lane.isRelieved ? this.#handOver(call) : 'parked';
      if (call.lastFailure !== undefined && call.counted >= maxAttempts)
        return this.#lose(call, call.lastFailure, lane);
      const start = await this.#turn(call, request, lane);
      if (start === undefined) continue;
      const triedAt = clock.now();
      if (call.attempts === 0) call.startedAt = triedAt;
      const attempt = await this.#tryOnce(call, request, lane);
      if (attempt.status !== 'interrupted' && start !== 'unlimited') pace.ended(start, attempt.usage);
      if (attempt.status === 'interrupted') return INTERRUPTED;
      adaptLimit(lane, attempt, clock.now(), clock.now() - triedAt, retryMs);
      if (attempt.status === 'ok') {
        this.#outages.noteAnswer(lane, true);
        return replyOf(attempt, call, lane, clock.now());
      }
      const next = this.#afterFailure(call, attempt, lane);
      if (typeof next !== 'number') return next;
      await this.#backOff(call, attempt, lane, next);
    }
  }

  /** Waits in its slot for the call's turn. Undefined where the call is to be looked at again: something has changed meanwhile. */
  async #turn(call: Call, request: ModelRequest, lane: Lane): Promise<Start | 'unlimited' | undefined> {
    const { pace, clock } = this.#course.settings;
    if (!pace.isLimited) return 'unlimited';
    const pauseMs = () => (call.attempts === 0 ? lane.pausedUntil - clock.now() : 0);
    const wait = (ms: number) => {
      call.backOff = new AbortController();
      return this.#course.wait(ms, call.backOff);
    };
    lane.paced.add(call);
    // Waiting in the line, it would hold up the calls of other endpoints.
    if (pauseMs() > 0) await wait(pauseMs());
    const isOff = () => this.#course.halted || pauseMs() > 0 || this.#outages.holdsBack(call, lane);
    const start = await pace.turn(charactersOf(request), { wait, isOff });
    lane.paced.delete(call);
    delete call.backOff;
    return start;
  }

  async #tryOnce(call: Call, request: ModelRequest, lane: Lane): Promise<Attempt> {
    call.attempts++;
    call.inFlight = new AbortController();
    // The seed stays as it was in an outage, so that the row is answered as if there had been none.
    const index = call.counted + (pauseOf(lane) === undefined ? call.pending : 0);
    const attempt = await lane.endpoint.call(request, index, call.inFlight.signal);
    delete call.inFlight;
    const cost = costOfTry(() => charactersOf(request), attempt);
    call.cost = costOfBoth(call.cost, cost);
    call.counts += callsCounted(cost);
    this.#tried(call, cost);
    return attempt;
  }

  #handOver(call: Call): Waiting {
    forgetFailures(call);
    return 'handed-over';
  }

  /** Milliseconds to wait before the next try, or what came of the request. */
  #afterFailure(call: Call, attempt: AttemptFailure, lane: Lane): number | ModelOutcome {
    const now = this.#course.settings.clock.now();
    lane.latestFailure = { reason: attempt.reason, at: now };
    call.lastFailure = attempt;
    // What a gateway says in an outage is not final: it found before what it does not find now.
    const isPassing = TRIED_AGAIN.has(attempt.class) || (lane.health.answered && attempt.down === true);
    if (attempt.stop !== undefined && !isPassing) {
      this.#course.fail(attempt.stop);
      return INTERRUPTED;
    }
    if (!isPassing) {
      this.#outages.noteAnswer(lane, false);
      return this.#lose(call, attempt, lane);
    }
    if (this.#course.aborted) return INTERRUPTED;
    call.firstFailureAt ??= now;
    const next =
      attempt.class === 'rate-limit'
        ? this.#afterRateLimit(call, attempt, lane, call.firstFailureAt)
        : this.#outages.afterTrouble(call, attempt, lane);
    return next === 'lost' ? this.#lose(call, attempt, lane) : next;
  }

  #afterRateLimit(call: Call, attempt: AttemptFailure, lane: Lane, firstFailureAt: number): number | 'lost' {
    const { retryMs, clock, random } = this.#course.settings;
    const now = clock.now();
    const { retryAfterMs = 0 } = attempt;
    if (retryAfterMs > retryMs) {
      this.#sayWaitTooLong(lane, retryAfterMs);
      const down = { ...attempt, down: true, retryAfterMs: 0 } as const;
      if (lane.health.answered) return this.#outages.afterTrouble(call, down, lane);
      if (lane.probes.has(call)) return this.#outages.afterVainProbe(call, attempt, lane);
      return this.#outages.afterLastTry(down, lane);
    }
    this.#holdBack(lane, retryAfterMs, now);
    if (lane.probes.has(call)) return this.#outages.afterVainProbe(call, attempt, lane);
    const leftMs = firstFailureAt + retryMs - now;
    if (leftMs <= 0 || retryAfterMs > leftMs) return 'lost';
    return backOffMs(call, random(), retryAfterMs, leftMs);
  }

  async #backOff(call: Call, attempt: AttemptFailure, lane: Lane, ms: number): Promise<void> {
    if (this.#course.halted || this.#outages.holdsBack(call, lane)) return;
    call.backOff = new AbortController();
    if (attempt.class === 'rate-limit') lane.throttled.add(call);
    await this.#course.wait(ms, call.backOff);
    lane.throttled.delete(call);
    delete call.backOff;
  }

  /** Starts no new call at the endpoint for so long. */
  #holdBack(lane: Lane, retryAfterMs: number, now: number): void {
    const until = now + retryAfterMs;
    if (until <= lane.pausedUntil) return;
    const alreadySaid = lane.pausedUntil - now >= NOTABLE_PAUSE_MS;
    lane.pausedUntil = until;
    if (retryAfterMs < NOTABLE_PAUSE_MS || alreadySaid) return;
    this.#course.settings.onNotice(asksToWait(lane.endpoint.host, retryAfterMs));
  }

  #sayWaitTooLong(lane: Lane, ms: number): void {
    if (lane.saidWaitTooLong) return;
    lane.saidWaitTooLong = true;
    this.#course.settings.onNotice(asksToWaitTooLong(lane.endpoint.host, ms));
  }

  /** The row has failed for good. */
  #lose(call: Call, attempt: AttemptFailure, lane: Lane): ModelOutcome {
    this.#outages.noteLoss(lane, attempt);
    const log = logOf(call, lane, this.#course.settings.clock.now());
    return { status: 'failed', class: attempt.class, reason: attempt.reason, log };
  }
}

function replyOf(attempt: AttemptReply, call: Call, lane: Lane, now: number): ModelOutcome {
  const { usage: _, firstTokenMs, ...reply } = attempt;
  return { ...reply, log: { ...logOf(call, lane, now), ...(firstTokenMs !== undefined && { firstTokenMs }) } };
}

function logOf(call: Call, lane: Lane, now: number): CallLog {
  const { attempts, cost, counts, startedAt } = call;
  return { attempts, ...cost, ...(counts > 1 && { tries: counts }), ms: now - startedAt, host: lane.endpoint.host };
}
