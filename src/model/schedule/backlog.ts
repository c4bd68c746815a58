// What waits to be asked in one `ask`: jobs that have not begun, and calls on their way from one endpoint to another.

import type { List } from '../../list.js';
import type { Job } from '../../types.js';
import { type Call, newCall } from './call.js';
import type { Clock } from './clock.js';
import type { Lane } from './lane.js';
import { JobQueue } from './queue.js';

export class Backlog {
  readonly #queue: JobQueue;
  readonly #clock: Clock;
  /** Calls on their way from an endpoint that is out to another. Their jobs wait in the queue. */
  readonly #handedOver = new Map<number, Call>();

  private constructor(queue: JobQueue, clock: Clock) {
    this.#queue = queue;
    this.#clock = clock;
  }

  static async of(jobs: List<Job>, endpoints: number, clock: Clock): Promise<Backlog> {
    return new Backlog(await JobQueue.of(jobs, endpoints), clock);
  }

  /** Jobs that wait. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  get handedOver(): Iterable<Call> {
    return this.#handedOver.values();
  }

  /** The next call for the endpoint; undefined where nothing waits for it. */
  take(lane: Lane): Call | undefined {
    const job = lane.isRelieved ? this.#queue.takeFromOthers(lane.index) : this.#queue.take(lane.index);
    if (job === undefined) return undefined;
    const call = this.#handedOver.get(job) ?? newCall(job, this.#clock.now());
    this.#handedOver.delete(job);
    return call;
  }

  /** Has another endpoint take a call over. */
  passOn(call: Call): void {
    this.#handedOver.set(call.job, call);
    this.#queue.release(call.job, true);
  }

  /** The call's job waits no more; the rest of its group neither, where it ends that. */
  drop(call: Call, endsGroup: boolean): void {
    if (endsGroup) this.#queue.releaseLast(call.job);
    else this.#queue.release(call.job, false);
  }

  /** Whether a job waits that the endpoint may take. */
  hasFor(lane: Lane): boolean {
    return this.#queue.hasFor(lane.index);
  }

  /** Takes the endpoint's groups away from it. */
  retire(lane: Lane): void {
    this.#queue.retire(lane.index);
  }

  /** Lets the endpoint keep groups again. */
  restore(lane: Lane): void {
    this.#queue.restore(lane.index);
  }
}
