// The jobs that wait, by group: which one an endpoint whose slot is free takes next.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { present } from '../../present.js';
import type { Job } from '../../types.js';

const NONE = -1;
/** Of a hundred thousand jobs, so many are put in by one turn of the event loop: some milliseconds. */
const JOBS_A_TURN = 16_384;

interface Group {
  /** One job at a time is in flight. */
  readonly serial: boolean;
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
 * jobs is in flight) or `busy`; a serial group is in none while one of its jobs is in flight. Jobs are linked through one array, so that memory and time stay small whether all jobs are of one
 * group or each of its own.
 */
export class JobQueue {
  readonly #following: Int32Array;
  readonly #groupOf: Group[];
  #homeless: Group[] = [];
  readonly #places: readonly Place[];
  /** Jobs that wait. */
  waiting: number;

  private constructor(jobs: number, endpoints: number) {
    this.waiting = jobs;
    this.#following = new Int32Array(jobs);
    this.#groupOf = new Array(jobs);
    this.#places = Array.from({ length: endpoints }, () => ({ idle: [], busy: new Set(), retired: false }));
  }

  /** The queue of these jobs, which takes several turns to make where they are many. */
  static async of(jobs: readonly Job[], endpoints: number): Promise<JobQueue> {
    const queue = new JobQueue(jobs.length, endpoints);
    const groups = new Map<string, Group>();
    for (let job = jobs.length - 1; job >= 0; job--) {
      const { group: name, serial = false } = present(jobs.at(job));
      const group = groups.get(name) ?? { serial, next: NONE, running: 0, home: NONE, rank: 0 };
      groups.set(name, group);
      queue.#groupOf[job] = group;
      queue.#putFirst(job, group);
      group.rank = job;
      if (job > 0 && job % JOBS_A_TURN === 0) await nextTurn();
    }
    // In the order of their first jobs they are a heap already.
    queue.#homeless = queue.#groupOf.filter((group, job) => group.next === job);
    return queue;
  }

  /** The job to start at an endpoint whose slot is free, or undefined where nothing waits for it. */
  take(endpoint: number): number | undefined {
    const { idle, busy } = this.#place(endpoint);
    const homelessFirst = (this.#homeless[0]?.rank ?? Infinity) < (idle[0]?.rank ?? Infinity);
    const group = popLowest(homelessFirst ? this.#homeless : idle) ?? firstOf(busy);
    return group === undefined ? undefined : this.#start(group, endpoint);
  }

  /** The same from the other end of the list, where a group waits that has no home yet. */
  takeLast(endpoint: number): number | undefined {
    const group = this.#homeless.pop();
    return group === undefined ? this.take(endpoint) : this.#start(group, endpoint);
  }

  #start(group: Group, endpoint: number): number {
    const { busy, retired } = this.#place(endpoint);
    const job = group.next;
    group.home = endpoint;
    group.next = at(this.#following, job);
    group.running++;
    this.waiting--;
    // Taken out and put in again it is last, so groups that run side by side take turns.
    busy.delete(group);
    if (group.next === NONE || group.serial) return job;
    if (retired) pushRanked(this.#homeless, group);
    else busy.add(group);
    return job;
  }

  /** The same, but where nothing waits for the endpoint, the last group of another one is taken from there. */
  takeFromOthers(endpoint: number): number | undefined {
    const [fullest] = this.#places.map(({ idle }) => idle).sort((a, b) => b.length - a.length);
    const group = this.hasFor(endpoint) ? undefined : fullest?.pop();
    if (group !== undefined) pushRanked(this.#homeless, group);
    return this.take(endpoint);
  }

  /** A job is settled. */
  release(job: number): void {
    const group = at(this.#groupOf, job);
    const { idle, busy, retired } = this.#place(group.home);
    const hadPlace = group.next !== NONE && !group.serial;
    group.running--;
    if (group.next === NONE) return;
    if (hadPlace && !(group.running === 0 && busy.delete(group))) return;
    if (retired) pushRanked(this.#homeless, group);
    else if (group.running === 0) pushRanked(idle, group);
    else busy.add(group);
  }

  /** A job is settled, and those of its group that wait are not to be asked. */
  releaseLast(job: number): void {
    const group = at(this.#groupOf, job);
    if (!group.serial) throw new Error('only the jobs of a serial group wait for one another');
    for (; group.next !== NONE; group.next = at(this.#following, group.next)) this.waiting--;
    this.release(job);
  }

  /** A job waits for its next try: its group goes on without it, unless it is serial. @returns whether it does */
  letPass(job: number): boolean {
    if (at(this.#groupOf, job).serial) return false;
    this.release(job);
    return true;
  }

  /** Takes an endpoint's groups away from it. */
  retire(endpoint: number): void {
    const place = this.#place(endpoint);
    place.retired = true;
    for (const group of [...place.idle, ...place.busy]) pushRanked(this.#homeless, group);
    place.idle.length = 0;
    place.busy.clear();
  }

  /** Lets an endpoint keep groups again. The others give up its share of their groups, the last ones. */
  restore(endpoint: number): void {
    this.#place(endpoint).retired = false;
    const open = this.#places.filter(({ retired }) => !retired);
    for (const { idle } of open) {
      // Without its last entries a heap is still one.
      const share = Math.floor(idle.length / open.length);
      for (const group of idle.splice(idle.length - share)) pushRanked(this.#homeless, group);
    }
  }

  /** Whether a job waits that an endpoint may take. */
  hasFor(endpoint: number): boolean {
    const { idle, busy } = this.#place(endpoint);
    return this.#homeless.length + idle.length + busy.size > 0;
  }

  #place(endpoint: number): Place {
    return at(this.#places, endpoint);
  }

  #putFirst(job: number, group: Group): void {
    this.#following[job] = group.next;
    group.next = job;
  }
}

/** The item at an index. Every index used here is one of the list's own. */
function at<T>(list: ArrayLike<T>, index: number): T {
  // True by the sentence above; a check would cost each of the queue's steps.
  return list[index] as T;
}

export function firstOf<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}

/** Puts a group into a binary heap; the group with the earliest next job is first. */
function pushRanked(heap: Group[], group: Group): void {
  group.rank = group.next;
  let hole = heap.push(group) - 1;
  while (hole > 0) {
    const parent = (hole - 1) >> 1;
    if (at(heap, parent).rank <= group.rank) break;
    heap[hole] = at(heap, parent);
    hole = parent;
  }
  heap[hole] = group;
}

function popLowest(heap: Group[]): Group | undefined {
  const lowest = heap[0];
  const last = heap.pop();
  if (lowest === undefined || last === undefined || heap.length === 0) return lowest;
  let hole = 0;
  for (let child = 1; child < heap.length; child = 2 * hole + 1) {
    const right = heap[child + 1];
    if (right !== undefined && right.rank < at(heap, child).rank) child++;
    if (at(heap, child).rank >= last.rank) break;
    heap[hole] = at(heap, child);
    hole = child;
  }
  heap[hole] = last;
  return lowest;
}
