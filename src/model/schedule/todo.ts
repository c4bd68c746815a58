// What waits to be asked: jobs that have not begun, by group, and calls that wait for their next try.

import type { Job } from '../../core/types.js';
import type { Clock } from './clock.js';
import { HOPELESS } from './health.js';
import { type Call, type Course, type Group, isInService, isSpent, type Lane, newCall } from './lane.js';

/** A row that was in flight in so many outages is asked only while no other such row is, so that none takes another down with it. */
const SUSPECT = 2;
/** An endpoint that has answered nothing gets rows from the other end of the list once so many wait: a whole domain may fail. */
const LOOKS_ELSEWHERE = 3;

interface TodoSettings {
  readonly clock: Clock;
  readonly maxAttempts: number;
  readonly retryMs: number;
  readonly keepGoing: boolean;
}

export class Todo {
  readonly groups = new Groups<Lane, { readonly job: Job; readonly course: Course; readonly group: string }>();
  /** Calls that wait for their next try, in the order in which they came. */
  readonly deferred = new Set<Call>();

  constructor(
    private readonly lanes: readonly Lane[],
    private readonly settings: TodoSettings,
  ) {}

  add(jobs: readonly Job[], course: Course): void {
    course.waiting += jobs.length;
    this.groups.add(jobs.map((job) => ({ group: job.group, job, course })));
  }

  /**
   * The next call for an endpoint in service: first those that wait through no fault of their own, then jobs that have not begun, and
   * behind these the calls that have failed. Undefined where nothing waits for it now.
   */
  take(lane: Lane): Call | undefined {
    const mayBegin = lane.health.answered || this.settings.keepGoing || this.#failed < HOPELESS;
    return (
      this.#takeAgain(lane, ({ isFirst }) => isFirst) ??
      (mayBegin ? this.#begin(lane) : undefined) ??
      this.#takeAgain(lane, ({ isFirst }) => !isFirst)
    );
  }

  /** A call to try out with whether an endpoint is there that has never answered: each time another one. */
  takeProbe(lane: Lane): Call | undefined {
    const deferred = [...this.deferred];
    const call = this.#begin(lane) ?? deferred.find(({ isFirst }) => isFirst) ?? deferred[0];
    if (call !== undefined) this.deferred.delete(call);
    return call;
  }

  /** Has a call wait for its next try. Its text is not held meanwhile, and its group goes on without it. */
  defer(call: Call): void {
    call.request = undefined;
    this.release(call);
    this.deferred.add(call);
  }

  /** The call's group need not wait for it any more. */
  release(call: Call): void {
    if (call.group !== undefined) call.group.running--;
    call.group = undefined;
  }

  /** A reply shows room: of the calls that wait for that, one need wait no longer. */
  wakeFirst(now: number): void {
    const call = [...this.deferred].find(
      ({ isFirst, lastFailure, dueAt }) => !isFirst && lastFailure?.class === 'rate-limit' && dueAt > now,
    );
    if (call !== undefined) call.dueAt = now;
  }

  /** When the next back-off ends; Infinity where none is left. */
  nextAt(now: number): number {
    return Math.min(Number.POSITIVE_INFINITY, ...[...this.deferred].map(({ dueAt }) => dueAt).filter((at) => at > now));
  }

  get #failed(): number {
    return [...this.deferred].filter(({ isFirst }) => !isFirst).length;
  }

  #begin(lane: Lane): Call | undefined {
    const looksElsewhere = !lane.health.answered && this.#failed >= LOOKS_ELSEWHERE;
    for (;;) {
      const next = looksElsewhere
        ? this.groups.takeLast(lane)
        : lane.isRelieved
          ? this.groups.takeFromOthers(lane)
          : this.groups.take(lane);
      if (next === undefined) return undefined;
      const { group, job } = next;
      job.course.waiting--;
      if (!job.course.halted) return newCall(job.job, job.course, this.settings.clock.now(), group);
      group.running--;
    }
  }

  #takeAgain(lane: Lane, isMeant: (call: Call) => boolean): Call | undefined {
    if (this.deferred.size === 0) return undefined;
    const now = this.settings.clock.now();
    const isAlone = ![...lane.calls].some(isSuspect);
    const hasAnswer = this.lanes.some(({ health }) => health.answered);
    const able = this.lanes.filter((other) => isInService(other) && (other.health.answered || !hasAnswer));
    for (const call of this.deferred) {
      if (!isMeant(call) || (!isAlone && isSuspect(call))) continue;
      // Of one without a try left, only its failure is still to be said.
      const hasFailed = call.counted >= this.settings.maxAttempts;
      if (!hasFailed && !this.#mayTry(call, lane, now, able)) continue;
      this.deferred.delete(call);
      // The time that it waited for others, behind its back-off, is not its own.
      const waitedMs = Math.max(0, now - call.dueAt);
      call.startedAt += waitedMs;
      if (call.firstFailureAt !== undefined) call.firstFailureAt += waitedMs;
      call.isFirst = false;
      call.failures = call.counted + call.pending.length;
      return call;
    }
    return undefined;
  }

  /** A call that has failed at one endpoint is left to another, where there is one that answers, until it has failed there as often. */
  #mayTry(call: Call, lane: Lane, now: number, able: readonly Lane[]): boolean {
    const failuresAt = (one: Lane) => call.failedAt.get(one) ?? 0;
    // A look at an endpoint that has answered will tell whether the call has a try left.
    const isInDoubt = call.pending.some((failure) => failure.lane.health.answered);
    if (isInDoubt && isSpent(call, now, this.settings)) return false;
    if (failuresAt(lane) > 0 && now < call.dueAt) return false;
    return able.includes(lane) && able.every((other) => failuresAt(lane) <= failuresAt(other));
  }
}

