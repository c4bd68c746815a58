// The tries of one call at one endpoint: which failures are tried again, when, and how often.

import { charactersOf } from '../../question.js';
import type { CallCost, CallLog, FailureClass, ModelOutcome, ModelRequest } from '../../types.js';
import { callsCounted, costOfBoth } from '../../usage.js';
import { type Attempt, type AttemptFailure, type AttemptReply, INTERRUPTED } from '../attempt.js';
import { costOfTry } from '../try-cost.js';
import { backOffMs, type Call } from './call.js';
import type { Course } from './course.js';
import { adaptLimit, type Lane, noteRequest } from './lane.js';
import { asksToWait, asksToWaitTooLong } from './notices.js';
import { levelOf, type Outages } from './outages.js';
import type { Start } from './pace.js';

/** A pause at least this long is worth a line to the user. */
const NOTABLE_PAUSE_MS = 60_000;
/** A call that was refused so often, while no other that had been refused was answered, may be at fault itself. */
const MOST_REFUSED = 4;
/** Failures that may pass. */
export const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);

/** A call without an outcome that waits for its next try, without a slot. */
type Waiting = 'deferred';
/** What comes of a try that failed: a wait in the slot, of so many milliseconds, one without it, or the call's outcome. */
type Next = number | Waiting | ModelOutcome;

export class Tries {
  readonly #course: Course;
  readonly #outages: Outages;
  /** Where each call has failed last. */
  readonly #failedAt = new WeakMap<Call, Lane>();
  readonly #tried: (call: Call, cost: CallCost) => void;

  /** `tried` is told what each try cost. */
  constructor(course: Course, outages: Outages, tried: (call: Call, cost: CallCost) => void) {
    this.#course = course;
    this.#outages = outages;
    this.#tried = tried;
  }

