// Decides which job goes to which endpoint and when, how many run at once, and which failures are retried. Outages have their own file.

import { setMaxListeners } from 'node:events';
import { callsCounted, costOfBoth } from '../../core/costs.js';
import { present } from '../../core/errors.js';
import { sum } from '../../core/groups.js';
import { type Asking, type Backend, charactersOf, type ModelOutcome, type ModelRequest } from '../../core/types.js';
import { type AttemptFailure, costOfTry, type Hear, INTERRUPTED, TRIED_AGAIN } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import { Call, Course, Lane, type PoolSettings, Question, type ScheduleOptions, type Task } from './lane.js';
import { Outages, waitOf } from './outages.js';
import { Pace, type Start, systemClock } from './pace.js';
import { Todo } from './todo.js';

const DEFAULT_CEILING = 256;
/** A call that was refused this often, while no other refused call was answered, may be at fault itself. */
const MOST_REFUSED = 4;
/** After this time without a result, another probe is sent: the first may hang on a connection that is no longer served. */
const SILENT_PROBE_MS = 60_000;

/**
 * A pool over the endpoints. Any number of runs and single questions may be asked at a time; they share all slots.
 *
 * Order: a free slot takes the first job, in the order given, whose group is at home at that endpoint or nowhere yet, and has
 * no other job in flight; only if there is none do a group's jobs run in parallel. A group's home is the endpoint where it started.
 *
 * Tries: `rate-limit`, `transient`, `timeout` and `malformed` are retried after exponential back-off with full jitter (base
 * 1 s, cap 60 s, after Retry-After, if given). A row that fails frees its slot, and waits behind those that have not begun;
 * another endpoint takes it without waiting. The first rate limits are waited out in the slot; a reply at an endpoint ends the
 * back-off of the call there that has waited longest for a rate limit, since it shows room. A try that met a rate limit leaves the
 * seed unchanged. A rate limit's Retry-After delays new starts at that endpoint; one beyond `retryMs` is its row's failure.
 * Every try waits for its turn under the run's pace, in its slot (pace.ts).
 *
 * Outages (outages.ts): if rows fail at an endpoint, it is asked for one token of a row that it has answered. If it answers, the
 * failures are the rows' own; if it does not, it is out and gets only single probes, and failures cost no row a try. Other
 * endpoints take over its rows until it answers again. Once all have been out for `retryMs`, `work` rejects (69).
 *
 * An endpoint that has never answered is given up if a row has used up its tries without a connection (or, if others answer,
 * without a reply), or if twenty rows have failed in the same way; with `waitReadyMs` it is waited for as in an outage.
 */
export const openPool = (endpoints: readonly Endpoint[], options: ScheduleOptions): Backend =>
  new Pool(endpoints, options);

