// Acts on outages: holds calls back, says when to probe, passes rows on, and gives endpoints up. health.ts says what is an outage.

import type { AttemptFailure } from '../attempt.js';
import type { Backlog } from './backlog.js';
import { backOffMs, type Call, forgetFailures, isSpent } from './call.js';
import type { Course } from './course.js';
import {
  afterAnswer,
  afterFailure,
  afterLoss,
  afterProbeStart,
  givenUp,
  hopeless,
  type Patience,
  type Sign,
} from './health.js';
import { countFailures, isInService, type Lane, noneLeft, pauseOf } from './lane.js';
import {
  answersAgain,
  type End,
  isNotReady,
  isNotThere,
  isOutOfService,
  isReady,
  isSilent,
  isWaitedFor,
  neverReached,
  neverReady,
  nothingSucceeds,
  notReadyForTooLong,
  silentForTooLong,
} from './notices.js';
import { firstOf } from './queue.js';

export class Outages {
  readonly #course: Course;
  readonly #lanes: readonly Lane[];
  readonly #backlog: Backlog;
  readonly #patience: Patience;
  readonly #fill: (lane: Lane) => void;
  /** What ends the wait for an endpoint's next probe. */
  readonly #watches = new Map<Lane, AbortController>();

  /** `fill` starts at an endpoint what it may be asked, after this has changed. */
  constructor(course: Course, lanes: readonly Lane[], backlog: Backlog, fill: (lane: Lane) => void) {
    this.#course = course;
    this.#lanes = lanes;
    this.#backlog = backlog;
    this.#patience = course.settings;
    this.#fill = fill;
  }

