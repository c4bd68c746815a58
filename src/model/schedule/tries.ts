// The tries of one call at one endpoint: which failures are tried again, when, and how often.

import { charactersOf } from '../../core/question.js';
import type { Asking, FailureClass, ModelInterruption, ModelOutcome, ModelRequest } from '../../core/types.js';
import { callsCounted, costOfBoth } from '../../core/usage.js';
import { type Attempt, type AttemptFailure, INTERRUPTED } from '../attempt.js';
import type { PoolSettings } from '../backend.js';
import { costOfTry } from '../try-cost.js';
import { adaptLimit, backOffMs, type Call, isHeldBack, type Lane, logOf, noteRequest, waitInSlot } from './lane.js';
import { type Outages, waitOf } from './outages.js';
import type { Start } from './pace.js';

/** A pause at least this long is worth a line to the user. */
const NOTABLE_PAUSE_MS = 60_000;
/** A call that was refused so often, while no other that had been refused was answered, may be at fault itself. */
const MOST_REFUSED = 4;
/** Failures that may pass. */
export const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);

/** How a question's reply is listened to. */
type Listener = Pick<Asking, 'hear' | 'again'>;
/** What comes of a try that failed: a wait in the slot, of so many milliseconds, one without it, or the call's outcome. */
type Next = number | 'deferred' | ModelOutcome;

export class Tries {
  /** `changed` is told after each attempt, once what it shows of its endpoint is noted. */
  constructor(
    private readonly settings: PoolSettings,
    private readonly outages: Outages,
    private readonly changed: () => void,
  ) {}

  /** The outcome of a call that has no try left; its request is not needed for that. */
  lostOf(call: Call): ModelOutcome | undefined {
    const { lastFailure, lastLane } = call;
    if (lastFailure === undefined || lastLane === undefined) return undefined;
    return call.counted < this.settings.maxAttempts ? undefined : this.#lose(call, lastFailure, lastLane);
  }

  /** Tries until the call has its outcome, or has to wait without a slot. */
  async untilDone(
    call: Call,
    request: ModelRequest,
    lane: Lane,
    listener: Listener,
  ): Promise<ModelOutcome | 'deferred'> {
    const { clock, retryMs, pace } = this.settings;
    for (;;) {
      if (call.course.halted) return interrupted(call, clock.now());
      const lost = this.lostOf(call);
      if (lost !== undefined) return lost;
      if (isHeldBack(call, lane)) return this.#standAside(call);
      const start = await this.#turn(call, request, lane);
      if (start === undefined) continue;
      if (call.course.halted) {
        pace.ended(start);
        continue;
      }
      const triedAt = clock.now();
      if (call.attempts === 0) call.startedAt = triedAt;
      call.attempts++;
      call.lastLane = lane;
      const attempt = await this.#tryOnce(call, request, lane, start, call, listener.hear);
      if (attempt.status === 'interrupted') return interrupted(call, clock.now());
      adaptLimit(lane, attempt, clock.now(), clock.now() - triedAt, retryMs);
      if (attempt.status === 'ok') {
        noteRequest(lane, call.job, request);
        if (call.lastFailure?.class === 'rate-limit') lane.recoveredAt = clock.now();
        this.outages.noteAnswer(lane, true, triedAt);
        this.changed();
        const { usage: _, firstTokenMs, ...reply } = attempt;
        return { ...reply, log: { ...logOf(call, clock.now()), ...(firstTokenMs !== undefined && { firstTokenMs }) } };
      }
      const next = this.#afterFailure(call, attempt, lane, triedAt);
      this.changed();
      if (typeof next === 'object') return next;
      listener.again?.(attempt.reason, next === 'deferred' ? Math.max(0, call.dueAt - clock.now()) : next);
      if (next === 'deferred') return next;
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
    const attempt = await this.#tryOnce(call, { ...request, maxTokens: 1 }, lane, start, payer);
    if (attempt.status === 'interrupted') return;
    // A reply of one token may hold nothing.
    const isSilent =
      attempt.status === 'failed' &&
      (attempt.down || (attempt.class !== 'malformed' && TRIED_AGAIN.has(attempt.class)));
    if (isSilent) this.outages.noteSilence(lane, attempt);
    else this.outages.noteWitness(lane);
  }

  /** Waits in its slot for the call's turn. Undefined where the call is to be looked at again: something has changed meanwhile. */
  async #turn(call: Call, request: ModelRequest, lane: Lane): Promise<Start | undefined> {
    const { pace, clock } = this.settings;
    if (!pace.isLimited) return { at: clock.now(), chars: 0, tokens: 0 };
    const pauseMs = () => (call.attempts === 0 ? lane.pausedUntil - clock.now() : 0);
    const wait = (ms: number) => waitInSlot(call, ms, clock);
    lane.paced.add(call);
    // Waiting in the line, it would hold up the calls of other endpoints.
    if (pauseMs() > 0) await wait(pauseMs());
    const isOff = () => call.course.halted || pauseMs() > 0 || isHeldBack(call, lane);
    const start = await pace.turn(charactersOf(request), { wait, isOff });
    lane.paced.delete(call);
    return start;
  }

