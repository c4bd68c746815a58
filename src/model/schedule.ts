// The backend on top of endpoints: which job goes where and when, how many at once, and what is tried again.

import pLimit, { type LimitFunction } from 'p-limit';
import { EXIT, UserError } from '../errors.js';
import type { Backend, FailureClass, Job, ModelOutcome, ModelRequest, Usage } from '../types.js';
import type { Attempt, AttemptFailure, AttemptReply, Endpoint } from './attempt.js';
import { afterRateLimit, afterReply, afterTrouble, type LimitState, startLimit, type Use } from './concurrency.js';

const DEFAULT_CEILING = 256;
const BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/** A pause at least this long is worth a line to the user. */
const NOTABLE_PAUSE_MS = 60_000;
/** What `setTimeout` can count to; a longer sleep would end at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);
const INTERRUPTED = { status: 'interrupted' } as const;
const HANDED_OVER = { status: 'handed-over' } as const;

export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal is aborted; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface ScheduleOptions {
  /** Calls at once per endpoint: each endpoint has a limit of its own, and a number is kept exactly for each. */
  readonly concurrency: number | 'adaptive';
  /** What an adaptive limit never exceeds (256). */
  readonly ceiling?: number;
  /** Tries of one request. Those that met a rate limit do not count: a storm must lose no row. */
  readonly maxAttempts: number;
  /** A request is not tried again when so much time has passed since its first failure. */
  readonly retryMs: number;
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
 * A rate limit's Retry-After holds back new starts at that endpoint.
 *
 * An endpoint is out of service when a call has used up its tries, the last finding it unreachable, and none has succeeded there
 * since that call first did. Its groups, that call included, go to the others; with none left `ask` rejects (69).
 */
export function openBackend(endpoints: readonly Endpoint[], options: ScheduleOptions): Backend {
  const settings: Settings = {
    ceiling: DEFAULT_CEILING,
    clock: systemClock,
    random: Math.random,
    onNotice: () => {},
    ...options,
  };
  const lanes = endpoints.map((endpoint, index) => openLane(endpoint, index, settings));
  return {
    ask: (jobs, hooks, signals) => new Asking(jobs, hooks, signals, lanes, settings).run(),
    status() {
      const open = lanes.filter((lane) => lane.gone === undefined);
      const now = settings.clock.now();
      return {
        inFlight: lanes.reduce((sum, lane) => sum + lane.calls.size, 0),
        limit: open.reduce((sum, lane) => sum + lane.slots.concurrency, 0),
        pausedMs: open.reduce((longest, lane) => Math.max(longest, lane.pausedUntil - now), 0),
      };
    },
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    }),
};

type Settings = Required<ScheduleOptions>;

/** An endpoint with its slots, and what was learnt about it. */
interface Lane {
  readonly endpoint: Endpoint;
  readonly index: number;
  readonly slots: LimitFunction;
  /** Absent where the limit is fixed. */
  control?: LimitState;
  /** Calls that hold a slot. */
  readonly calls: Set<Call>;
  /** Those of them in back-off from a rate limit, the longest waiting first. */
  readonly throttled: Set<Call>;
  pausedUntil: number;
  successes: number;
  /** Why it is out of service, once it is. */
  gone?: string;
  saidUnreachable: boolean;
}

function openLane(endpoint: Endpoint, index: number, settings: Settings): Lane {
  const { concurrency, ceiling } = settings;
  const control = concurrency === 'adaptive' ? startLimit(ceiling) : undefined;
  return {
    endpoint,
    index,
    slots: pLimit(control?.limit ?? (concurrency as number)),
    ...(control && { control }),
    calls: new Set(),
    throttled: new Set(),
    pausedUntil: 0,
    successes: 0,
    saidUnreachable: false,
  };
}

/** A job whose turn has come, until it is settled. */
interface Call {
  readonly job: number;
  request?: ModelRequest;
  startedAt: number;
  attempts: number;
  readonly usage: Usage;
  /** Failures at the present endpoint: all, and those that count against the tries. */
  failures: number;
  counted: number;
  firstFailureAt?: number;
  /** Successes of the present endpoint when this call first found it unreachable. */
  successesBefore?: number;
  /** Ends the try in flight, and the back-off. */
  inFlight?: AbortController;
  backOff?: AbortController;
}

interface Hooks<J> {
  request(job: J): Promise<ModelRequest>;
  settle(job: J, outcome: ModelOutcome): Promise<void>;
}

