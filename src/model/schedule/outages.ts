// Acts on outages: tells them from rows at fault, holds calls back, says when to probe, passes rows on, and gives endpoints up.

import { present } from '../../present.js';
import type { AttemptFailure } from '../attempt.js';
import { backOffMs, type Call, isSpent, takePending } from './call.js';
import type { Course } from './course.js';
import {
  afterAnswer,
  afterFailure,
  afterLoss,
  afterProbeStart,
  givenUp,
  hopeless,
  inDoubt,
  type Patience,
  type Sign,
} from './health.js';
import { isInService, isOut, type Lane, noneLeft, pauseOf, ROWS_IN_DOUBT } from './lane.js';
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
import type { Todo } from './todo.js';

/** A row that was in flight in more outages than this may be their cause: its failures count. */
const MOST_FORGIVEN = 3;
/** While many rows fail and the endpoint is known to work, it is looked at ever more rarely, down to once in so many rows. */
const MOST_DOUBTED = 64;
/** The least time between two looks at an endpoint that works. */
const LOOK_AGAIN_MS = 2_000;

export class Outages {
  readonly #course: Course;
  readonly #lanes: readonly Lane[];
  readonly #todo: Todo;
  readonly #patience: Patience;
  readonly #fill: (lane: Lane) => void;
  /** What ends the wait for an endpoint's next probe. */
  readonly #watches = new Map<Lane, AbortController>();

  /** `fill` starts at an endpoint what it may be asked, after this has changed. */
  constructor(course: Course, lanes: readonly Lane[], todo: Todo, fill: (lane: Lane) => void) {
    this.#course = course;
    this.#lanes = lanes;
    this.#todo = todo;
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
    return pauseOf(lane) !== undefined && !lane.probes.has(call);
  }

