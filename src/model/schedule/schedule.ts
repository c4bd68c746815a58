// Decides which job goes to which endpoint and when, and how many at once. Tries and outages have files of their own.

import { present } from '../../present.js';
import type { AskHooks, AskSignals, Backend, Job, ModelOutcome, Settled } from '../../types.js';
import { INTERRUPTED } from '../attempt.js';
import type { ScheduleOptions } from '../backend.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { Backlog } from './backlog.js';
import { type Call, newCall } from './call.js';
import { systemClock } from './clock.js';
import { Course, type ScheduleSettings } from './course.js';
import { isInService, type Lane, openLane, pauseOf, statusOf } from './lane.js';
import { Outages } from './outages.js';
import { Pace } from './pace.js';
import { Tries, type Waiting } from './tries.js';

const DEFAULT_CEILING = 256;

/**
 * A backend that asks the endpoints.
 *
 * Order: a free slot takes the first job, in the order given, whose group is at home at that endpoint or nowhere yet, and of which
 * no other job is in flight; only when there is none, groups run side by side. A group's home is the endpoint where it started.
 * Of a serial group no other job starts before the one in flight is settled, whatever it waits for.
 *
 * Tries: `rate-limit`, `transient`, `timeout` and `malformed` are tried again after exponential back-off with full jitter (base
 * 1 s, cap 60 s, behind Retry-After where one is given). A row that fails frees its slot, and waits behind those that have not begun;
 * another endpoint takes it without waiting. The first rate limits are waited out in the slot; a reply at an endpoint ends the
 * back-off of the call there that has waited longest for a rate limit, since it shows room. A try that met a rate limit leaves the
 * seed as it was. A rate limit's Retry-After holds back new starts at that endpoint; one beyond `retryMs` is its row's failure.
 * Every try waits for its turn under the run's pace, in its slot (pace.ts).
 *
 * Outages (outages.ts): an endpoint at which rows fail is asked for one token of a row that it has answered. Where it answers, the
 * failures are the rows' own; where it does not, it is out and gets only single probes, and failures cost no row a try. Other
 * endpoints take its rows over until it answers again. When all have been out for `retryMs`, `ask` rejects (69).
 *
 * An endpoint that has never answered is given up when a row has used up its tries without a connection (beside others that answer:
 * without a reply), or when twenty rows have failed in one way; with `waitReadyMs` it is waited for as in an outage.
 */
export function openSchedule(endpoints: readonly Endpoint[], options: ScheduleOptions): Backend {
  const settings = withDefaults(options);
  const lanes = endpoints.map((endpoint, index) => openLane(endpoint, index, settings));
  return {
    async ask(jobs, hooks, signals) {
      const backlog = await Backlog.of(jobs, lanes, settings);
      await new Asking(jobs, hooks, signals, lanes, backlog, settings).run();
    },
    status: () => statusOf(lanes, settings.clock.now()),
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    },
  };
}

function withDefaults(options: ScheduleOptions): ScheduleSettings {
  return {
    ceiling: DEFAULT_CEILING,
    waitReadyMs: 0,
    keepGoing: false,
    clock: systemClock,
    random: Math.random,
    onNotice: () => {},
    pace: new Pace(),
    ...options,
  };
}

/** One `ask` from its first job to its last: the slots, and who is in them. */
class Asking<J extends Job> {
  readonly #jobs: readonly J[];
  readonly #hooks: AskHooks<J>;
  readonly #lanes: readonly Lane[];
  readonly #backlog: Backlog;
  readonly #course: Course;
  readonly #outages: Outages;
  readonly #tries: Tries;
  /** Endpoints with a ticket: a place in the line for a slot. The job is taken when the slot is free. */
  readonly #tickets = new Set<Lane>();
  /** Ends the wait for the end of the next back-off. */
  #alarm = new AbortController();
  /** Endpoints that wait for the end of a rate limit's pause. */
  readonly #pausing = new Set<Lane>();

  constructor(
    jobs: readonly J[],
    hooks: AskHooks<J>,
    signals: AskSignals,
    lanes: readonly Lane[],
    backlog: Backlog,
    settings: ScheduleSettings,
  ) {
    this.#jobs = jobs;
    this.#hooks = hooks;
    this.#lanes = lanes;
    this.#backlog = backlog;
    this.#course = new Course(signals, settings, () => this.#backlog.isWork);
    this.#outages = new Outages(this.#course, lanes, this.#backlog, (lane) => this.#fill(lane));
    this.#tries = new Tries(this.#course, this.#outages, (call, cost) => hooks.tried?.(this.#jobOf(call), cost));
  }

  async run(): Promise<void> {
    await this.#course.run(() => this.#begin());
    for (const call of this.#backlog.deferred) await this.#settle(call, INTERRUPTED);
    this.#course.throwIfFailed();
  }

  #begin(): void {
    for (const lane of this.#lanes) {
      if (lane.isRelieved) this.#backlog.retire(lane);
    }
    for (const lane of this.#lanes) this.#fill(lane);
  }

  /** Starts at the endpoint what it may be asked: calls, or probes while it is out. */
  #fill(lane: Lane): void {
    if (isInService(lane)) this.#offer(lane);
    else void this.#outages.watch(lane, () => this.#probe(lane));
  }