/** One `ask` from its first job to its last. */
class Asking<J extends Job> {
  readonly #jobs: readonly J[];
  readonly #hooks: Hooks<J>;
  readonly #stop: AbortSignal;
  readonly #abort: AbortSignal;
  readonly #lanes: readonly Lane[];
  readonly #settings: Settings;
  readonly #queue: JobQueue;
  /** Calls that hold a slot, over all endpoints. */
  readonly #calls = new Set<Call>();
  /** Calls on their way from an endpoint that is gone to another. */
  readonly #handedOver = new Map<number, Call>();
  /** Endpoints with a ticket: a place in the line for a slot, which takes its job when the slot is free. */
  readonly #tickets = new Set<Lane>();
  readonly #pauses = new Map<Lane, AbortController>();
  #failure: { readonly error: unknown } | undefined;
  #finish: () => void = () => {};

  constructor(
    jobs: readonly J[],
    hooks: Hooks<J>,
    signals: { readonly stop: AbortSignal; readonly abort: AbortSignal },
    lanes: readonly Lane[],
    settings: Settings,
  ) {
    this.#jobs = jobs;
    this.#hooks = hooks;
    this.#stop = signals.stop;
    this.#abort = signals.abort;
    this.#lanes = lanes;
    this.#settings = settings;
    this.#queue = new JobQueue(jobs, lanes.length);
  }