  /**
   * A call that was sent at `triedAt` came to a reply (`good`), or to a failure that is its row's own: the endpoint works, and answers
   * rows. A reply from before an outage does not show that this is over.
   */
  noteAnswer(lane: Lane, good: boolean, triedAt: number): void {
    const { answered, trouble } = lane.health;
    if (answered && isOut(lane) && triedAt < (trouble?.since ?? 0)) return;
    lane.doubtAfter = ROWS_IN_DOUBT;
    if (lane.limits > 0) {
      // Others had the room that these found taken.
      for (const call of this.#calls)
        lessen(
          call,
          lane,
          takePending(call, lane.index, ({ isLimit }) => isLimit),
        );
      lane.limits = 0;
    }
    this.#works(lane, good);
    const now = this.#course.settings.clock.now();
    if (!good || now < lane.pausedUntil) return;
    if (lane.throttled.size > 0) wakeFirst(lane.throttled);
    else this.#todo.wakeFirst(now);
  }

  /** The witness was answered, however: the endpoint works, so the rows that have failed there are at fault. */
  noteWitness(lane: Lane): void {
    lane.vouchedAt = this.#course.settings.clock.now();
    lane.doubtAfter = Math.min(2 * lane.doubtAfter, MOST_DOUBTED);
    this.#works(lane, true);
  }

  /** Whatever has failed at the endpoint since its last answer is its row's own failure, unless it was forgiven as an outage's. */
  #works(lane: Lane, good: boolean): void {
    const { clock, maxAttempts, retryMs, onNotice } = this.#course.settings;
    const hadTrouble = lane.health.trouble !== undefined;
    lane.health = afterAnswer(lane.health, good);
    if (!hadTrouble) return;
    for (const call of this.#calls) {
      const { firstFailureAt = clock.now() } = call;
      const failures = takePending(call, lane.index);
      if (failures > 0) call.counted = clock.now() >= firstFailureAt + retryMs ? maxAttempts : call.counted + failures;
    }
    delete lane.end;
    if (lane.awaited !== undefined) onNotice(lane.awaited);
    delete lane.awaited;
    if (lane.isRelieved) {
      lane.isRelieved = false;
      this.#todo.groups.restore(lane.index);
    }
    this.#lookAgain(lane);
    // What has no try left is settled in any slot.
    for (const other of this.#inService) this.#fill(other);
  }

  /** A row has failed for good. When twenty have failed alike and none has succeeded, the endpoint is given up. */
  noteLoss(lane: Lane, attempt: AttemptFailure): void {
    lane.health = afterLoss(lane.health, attempt.class);
    const failed = hopeless(lane.health);
    if (failed === undefined || this.#course.settings.keepGoing) return;
    this.#giveUp(lane, nothingSucceeds(failed, attempt.reason));
  }

  /**
   * A failure that may pass, of one row or of the endpoint: the row waits for its next try, of which `dueAt` says when. `lost` where
   * it has none.
   */
  afterTrouble(call: Call, attempt: AttemptFailure, lane: Lane): 'deferred' | 'lost' {
    const { clock, retryMs, random } = this.#course.settings;
    const now = clock.now();
    const isProbe = lane.probes.delete(call);
    lane.health = afterFailure(lane.health, now, this.#signOf(call, attempt, lane, isProbe), this.#patience);
    this.#sayTrouble(lane, attempt);
    const { firstFailureAt = now, retryAfterMs = 0 } = { ...call, ...attempt };
    const leftMs = Math.max(0, firstFailureAt + retryMs - now);
    if (isProbe) {
      call.isFirst = true;
      this.#standBack(lane);
      return 'deferred';
    }
    this.noteFailure(call, lane, false);
    call.dueAt = now + backOffMs(call, random(), retryAfterMs > leftMs ? 0 : retryAfterMs, leftMs, levelOf(lane));
    if (pauseOf(lane) !== undefined) this.#standBack(lane);
    else if (!lane.health.answered && this.#isInTheWay(lane)) this.#giveUp(lane, endOf(attempt));
    else if (retryMs === 0 && lane.health.answered) return 'lost';
    else if (!lane.health.answered && isSpent(call, now, this.#course.settings))
      return this.#afterLastTry(call, attempt, lane);
    return 'deferred';
  }

  /** A failure of which is to be found out whether it is the row's own. Where nobody was answered yet, a rate limit is not. */
  noteFailure(call: Call, { index, health }: Lane, isLimit: boolean): void {
    call.isFirst = false;
    call.failedAt.set(index, (call.failedAt.get(index) ?? 0) + 1);
    if (health.answered || !isLimit) call.pending = [...call.pending, { endpoint: index, isLimit }];
  }

  /** Whether another endpoint is in service. */
  isOther(lane: Lane): boolean {
    return this.#inService.some((other) => other !== lane);
  }

  /** A probe was not answered, or by a gateway, or it met a rate limit, which does not show that a model is there. */
  noteSilence(lane: Lane, attempt: AttemptFailure): void {
    const sign = this.#signOf(undefined, attempt, lane, true);
    lane.health = afterFailure(lane.health, this.#course.settings.clock.now(), sign, this.#patience);
    this.#sayTrouble(lane, attempt);
    this.#standBack(lane);
  }

  /**
   * Has the endpoints looked at of calls that would have no try left if all their failures counted. @returns milliseconds until an
   * endpoint is to be looked at that was so just now; Infinity where none is
   */
  lookAtSpent(): number {
    const { clock } = this.#course.settings;
    const now = clock.now();
    const spent = this.#todo.deferred.filter((call) => isSpent(call, now, this.#course.settings));
    let nextMs = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes) {
      const there = spent.filter(({ pending }) => pending.some(({ endpoint }) => endpoint === lane.index));
      // An endpoint that has never answered says nothing of a row where another one has.
      if (!lane.health.answered && this.#isAnswered) for (const call of there) this.#forgive(call, lane);
      if (there.length === 0 || !isInService(lane) || !lane.health.answered) continue;
      const ms = lane.vouchedAt + LOOK_AGAIN_MS - now;
      if (ms > 0) {
        nextMs = Math.min(nextMs, ms);
        continue;
      }
      const { reason } = present(there[0]?.lastFailure);
      const trouble = lane.health.trouble ?? { since: now, rows: 0, reason };
      lane.health = inDoubt({ ...lane.health, trouble }, now, this.#patience);
      this.#lookAgain(lane);
    }
    return nextMs;
  }

  /** Whether others answer and this one does not: a row that it fails is not at fault. */
  #isInTheWay(lane: Lane): boolean {
    return this.#isAnswered && (lane.health.trouble?.rows ?? 0) >= ROWS_IN_DOUBT;
  }

  /**
   * The row has no try left at an endpoint that has never answered. If the row is hardly the cause, another endpoint may take
   * it over.
   */
  #afterLastTry(call: Call, attempt: AttemptFailure, lane: Lane): 'deferred' | 'lost' {
    const canPassOn = this.#isAnswered || (attempt.down === true && this.isOther(lane));
    if (!attempt.unreachable && !canPassOn) return 'lost';
    this.#giveUp(lane, endOf(attempt));
    this.#forgive(call, lane);
    return 'deferred';
  }

  #signOf(call: Call | undefined, attempt: AttemptFailure, lane: Lane, isProbe: boolean): Sign {
    const newRow = call !== undefined && !call.pending.some(({ endpoint }) => endpoint === lane.index);
    const rows = (lane.health.trouble?.rows ?? 0) + (newRow ? 1 : 0);
    return {
      reason: attempt.reason,
      newRow,
      isProbe,
      isDoubtful: lane.health.answered
        ? rows >= lane.doubtAfter
        : attempt.unreachable === true || attempt.down === true,
      retryAfterMs: attempt.retryAfterMs ?? 0,
      random: this.#course.settings.random(),
    };
  }

  /**
   * The endpoint gets only probes from now on. Once one has failed, what failed there counts against no row; and where another
   * endpoint is in service, that one takes over.
   */
  #standBack(lane: Lane): void {
    if (isOut(lane)) {
      for (const call of lane.calls) call.backOff?.abort();
      for (const call of this.#calls) this.#forgive(call, lane);
      if (!lane.isRelieved && this.#inService.length > 0) this.#relieve(lane);
    }
    this.#lookAgain(lane);
  }

  /** Failures in an outage cost a row nothing. */
  #forgive(call: Call, lane: Lane): void {
    const failures = takePending(call, lane.index);
    if (failures === 0) return;
    lessen(call, lane, failures);
    if (lane.health.answered && ++call.forgiven > MOST_FORGIVEN) {
      call.counted += failures;
      return;
    }
    if (call.counted + call.pending.length > 0) return;
    call.failures = 0;
    delete call.firstFailureAt;
    call.dueAt = this.#course.settings.clock.now();
    this.#todo.moveForward(call);
  }

  #relieve(lane: Lane): void {
    lane.isRelieved = true;
    lane.awaited = answersAgain(lane.endpoint.host);
    this.#course.settings.onNotice(isOutOfService(lane.endpoint.host, lane.health.trouble?.reason ?? ''));
    this.#todo.groups.retire(lane.index);
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

  /** Whether an endpoint has answered that was not given up. */
  get #isAnswered(): boolean {
    return this.#lanes.some(({ health, end }) => health.answered && end === undefined);
  }

  /** All calls that have begun and are not settled. */
  get #calls(): Iterable<Call> {
    return new Set([...this.#course.calls, ...this.#todo.deferred]);
  }

  get #inService(): readonly Lane[] {
    return this.#lanes.filter(isInService);
  }
}

/** How far rate limits without an answer in between lengthen a back-off: each of the slots has met eight more. */
export function levelOf({ limits, slots }: Lane): number {
  return Math.floor(limits / (8 * slots.concurrency));
}

function endOf({ unreachable, reason }: AttemptFailure): End {
  return unreachable ? neverReached(reason) : neverReady(reason);
}

function lessen(call: Call, { index }: Lane, failures: number): void {
  call.failedAt.set(index, (call.failedAt.get(index) ?? 0) - failures);
}

/** Whether calls that began before the outage may still be answered. */
function isWaitingForOlderCalls(lane: Lane): boolean {
  return [...lane.calls].some((call) => call.inFlight !== undefined && !lane.probes.has(call));
}

/** A reply shows room: the call that has waited longest for a rate limit is tried at once. */
function wakeFirst(throttled: Set<Call>): void {
  const [call] = throttled;
  if (call === undefined) return;
  throttled.delete(call);
  call.backOff?.abort();
}
