// Decides which job goes to which endpoint and when, and how many at once. Tries and outages have files of their own.

import { present } from '../../present.js';
import type { Asking, AskSignals, Backend, Job, ModelOutcome, Solve, WorkHooks } from '../../types.js';
import { INTERRUPTED } from '../attempt.js';
import type { ScheduleOptions } from '../backend.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { type Call, newCall, type Turn } from './call.js';
import { systemClock } from './clock.js';
import { Course, type ScheduleSettings } from './course.js';
import { isInService, type Lane, openLane, pauseOf, statusOf } from './lane.js';
import { Outages } from './outages.js';
import { Pace } from './pace.js';
import { Todo } from './todo.js';
import { Tries } from './tries.js';

const DEFAULT_CEILING = 256;

/**
 * A pool over the endpoints.
 *
 * Order: a free slot takes the first job, in the order given, whose group is at home at that endpoint or nowhere yet, and of which
 * no other job is in flight; only when there is none, groups run side by side. A group's home is the endpoint where it started.
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
 * endpoints take its rows over until it answers again. When all have been out for `retryMs`, `work` rejects (69).
 *
 * An endpoint that has never answered is given up when a row has used up its tries without a connection (beside others that answer:
 * without a reply), or when twenty rows have failed in one way; with `waitReadyMs` it is waited for as in an outage.
 */