  async run(): Promise<void> {
    const onStop = () => this.#endBackOffs();
    const onAbort = () => this.#endCalls();
    this.#stop.addEventListener('abort', onStop);
    this.#abort.addEventListener('abort', onAbort);
    try {
      await new Promise<void>((resolve) => {
        this.#finish = resolve;
        this.#begin();
      });
    } finally {
      this.#stop.removeEventListener('abort', onStop);
      this.#abort.removeEventListener('abort', onAbort);
      for (const pause of this.#pauses.values()) pause.abort();
    }
    for (const call of this.#handedOver.values()) await this.#settle(call, INTERRUPTED);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #begin(): void {
    for (const lane of this.#lanes) {
      if (lane.gone !== undefined) this.#leave(lane);
      else this.#offer(lane);
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

  #endBackOffs(): void {
    for (const call of this.#calls) call.backOff?.abort();
    this.#finishIfIdle();
  }

  #endCalls(): void {
    for (const call of this.#calls) call.inFlight?.abort();
    this.#endBackOffs();
  }

  #finishIfIdle(): void {
    if (this.#calls.size === 0 && (this.#halted || this.#queue.waiting === 0)) this.#finish();
  }

  /** One ticket at a time waits at each endpoint, however many jobs there are, so the job is picked when the slot is free. */
  #offer(lane: Lane): void {
    if (this.#halted || lane.gone !== undefined || this.#queue.waiting === 0 || this.#tickets.has(lane)) return;
    this.#tickets.add(lane);
    void lane.slots(() => this.#useSlot(lane));
  }

  async #useSlot(lane: Lane): Promise<void> {
    this.#tickets.delete(lane);
    if (this.#halted) return;
    if (lane.gone !== undefined) return this.#leave(lane);
    const pauseMs = lane.pausedUntil - this.#settings.clock.now();
    if (pauseMs > 0) {
      void this.#pause(lane, pauseMs);
      return;
    }
    const index = this.#queue.take(lane.index);
    if (index === undefined) return;
    const call = this.#start(index, lane);
    this.#offer(lane);
    await this.#work(call, lane);
  }

  async #pause(lane: Lane, ms: number): Promise<void> {
    if (this.#pauses.has(lane)) return;
    const controller = new AbortController();
    this.#pauses.set(lane, controller);
    await this.#settings.clock.sleep(ms, controller.signal);
    this.#pauses.delete(lane);
    this.#offer(lane);
  }

  #start(index: number, lane: Lane): Call {
    const call = this.#handedOver.get(index) ?? newCall(index, this.#settings.clock.now());
    this.#handedOver.delete(index);
    this.#calls.add(call);
    lane.calls.add(call);
    return call;
  }

  async #work(call: Call, lane: Lane): Promise<void> {
    const outcome = await this.#outcomeOf(call, lane);
    if (outcome.status === 'handed-over') this.#handedOver.set(call.job, call);
    else await this.#settle(call, outcome);
    this.#calls.delete(call);
    lane.calls.delete(call);
    this.#queue.release(call.job, outcome.status === 'handed-over');
    if (outcome.status === 'handed-over') this.#leave(lane);
    this.#finishIfIdle();
  }

  async #outcomeOf(call: Call, lane: Lane): Promise<ModelOutcome | typeof HANDED_OVER> {
    try {
      call.request ??= await this.#hooks.request(this.#jobs[call.job] as J);
      return await this.#tryUntilDone(call, call.request, lane);
    } catch (error) {
      this.#fail(error);
      return INTERRUPTED;
    }
  }

  async #settle(call: Call, outcome: ModelOutcome): Promise<void> {
    try {
      await this.#hooks.settle(this.#jobs[call.job] as J, outcome);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #tryUntilDone(call: Call, request: ModelRequest, lane: Lane): Promise<ModelOutcome | typeof HANDED_OVER> {
    const { clock } = this.#settings;
    for (;;) {
      if (this.#halted) return INTERRUPTED;
      if (lane.gone !== undefined) return this.#handOver(call);
      const triedAt = clock.now();
      if (call.attempts === 0) call.startedAt = triedAt;
      const attempt = await this.#tryOnce(call, request, lane);
      this.#learn(lane, attempt, clock.now() - triedAt);
      if (attempt.status === 'ok') return replyOf(attempt, call, lane, clock.now());
      if (attempt.status === 'interrupted') return INTERRUPTED;
      const next = this.#afterFailure(call, attempt, lane);
      if (typeof next !== 'number') return next;
      await this.#backOff(call, attempt, lane, next);
    }
  }

  async #tryOnce(call: Call, request: ModelRequest, lane: Lane): Promise<Attempt> {
    call.attempts++;
    call.inFlight = new AbortController();
    const attempt = await lane.endpoint.call(request, call.counted, call.inFlight.signal);
    delete call.inFlight;
    if (attempt.status !== 'interrupted') addUsage(call.usage, attempt.usage);
    return attempt;
  }

  /** What an attempt says about the endpoint rather than about its row. */
  #learn(lane: Lane, attempt: Attempt, ms: number): void {
    if (attempt.status === 'interrupted') return;
    const now = this.#settings.clock.now();
    if (lane.control !== undefined) lane.control = controlAfter(lane.control, attempt, now, ms, lane);
    if (attempt.status === 'ok') {
      lane.successes++;
      if (now >= lane.pausedUntil) wakeFirst(lane.throttled);
    } else if (attempt.class === 'rate-limit') {
      this.#holdBack(lane, attempt, now);
    } else if (attempt.unreachable && lane.successes === 0 && !lane.saidUnreachable) {
      lane.saidUnreachable = true;
      this.#settings.onNotice(`${lane.endpoint.host} cannot be reached: ${attempt.reason}; trying again`);
    }
    const limit = lane.control?.limit ?? lane.slots.concurrency;
    if (lane.slots.concurrency !== limit) lane.slots.concurrency = limit;
  }

  #holdBack(lane: Lane, { retryAfterMs = 0 }: AttemptFailure, now: number): void {
    const until = now + retryAfterMs;
    if (until <= lane.pausedUntil) return;
    const alreadySaid = lane.pausedUntil - now >= NOTABLE_PAUSE_MS;
    lane.pausedUntil = until;
    if (retryAfterMs < NOTABLE_PAUSE_MS || alreadySaid) return;
    const minutes = Math.ceil(retryAfterMs / 60_000);
    this.#settings.onNotice(
      `${lane.endpoint.host} is rate limited and asks to wait ${minutes} min; no new calls go there until then`,
    );
  }

  /** Milliseconds to wait before the next try, or what came of the request. */
  #afterFailure(call: Call, attempt: AttemptFailure, lane: Lane): number | ModelOutcome | typeof HANDED_OVER {
    const { clock, maxAttempts, retryMs, random } = this.#settings;
    const now = clock.now();
    const failed = failureOf(attempt, call, lane, now);
    if (attempt.stop !== undefined) {
      this.#fail(attempt.stop);
      return INTERRUPTED;
    }
    if (!TRIED_AGAIN.has(attempt.class)) return failed;
    if (this.#aborted) return INTERRUPTED;
    if (attempt.class !== 'rate-limit') call.counted++;
    call.firstFailureAt ??= now;
    if (attempt.unreachable) call.successesBefore ??= lane.successes;
    const leftMs = call.firstFailureAt + retryMs - now;
    const { retryAfterMs = 0 } = attempt;
    if (call.counted >= maxAttempts || leftMs <= 0 || retryAfterMs > leftMs) {
      if (!attempt.unreachable || lane.successes !== call.successesBefore) return failed;
      this.#giveUp(lane, attempt.reason);
      return this.#handOver(call);
    }
    const jitterMs = random() * Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** call.failures++);
    return Math.min(retryAfterMs + jitterMs, leftMs);
  }

  async #backOff(call: Call, attempt: AttemptFailure, lane: Lane, ms: number): Promise<void> {
    if (this.#halted || lane.gone !== undefined) return;
    call.backOff = new AbortController();
    if (attempt.class === 'rate-limit') lane.throttled.add(call);
    await this.#settings.clock.sleep(ms, call.backOff.signal);
    lane.throttled.delete(call);
    delete call.backOff;
  }

  #handOver(call: Call): typeof HANDED_OVER | typeof INTERRUPTED {
    if (this.#halted) return INTERRUPTED;
    call.failures = 0;
    call.counted = 0;
    delete call.firstFailureAt;
    delete call.successesBefore;
    return HANDED_OVER;
  }

  #giveUp(lane: Lane, reason: string): void {
    if (lane.gone === undefined) {
      lane.gone = reason;
      for (const call of lane.calls) call.backOff?.abort();
      const { onNotice } = this.#settings;
      if (this.#inService.length > 0) {
        onNotice(`${lane.endpoint.host} is out of service (${reason}); its rows go to the other endpoints`);
      }
    }
    this.#leave(lane);
  }

  /** Does without an endpoint that is gone: its groups go to the others. */
  #leave(lane: Lane): void {
    this.#queue.retire(lane.index);
    const others = this.#inService;
    if (others.length === 0) this.#fail(noneLeft(this.#lanes));
    for (const other of others) this.#offer(other);
  }

  get #inService(): readonly Lane[] {
    return this.#lanes.filter((lane) => lane.gone === undefined);
  }
}

