// What waits to be asked: jobs that have not begun, by group, and calls that wait for their next try.

import { Call, type Course, type Group, HOPELESS, type Lane, type PoolSettings, type Task } from './lane.js';

/** A row that was in flight in this many outages is asked only while no other such row is, so that none takes another down with it. */
const SUSPECT = 2;
/** Once this many rows wait, an endpoint that has answered nothing gets rows from the other end of the list: a complete domain may fail. */
const LOOKS_ELSEWHERE = 3;

/** A job that has not begun. */
type Waiting = Readonly<{ job: Task; course: Course; group: Group }>;

export class Todo {
  /** Jobs that have not begun, in order. */
  readonly #waiting: Waiting[] = [];
  readonly #groups = new Map<string, Group>();
  /** Calls that wait for their next try, in order of arrival. */
  readonly deferred = new Set<Call>();

  constructor(
    private readonly lanes: readonly Lane[],
    private readonly settings: PoolSettings,
  ) {}

  /** Adds jobs. A group without a name has a single job. */
  add(jobs: readonly Task[], course: Course): void {
    course.waiting += jobs.length;
    for (const job of jobs) {
      const group = this.#groups.get(job.group) ?? { running: 0, home: undefined };
      if (job.group !== '') this.#groups.set(job.group, group);
      this.#waiting.push({ job, course, group });
    }
  }

  /**
   * The next call for an endpoint in service: first those that wait through no fault of their own, then jobs that have not begun, and
   * then the calls that have failed. Undefined if nothing waits for it now.
   */
  take(lane: Lane): Call | undefined {
    const mayBegin = lane.answered || this.settings.keepGoing || this.#failed < HOPELESS;
    return this.#takeAgain(lane, true) ?? (mayBegin ? this.#begin(lane) : undefined) ?? this.#takeAgain(lane, false);
  }

  /** A call for probing an endpoint that has never answered: a different one each time. */
  takeProbe(lane: Lane): Call | undefined {
    const deferred = [...this.deferred];
    const call = this.#begin(lane) ?? deferred.find(({ isFirst }) => isFirst) ?? deferred[0];
    if (call !== undefined) this.deferred.delete(call);
    return call;
  }

  /** Makes a call wait for its next try. Its text is dropped meanwhile, and its group continues without it. */
  defer(call: Call): void {
    call.request = undefined;
    this.release(call);
    this.deferred.add(call);
  }

  /** The call's group need no longer wait for it. */
  release(call: Call): void {
    if (call.group !== undefined) call.group.running--;
    call.group = undefined;
  }

  /** A reply shows free capacity, so one of the calls that wait for it is released. */
  wakeFirst(now: number): void {
    const call = [...this.deferred].find(
      ({ isFirst, lastFailure, dueAt }) => !isFirst && lastFailure?.class === 'rate-limit' && dueAt > now,
    );
    if (call !== undefined) call.dueAt = now;
  }

  get #failed(): number {
    return [...this.deferred].filter(({ isFirst }) => !isFirst).length;
  }

  #begin(lane: Lane): Call | undefined {
    const looksElsewhere = !lane.answered && this.#failed >= LOOKS_ELSEWHERE;
    for (;;) {
      const next = this.#nextAt(lane, looksElsewhere);
      if (next === undefined) return undefined;
      const { job, course, group } = next;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      course.waiting--;
      if (course.halt.aborted) continue;
      group.running++;
      group.home = lane;
      return new Call(job, course, this.settings.clock.now(), group);
    }
  }

  /**
   * The job to start at an endpoint with a free slot: the first one whose group is at home there or nowhere, with nothing in flight.
   * Only if there is none do a group's jobs run in parallel. `fromTheEnd` looks for a group without a home from the other end of the
   * list.
   */
  #nextAt(lane: Lane, fromTheEnd: boolean): Waiting | undefined {
    const waiting = this.#waiting;
    const isHomeless = ({ group: { home } }: Waiting) => home === undefined || home.isRelieved;
    const isIdle = ({ group }: Waiting) => group.running === 0;
    const leastBusy = (least: Waiting | undefined, one: Waiting) =>
      one.group.home === lane && one.group.running < (least?.group.running ?? Number.POSITIVE_INFINITY) ? one : least;
    const firstOf = (one?: Waiting) => one && waiting.find(({ group }) => group === one.group);
    return (
      firstOf(fromTheEnd ? waiting.findLast(isHomeless) : undefined) ??
      waiting.find((one) => isHomeless(one) || (one.group.home === lane && isIdle(one))) ??
      waiting.reduce(leastBusy, undefined) ??
      firstOf(lane.wasRelieved ? waiting.findLast(isIdle) : undefined)
    );
  }

  #takeAgain(lane: Lane, isFirst: boolean): Call | undefined {
    if (this.deferred.size === 0) return undefined;
    const now = this.settings.clock.now();
    const isSuspect = ({ forgiven }: Call) => forgiven >= SUSPECT;
    const isAlone = ![...lane.calls].some(isSuspect);
    const hasAnswer = this.lanes.some(({ answered }) => answered);
    const able = this.lanes.filter((other) => other.isInService && (other.answered || !hasAnswer));
    for (const call of this.deferred) {
      if (call.isFirst !== isFirst || (!isAlone && isSuspect(call))) continue;
      // A call with no tries left is taken only to report its failure.
      const hasFailed = call.counted >= this.settings.maxAttempts;
      if (!hasFailed && !this.#mayTry(call, lane, now, able)) continue;
      this.deferred.delete(call);
      // Time spent waiting for other calls after its back-off does not count against it.
      const waitedMs = Math.max(0, now - call.dueAt);
      call.startedAt += waitedMs;
      if (call.firstFailureAt !== undefined) call.firstFailureAt += waitedMs;
      call.isFirst = false;
      call.failures = call.counted + call.pending.length;
      return call;
    }
    return undefined;
  }

  /** A call that has failed at one endpoint is left to another that answers, if there is one, until it has failed there as often. */
  #mayTry(call: Call, lane: Lane, now: number, able: readonly Lane[]): boolean {
    const failuresAt = (one: Lane) => call.failedAt.get(one) ?? 0;
    // A probe of an endpoint that has answered will show whether the call has a try left.
    if (call.pending.some((failure) => failure.lane.answered) && call.isSpent(this.settings)) return false;
    if (failuresAt(lane) > 0 && now < call.dueAt) return false;
    return able.includes(lane) && able.every((other) => failuresAt(lane) <= failuresAt(other));
  }
}
