// Decides which job goes to which endpoint and when, and how many at once. Tries and outages have files of their own.

import { present } from '../../core/present.js';
import type {
  Asking,
  AskSignals,
  Backend,
  BackendStatus,
  Job,
  ModelOutcome,
  Solve,
  WorkHooks,
} from '../../core/types.js';
import type { PoolSettings, ScheduleOptions } from '../backend.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { systemClock } from './clock.js';
import { afterProbeStart } from './health.js';
import {
  type Call,
  Course,
  isInService,
  type Lane,
  newCall,
  newQuestion,
  openLane,
  pauseOf,
  statusOf,
  waitInSlot,
} from './lane.js';
import { Outages } from './outages.js';
import { Pace } from './pace.js';
import { Todo } from './todo.js';
import { interrupted, Tries } from './tries.js';

const DEFAULT_CEILING = 256;

/**
 * A pool over the endpoints. Any number of runs and of single questions may be asked at a time; they share all slots.
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
  return new Pool(endpoints, options);
}

/** The slots of all endpoints, and who is in them. */
class Pool implements Backend {
  readonly #settings: PoolSettings;
  readonly #lanes: readonly Lane[];
  readonly #courses = new Set<Course>();
  readonly #todo: Todo;
  readonly #outages: Outages;
  readonly #tries: Tries;
  #isToFill = false;
  /** Ends the wait for what happens next by itself. */
  #alarm = new AbortController();