function noneLeft(lanes: readonly Lane[]): UserError {
  const each = lanes.map((lane) => `${lane.endpoint.host} (${lane.gone})`).join(', ');
  return new UserError(
    `no endpoint can be reached: ${each}; ` +
      'check the base URL and that the server is running, then repeat the command: finished rows are kept',
    EXIT.unavailable,
  );
}

function wakeFirst(throttled: Set<Call>): void {
  const call = firstOf(throttled);
  if (call === undefined) return;
  throttled.delete(call);
  call.backOff?.abort();
}

function newCall(job: number, startedAt: number): Call {
  return { job, startedAt, attempts: 0, usage: {}, failures: 0, counted: 0 };
}

function controlAfter(
  control: LimitState,
  attempt: AttemptReply | AttemptFailure,
  now: number,
  ms: number,
  lane: Lane,
): LimitState {
  if (attempt.status === 'ok') return afterReply(control, now, { tokens: tokensOf(attempt), ms }, useOf(lane, 0));
  if (attempt.class === 'rate-limit') return afterRateLimit(control, now, useOf(lane, 1), attempt.retryAfterMs);
  return attempt.class === 'transient' || attempt.class === 'timeout' ? afterTrouble(control) : control;
}

function useOf(lane: Lane, alsoWaiting: number): Use {
  return { inUse: lane.calls.size, waiting: lane.throttled.size + alsoWaiting };
}

/** Where the server did not count, four characters a token are near enough to see a rise. */
function tokensOf({ usage, content, reasoning = '' }: AttemptReply): number {
  return usage.completionTokens ?? (content.length + reasoning.length) / 4;
}

function replyOf(attempt: AttemptReply, call: Call, lane: Lane, now: number): ModelOutcome {
  const { usage: _, firstTokenMs, ...reply } = attempt;
  return { ...reply, log: { ...logOf(call, lane, now), ...(firstTokenMs !== undefined && { firstTokenMs }) } };
}

function failureOf(attempt: AttemptFailure, call: Call, lane: Lane, now: number): ModelOutcome {
  return { status: 'failed', class: attempt.class, reason: attempt.reason, log: logOf(call, lane, now) };
}

function logOf(call: Call, lane: Lane, now: number) {
  return { attempts: call.attempts, usage: call.usage, ms: now - call.startedAt, host: lane.endpoint.host };
}

function addUsage(sum: Usage, usage: Usage | undefined): void {
  for (const name in usage) {
    const count = usage[name as keyof Usage];
    if (count !== undefined) sum[name as keyof Usage] = (sum[name as keyof Usage] ?? 0) + count;
  }
}

const NONE = -1;