class Pool implements Backend {
  readonly #settings: PoolSettings;
  readonly #lanes: readonly Lane[];
  readonly #courses = new Set<Course>();
  readonly #todo: Todo;
  readonly #outages: Outages;
  #isToFill = false;
  /** Ends the wait for the next event. */
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
    this.#lanes = endpoints.map((endpoint) => new Lane(endpoint, this.#settings));
    this.#todo = new Todo(this.#lanes, this.#settings);
    this.#outages = new Outages(this.#lanes, this.#todo, this.#settings, this.#courses);
  }

  readonly work: Backend['work'] = async (jobs, solve, signals, { tried } = {}) => {
    const course = new Course(signals);
    // Each call in flight listens to it.
    setMaxListeners(0, course.abort);
    this.#courses.add(course);
    const taskOf = (job: (typeof jobs)[number]): Task => ({
      group: job.group,
      solve: (ask) => solve(job, ask),
      tried: (cost) => tried?.(job, cost),
    });
    this.#todo.add(jobs.map(taskOf), course);
    this.#fillSoon();
    course.finishIfIdle();
    await course.done;
    this.#courses.delete(course);
    if (this.#courses.size === 0) this.#alarm.abort();
    course.failed.signal.throwIfAborted();
  };

  /** The progress display's view of all endpoints together. */
  status() {
    const lanes = this.#lanes;
    const paced = sum(lanes, (lane) => lane.paced.size);
    const [last] = lanes.flatMap(({ latestFailure = [] }) => latestFailure).sort((a, b) => b.at - a.at);
    return {
      inFlight: sum(lanes, (lane) => lane.calls.size) - paced,
      ...(paced > 0 && { paced }),
      limit: sum(lanes, (lane) => (lane.isRelieved ? 0 : lane.limit)),
      pausedMs: Math.max(0, ...lanes.map((lane) => (lane.isRelieved ? 0 : lane.pauseMs))),
      ...(last !== undefined && { failure: { text: `${last.host}: ${last.reason}`, agoMs: this.#now - last.at } }),
      outages: lanes.flatMap((lane) => lane.outage()),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map(({ endpoint }) => endpoint.close()));
  }

  get #now(): number {
    return this.#settings.clock.now();
  }

  /** Something has changed: slots are filled once all related changes are made. */
  #fillSoon(): void {
    if (this.#isToFill) return;
    this.#isToFill = true;
    queueMicrotask(() => {
      this.#isToFill = false;
      void this.#fill();
    });
  }

  /** Starts everything that may start now, and does so again when the next wait ends. */
  async #fill(): Promise<void> {
    this.#alarm.abort();
    // Anything that becomes due while this runs was not due when it was checked.
    const now = this.#now;
    const lookAt = this.#outages.lookAtSpent();
    for (const lane of this.#lanes) if (!lane.isInService) this.#lookAfter(lane);
    // One job for each endpoint in turn, those with the fewest calls first, so that groups are spread over all of them.
    let lanes = [...this.#lanes].sort((a, b) => a.calls.size - b.calls.size);
    while (lanes.length > 0) lanes = lanes.filter((lane) => this.#startAt(lane));
    if ([...this.#courses].every(({ halt }) => halt.aborted)) return;
    const times = [
      ...[...this.#todo.deferred].map(({ dueAt }) => dueAt),
      ...this.#lanes.flatMap(({ pausedUntil, pause }) => [pausedUntil, pause?.nextProbeAt ?? 0, pause?.until ?? 0]),
    ];
    const nextAt = Math.min(lookAt, ...times.filter((time) => time > now));
    if (nextAt === Number.POSITIVE_INFINITY) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    await this.#settings.clock.sleep(Math.max(1, nextAt - this.#now), alarm.signal);
    if (!alarm.signal.aborted) void this.#fill();
  }

  /** Starts a call at an endpoint in service. @returns whether there was one, and a slot for it */
  #startAt(lane: Lane): boolean {
    const call = lane.isInService && lane.hasRoom ? this.#todo.take(lane) : undefined;
    if (call !== undefined) this.#occupy(call, lane);
    return call !== undefined;
  }

  /** Probes an endpoint that is out of service, and gives it up when its time is over. */
  #lookAfter(lane: Lane): void {
    this.#outages.endPatience(lane);
    const { pause } = lane;
    const course = [...this.#courses].find(({ halt }) => !halt.aborted);
    if (pause === undefined || course === undefined || this.#now < pause.nextProbeAt || !lane.hasRoom) return;
    // The witness shows whether the endpoint is there; in an outage rows are used as probes, too, since only they show how it handles rows.
    const isByWitness = lane.answered && pause.failed % 2 === 0;
    const call = isByWitness ? undefined : this.#todo.takeProbe(lane);
    if (!isByWitness && call === undefined) return;
    pause.nextProbeAt = this.#now + SILENT_PROBE_MS;
    if (call === undefined) void this.#probeByWitness(lane, course);
    else this.#occupy(call, lane, true);
  }

  /**
   * Asks the witness for one token, which is charged to a waiting call: whatever the server answers, it is there, unless the failure
   * may pass.
   */
  async #probeByWitness(lane: Lane, anyCourse: Course): Promise<void> {
    // An endpoint that has answered has a witness.
    const { job, request } = present(lane.witness);
    const [waiting] = this.#todo.deferred;
    const course = waiting?.course ?? anyCourse;
    const call = new Call(job, course, this.#now);
    for (const calls of [lane.probes, lane.calls, course.calls]) calls.add(call);
    const start = await this.#turn(call, request, lane);
    if (start !== undefined) {
      const attempt = await this.#tryOnce(call, { ...request, maxTokens: 1 }, lane, start, waiting ?? call);
      // A reply of one token may be empty.
      const isSilent =
        attempt.status === 'failed' &&
        (attempt.down || (attempt.class !== 'malformed' && TRIED_AGAIN.has(attempt.class)));
      if (isSilent) this.#outages.noteSilence(lane, attempt);
      else if (attempt.status !== 'interrupted') this.#outages.noteWitness(lane);
    }
    this.#leave(call, lane);
  }

  /** Gives a slot to the call's job, which begins or continues. */
  #occupy(call: Call, lane: Lane, isProbe = false): void {
    lane.calls.add(call);
    if (isProbe) lane.probes.add(call);
    call.lane = lane;
    if (call.wake !== undefined) call.wake();
    else void this.#solve(call);
  }

  async #solve(call: Call): Promise<void> {
    const { course, job } = call;
    course.calls.add(call);
    try {
      await job.solve((asking) => this.#ask(call, asking));
    } catch (error) {
      course.failed.abort(error);
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

  /** Frees the call's slot. */
  #vacate(call: Call, lane: Lane): void {
    call.lane = undefined;
    lane.calls.delete(call);
    lane.probes.delete(call);
    this.#fillSoon();
  }

  /** Asks one question of the call's job, in the lane where the call has a slot, until it has its outcome. */
  async #ask(call: Call, { make, hear, again }: Asking): Promise<ModelOutcome> {
    const { maxAttempts, clock, pace } = this.#settings;
    const { halt } = call.course;
    if (call.attempts > 0) await this.#nextQuestion(call);
    for (;;) {
      const { lane, lastFailure, lastLane } = call;
      // Whoever asks has a slot, unless the run has ended meanwhile.
      if (lane === undefined || halt.aborted) return this.#interrupted(call);
      // A call with no tries left gets its outcome without a request.
      if (call.counted >= maxAttempts && lastFailure && lastLane) return this.#lose(call, lastFailure, lastLane);
      if (lane.holdsBack(call)) {
        // It waits through no fault of its own, so it goes first.
        call.isFirst = true;
        await this.#waitForSlot(call, lane);
        continue;
      }
      if (call.request === undefined) {
        call.request = await make();
        // Making the request takes time, so the endpoint is checked again.
        continue;
      }
      const { request } = call;
      const start = await this.#turn(call, request, lane);
      if (start === undefined) continue;
      if (halt.aborted) {
        pace.ended(start);
        continue;
      }
      const triedAt = clock.now();
      if (call.attempts === 0) call.startedAt = triedAt;
      call.attempts++;
      call.lastLane = lane;
      const attempt = await this.#tryOnce(call, request, lane, start, call, hear);
      if (attempt.status === 'interrupted') return this.#interrupted(call);
      lane.adapt(attempt, clock.now() - triedAt);
      if (attempt.status === 'ok') {
        const least = lane.witness?.request;
        // Among requests of one size, the first is kept.
        if (!least || charactersOf(request) < charactersOf(least)) lane.witness = { job: call.job, request };
        if (lastFailure?.class === 'rate-limit') lane.recoveredAt = clock.now();
        this.#outages.noteAnswer(lane, true, triedAt);
        this.#fillSoon();
        const { usage: _, firstTokenMs, ...reply } = attempt;
        return { ...reply, log: { ...call.log(clock.now()), ...(firstTokenMs !== undefined && { firstTokenMs }) } };
      }
      const next = this.#afterFailure(call, attempt, lane, triedAt);
      this.#fillSoon();
      if (typeof next === 'object') return next;
      again?.(attempt.reason, next === 'deferred' ? Math.max(0, call.dueAt - clock.now()) : next);
      if (next === 'deferred') await this.#waitForSlot(call, lane);
      else if (!halt.aborted && !lane.holdsBack(call)) {
        lane.throttled.add(call);
        await call.wait(next, this.#settings);
        lane.throttled.delete(call);
      }
    }
  }

  /** A further question keeps the slot of the previous one, and starts no sooner than any other. */
  async #nextQuestion(call: Call): Promise<void> {
    const { lane, course } = call;
    if (lane === undefined || course.halt.aborted) return;
    lane.probes.delete(call);
    Object.assign(call, new Question(this.#now));
    while (lane.pauseMs > 0 && !course.halt.aborted && lane.isInService) await call.wait(lane.pauseMs, this.#settings);
  }

  /** Makes the job wait for its call's next try without a slot, until it gets one or its run ends. */
  async #waitForSlot(call: Call, lane: Lane): Promise<void> {
    if (call.course.halt.aborted) return;
    this.#todo.defer(call);
    this.#vacate(call, lane);
    await new Promise<void>((resolve) => {
      call.wake = resolve;
    });
    call.wake = undefined;
    this.#todo.deferred.delete(call);
  }

  /** Waits in its slot for the call's turn. Undefined if something has changed meanwhile, so that the call must be checked again. */
  async #turn(call: Call, request: ModelRequest, lane: Lane): Promise<Start | undefined> {
    const { pace } = this.#settings;
    if (!pace.isLimited) return { at: this.#now, chars: 0, tokens: 0 };
    const pauseMs = () => (call.attempts === 0 ? lane.pauseMs : 0);
    const wait = (ms: number) => call.wait(ms, this.#settings);
    lane.paced.add(call);
    // Waiting in the queue, it would delay the calls of other endpoints.
    if (pauseMs() > 0) await wait(pauseMs());
    const isOff = () => call.course.halt.aborted || pauseMs() > 0 || lane.holdsBack(call);
    const start = await pace.turn(charactersOf(request), wait, isOff);
    lane.paced.delete(call);
    return start;
  }

  /** @param payer the call that the try is charged to */
  async #tryOnce(call: Call, request: ModelRequest, lane: Lane, start: Start, payer: Call, hear?: Hear) {
    // The seed is unchanged in an outage, so that the row is answered as if there had been none.
    const index = call.counted + call.pending.filter(({ isLimit }) => !isLimit).length;
    call.isInFlight = true;
    const attempt = await lane.endpoint.call(request, index, call.course.abort, hear);
    call.isInFlight = false;
    const cost = costOfTry(() => charactersOf(request), attempt);
    payer.cost = costOfBoth(payer.cost, cost);
    payer.counts += callsCounted(cost);
    payer.job.tried(cost);
    if (attempt.status !== 'interrupted') this.#settings.pace.ended(start, attempt.usage);
    return attempt;
  }

  /** The consequence of a failed try: a wait in the slot (in milliseconds), a wait without it, or the call's outcome. */
  #afterFailure(call: Call, attempt: AttemptFailure, lane: Lane, triedAt: number): number | 'deferred' | ModelOutcome {
    lane.latestFailure = { host: lane.endpoint.host, reason: attempt.reason, at: this.#now };
    call.lastFailure = attempt;
    // A gateway's answer during an outage is not final: what it does not find now, it has found before.
    const isPassing = TRIED_AGAIN.has(attempt.class) || (lane.answered && attempt.down === true);
    if (isPassing && call.course.abort.aborted) return this.#interrupted(call);
    if (!isPassing) {
      if (attempt.stop !== undefined) {
        call.course.failed.abort(attempt.stop);
        return this.#interrupted(call);
      }
      this.#outages.noteAnswer(lane, false, triedAt);
      return this.#lose(call, attempt, lane);
    }
    call.firstFailureAt ??= this.#now;
    const next =
      attempt.class === 'rate-limit'
        ? this.#afterRateLimit(call, attempt, lane, call.firstFailureAt)
        : this.#outages.afterTrouble(call, attempt, lane);
    return next === 'lost' ? this.#lose(call, attempt, lane) : next;
  }

  /**
   * The first rate limits of a call are waited out in its slot, so that the endpoint gets less to do. If the call seems to be at fault,
   * it frees the slot for rows that may fare better.
   */
  #afterRateLimit(call: Call, attempt: AttemptFailure, lane: Lane, firstFailureAt: number) {
    const { retryMs, onNotice } = this.#settings;
    const now = this.#now;
    const { retryAfterMs = 0 } = attempt;
    const isTooLong = retryAfterMs > retryMs;
    if (isTooLong && !lane.saidWaitTooLong) {
      const asks = `${lane.endpoint.host} limits the rate and asks to wait ${waitOf(retryAfterMs)}`;
      onNotice(`${asks}, longer than --retry-minutes: it counts as unavailable`);
    }
    lane.limits++;
    lane.saidWaitTooLong ||= isTooLong;
    // No new call starts there for as long as it asks, unless that is longer than an outage may last.
    if (!isTooLong) lane.pausedUntil = Math.max(lane.pausedUntil, now + retryAfterMs);
    if (isTooLong || lane.probes.has(call)) return this.#outages.afterTrouble(call, attempt, lane);
    const leftMs = firstFailureAt + retryMs - now;
    if (leftMs <= 0 || retryAfterMs > leftMs) return 'lost';
    if (lane.recoveredAt >= call.refused.since) call.refused = { since: now, times: 0 };
    call.refused.times++;
    this.#outages.charge(call, lane, true);
    const isAtFault = call.refused.times > MOST_REFUSED || (retryAfterMs > 0 && this.#outages.isOther(lane));
    if (isAtFault && call.pending.length > 0) call.failures = call.counted + call.pending.length - 1;
    const waitMs = lane.backOffMs(call, retryAfterMs, leftMs);
    if (!isAtFault) return waitMs;
    call.dueAt = now + waitMs;
    return 'deferred';
  }

  /** The row has failed for good. */
  #lose(call: Call, attempt: AttemptFailure, lane: Lane): ModelOutcome {
    this.#outages.noteLoss(lane, attempt);
    return { status: 'failed', class: attempt.class, reason: attempt.reason, log: call.log(this.#now) };
  }

  /** The outcome of a call that ended early: its cost, and the failure of its last try. */
  #interrupted(call: Call): ModelOutcome {
    if (call.attempts === 0) return INTERRUPTED;
    const { lastFailure: last } = call;
    const failure = last && { class: last.class, reason: last.reason, stop: last.stop };
    return { ...INTERRUPTED, log: call.log(this.#now), failure };
  }
}