  constructor(endpoints: readonly Endpoint[], options: ScheduleOptions) {
    this.#settings = {
      ceiling: DEFAULT_CEILING,
      waitReadyMs: 0,
      keepGoing: false,
      clock: systemClock,
      random: Math.random,
      onNotice: () => {},
      pace: new Pace(),
      ...options,
    };
    this.#lanes = endpoints.map((endpoint) => openLane(endpoint, this.#settings));
    this.#todo = new Todo(this.#lanes, this.#settings);
    const calls = () => [...this.#courses].flatMap((course) => [...course.calls]);
    const fail = (error: unknown) => {
      for (const course of this.#courses) course.fail(error);
    };
    this.#outages = new Outages(this.#lanes, this.#todo, this.#settings, calls, fail);
    this.#tries = new Tries(this.#settings, this.#outages, () => this.#fillSoon());
  }

  async work<J extends Job>(
    jobs: readonly J[],
    solve: Solve<J>,
    signals: AskSignals,
    { tried }: WorkHooks<J> = {},
  ): Promise<void> {
    // The jobs that come back are those that were put in.
    const course = new Course(solve as Solve<Job>, signals, (job, cost) => tried?.(job as J, cost));
    this.#courses.add(course);
    this.#todo.add(jobs, course);
    await course.untilDone(() => this.#fillSoon());
    this.#courses.delete(course);
    if (this.#courses.size === 0) this.#alarm.abort();
    if (course.failure !== undefined) throw course.failure.error;
  }

  status(): BackendStatus {
    return statusOf(this.#lanes, this.#now);
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map(({ endpoint }) => endpoint.close()));
  }

  get #now(): number {
    return this.#settings.clock.now();
  }

  /** Something has changed: slots are filled once all that changes with it has. */
  #fillSoon(): void {
    if (this.#isToFill) return;
    this.#isToFill = true;
    queueMicrotask(() => {
      this.#isToFill = false;
      this.#fill();
    });
  }

  /** Starts all that may start now, and does so again when the next wait ends. */
  #fill(): void {
    this.#alarm.abort();
    // What comes due while this works was not due when it was looked at.
    const now = this.#now;
    const lookAt = this.#outages.lookAtSpent();
    for (const lane of this.#lanes) if (!isInService(lane)) this.#lookAfter(lane);
    // A job to each endpoint in turn, those with the fewest calls first, so that groups are spread over all of them.
    let lanes = [...this.#lanes].sort((a, b) => a.calls.size - b.calls.size);
    while (lanes.length > 0) lanes = lanes.filter((lane) => this.#startAt(lane));
    if ([...this.#courses].every(({ halted }) => halted)) return;
    const times = this.#lanes.flatMap((lane) => [lane.pausedUntil, ...timesOf(lane)]);
    const nextAt = Math.min(lookAt, this.#todo.nextAt(now), ...times.filter((time) => time > now));
    if (nextAt < Number.POSITIVE_INFINITY) void this.#fillAfter(Math.max(1, nextAt - this.#now));
  }

  async #fillAfter(ms: number): Promise<void> {
    const alarm = new AbortController();
    this.#alarm = alarm;
    await this.#settings.clock.sleep(ms, alarm.signal);
    if (!alarm.signal.aborted) this.#fill();
  }

  /** Starts a call at an endpoint in service. @returns whether there was one, and a slot for it */
  #startAt(lane: Lane): boolean {
    if (!isInService(lane) || lane.calls.size >= lane.limit || this.#pauseMs(lane) > 0) return false;
    const call = this.#todo.take(lane);
    if (call !== undefined) this.#occupy(call, lane);
    return call !== undefined;
  }

  /** Has an endpoint probed that is out of service, and gives it up when its time is over. */
  #lookAfter(lane: Lane): void {
    this.#outages.endPatience(lane);
    const pause = pauseOf(lane);
    const now = this.#now;
    if (pause === undefined || now < Math.max(pause.nextProbeAt, lane.pausedUntil) || lane.calls.size >= lane.limit)
      return;
    const course = [...this.#courses].find(({ halted }) => !halted);
    if (course === undefined) return;
    // Its witness tells whether the endpoint is there, and in an outage rows do, too, since only they show what it will do.
    const isVain = pause.failed % 2 === 1;
    if (lane.health.answered && !isVain) {
      lane.health = afterProbeStart(lane.health, now);
      void this.#probeByWitness(lane, course);
      return;
    }
    const call = this.#todo.takeProbe(lane);
    if (call === undefined) return;
    lane.health = afterProbeStart(lane.health, now);
    lane.probes.add(call);
    this.#occupy(call, lane);
  }

  async #probeByWitness(lane: Lane, anyCourse: Course): Promise<void> {
    // An endpoint that has answered has a witness.
    const { job, request } = present(lane.witness);
    const [waiting] = this.#todo.deferred;
    const course = waiting?.course ?? anyCourse;
    const call = newCall(job, course, this.#now);
    lane.probes.add(call);
    lane.calls.add(call);
    course.calls.add(call);
    await this.#tries.askWitness(call, request, lane, waiting ?? call);
    this.#leave(call, lane);
  }

  /** Milliseconds to the end of a rate limit's pause, which holds back every start at the endpoint; none where it is over. */
  #pauseMs(lane: Lane): number {
    return lane.pausedUntil - this.#now;
  }

  /** Gives a slot to the call's job, which begins or goes on. */
  #occupy(call: Call, lane: Lane): void {
    lane.calls.add(call);
    call.lane = lane;
    if (call.resume !== undefined) call.resume();
    else void this.#solve(call);
  }

  async #solve(call: Call): Promise<void> {
    const { course, job } = call;
    course.calls.add(call);
    try {
      await course.solve(job, (asking) => this.#ask(call, asking));
    } catch (error) {
      course.fail(error);
    }
    this.#todo.release(call);
    this.#leave(call, call.lane);
  }

  /** The call is done. */
  #leave(call: Call, lane: Lane | undefined): void {
    call.course.calls.delete(call);
    if (lane !== undefined) this.#vacate(call, lane);
    call.course.finishIfIdle();
  }

  /** Frees the slot that the call holds. */
  #vacate(call: Call, lane: Lane): void {
    call.lane = undefined;
    lane.calls.delete(call);
    lane.probes.delete(call);
    this.#fillSoon();
  }

  async #ask(call: Call, asking: Asking): Promise<ModelOutcome> {
    if (call.hasAsked) await this.#nextQuestion(call);
    call.hasAsked = true;
    for (;;) {
      const { lane } = call;
      // Whoever asks holds a slot, unless the run has ended meanwhile.
      if (lane === undefined || call.course.halted) return interrupted(call, this.#now);
      const lost = this.#tries.lostOf(call);
      if (lost !== undefined) return lost;
      call.request ??= await asking.make();
      const outcome = await this.#tries.untilDone(call, call.request, lane, asking);
      if (outcome !== 'deferred') return outcome;
      await this.#waitForSlot(call, lane);
    }
  }

  /** A further question holds the slot of the one before, and starts no sooner than any other. */
  async #nextQuestion(call: Call): Promise<void> {
    const { lane } = call;
    if (lane === undefined || call.course.halted) return;
    lane.probes.delete(call);
    Object.assign(call, newQuestion(this.#now));
    while (this.#pauseMs(lane) > 0 && !call.course.halted && isInService(lane)) {
      await waitInSlot(call, this.#pauseMs(lane), this.#settings.clock);
    }
  }

  /** Has the job wait for its call's next try without a slot, until it gets one or its run ends. */
  async #waitForSlot(call: Call, lane: Lane): Promise<void> {
    if (call.course.halted) return;
    this.#todo.defer(call);
    this.#vacate(call, lane);
    await new Promise<void>((resume) => {
      call.resume = resume;
    });
    call.resume = undefined;
    this.#todo.deferred.delete(call);
  }
}

/** When there is something to do at an endpoint that is out of service. */
function timesOf(lane: Lane): readonly number[] {
  const pause = pauseOf(lane);
  return pause === undefined ? [] : [pause.nextProbeAt, pause.until];
}