interface Group {
  /** The next job, or NONE; the others follow it in `JobQueue.#following`. */
  next: number;
  /** Jobs in flight. */
  running: number;
  /** The endpoint where it started. */
  home: number;
  /** Its place in a heap: the next job at the time it went in. */
  rank: number;
}

/** Where an endpoint's groups wait. */
interface Place {
  readonly idle: Group[];
  readonly busy: Set<Group>;
  retired: boolean;
}

/**
 * The jobs that wait, by group. Every group that has any is in exactly one place: `homeless`, or at its home in `idle` (none of its
 * jobs is in flight) or `busy`. Jobs are linked through one array, so that memory and time stay small whether all jobs are of one
 * group or each of its own.
 */
class JobQueue {
  readonly #following: Int32Array;
  readonly #groupOf: Group[];
  readonly #homeless: Group[];
  readonly #places: readonly Place[];
  /** Jobs that wait. */
  waiting: number;

  constructor(jobs: readonly Job[], endpoints: number) {
    this.waiting = jobs.length;
    this.#following = new Int32Array(jobs.length);
    this.#groupOf = new Array(jobs.length);
    this.#places = Array.from({ length: endpoints }, () => ({ idle: [], busy: new Set(), retired: false }));
    const groups = new Map<string, Group>();
    for (let job = jobs.length - 1; job >= 0; job--) {
      const name = (jobs[job] as Job).group;
      const group = groups.get(name) ?? { next: NONE, running: 0, home: NONE, rank: 0 };
      groups.set(name, group);
      this.#groupOf[job] = group;
      this.#putFirst(job, group);
      group.rank = job;
    }
    // In the order of their first jobs they are a heap already.
    this.#homeless = this.#groupOf.filter((group, job) => group.next === job);
  }

  /** The job to start at an endpoint whose slot is free, or undefined where nothing waits for it. */
  take(endpoint: number): number | undefined {
    const { idle, busy } = this.#place(endpoint);
    const homelessFirst = (this.#homeless[0]?.rank ?? Infinity) < (idle[0]?.rank ?? Infinity);
    const group = popLowest(homelessFirst ? this.#homeless : idle) ?? firstOf(busy);
    if (group === undefined) return undefined;
    const job = group.next;
    group.home = endpoint;
    group.next = this.#following[job] as number;
    group.running++;
    this.waiting--;
    // Taken out and put in again it is last, so groups that run side by side take turns.
    busy.delete(group);
    if (group.next !== NONE) busy.add(group);
    return job;
  }

  /** A job's slot is free again; where it was not settled, it waits once more, as the first of its group. */
  release(job: number, waitsAgain: boolean): void {
    const group = this.#groupOf[job] as Group;
    const { idle, busy, retired } = this.#place(group.home);
    const hadPlace = group.next !== NONE;
    group.running--;
    if (waitsAgain) {
      this.#putFirst(job, group);
      this.waiting++;
    }
    if (group.next === NONE) return;
    if (hadPlace && !(group.running === 0 && busy.delete(group))) return;
    if (retired) pushRanked(this.#homeless, group);
    else if (group.running === 0) pushRanked(idle, group);
    else busy.add(group);
  }

  /** Takes an endpoint's groups away from it. */
  retire(endpoint: number): void {
    const place = this.#place(endpoint);
    place.retired = true;
    for (const group of [...place.idle, ...place.busy]) pushRanked(this.#homeless, group);
    place.idle.length = 0;
    place.busy.clear();
  }

  #place(endpoint: number): Place {
    return this.#places[endpoint] as Place;
  }

  #putFirst(job: number, group: Group): void {
    this.#following[job] = group.next;
    group.next = job;
  }
}

function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}

/** Into a binary heap whose first is the group with the earliest next job. */
function pushRanked(heap: Group[], group: Group): void {
  group.rank = group.next;
  let at = heap.push(group) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if ((heap[parent] as Group).rank <= group.rank) break;
    heap[at] = heap[parent] as Group;
    at = parent;
  }
  heap[at] = group;
}

function popLowest(heap: Group[]): Group | undefined {
  const lowest = heap[0];
  const last = heap.pop();
  if (lowest === undefined || last === undefined || heap.length === 0) return lowest;
  let at = 0;
  for (let child = 1; child < heap.length; child = 2 * at + 1) {
    const right = heap[child + 1];
    if (right !== undefined && right.rank < (heap[child] as Group).rank) child++;
    if ((heap[child] as Group).rank >= last.rank) break;
    heap[at] = heap[child] as Group;
    at = child;
  }
  heap[at] = last;
  return lowest;
}