export function openPool(endpoints: readonly Endpoint[], options: ScheduleOptions): Backend {
  const settings = withDefaults(options);
  const lanes = endpoints.map((endpoint, index) => openLane(endpoint, index, settings));
  return {
    work: (jobs, solve, signals, hooks = {}) => new Work(jobs, { solve, hooks, signals, lanes, settings }).run(),
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

interface WorkParts<J extends Job> {
  readonly solve: Solve<J>;
  readonly hooks: WorkHooks<J>;
  readonly signals: AskSignals;
  readonly lanes: readonly Lane[];
  readonly settings: ScheduleSettings;
}

/** The work from its first job to its last: the slots, and who is in them. */
class Work<J extends Job> {
  readonly #solve: Solve<Job>;
  readonly #lanes: readonly Lane[];
  readonly #todo: Todo;
  readonly #course: Course;
  readonly #outages: Outages;
  readonly #tries: Tries;
  /** Endpoints with a ticket: a place in the line for a slot. The job is taken when the slot is free. */
  readonly #tickets = new Set<Lane>();
  /** Ends the wait for the end of the next back-off. */
  #alarm = new AbortController();
  /** Endpoints that wait for the end of a rate limit's pause. */
  readonly #pausing = new Set<Lane>();

  constructor(jobs: readonly J[], { solve, hooks, signals, lanes, settings }: WorkParts<J>) {
    // The jobs that come back are those that were put in.
    this.#solve = solve as Solve<Job>;
    this.#lanes = lanes;
    this.#todo = new Todo(jobs, lanes, settings);
    this.#course = new Course(signals, settings, () => this.#todo.isWork);
    this.#outages = new Outages(this.#course, lanes, this.#todo, (lane) => this.#fill(lane));
    // The same as above.
    this.#tries = new Tries(this.#course, this.#outages, (call, cost) => hooks.tried?.(call.job as J, cost));
  }

  async run(): Promise<void> {
    await this.#course.run(() => this.#begin());
    this.#course.throwIfFailed();
  }

  #begin(): void {
    for (const lane of this.#lanes) {
      if (lane.isRelieved) this.#todo.groups.retire(lane.index);
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
    if (this.#course.halted || !this.#todo.isWork || this.#tickets.has(lane) || !isInService(lane)) return;
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
    const call = this.#todo.take(lane);
    if (call === undefined) return;
    const freed = this.#occupy(call, lane);
    this.#offer(lane);
    await freed;
  }

  /** Tries out whether the endpoint is there: by its witness, and in an outage also with rows, since only they show what it will do. */
  async #probe(lane: Lane): Promise<void> {
    if (this.#course.halted || this.#course.isOver || isInService(lane)) return;
    const isVain = (pauseOf(lane)?.failed ?? 0) % 2 === 1;
    if (lane.health.answered && !isVain) return this.#probeByWitness(lane);
    const call = this.#todo.takeProbe(lane);
    if (call === undefined) return;
    lane.probes.add(call);
    await this.#occupy(call, lane);
  }

  async #probeByWitness(lane: Lane): Promise<void> {
    // An endpoint that has answered has a witness.
    const { job, request } = present(lane.witness);
    const call = newCall(job, this.#course.settings.clock.now());
    const [payer = call] = this.#todo.deferred;
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

  /** Gives the slot to the call's job, which begins or goes on. Resolves when the slot is free again. */
  #occupy(call: Call, lane: Lane): Promise<void> {
    // What waits to be asked belongs to a job.
    const turn = present(call.turn);
    this.#hold(call, lane);
    return new Promise((free) => {
      turn.slot = { endpoint: lane.index, free };
      if (turn.resume === undefined) void this.#turn(turn);
      else turn.resume(true);
    });
  }

  async #turn(turn: Turn): Promise<void> {
    this.#course.turns.add(turn);
    try {
      await this.#solve(turn.job, (asking) => this.#ask(turn, asking));
    } catch (error) {
      this.#course.fail(error);
    }
    this.#course.turns.delete(turn);
    this.#todo.release(turn.call);
    this.#vacate(turn, turn.call.failedAt.size > 0);
    this.#course.finishIfIdle();
  }

  #laneOf({ endpoint }: { readonly endpoint: number }): Lane {
    // Slots are of these endpoints.
    return present(this.#lanes[endpoint]);
  }

  /** Frees the slot that the job holds. What an endpoint gives back may be for the others (`isForAll`). */
  #vacate(turn: Turn, isForAll: boolean): void {
    const { slot, call } = turn;
    if (slot === undefined) return;
    const lane = this.#laneOf(slot);
    turn.slot = undefined;
    this.#letGo(call, lane);
    slot.free();
    if (isForAll || lane.isRelieved) for (const other of this.#lanes.filter(isInService)) this.#offer(other);
    this.#offer(lane);
  }

  async #ask(turn: Turn, asking: Asking): Promise<ModelOutcome> {
    if (turn.hasAsked) await this.#nextCall(turn);
    turn.hasAsked = true;
    for (;;) {
      // Whoever asks holds a slot, unless the run has ended meanwhile.
      if (turn.slot === undefined || this.#course.halted) return INTERRUPTED;
      const { call } = turn;
      const lane = this.#laneOf(turn.slot);
      const lost = this.#tries.lostOf(call, lane);
      if (lost !== undefined) return lost;
      call.request ??= await asking.make();
      const outcome = await this.#tries.untilDone(call, call.request, lane);
      if (outcome !== 'deferred') return outcome;
      if (!(await this.#waitForSlot(turn))) return INTERRUPTED;
    }
  }

  /** A further question holds the slot of the one before, and starts no sooner than any other. */
  async #nextCall(turn: Turn): Promise<void> {
    const { slot, job } = turn;
    if (slot === undefined || this.#course.halted) return;
    const lane = this.#laneOf(slot);
    this.#letGo(turn.call, lane);
    const call = newCall(job, this.#course.settings.clock.now(), turn);
    turn.call = call;
    this.#hold(call, lane);
    while (this.#pauseMs(lane) > 0 && !this.#course.halted && isInService(lane)) {
      call.backOff = new AbortController();
      await this.#course.wait(this.#pauseMs(lane), call.backOff);
      delete call.backOff;
    }
  }

  /** Has the job wait for its call's next try without a slot. @returns whether it got one, and the run has not ended */
  async #waitForSlot(turn: Turn): Promise<boolean> {
    const resumed = new Promise<boolean>((resume) => {
      turn.resume = resume;
    });
    this.#todo.defer(turn.call);
    void this.#ringWhenDue();
    this.#vacate(turn, true);
    if (this.#course.halted) turn.resume?.(false);
    const goesOn = await resumed;
    turn.resume = undefined;
    return goesOn;
  }

  /** Offers slots again when the next back-off ends, and has endpoints looked at. */
  async #ringWhenDue(): Promise<void> {
    this.#alarm.abort();
    const alarm = new AbortController();
    this.#alarm = alarm;
    const ms = Math.min(this.#outages.lookAtSpent(), this.#todo.nextMs);
    if (ms === Number.POSITIVE_INFINITY || this.#course.halted) return;
    await this.#course.wait(ms, alarm);
    if (alarm.signal.aborted || this.#course.isOver) return;
    for (const lane of this.#lanes) this.#fill(lane);
    void this.#ringWhenDue();
  }
}
