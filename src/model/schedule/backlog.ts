// What waits to be asked in one `ask`: jobs that have not begun, and calls that wait for their next try.

import type { Job } from '../../types.js';
import { type Call, isSpent, newCall } from './call.js';
import type { Clock } from './clock.js';
import { HOPELESS } from './health.js';
import { isInService, type Lane } from './lane.js';
import { JobQueue } from './queue.js';

/** A row that was in flight in so many outages is asked only while no other such row is, so that none takes another down with it. */
const SUSPECT = 2;
/** An endpoint that has answered nothing gets rows from the other end of the list once so many wait: a whole domain may fail. */
const LOOKS_ELSEWHERE = 3;

interface BacklogSettings {
  readonly clock: Clock;
  readonly maxAttempts: number;
  readonly retryMs: number;
  readonly keepGoing: boolean;
}

export class Backlog {
  readonly #queue: JobQueue;
  readonly #lanes: readonly Lane[];
  readonly #settings: BacklogSettings;
  /** Calls that wait through no fault of their own, and those that have failed. Their jobs are not in the queue. */
  readonly #first: Call[] = [];
  readonly #later: Call[] = [];

  private constructor(queue: JobQueue, lanes: readonly Lane[], settings: BacklogSettings) {
    this.#queue = queue;
    this.#lanes = lanes;
    this.#settings = settings;
  }

  static async of(jobs: readonly Job[], lanes: readonly Lane[], settings: BacklogSettings): Promise<Backlog> {
    return new Backlog(await JobQueue.of(jobs, lanes.length), lanes, settings);
  }

  /** Whether anything waits. */
  get isWork(): boolean {
    return this.#queue.waiting + this.#first.length + this.#later.length > 0;
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
      this.#takeDeferred(this.#first, lane) ??
      (mayBegin ? this.#begin(lane) : undefined) ??
      this.#takeDeferred(this.#later, lane)
    );
  }

  /** A call to try out with whether an endpoint is there that has never answered: each time another one. */
  takeProbe(lane: Lane): Call | undefined {
    return this.#begin(lane) ?? this.#first.shift() ?? this.#later.shift();
  }

  /** Has a call wait for its next try. Its text is not held meanwhile. */
  defer(call: Call): void {
    delete call.request;
    call.isLetPass ||= this.#queue.letPass(call.job);
    (call.isFirst ? this.#first : this.#later).push(call);
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

  /** The call's job waits no more; the rest of its group neither, where it ends that. */
  drop(call: Call, endsGroup: boolean): void {
    if (endsGroup) this.#queue.releaseLast(call.job);
    else if (!call.isLetPass) this.#queue.release(call.job);
  }

  /** Takes the endpoint's groups away from it. */
  retire(lane: Lane): void {
    this.#queue.retire(lane.index);
  }

  /** Lets the endpoint keep groups again. */
  restore(lane: Lane): void {
    this.#queue.restore(lane.index);
  }

  #begin(lane: Lane): Call | undefined {
    const { index, isRelieved } = lane;
    const looksElsewhere = !lane.health.answered && this.#later.length >= LOOKS_ELSEWHERE;
    const job = looksElsewhere
      ? this.#queue.takeLast(index)
      : isRelieved
        ? this.#queue.takeFromOthers(index)
        : this.#queue.take(index);
    return job === undefined ? undefined : newCall(job, this.#settings.clock.now());
  }

  #takeDeferred(calls: Call[], lane: Lane): Call | undefined {
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