  /** One ticket at a time waits at each endpoint, however many jobs there are, so the job is picked when the slot is free. */
  #offer(lane: Lane): void {
    if (this.#course.halted || !this.#backlog.isWork || this.#tickets.has(lane) || !isInService(lane)) return;
    this.#tickets.add(lane);
    void lane.slots(() => this.#useSlot(lane));
  }

  async #useSlot(lane: Lane): Promise<void> {
    this.#tickets.delete(lane);
    if (this.#course.halted || this.#course.isOver || !isInService(lane)) return;
    if (this.#pauseMs(lane) > 0) {
      void this.#waitOut(lane);
      return;
    }
    const call = this.#backlog.take(lane);
    if (call === undefined) return;
    this.#hold(call, lane);
    this.#offer(lane);
    await this.#work(call, lane);
  }

  /** Tries out whether the endpoint is there: by its witness, and in an outage also with rows, since only they show what it will do. */
  async #probe(lane: Lane): Promise<void> {
    if (this.#course.halted || this.#course.isOver || isInService(lane)) return;
    const isVain = (pauseOf(lane)?.failed ?? 0) % 2 === 1;
    if (lane.health.answered && !isVain) return this.#probeByWitness(lane);
    const call = this.#backlog.takeProbe(lane);
    if (call === undefined) return;
    lane.probes.add(call);
    this.#hold(call, lane);
    await this.#work(call, lane);
  }

  async #probeByWitness(lane: Lane): Promise<void> {
    // An endpoint that has answered has a witness.
    const { job, request } = present(lane.witness);
    const call = newCall(job, this.#course.settings.clock.now());
    const [payer = call] = this.#backlog.deferred;
    lane.probes.add(call);
    this.#hold(call, lane);
    await this.#tries.askWitness(call, request, lane, payer);
    this.#letGo(call, lane);
    void this.#ringWhenDue();
    this.#offer(lane);
    this.#course.finishIfIdle();
  }

  /** Milliseconds to the end of a rate limit's pause, which holds back every start at the endpoint; none where it is over. */
  #pauseMs(lane: Lane): number {
    return lane.pausedUntil - this.#course.settings.clock.now();
  }

  async #waitOut(lane: Lane): Promise<void> {
    if (this.#pausing.has(lane)) return;
    this.#pausing.add(lane);
    await this.#course.wait(this.#pauseMs(lane), new AbortController());
    this.#pausing.delete(lane);
    this.#offer(lane);
  }

  #hold(call: Call, lane: Lane): void {
    this.#course.calls.add(call);
    lane.calls.add(call);
  }

  #letGo(call: Call, lane: Lane): void {
    this.#course.calls.delete(call);
    lane.calls.delete(call);
    lane.probes.delete(call);
  }

  /** Asks the call and settles its job, as often as it is to be asked again; then the slot is free. */
  async #work(first: Call, lane: Lane): Promise<void> {
    let call = first;
    let ended = await this.#askOnce(call, lane);
    while (ended === 'again' && !this.#course.halted) {
      this.#letGo(call, lane);
      call = newCall(call.job, this.#course.settings.clock.now());
      this.#hold(call, lane);
      await this.#waitOutInSlot(call, lane);
      ended = await this.#askOnce(call, lane);
    }
    this.#letGo(call, lane);
    if (ended === 'deferred') this.#defer(call);
    else this.#backlog.drop(call, ended === 'ends-group');
    // What an endpoint gives back may be for the others: a call, or the rest of a serial group.
    if (ended === 'deferred' || lane.isRelieved || call.failedAt.size > 0) {
      for (const other of this.#lanes.filter(isInService)) this.#offer(other);
    }
    this.#offer(lane);
    this.#course.finishIfIdle();
  }

  async #askOnce(call: Call, lane: Lane): Promise<Waiting | Settled> {
    const outcome = await this.#outcomeOf(call, lane);
    return typeof outcome === 'string' ? outcome : this.#settle(call, outcome);
  }

  #defer(call: Call): void {
    this.#backlog.defer(call);
    void this.#ringWhenDue();
  }

  /** Offers slots again when the next back-off ends, and has endpoints looked at. */
  async #ringWhenDue(): Promise<void> {
    this.#alarm.abort();
    const alarm = new AbortController();
    this.#alarm = alarm;
    const ms = Math.min(this.#outages.lookAtSpent(), this.#backlog.nextMs);
    if (ms === Number.POSITIVE_INFINITY || this.#course.halted) return;
    await this.#course.wait(ms, alarm);
    if (alarm.signal.aborted || this.#course.isOver) return;
    for (const lane of this.#lanes) this.#fill(lane);
    void this.#ringWhenDue();
  }

  /** A job that is asked again holds its slot, and starts no sooner than any other. */
  async #waitOutInSlot(call: Call, lane: Lane): Promise<void> {
    while (this.#pauseMs(lane) > 0 && !this.#course.halted && isInService(lane)) {
      call.backOff = new AbortController();
      await this.#course.wait(this.#pauseMs(lane), call.backOff);
      delete call.backOff;
    }
  }

  async #outcomeOf(call: Call, lane: Lane): Promise<ModelOutcome | Waiting> {
    try {
      const lost = this.#tries.lostOf(call, lane);
      if (lost !== undefined) return lost;
      call.request ??= await this.#hooks.request(this.#jobOf(call));
      return await this.#tries.untilDone(call, call.request, lane);
    } catch (error) {
      this.#course.fail(error);
      return INTERRUPTED;
    }
  }

  async #settle(call: Call, outcome: ModelOutcome): Promise<Settled> {
    try {
      return await this.#hooks.settle(this.#jobOf(call), outcome);
    } catch (error) {
      this.#course.fail(error);
      return 'done';
    }
  }

  #jobOf(call: Call): J {
    // The queue gives out indexes of these jobs alone.
    return present(this.#jobs.at(call.job));
  }
}