  /** @param payer the call that the try is charged to */
  async #tryOnce(
    call: Call,
    request: ModelRequest,
    lane: Lane,
    start: Start,
    payer: Call,
    hear?: Listener['hear'],
  ): Promise<Attempt> {
    call.inFlight = new AbortController();
    // The seed stays as it was in an outage, so that the row is answered as if there had been none.
    const index = call.counted + call.pending.filter(({ isLimit }) => !isLimit).length;
    const attempt = await lane.endpoint.call(request, index, call.inFlight.signal, hear);
    call.inFlight = undefined;
    const cost = costOfTry(() => charactersOf(request), attempt);
    payer.cost = costOfBoth(payer.cost, cost);
    payer.counts += callsCounted(cost);
    payer.course.tried(payer.job, cost);
    if (attempt.status !== 'interrupted') this.settings.pace.ended(start, attempt.usage);
    return attempt;
  }

  /** The call has done nothing wrong, and goes on before others. */
  #standAside(call: Call): 'deferred' {
    call.isFirst = true;
    return 'deferred';
  }

  #afterFailure(call: Call, attempt: AttemptFailure, lane: Lane, triedAt: number): Next {
    const now = this.settings.clock.now();
    lane.latestFailure = { reason: attempt.reason, at: now };
    call.lastFailure = attempt;
    // What a gateway says in an outage is not final: it found before what it does not find now.
    const isPassing = TRIED_AGAIN.has(attempt.class) || (lane.health.answered && attempt.down === true);
    if (attempt.stop !== undefined && !isPassing) {
      call.course.fail(attempt.stop);
      return interrupted(call, now);
    }
    if (!isPassing) {
      this.outages.noteAnswer(lane, false, triedAt);
      return this.#lose(call, attempt, lane);
    }
    if (call.course.aborted) return interrupted(call, now);
    call.firstFailureAt ??= now;
    if (attempt.class === 'rate-limit') return this.#afterRateLimit(call, attempt, lane, call.firstFailureAt);
    return this.#afterTrouble(call, attempt, lane);
  }

  #afterTrouble(call: Call, attempt: AttemptFailure, lane: Lane): Next {
    const next = this.outages.afterTrouble(call, attempt, lane);
    return next === 'lost' ? this.#lose(call, attempt, lane) : next;
  }

  /**
   * The first rate limits of a call are waited out in its slot, so that the endpoint gets less to do. Where it seems to be at fault, it
   * frees the slot for rows that may fare better.
   */
  #afterRateLimit(call: Call, attempt: AttemptFailure, lane: Lane, firstFailureAt: number): Next {
    const { retryMs, clock, random } = this.settings;
    const now = clock.now();
    const { retryAfterMs = 0 } = attempt;
    lane.limits++;
    const isTooLong = retryAfterMs > retryMs;
    if (isTooLong) this.#sayWaitTooLong(lane, retryAfterMs);
    else this.#holdBack(lane, retryAfterMs, now);
    if (lane.probes.has(call)) {
      this.outages.noteSilence(lane, attempt);
      return this.#standAside(call);
    }
    if (isTooLong) return this.#afterTrouble(call, attempt, lane);
    const leftMs = firstFailureAt + retryMs - now;
    if (leftMs <= 0 || retryAfterMs > leftMs) return this.#lose(call, attempt, lane);
    if (lane.recoveredAt >= call.refused.since) call.refused = { since: now, times: 0 };
    call.refused.times++;
    this.outages.charge(call, lane, true);
    const isAtFault = call.refused.times > MOST_REFUSED || (retryAfterMs > 0 && this.outages.isOther(lane));
    if (isAtFault && call.pending.length > 0) call.failures = call.counted + call.pending.length - 1;
    const waitMs = backOffMs(call, lane, random(), retryAfterMs, leftMs);
    if (!isAtFault) return waitMs;
    call.dueAt = now + waitMs;
    return 'deferred';
  }

  async #backOff(call: Call, lane: Lane, ms: number): Promise<void> {
    if (call.course.halted || isHeldBack(call, lane)) return;
    lane.throttled.add(call);
    await waitInSlot(call, ms, this.settings.clock);
    lane.throttled.delete(call);
  }

  /** Starts no new call at the endpoint for so long. */
  #holdBack(lane: Lane, retryAfterMs: number, now: number): void {
    const until = now + retryAfterMs;
    if (until <= lane.pausedUntil) return;
    const alreadySaid = lane.pausedUntil - now >= NOTABLE_PAUSE_MS;
    lane.pausedUntil = until;
    if (retryAfterMs < NOTABLE_PAUSE_MS || alreadySaid) return;
    const asks = `${lane.endpoint.host} is rate limited and asks to wait ${waitOf(retryAfterMs)}`;
    this.settings.onNotice(`${asks}; no new calls go there until then`);
  }

  #sayWaitTooLong(lane: Lane, ms: number): void {
    if (lane.saidWaitTooLong) return;
    lane.saidWaitTooLong = true;
    const asks = `${lane.endpoint.host} is rate limited and asks to wait ${waitOf(ms)}`;
    this.settings.onNotice(`${asks}, longer than --retry-minutes: it counts as unavailable`);
  }

  /** The row has failed for good. */
  #lose(call: Call, attempt: AttemptFailure, lane: Lane): ModelOutcome {
    this.outages.noteLoss(lane, attempt);
    const log = logOf(call, this.settings.clock.now());
    return { status: 'failed', class: attempt.class, reason: attempt.reason, log };
  }
}

/** What comes of a call that has ended before its outcome: what it has cost, and what its last try came to. */
export function interrupted(call: Call, now: number): ModelInterruption {
  if (call.attempts === 0) return INTERRUPTED;
  const { lastFailure: last } = call;
  const failure = last && { class: last.class, reason: last.reason, stop: last.stop };
  return { ...INTERRUPTED, log: logOf(call, now), failure };
}
