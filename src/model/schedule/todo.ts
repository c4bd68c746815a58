// What waits to be asked in one run: jobs that have not begun, by group, and calls that wait for their next try.

import type { Job } from '../../types.js';
import { type Call, isSpent, Turn } from './call.js';
import type { Clock } from './clock.js';
import { HOPELESS } from './health.js';
import { isInService, type Lane } from './lane.js';

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
  readonly groups: Groups;
  readonly #lanes: readonly Lane[];
  readonly #settings: TodoSettings;
  /** Calls that wait through no fault of their own, and those that have failed. Their jobs are not in the groups. */
  readonly #first: Call[] = [];
  readonly #later: Call[] = [];

  constructor(jobs: Iterable<Job>, lanes: readonly Lane[], settings: TodoSettings) {
    this.groups = new Groups(jobs, lanes.length);
    this.#lanes = lanes;
    this.#settings = settings;
  }

  /** Whether anything waits. */
  get isWork(): boolean {
    return this.groups.waiting + this.#first.length + this.#later.length > 0;
  }

  /** The calls that wait for their next try. */
  get deferred(): readonly Call[] {
    return [...this.#first, ...this.#later];
  }

  /**
   * The next call for an endpoint in service: first those that wait through no fault of their own, then jobs that have not begun, and
   * behind these the calls that have failed. Undefined where nothing waits for it now.
   */
  take(lane: Lane): Call | undefined {
    const mayBegin = lane.health.answered || this.#settings.keepGoing || this.#later.length < HOPELESS;
    return (
      this.#takeAgain(this.#first, lane) ??
      (mayBegin ? this.#begin(lane) : undefined) ??
      this.#takeAgain(this.#later, lane)
    );
  }

  /** A call to try out with whether an endpoint is there that has never answered: each time another one. */
  takeProbe(lane: Lane): Call | undefined {
    return this.#begin(lane) ?? this.#first.shift() ?? this.#later.shift();
  }

  /** Has a call wait for its next try. Its text is not held meanwhile, and its group goes on without it. */
  defer(call: Call): void {
    delete call.request;
    this.release(call);
    (call.isFirst ? this.#first : this.#later).push(call);
  }

  /** The call's group need not wait for it any more. */
  release({ turn }: Call): void {
    if (turn === undefined || turn.isReleased) return;
    turn.isReleased = true;
    this.groups.release(turn.job);
  }

  /** A call has failed through no fault of its own. */
  moveForward(call: Call): void {
    const at = this.#later.indexOf(call);
    call.isFirst = true;
    if (at >= 0) this.#first.push(...this.#later.splice(at, 1));
  }

  /** A reply shows room: of the calls that wait for that, one need wait no longer. */
  wakeFirst(now: number): void {
    const call = this.#later.find(({ lastFailure, dueAt }) => lastFailure?.class === 'rate-limit' && dueAt > now);
    if (call !== undefined) call.dueAt = now;
  }

  /** Milliseconds until the next back-off ends; Infinity where none is left. */
  get nextMs(): number {
    const now = this.#settings.clock.now();
    return this.deferred.reduce(
      (ms, { dueAt }) => (dueAt > now ? Math.min(ms, Math.max(1, dueAt - now)) : ms),
      Number.POSITIVE_INFINITY,
    );
  }

  #begin(lane: Lane): Call | undefined {
    const { index, isRelieved } = lane;
    const looksElsewhere = !lane.health.answered && this.#later.length >= LOOKS_ELSEWHERE;
    const job = looksElsewhere
      ? this.groups.takeLast(index)
      : isRelieved
        ? this.groups.takeFromOthers(index)
        : this.groups.take(index);
    return job === undefined ? undefined : new Turn(job, this.#settings.clock.now()).call;
  }

  #takeAgain(calls: Call[], lane: Lane): Call | undefined {
    if (calls.length === 0) return undefined;
    const now = this.#settings.clock.now();
    const isAlone = ![...lane.calls].some(isSuspect);
    const hasAnswer = this.#lanes.some(({ health }) => health.answered);
    const able = this.#lanes.filter((other) => isInService(other) && (other.health.answered || !hasAnswer));
    const at = calls.findIndex(
      (call) => (isAlone || !isSuspect(call)) && (this.#hasFailed(call) || this.#mayTry(call, lane, now, able)),
    );
    const [call] = at < 0 ? [] : calls.splice(at, 1);
    if (call === undefined) return undefined;
    // The time that it waited for others, behind its back-off, is not its own.
    const waitedMs = Math.max(0, now - call.dueAt);
    call.startedAt += waitedMs;
    if (call.firstFailureAt !== undefined) call.firstFailureAt += waitedMs;
    call.isFirst = false;
    call.failures = call.counted + call.pending.length;
    return call;
  }

  /** Whether nothing is left to do with the call but to say that it has failed. */
  #hasFailed(call: Call): boolean {
    return call.counted >= this.#settings.maxAttempts;
  }

  /** A call that has failed at one endpoint is left to another, where there is one that answers, until it has failed there as often. */
  #mayTry(call: Call, lane: Lane, now: number, able: readonly Lane[]): boolean {
    const failuresAt = ({ index }: Lane) => call.failedAt.get(index) ?? 0;
    if (this.#isInDoubt(call) || (failuresAt(lane) > 0 && now < call.dueAt)) return false;
    return able.includes(lane) && able.every((other) => failuresAt(lane) <= failuresAt(other));
  }

  /** Whether a look at an endpoint that has answered will tell if the call has a try left. */
  #isInDoubt(call: Call): boolean {
    const isKnown = call.pending.every(({ endpoint }) => !this.#lanes[endpoint]?.health.answered);
    return !isKnown && isSpent(call, this.#settings.clock.now(), this.#settings);
  }
}

function isSuspect({ forgiven }: Call): boolean {
  return forgiven >= SUSPECT;
}

/** Jobs that share a prompt prefix. */
interface Group {
  readonly jobs: { readonly job: Job; readonly rank: number }[];
  /** Jobs that have begun and are not released. */
  running: number;
  /** The endpoint where it started, whose prefix cache holds it; undefined before, and where it was taken away from there. */
  home: number | undefined;
}

/**
 * The jobs that have not begun. An endpoint takes the first one whose group is at home there or nowhere yet and has nothing in
 * flight; only when there is none, a group's jobs run side by side.
 */
export class Groups {
  /** Jobs that wait. */
  waiting = 0;
  readonly #of = new Map<string, Group>();
  /** Those with jobs that wait, by the rank of the next one. */
  #open: Group[];
  readonly #retired = new Set<number>();

  constructor(
    jobs: Iterable<Job>,
    private readonly endpoints: number,
  ) {
    for (const job of jobs) {
      const group = this.#of.get(job.group) ?? { jobs: [], running: 0, home: undefined };
      if (group.jobs.length === 0) this.#of.set(job.group, group);
      group.jobs.push({ job, rank: this.waiting++ });
    }
    this.#open = [...this.#of.values()];
    for (const { jobs: own } of this.#open) own.reverse();
  }

  /** The job to start at an endpoint whose slot is free, or undefined where nothing waits for it. */
  take(endpoint: number): Job | undefined {
    const isFree = ({ home, running }: Group) => home === undefined || (home === endpoint && running === 0);
    const at = this.#open.findIndex(isFree);
    return at >= 0 ? this.#start(at, endpoint) : this.#start(this.#leastBusy(endpoint), endpoint);
  }

  /** The same from the other end of the list, where a group waits that has no home yet. */
  takeLast(endpoint: number): Job | undefined {
    const at = this.#open.findLastIndex(({ home }) => home === undefined);
    return at >= 0 ? this.#start(at, endpoint) : this.take(endpoint);
  }

  /** The same, but where nothing waits for the endpoint, the last group of another one is taken from there. */
  takeFromOthers(endpoint: number): Job | undefined {
    if (!this.#open.some(({ home }) => home === undefined || home === endpoint)) {
      const [fullest = []] = this.#idle().sort((a, b) => b.length - a.length);
      const last = fullest.at(-1);
      if (last !== undefined) last.home = undefined;
    }
    return this.take(endpoint);
  }

  /** A job of the group is done, or waits for its next try. */
  release({ group }: Job): void {
    const found = this.#of.get(group);
    if (found !== undefined) found.running--;
  }

  /** Takes an endpoint's groups away from it. */
  retire(endpoint: number): void {
    this.#retired.add(endpoint);
    for (const group of this.#open) if (group.home === endpoint) group.home = undefined;
  }

  /** Lets an endpoint keep groups again. The others give up its share of their groups, the last ones. */
  restore(endpoint: number): void {
    this.#retired.delete(endpoint);
    const keepers = this.endpoints - this.#retired.size;
    for (const idle of this.#idle()) {
      for (const group of idle.slice(idle.length - Math.floor(idle.length / keepers))) group.home = undefined;
    }
  }

  /** By endpoint, its groups with nothing in flight. */
  #idle(): Group[][] {
    return Array.from({ length: this.endpoints }, (_, endpoint) =>
      this.#open.filter(({ home, running }) => home === endpoint && running === 0),
    );
  }

  /** The place of the endpoint's own group with the fewest jobs in flight; -1 where it has none. */
  #leastBusy(endpoint: number): number {
    let least = -1;
    for (const [at, { home, running }] of this.#open.entries()) {
      if (home === endpoint && running < (this.#open[least]?.running ?? Number.POSITIVE_INFINITY)) least = at;
    }
    return least;
  }

  #start(at: number, endpoint: number): Job | undefined {
    const [group] = at < 0 ? [] : this.#open.splice(at, 1);
    const next = group?.jobs.pop();
    if (group === undefined || next === undefined) return undefined;
    this.waiting--;
    group.running++;
    group.home = this.#retired.has(endpoint) ? undefined : endpoint;
    const rank = group.jobs.at(-1)?.rank;
    if (rank === undefined) return next.job;
    // Groups mostly lie together, so that the place is near.
    let place = at;
    while ((this.#open[place]?.jobs.at(-1)?.rank ?? Number.POSITIVE_INFINITY) < rank) place++;
    this.#open.splice(place, 0, group);
    return next.job;
  }
}
