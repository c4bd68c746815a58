// The backend on top of endpoints: which job goes where and when, how many at once, and what is tried again.

import type { AskHooks, AskSignals, Backend, FailureClass, Job, ModelOutcome, ModelRequest } from '../types.js';
import { addUsage } from '../usage.js';
import type { Attempt, AttemptFailure, AttemptReply, Endpoint } from './attempt.js';
import { type Clock, systemClock } from './clock.js';
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
import {
  adaptLimit,
  type Call,
  countFailures,
  type Lane,
  newCall,
  noneLeft,
  openLane,
  pauseOf,
  statusOf,
  takeParked,
} from './lane.js';
import {
  answersAgain,
  asksToWait,
  asksToWaitTooLong,
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
import { firstOf, JobQueue } from './queue.js';

const DEFAULT_CEILING = 256;
const BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/** A pause at least this long is worth a line to the user. */
const NOTABLE_PAUSE_MS = 60_000;
const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);
const INTERRUPTED = { status: 'interrupted' } as const;
const HANDED_OVER = { status: 'handed-over' } as const;
const PARKED = { status: 'parked' } as const;

export interface ScheduleOptions {
  /** Calls at once per endpoint: each endpoint has a limit of its own, and a number is kept exactly for each. */
  readonly concurrency: number | 'adaptive';
  /** What an adaptive limit never exceeds (256). */
  readonly ceiling?: number;
  /** Tries of one request. Those that met a rate limit or an outage do not count: neither may lose a row. */
  readonly maxAttempts: number;
  /** A request is not tried again when so much time has passed since its first failure; an outage lasts no longer either. */
  readonly retryMs: number;
  /** How long an endpoint that has never answered is waited for (0: as long as a row has tries). */
  readonly waitReadyMs?: number;
  /** Goes on although the first twenty rows failed in one way. */
  readonly keepGoing?: boolean;
  readonly clock?: Clock;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
  readonly onNotice?: (text: string) => void;
}

/**
 * A backend that asks the endpoints.
 *
 * Order: a free slot takes the first job, in the order given, whose group is at home at that endpoint or nowhere yet, and of which
 * no other job is in flight; only when there is none, groups run side by side. A group's home is the endpoint where it started.
 *
 * Tries: `rate-limit`, `transient`, `timeout` and `malformed` are tried again after exponential back-off with full jitter (base
 * 1 s, cap 60 s, behind Retry-After where one is given), the slot being held; a reply at an endpoint ends the back-off of the call
 * there that has waited longest for a rate limit, since it shows room. A try that met a rate limit leaves the seed as it was.
 * A rate limit's Retry-After holds back new starts at that endpoint; one beyond `retryMs` counts as a failure of the endpoint.
 *
 * Outages (health.ts): where an endpoint that has answered answers no row any more, nothing is started there but single probes,
 * each with another row, and failures cost no row a try. Other endpoints take its rows over until it answers again. When all have
 * been out for `retryMs`, `ask` rejects (69). A row that fails while others succeed has its tries and no more.
 *
 * An endpoint that has never answered is given up when a row has used up its tries without a connection (beside others that answer:
 * without a reply), or when twenty rows have failed in one way; with `waitReadyMs` it is waited for as in an outage.
 */