  /** The outcome of a call that has no try left; its request is not needed for that. */
  lostOf(call: Call, lane: Lane): ModelOutcome | undefined {
    if (call.lastFailure === undefined || call.counted < this.#course.settings.maxAttempts) return undefined;
    return this.#lose(call, call.lastFailure, this.#failedAt.get(call) ?? lane);
  }

  /** Tries until the call has its outcome, or has to wait without a slot. */
  async untilDone(call: Call, request: ModelRequest, lane: Lane): Promise<ModelOutcome | Waiting> {
    const { clock, retryMs, pace } = this.#course.settings;
    for (;;) {
      if (this.#course.halted) return INTERRUPTED;
      const lost = this.lostOf(call, lane);
      if (lost !== undefined) return lost;
      if (this.#outages.holdsBack(call, lane)) return this.#standAside(call);
      const start = await this.#turn(call, request, lane);
      if (start === undefined) continue;
      const triedAt = clock.now();
      if (call.attempts === 0) call.startedAt = triedAt;
      call.attempts++;
      const attempt = await this.#tryOnce(call, request, lane, call);
      if (attempt.status !== 'interrupted' && start !== 'unlimited') pace.ended(start, attempt.usage);
      if (attempt.status === 'interrupted') return INTERRUPTED;
      adaptLimit(lane, attempt, clock.now(), clock.now() - triedAt, retryMs);
      if (attempt.status === 'ok') {
        noteRequest(lane, call.job, request);
        if (call.lastFailure?.class === 'rate-limit') lane.recoveredAt = clock.now();
        this.#outages.noteAnswer(lane, true, triedAt);
        return replyOf(attempt, call, lane, clock.now());
      }
      const next = this.#afterFailure(call, attempt, lane, triedAt);
      if (typeof next !== 'number') return next;
      await this.#backOff(call, lane, next);
    }
  }

  /**
   * Asks the witness for one token, which `payer`, a call that waits, is charged for: whatever the server says of it, it is there, unless
   * what it says might pass.
   */
  async askWitness(call: Call, request: ModelRequest, lane: Lane, payer: Call): Promise<void> {
    const start = await this.#turn(call, request, lane);
    if (start === undefined) return;
    const attempt = await this.#tryOnce(call, { ...request, maxTokens: 1 }, lane, payer);
    if (attempt.status === 'interrupted') return;
    if (start !== 'unlimited') this.#course.settings.pace.ended(start, attempt.usage);
    // A reply of one token may hold nothing.
    const isSilent =
      attempt.status === 'failed' &&
      (attempt.down || (attempt.class !== 'malformed' && TRIED_AGAIN.has(attempt.class)));
    if (isSilent) this.#outages.noteSilence(lane, attempt);
    else this.#outages.noteWitness(lane);
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

  /** @param payer the call that the try is charged to */
  async #tryOnce(call: Call, request: ModelRequest, lane: Lane, payer: Call): Promise<Attempt> {
    call.inFlight = new AbortController();
    // The seed stays as it was in an outage, so that the row is answered as if there had been none.
    const index = call.counted + call.pending.filter(({ isLimit }) => !isLimit).length;
    const attempt = await lane.endpoint.call(request, index, call.inFlight.signal);
    delete call.inFlight;
    const cost = costOfTry(() => charactersOf(request), attempt);
    payer.cost = costOfBoth(payer.cost, cost);
    payer.counts += callsCounted(cost);
    this.#tried(payer, cost);
    return attempt;
  }

  /** The call has done nothing wrong, and goes on before others. */
  #standAside(call: Call): Waiting {
    call.isFirst = true;
    return 'deferred';
  }

  #afterFailure(call: Call, attempt: AttemptFailure, lane: Lane, triedAt: number): Next {
    const now = this.#course.settings.clock.now();
    lane.latestFailure = { reason: attempt.reason, at: now };
    call.lastFailure = attempt;
    this.#failedAt.set(call, lane);
    // What a gateway says in an outage is not final: it found before what it does not find now.
    const isPassing = TRIED_AGAIN.has(attempt.class) || (lane.health.answered && attempt.down === true);
    if (attempt.stop !== undefined && !isPassing) {
      this.#course.fail(attempt.stop);
      return INTERRUPTED;
    }
    if (!isPassing) {
      this.#outages.noteAnswer(lane, false, triedAt);
      return this.#lose(call, attempt, lane);
    }
    if (this.#course.aborted) return INTERRUPTED;
    call.firstFailureAt ??= now;
    if (attempt.class === 'rate-limit') return this.#afterRateLimit(call, attempt, lane, call.firstFailureAt);
    return this.#afterTrouble(call, attempt, lane);
  }

  #afterTrouble(call: Call, attempt: AttemptFailure, lane: Lane): Next {
    const next = this.#outages.afterTrouble(call, attempt, lane);
    return next === 'lost' ? this.#lose(call, attempt, lane) : next;
  }

  /**
   * The first rate limits of a call are waited out in its slot, so that the endpoint gets less to do. Where it seems to be at fault, it
   * frees the slot for rows that may fare better.
   */
  #afterRateLimit(call: Call, attempt: AttemptFailure, lane: Lane, firstFailureAt: number): Next {
    const { retryMs, clock, random } = this.#course.settings;
    const now = clock.now();
    const { retryAfterMs = 0 } = attempt;
    lane.limits++;
    const isTooLong = retryAfterMs > retryMs;
    if (isTooLong) this.#sayWaitTooLong(lane, retryAfterMs);
    else this.#holdBack(lane, retryAfterMs, now);
    if (lane.probes.has(call)) {
      this.#outages.noteSilence(lane, attempt);
      return this.#standAside(call);
    }
    const leftMs = firstFailureAt + retryMs - now;
    if (!isTooLong && (leftMs <= 0 || retryAfterMs > leftMs)) return this.#lose(call, attempt, lane);
    if (isTooLong) return this.#afterTrouble(call, attempt, lane);
    if (lane.recoveredAt >= call.refused.since) call.refused = { since: now, times: 0 };
    call.refused.times++;
    this.#outages.noteFailure(call, lane, true);
    if (call.refused.times > MOST_REFUSED || (retryAfterMs > 0 && this.#outages.isOther(lane))) {
      if (call.pending.length > 0) call.failures = call.counted + call.pending.length - 1;
      call.dueAt = now + backOffMs(call, random(), retryAfterMs, leftMs, levelOf(lane));
      return 'deferred';
    }
    return backOffMs(call, random(), retryAfterMs, leftMs, levelOf(lane));
  }

  async #backOff(call: Call, lane: Lane, ms: number): Promise<void> {
    if (this.#course.halted || this.#outages.holdsBack(call, lane)) return;
    call.backOff = new AbortController();
    lane.throttled.add(call);
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
