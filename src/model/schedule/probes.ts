// Probes: the single calls that go to an endpoint while it is out, to find out whether it is back.

import type { Call } from './call.js';
import type { Course } from './course.js';
import { afterProbeStart } from './health.js';
import { type Lane, pauseOf } from './lane.js';
import type { JobQueue } from './queue.js';

/** What outages need of the schedule's slots. */
export interface Slots {
  readonly queue: JobQueue;
  /** Lets the endpoint take jobs. */
  offer(lane: Lane): void;
  /** The next new call for the endpoint. */
  takeNew(lane: Lane): Call | undefined;
  /** Asks a call in a free slot, and settles it. */
  start(call: Call, lane: Lane): Promise<void>;
  /** Has another endpoint take a call over. */
  passOn(call: Call): void;
}

export class Probes {
  readonly #course: Course;
  readonly #slots: Slots;
  readonly #onEndOfPatience: (lane: Lane) => void;
  /** What ends the wait for the next probe. */
  readonly #watches = new Map<Lane, AbortController>();

  constructor(course: Course, slots: Slots, onEndOfPatience: (lane: Lane) => void) {
    this.#course = course;
    this.#slots = slots;
    this.#onEndOfPatience = onEndOfPatience;
  }

  /** Starts probes at an endpoint until it answers, and tells when its time is up. */
  async watch(lane: Lane): Promise<void> {
    if (this.#watches.has(lane)) return;
    const { clock } = this.#course.settings;
    for (;;) {
      const pause = pauseOf(lane);
      if (pause === undefined || this.#course.halted || this.#course.isOver) break;
      const wake = new AbortController();
      this.#watches.set(lane, wake);
      const now = clock.now();
      const probeAt = Math.max(pause.nextProbeAt, lane.pausedUntil);
      if (now >= pause.until && lane.end === undefined && !isWaitingForOlderCalls(lane)) {
        this.#onEndOfPatience(lane);
      } else if (now >= probeAt) {
        lane.health = afterProbeStart(lane.health, now);
        void lane.slots(() => this.#probe(lane));
      } else {
        await this.#course.wait((pause.until > now ? Math.min(probeAt, pause.until) : probeAt) - now, wake);
      }
    }
    this.#watches.delete(lane);
  }

  /** Has the watch look again, as something has changed. */
  wake(lane: Lane): void {
    this.#watches.get(lane)?.abort();
  }

  /** Sends one call, each time with another row if there is one. */
  async #probe(lane: Lane): Promise<void> {
    if (this.#course.halted || pauseOf(lane) === undefined) return;
    const call = this.#slots.takeNew(lane) ?? lane.parked.shift() ?? lane.spent.shift();
    if (call === undefined) return;
    lane.probes.add(call);
    await this.#slots.start(call, lane);
  }
}

/** Whether calls that began before the outage may still be answered. */
function isWaitingForOlderCalls(lane: Lane): boolean {
  return [...lane.calls].some((call) => call.inFlight !== undefined && !lane.probes.has(call));
}