export function openSchedule(endpoints: readonly Endpoint[], options: ScheduleOptions): Backend {
  const settings: Settings = {
    ceiling: DEFAULT_CEILING,
    waitReadyMs: 0,
    keepGoing: false,
    clock: systemClock,
    random: Math.random,
    onNotice: () => {},
    ...options,
  };
  const lanes = endpoints.map((endpoint, index) => openLane(endpoint, index, settings));
  return {
    ask: (jobs, hooks, signals) => new Asking(jobs, hooks, signals, lanes, settings).run(),
    status: () => statusOf(lanes, settings.clock.now()),
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

type Settings = Required<ScheduleOptions>;

type Outcome = ModelOutcome | typeof HANDED_OVER | typeof PARKED;

/** One `ask` from its first job to its last. */
class Asking<J extends Job> {
  readonly #jobs: readonly J[];
  readonly #hooks: AskHooks<J>;
  readonly #stop: AbortSignal;
  readonly #abort: AbortSignal;
  readonly #lanes: readonly Lane[];
  readonly #settings: Settings;
  readonly #patience: Patience;
  readonly #queue: JobQueue;
  /** Calls that hold a slot, over all endpoints. */
  readonly #calls = new Set<Call>();
  /** Calls on their way from an endpoint that is out to another. */
  readonly #handedOver = new Map<number, Call>();
  /** Endpoints with a ticket: a place in the line for a slot, which takes its job when the slot is free. */
  readonly #tickets = new Set<Lane>();
  /** What ends the wait for the end of a rate limit's pause, and for the next probe. */
  readonly #pauses = new Map<Lane, AbortController>();
  readonly #watches = new Map<Lane, AbortController>();
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  #finish: () => void = () => {};

  constructor(jobs: readonly J[], hooks: AskHooks<J>, signals: AskSignals, lanes: readonly Lane[], settings: Settings) {
    this.#jobs = jobs;
    this.#hooks = hooks;
    this.#stop = signals.stop;
    this.#abort = signals.abort;
    this.#lanes = lanes;
    this.#settings = settings;
    this.#patience = settings;
    this.#queue = new JobQueue(jobs, lanes.length);
  }

  async run(): Promise<void> {
    const onStop = () => this.#endWaits();
    const onAbort = () => this.#endCalls();
    this.#stop.addEventListener('abort', onStop);
    this.#abort.addEventListener('abort', onAbort);
    try {
      await new Promise<void>((resolve) => {
        this.#finish = resolve;
        this.#begin();
      });
    } finally {
      this.#isOver = true;
      this.#stop.removeEventListener('abort', onStop);
      this.#abort.removeEventListener('abort', onAbort);
      for (const wait of [...this.#pauses.values(), ...this.#watches.values()]) wait.abort();
    }
    const waiting = this.#lanes.flatMap((lane) => [...lane.parked.splice(0), ...lane.spent.splice(0)]);
    for (const call of [...this.#handedOver.values(), ...waiting]) await this.#settle(call, INTERRUPTED);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #begin(): void {
    for (const lane of this.#lanes) {
      if (lane.isRelieved) this.#queue.retire(lane.index);
    }
    for (const lane of this.#lanes) {
      if (pauseOf(lane) === undefined) this.#offer(lane);
      else void this.#watch(lane);
    }
    this.#finishIfIdle();
  }

  get #halted(): boolean {
    return this.#stop.aborted || this.#aborted;
  }

  get #aborted(): boolean {
    return this.#abort.aborted || this.#failure !== undefined;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#endCalls();
  }

  #endWaits(): void {
    for (const call of this.#calls) call.backOff?.abort();
    for (const watch of this.#watches.values()) watch.abort();
    this.#finishIfIdle();
  }

  #endCalls(): void {
    for (const call of this.#calls) call.inFlight?.abort();
    this.#endWaits();
  }

  #finishIfIdle(): void {
    if (this.#calls.size === 0 && (this.#halted || !this.#isWorkLeft)) this.#finish();
  }

  get #isWorkLeft(): boolean {
    return this.#queue.waiting > 0 || this.#lanes.some((lane) => lane.parked.length + lane.spent.length > 0);
  }

  // --- slots ---

  /** One ticket at a time waits at each endpoint, however many jobs there are, so the job is picked when the slot is free. */
  #offer(lane: Lane): void {
    const isWork = lane.parked.length > 0 || this.#queue.waiting > 0;
    if (this.#halted || !isWork || this.#tickets.has(lane) || pauseOf(lane) !== undefined) return;
    this.#tickets.add(lane);
    void lane.slots(() => this.#useSlot(lane));
  }

  async #useSlot(lane: Lane): Promise<void> {
    this.#tickets.delete(lane);
    if (this.#halted || this.#isOver || pauseOf(lane) !== undefined) return;
    const pauseMs = lane.pausedUntil - this.#settings.clock.now();
    if (pauseMs > 0) {
      void this.#waitOut(lane, pauseMs);
      return;
    }
    const call = takeParked(lane) ?? this.#takeNew(lane);
    if (call === undefined) return;
    this.#hold(call, lane);
    this.#offer(lane);
    await this.#work(call, lane);
  }

  async #waitOut(lane: Lane, ms: number): Promise<void> {
    if (this.#pauses.has(lane)) return;
    const controller = new AbortController();
    this.#pauses.set(lane, controller);
    await this.#settings.clock.sleep(ms, controller.signal);
    this.#pauses.delete(lane);
    this.#offer(lane);
  }

  /** A row that is asked again holds its slot, and starts no sooner than any other. */
  async #waitOutWith(call: Call, lane: Lane): Promise<void> {
    const { clock } = this.#settings;
    while (clock.now() < lane.pausedUntil && !this.#halted && pauseOf(lane) === undefined) {
      call.backOff = new AbortController();
      await clock.sleep(lane.pausedUntil - clock.now(), call.backOff.signal);
      delete call.backOff;
    }
  }

  #takeNew(lane: Lane): Call | undefined {
    const index = lane.isRelieved ? this.#queue.takeFromOthers(lane.index) : this.#queue.take(lane.index);
    if (index === undefined) return undefined;
    const call = this.#handedOver.get(index) ?? newCall(index, this.#settings.clock.now());
    this.#handedOver.delete(index);
    return call;
  }

  #hold(call: Call, lane: Lane): void {
    this.#calls.add(call);
    lane.calls.add(call);
  }

  #letGo(call: Call, lane: Lane): void {
    this.#calls.delete(call);
    lane.calls.delete(call);
    lane.probes.delete(call);
  }

  async #work(first: Call, lane: Lane): Promise<void> {
    let call = first;
    let outcome = await this.#outcomeOf(call, lane);
    while (!isOnItsWay(outcome) && (await this.#settle(call, outcome)) === 'again' && !this.#halted) {
      this.#letGo(call, lane);
      call = newCall(call.job, this.#settings.clock.now());
      this.#hold(call, lane);
      await this.#waitOutWith(call, lane);
      outcome = await this.#outcomeOf(call, lane);
    }
    if (outcome.status === 'handed-over') this.#handedOver.set(call.job, call);
    else if (outcome.status === 'parked') (this.#isSpent(call) ? lane.spent : lane.parked).push(call);
    this.#letGo(call, lane);
    if (outcome.status !== 'parked') this.#queue.release(call.job, outcome.status === 'handed-over');
    if (outcome.status === 'handed-over') for (const other of this.#inService) this.#offer(other);
    this.#failRowsThatStandAlone(lane);
    this.#offer(lane);
    this.#finishIfIdle();
  }

  async #outcomeOf(call: Call, lane: Lane): Promise<Outcome> {
    try {
      call.request ??= await this.#hooks.request(this.#jobs[call.job] as J);
      return await this.#tryUntilDone(call, call.request, lane);
    } catch (error) {
      this.#fail(error);
      return INTERRUPTED;
    }
  }

  async #settle(call: Call, outcome: ModelOutcome): Promise<'done' | 'again'> {
    try {
      return await this.#hooks.settle(this.#jobs[call.job] as J, outcome);
    } catch (error) {
      this.#fail(error);
      return 'done';
    }
  }

  // --- tries ---

  async #tryUntilDone(call: Call, request: ModelRequest, lane: Lane): Promise<Outcome> {
    const { clock, maxAttempts } = this.#settings;
    for (;;) {
      if (this.#halted) return INTERRUPTED;
      if (this.#isHeldBack(call, lane)) return lane.isRelieved ? this.#handOver(call) : PARKED;
      if (call.lastFailure !== undefined && call.counted >= maxAttempts)
        return this.#lose(call, call.lastFailure, lane);
      const triedAt = clock.now();
      if (call.attempts === 0) call.startedAt = triedAt;
      const attempt = await this.#tryOnce(call, request, lane);
      if (attempt.status === 'interrupted') return INTERRUPTED;
      adaptLimit(lane, attempt, clock.now(), clock.now() - triedAt, this.#settings.retryMs);
      if (attempt.status === 'ok') {
        this.#noteAnswer(lane, true);
        return replyOf(attempt, call, lane, clock.now());
      }
      const next = this.#afterFailure(call, attempt, lane);
      if (typeof next !== 'number') return next;
      await this.#backOff(call, attempt, lane, next);
    }
  }

  async #tryOnce(call: Call, request: ModelRequest, lane: Lane): Promise<Attempt> {
    call.attempts++;
    call.inFlight = new AbortController();
    // In an outage the seed stays as it was: a row is to be answered as if there had been none.
    const index = call.counted + (pauseOf(lane) === undefined ? call.pending : 0);
    const attempt = await lane.endpoint.call(request, index, call.inFlight.signal);
    delete call.inFlight;
    if (attempt.status !== 'interrupted') addUsage(call.usage, attempt.usage);
    return attempt;
  }

  /** Whether the call has to wait for its endpoint to come back. */
  #isHeldBack(call: Call, lane: Lane): boolean {
    const { trouble } = lane.health;
    if (lane.probes.has(call)) return false;
    return trouble?.pause !== undefined || (trouble !== undefined && lane.health.answered && this.#isSpent(call));
  }

  /** Whether no try is left to a call, should all its failures count. */
  #isSpent(call: Call): boolean {
    const { clock, maxAttempts, retryMs } = this.#settings;
    if (call.pending === 0) return false;
    const firstAt = call.firstFailureAt ?? Number.POSITIVE_INFINITY;
    return call.counted + call.pending >= maxAttempts || clock.now() >= firstAt + retryMs;
  }

  /** Milliseconds to wait before the next try, or what came of the request. */
  #afterFailure(call: Call, attempt: AttemptFailure, lane: Lane): number | Outcome {
    const { retryMs, clock } = this.#settings;
    const now = clock.now();
    const { answered } = lane.health;
    lane.latestFailure = { reason: attempt.reason, at: now };
    call.lastFailure = attempt;
    // A gateway's words in an outage are not the last ones: what it does not find today, it found before.
    const isPassing = TRIED_AGAIN.has(attempt.class) || (answered && attempt.down === true);
    if (attempt.stop !== undefined && !isPassing) {
      this.#fail(attempt.stop);
      return INTERRUPTED;
    }
    if (!isPassing) {
      this.#noteAnswer(lane, false);
      return this.#lose(call, attempt, lane);
    }
    if (this.#aborted) return INTERRUPTED;
    call.firstFailureAt ??= now;
    const { retryAfterMs = 0 } = attempt;
    if (attempt.class !== 'rate-limit') return this.#afterTrouble(call, attempt, lane);
    if (retryAfterMs > retryMs) {
      this.#sayWaitTooLong(lane, retryAfterMs);
      if (answered) return this.#afterTrouble(call, { ...attempt, down: true, retryAfterMs: 0 }, lane);
      if (lane.probes.has(call)) return this.#afterVainProbe(call, attempt, lane);
      return this.#afterLastTry(call, { ...attempt, down: true }, lane);
    }
    this.#holdBack(lane, retryAfterMs, now);
    if (lane.probes.has(call)) return this.#afterVainProbe(call, attempt, lane);
    const leftMs = call.firstFailureAt + retryMs - now;
    if (leftMs <= 0 || retryAfterMs > leftMs) return this.#lose(call, attempt, lane);
    return this.#backOffMs(call, retryAfterMs, leftMs);
  }

  #backOffMs(call: Call, retryAfterMs: number, leftMs: number): number {
    const jitterMs = this.#settings.random() * Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** call.failures++);
    return Math.min(retryAfterMs + jitterMs, leftMs);
  }

  async #backOff(call: Call, attempt: AttemptFailure, lane: Lane, ms: number): Promise<void> {
    if (this.#halted || this.#isHeldBack(call, lane)) return;
    call.backOff = new AbortController();
    if (attempt.class === 'rate-limit') lane.throttled.add(call);
    await this.#settings.clock.sleep(ms, call.backOff.signal);
    lane.throttled.delete(call);
    delete call.backOff;
  }

  #holdBack(lane: Lane, retryAfterMs: number, now: number): void {
    const until = now + retryAfterMs;
    if (until <= lane.pausedUntil) return;
    const alreadySaid = lane.pausedUntil - now >= NOTABLE_PAUSE_MS;
    lane.pausedUntil = until;
    if (retryAfterMs < NOTABLE_PAUSE_MS || alreadySaid) return;
    this.#settings.onNotice(asksToWait(lane.endpoint.host, retryAfterMs));
  }

  /** The row has failed for good. */
  #lose(call: Call, attempt: AttemptFailure, lane: Lane): ModelOutcome {
    lane.health = afterLoss(lane.health, attempt.class);
    const failed = hopeless(lane.health);
    if (failed !== undefined && !this.#settings.keepGoing) {
      this.#giveUp(lane, nothingSucceeds(failed, attempt.reason));
    }
    const log = logOf(call, lane, this.#settings.clock.now());
    return { status: 'failed', class: attempt.class, reason: attempt.reason, log };
  }

  // --- outages ---

  #noteAnswer(lane: Lane, good: boolean): void {
    const { clock, onNotice } = this.#settings;
    const hadTrouble = lane.health.trouble !== undefined;
    if (hadTrouble) countFailures(lane, this.#settings);
    lane.health = afterAnswer(lane.health, good);
    if (good && clock.now() >= lane.pausedUntil) wakeFirst(lane.throttled);
    if (!hadTrouble) return;
    delete lane.end;
    lane.parked.push(...lane.spent.splice(0));
    if (lane.awaited !== undefined) onNotice(lane.awaited);
    delete lane.awaited;
    if (lane.isRelieved) {
      lane.isRelieved = false;
      this.#queue.restore(lane.index);
    }
    this.#watches.get(lane)?.abort();
    this.#offer(lane);
  }

  /** A failure that may pass: of one row, or of the endpoint. */
  #afterTrouble(call: Call, attempt: AttemptFailure, lane: Lane): number | Outcome {
    const { clock, maxAttempts, retryMs } = this.#settings;
    const now = clock.now();
    const isProbe = lane.probes.delete(call);
    lane.health = afterFailure(lane.health, now, this.#signOf(call, attempt, lane, isProbe), this.#patience);
    const leftMs = (call.firstFailureAt as number) + retryMs - now;
    const { retryAfterMs = 0 } = attempt;
    if (lane.health.answered) call.pending++;
    else if (pauseOf(lane) === undefined) call.counted++;
    this.#sayTrouble(lane, attempt);
    if (pauseOf(lane) !== undefined) {
      this.#standBack(lane);
      return 0;
    }
    if (lane.health.answered)
      return this.#backOffMs(call, retryAfterMs > leftMs ? 0 : retryAfterMs, Math.max(0, leftMs));
    if (call.counted < maxAttempts && leftMs > 0 && retryAfterMs <= leftMs) {
      return this.#backOffMs(call, retryAfterMs, leftMs);
    }
    return this.#afterLastTry(call, attempt, lane);
  }

  /** No try is left at an endpoint that has never answered: where that is hardly the row's doing, another may take it over. */
  #afterLastTry(call: Call, attempt: AttemptFailure, lane: Lane): number | Outcome {
    const others = this.#inService.filter((other) => other !== lane);
    const canPassOn = attempt.down ? others.length > 0 : others.some(({ health }) => health.answered);
    if (!attempt.unreachable && !canPassOn) return this.#lose(call, attempt, lane);
    this.#giveUp(lane, attempt.unreachable ? neverReached(attempt.reason) : neverReady(attempt.reason));
    return 0;
  }

  /** A probe met a rate limit: somebody is there, but nobody is known to answer. */
  #afterVainProbe(call: Call, attempt: AttemptFailure, lane: Lane): number {
    lane.probes.delete(call);
    const sign = { ...this.#signOf(call, attempt, lane, true), newRow: false };
    lane.health = afterFailure(lane.health, this.#settings.clock.now(), sign, this.#patience);
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
      random: this.#settings.random(),
    };
  }

  /** Nothing goes there any more but probes; where another endpoint is in service, and a probe was in vain, it takes over. */
  #standBack(lane: Lane): void {
    for (const call of lane.calls) call.backOff?.abort();
    const isCertain = (pauseOf(lane)?.failed ?? 0) > 0 || lane.end !== undefined;
    if (isCertain && !lane.isRelieved && this.#inService.length > 0) this.#relieve(lane);
    this.#watches.get(lane)?.abort();
    void this.#watch(lane);
  }

  #relieve(lane: Lane): void {
    lane.isRelieved = true;
    lane.awaited = answersAgain(lane.endpoint.host);
    this.#settings.onNotice(isOutOfService(lane.endpoint.host, lane.health.trouble?.reason ?? ''));
    this.#queue.retire(lane.index);
    for (const call of [...lane.parked.splice(0), ...lane.spent.splice(0)]) {
      this.#handOver(call);
      this.#handedOver.set(call.job, call);
      this.#queue.release(call.job, true);
    }
    for (const other of this.#inService) this.#offer(other);
  }

  #handOver(call: Call): typeof HANDED_OVER | typeof INTERRUPTED {
    if (this.#halted) return INTERRUPTED;
    call.failures = 0;
    call.counted = 0;
    call.pending = 0;
    delete call.firstFailureAt;
    delete call.lastFailure;
    return HANDED_OVER;
  }

  /** Starts probes at an endpoint until it answers, and ends the run when all have been given up. */
  async #watch(lane: Lane): Promise<void> {
    if (this.#watches.has(lane)) return;
    const { clock } = this.#settings;
    for (let pause = pauseOf(lane); pause !== undefined && !this.#halted && !this.#isOver; pause = pauseOf(lane)) {
      const wake = new AbortController();
      this.#watches.set(lane, wake);
      const now = clock.now();
      const probeAt = Math.max(pause.nextProbeAt, lane.pausedUntil);
      if (now >= pause.until && lane.end === undefined && !this.#isWaitingForOlderCalls(lane)) {
        this.#giveUp(lane, this.#endOfPatience(lane));
      } else if (now >= probeAt) {
        lane.health = afterProbeStart(lane.health, now);
        void lane.slots(() => this.#probe(lane));
      } else {
        await clock.sleep((pause.until > now ? Math.min(probeAt, pause.until) : probeAt) - now, wake.signal);
      }
    }
    this.#watches.delete(lane);
  }

  /** One call, each time with another row as far as there is one. */
  async #probe(lane: Lane): Promise<void> {
    if (this.#halted || pauseOf(lane) === undefined) return;
    const call = this.#takeNew(lane) ?? lane.parked.shift() ?? lane.spent.shift();
    if (call === undefined) return;
    lane.probes.add(call);
    this.#hold(call, lane);
    await this.#work(call, lane);
  }

  #isWaitingForOlderCalls(lane: Lane): boolean {
    return [...lane.calls].some((call) => call.inFlight !== undefined && !lane.probes.has(call));
  }

  #endOfPatience({ health }: Lane): End {
    const reason = health.trouble?.reason ?? '';
    return health.answered ? silentForTooLong(reason, this.#patience) : notReadyForTooLong(reason, this.#patience);
  }

  /** An endpoint is given up; with none left the run ends. It is probed on as long as there are others. */
  #giveUp(lane: Lane, end: End): void {
    if (lane.end !== undefined) return;
    lane.end = end;
    lane.health = givenUp(lane.health, this.#settings.clock.now(), end.why);
    if (this.#lanes.every((other) => other.end !== undefined)) this.#fail(noneLeft(this.#lanes));
    else this.#standBack(lane);
  }

  /**
   * Rows that are the last ones, and of which each has failed as often as it may: nothing is left that could tell whether the
   * endpoint fails them alone, so they count as failed, except where the failures are no row's and an outage is waited out.
   */
  #failRowsThatStandAlone(lane: Lane): void {
    const { trouble } = lane.health;
    if (trouble === undefined || lane.spent.length === 0 || this.#halted) return;
    if (trouble.down && trouble.pause !== undefined) return;
    if (lane.calls.size > 0 || lane.parked.length > 0 || this.#queue.hasFor(lane.index)) return;
    const { trouble: _, ...health } = lane.health;
    for (const call of lane.spent) {
      call.counted = this.#settings.maxAttempts;
      call.pending = 0;
    }
    lane.health = health;
    lane.parked.push(...lane.spent.splice(0));
    this.#watches.get(lane)?.abort();
    this.#offer(lane);
  }

  #sayWaitTooLong(lane: Lane, ms: number): void {
    if (lane.saidWaitTooLong) return;
    lane.saidWaitTooLong = true;
    this.#settings.onNotice(asksToWaitTooLong(lane.endpoint.host, ms));
  }

  #sayTrouble(lane: Lane, { reason, unreachable, down }: AttemptFailure): void {
    const { onNotice } = this.#settings;
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
    return this.#lanes.filter((lane) => pauseOf(lane) === undefined);
  }
}

function isOnItsWay(outcome: Outcome): outcome is typeof HANDED_OVER | typeof PARKED {
  return outcome.status === 'handed-over' || outcome.status === 'parked';
}

function wakeFirst(throttled: Set<Call>): void {
  const call = firstOf(throttled);
  if (call === undefined) return;
  throttled.delete(call);
  call.backOff?.abort();
}

function replyOf(attempt: AttemptReply, call: Call, lane: Lane, now: number): ModelOutcome {
  const { usage: _, firstTokenMs, ...reply } = attempt;
  return { ...reply, log: { ...logOf(call, lane, now), ...(firstTokenMs !== undefined && { firstTokenMs }) } };
}

function logOf(call: Call, lane: Lane, now: number) {
  return { attempts: call.attempts, usage: call.usage, ms: now - call.startedAt, host: lane.endpoint.host };
}