  /** Has an endpoint probed in its slots until it answers, and gives it up when its time is over. */
  async watch(lane: Lane, probe: () => Promise<void>): Promise<void> {
    if (this.#watches.has(lane)) return;
    const { clock } = this.#course.settings;
    for (;;) {
      const pause = pauseOf(lane);
      if (pause === undefined || this.#course.halted || this.#course.isOver) break;
      const wake = new AbortController();
      this.#watches.set(lane, wake);
      const now = clock.now();
      const probeAt = Math.max(pause.nextProbeAt, lane.pausedUntil);
      if (now >= pause.until && lane.end === undefined && !isWaitingForOlderCalls(lane)) {
        this.#giveUp(lane, this.#endOfPatience(lane));
      } else if (now >= probeAt) {
        lane.health = afterProbeStart(lane.health, now);
        void lane.slots(probe);
      } else {
        await this.#course.wait((pause.until > now ? Math.min(probeAt, pause.until) : probeAt) - now, wake);
      }
    }
    this.#watches.delete(lane);
  }

  /** Something has changed at the endpoint: its watch looks again, and it gets what it may be asked now. */
  #lookAgain(lane: Lane): void {
    this.#watches.get(lane)?.abort();
    this.#fill(lane);
  }

  /** Whether the call has to wait for its endpoint to come back. */
  holdsBack(call: Call, lane: Lane): boolean {
    const { trouble, answered } = lane.health;
    if (trouble === undefined || lane.probes.has(call)) return false;
    const { settings } = this.#course;
    return trouble.pause !== undefined || (answered && isSpent(call, settings.clock.now(), settings));
  }

  /** A call came to a reply (`good`), or to a failure that is its row's own: the endpoint works. */
  noteAnswer(lane: Lane, good: boolean): void {
    const { clock, onNotice } = this.#course.settings;
    const hadTrouble = lane.health.trouble !== undefined;
    if (hadTrouble) countFailures(lane, this.#course.settings);
    lane.health = afterAnswer(lane.health, good);
    if (good && clock.now() >= lane.pausedUntil) wakeFirst(lane.throttled);
    if (!hadTrouble) return;
    delete lane.end;
    lane.parked.push(...lane.spent.splice(0));
    if (lane.awaited !== undefined) onNotice(lane.awaited);
    delete lane.awaited;
    if (lane.isRelieved) {
      lane.isRelieved = false;
      this.#backlog.restore(lane);
    }
    this.#lookAgain(lane);
  }

  /** A row has failed for good. When twenty have failed alike and none has succeeded, the endpoint is given up. */
  noteLoss(lane: Lane, attempt: AttemptFailure): void {
    lane.health = afterLoss(lane.health, attempt.class);
    const failed = hopeless(lane.health);
    if (failed === undefined || this.#course.settings.keepGoing) return;
    this.#giveUp(lane, nothingSucceeds(failed, attempt.reason));
  }

  /**
   * A failure that may pass, of one row or of the endpoint. @returns milliseconds to wait before the row's next try, if it has
   * any
   */
  afterTrouble(call: Call, attempt: AttemptFailure, lane: Lane): number | 'lost' {
    const { clock, maxAttempts, retryMs, random } = this.#course.settings;
    const now = clock.now();
    const isProbe = lane.probes.delete(call);
    lane.health = afterFailure(lane.health, now, this.#signOf(call, attempt, lane, isProbe), this.#patience);
    const { firstFailureAt = now } = call;
    const leftMs = firstFailureAt + retryMs - now;
    const { retryAfterMs = 0 } = attempt;
    if (lane.health.answered) call.pending++;
    else if (pauseOf(lane) === undefined) call.counted++;
    this.#sayTrouble(lane, attempt);
    if (pauseOf(lane) !== undefined) {
      this.#standBack(lane);
      return 0;
    }
    if (lane.health.answered) {
      return backOffMs(call, random(), retryAfterMs > leftMs ? 0 : retryAfterMs, Math.max(0, leftMs));
    }
    if (call.counted < maxAttempts && leftMs > 0 && retryAfterMs <= leftMs) {
      return backOffMs(call, random(), retryAfterMs, leftMs);
    }
    return this.afterLastTry(attempt, lane);
  }

  /**
   * The row has no try left at an endpoint that has never answered. If the row is hardly the cause, another endpoint may take
   * it over.
   */
  afterLastTry(attempt: AttemptFailure, lane: Lane): number | 'lost' {
    const others = this.#inService.filter((other) => other !== lane);
    const canPassOn = attempt.down ? others.length > 0 : others.some(({ health }) => health.answered);
    if (!attempt.unreachable && !canPassOn) return 'lost';
    this.#giveUp(lane, attempt.unreachable ? neverReached(attempt.reason) : neverReady(attempt.reason));
    return 0;
  }

  /** A probe met a rate limit: a server is there, but it is not known to answer. */
  afterVainProbe(call: Call, attempt: AttemptFailure, lane: Lane): number {
    lane.probes.delete(call);
    const sign = { ...this.#signOf(call, attempt, lane, true), newRow: false };
    lane.health = afterFailure(lane.health, this.#course.settings.clock.now(), sign, this.#patience);
    this.#standBack(lane);
    return 0;
  }

  #signOf(call: Call, attempt: AttemptFailure, lane: Lane, isProbe: boolean): Sign {
    return {
      reason: attempt.reason,
      down: attempt.unreachable === true || attempt.down === true,
      newRow: call.pending === 0,
      isProbe,
      othersInFlight: [...lane.calls].some((other) => other !== call && other.inFlight !== undefined),
      retryAfterMs: attempt.retryAfterMs ?? 0,
      random: this.#course.settings.random(),
    };
  }

  /** The endpoint gets only probes from now on. Once a probe has failed and another endpoint is in service, that one takes over. */
  #standBack(lane: Lane): void {
    for (const call of lane.calls) call.backOff?.abort();
    const isCertain = (pauseOf(lane)?.failed ?? 0) > 0 || lane.end !== undefined;
    if (isCertain && !lane.isRelieved && this.#inService.length > 0) this.#relieve(lane);
    this.#lookAgain(lane);
  }

  #relieve(lane: Lane): void {
    lane.isRelieved = true;
    lane.awaited = answersAgain(lane.endpoint.host);
    this.#course.settings.onNotice(isOutOfService(lane.endpoint.host, lane.health.trouble?.reason ?? ''));
    this.#backlog.retire(lane);
    for (const call of [...lane.parked.splice(0), ...lane.spent.splice(0)]) {
      forgetFailures(call);
      this.#backlog.passOn(call);
    }
    for (const other of this.#inService) this.#fill(other);
  }

  #endOfPatience({ health }: Lane): End {
    const reason = health.trouble?.reason ?? '';
    return health.answered ? silentForTooLong(reason, this.#patience) : notReadyForTooLong(reason, this.#patience);
  }

  /** Gives an endpoint up. With none left the run ends; as long as there are others, it is still probed. */
  #giveUp(lane: Lane, end: End): void {
    if (lane.end !== undefined) return;
    lane.end = end;
    lane.health = givenUp(lane.health, this.#course.settings.clock.now(), end.why);
    if (this.#lanes.every((other) => other.end !== undefined)) this.#course.fail(noneLeft(this.#lanes));
    else this.#standBack(lane);
  }

  /**
   * Fails the last rows when each of them has failed as often as it may: nothing is left to ask that could show whether only these
   * rows fail. They are kept if their failures say nothing about rows and an outage is being waited out.
   */
  failRowsThatStandAlone(lane: Lane): void {
    const { trouble } = lane.health;
    if (trouble === undefined || lane.spent.length === 0 || this.#course.halted) return;
    if (trouble.down && trouble.pause !== undefined) return;
    if (lane.calls.size > 0 || lane.parked.length > 0 || this.#backlog.hasFor(lane)) return;
    const { trouble: _, ...health } = lane.health;
    for (const call of lane.spent) {
      call.counted = this.#course.settings.maxAttempts;
      call.pending = 0;
    }
    lane.health = health;
    lane.parked.push(...lane.spent.splice(0));
    this.#lookAgain(lane);
  }

  #sayTrouble(lane: Lane, { reason, unreachable, down }: AttemptFailure): void {
    const { onNotice } = this.#course.settings;
    const { host } = lane.endpoint;
    const pause = pauseOf(lane);
    if (pause === undefined) {
      if (lane.health.answered || lane.saidUnreachable || !(unreachable || down)) return;
      lane.saidUnreachable = true;
      onNotice(unreachable ? isNotThere(host, reason) : isNotReady(host, reason));
    } else if (lane.awaited === undefined && !lane.health.answered) {
      lane.awaited = isReady(host);
      onNotice(isWaitedFor(host, reason, this.#patience));
    } else if (lane.awaited === undefined && pause.failed > 0 && this.#inService.length === 0) {
      lane.awaited = answersAgain(host);
      onNotice(isSilent(host, reason, this.#patience));
    }
  }

  get #inService(): readonly Lane[] {
    return this.#lanes.filter(isInService);
  }
}

/** Whether calls that began before the outage may still be answered. */
function isWaitingForOlderCalls(lane: Lane): boolean {
  return [...lane.calls].some((call) => call.inFlight !== undefined && !lane.probes.has(call));
}

/** A reply shows room: the call that has waited longest for a rate limit is tried at once. */
function wakeFirst(throttled: Set<Call>): void {
  const call = firstOf(throttled);
  if (call === undefined) return;
  throttled.delete(call);
  call.backOff?.abort();
}