function isSuspect({ forgiven }: Call): boolean {
  return forgiven >= SUSPECT;
}

interface Waiting<Endpoint, J> {
  readonly job: J;
  readonly group: Group<Endpoint>;
}

/**
 * Jobs that have not begun, in their order. A group without a name is of a single job. An endpoint takes the first one whose group is at home there or nowhere yet and has nothing
 * in flight; only when there is none, a group's jobs run side by side.
 */
export class Groups<Endpoint, J extends Job> {
  readonly #waiting: Waiting<Endpoint, J>[] = [];
  readonly #groups = new Map<string, Group<Endpoint>>();
  readonly #retired = new Set<Endpoint>();

  add(jobs: readonly J[]): void {
    for (const job of jobs) {
      const group = this.#groups.get(job.group) ?? { running: 0, home: undefined };
      if (job.group !== '') this.#groups.set(job.group, group);
      this.#waiting.push({ job, group });
    }
  }

  /**
   * The job to start at an endpoint whose slot is free, or undefined where nothing waits for it. It counts as running in its group until
   * whoever takes it says otherwise there.
   */
  take(endpoint: Endpoint): Waiting<Endpoint, J> | undefined {
    const isFree = ({ home, running }: Group<Endpoint>) => home === undefined || (home === endpoint && running === 0);
    const at = this.#waiting.findIndex(({ group }) => isFree(group));
    return this.#start(at >= 0 ? at : this.#leastBusy(endpoint), endpoint);
  }

  /** The same from the other end of the list, where a group waits that has no home yet. */
  takeLast(endpoint: Endpoint): Waiting<Endpoint, J> | undefined {
    const last = this.#waiting.findLast(({ group }) => group.home === undefined)?.group;
    if (last === undefined) return this.take(endpoint);
    return this.#start(
      this.#waiting.findIndex(({ group }) => group === last),
      endpoint,
    );
  }

  /** The same, but where nothing waits for the endpoint, the last group of another one is taken from there. */
  takeFromOthers(endpoint: Endpoint): Waiting<Endpoint, J> | undefined {
    if (!this.#waiting.some(({ group: { home } }) => home === undefined || home === endpoint)) {
      const [fullest = []] = this.#idle().sort((a, b) => b.length - a.length);
      const last = fullest.at(-1);
      if (last !== undefined) last.home = undefined;
    }
    return this.take(endpoint);
  }

  /** Takes an endpoint's groups away from it. */
  retire(endpoint: Endpoint): void {
    this.#retired.add(endpoint);
    for (const group of this.#groups.values()) if (group.home === endpoint) group.home = undefined;
  }

  /** Lets an endpoint keep groups again. The others, so many with it, give up its share of their groups, the last ones. */
  restore(endpoint: Endpoint, endpoints: number): void {
    this.#retired.delete(endpoint);
    const keepers = endpoints - this.#retired.size;
    for (const idle of this.#idle()) {
      for (const group of idle.slice(idle.length - Math.floor(idle.length / keepers))) group.home = undefined;
    }
  }

  /** For each endpoint its groups with jobs that wait and none in flight. */
  #idle(): Group<Endpoint>[][] {
    const idle = new Map<Endpoint, Group<Endpoint>[]>();
    for (const group of new Set(this.#waiting.map((one) => one.group))) {
      if (group.home === undefined || group.running > 0) continue;
      idle.set(group.home, [...(idle.get(group.home) ?? []), group]);
    }
    return [...idle.values()];
  }

  /** The place of the first job of the endpoint's own group with the fewest jobs in flight; -1 where it has none. */
  #leastBusy(endpoint: Endpoint): number {
    let [least, place] = [Number.POSITIVE_INFINITY, -1];
    for (const [at, { group }] of this.#waiting.entries()) {
      if (group.home === endpoint && group.running < least) [least, place] = [group.running, at];
    }
    return place;
  }

  #start(at: number, endpoint: Endpoint): Waiting<Endpoint, J> | undefined {
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return undefined;
    next.group.running++;
    next.group.home = this.#retired.has(endpoint) ? undefined : endpoint;
    return next;
  }
}
