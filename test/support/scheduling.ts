// Scripted endpoints on a clock that needs no waiting, and a record of everything that happens at them.

import type { FailureClass, ModelOutcome, ModelRequest } from '../../src/core/types.js';
import type { Attempt, AttemptFailure } from '../../src/model/attempt.js';
import type { Endpoint } from '../../src/model/endpoint/endpoint.js';
import type { ScheduleOptions } from '../../src/model/schedule/lane.js';
import { type Clock, Pace } from '../../src/model/schedule/pace.js';
import { openPool } from '../../src/model/schedule/pool.js';
import { askByHooks, type HookedJob, type Hooks } from './ask-by-hooks.js';

export interface TestJob extends HookedJob {
  readonly id: number;
}

/** A clock on which time passes only when everything waits for it. */
function virtualClock() {
  const events: { at: number; wake: () => void }[] = [];
  let time = 0;
  let sleepers = 0;
  const clock: Clock = {
    now: () => time,
    sleep(ms, signal) {
      return new Promise((resolve) => {
        if (signal.aborted) return resolve();
        let woken = false;
        sleepers++;
        const wake = () => {
          if (woken) return;
          woken = true;
          sleepers--;
          signal.removeEventListener('abort', wake);
          resolve();
        };
        const at = time + Math.max(0, ms);
        let low = 0;
        for (let high = events.length; low < high; ) {
          const middle = (low + high) >> 1;
          if ((events[middle]?.at as number) > at) low = middle + 1;
          else high = middle;
        }
        events.splice(low, 0, { at, wake });
        signal.addEventListener('abort', wake);
      });
    },
  };
  const idle = () => new Promise((resolve) => setImmediate(resolve));
  const next = () => {
    time = events.at(-1)?.at as number;
    while (events.at(-1)?.at === time) events.pop()?.wake();
  };
  /** Lets time pass until the promise has settled; a promise that nothing can settle is an error. */
  async function passUntil<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const end = () => {
      settled = true;
    };
    promise.then(end, end);
    for (await idle(); !settled; await idle()) {
      if (events.length === 0) throw new Error('stuck: nothing is left that could happen');
      next();
    }
    return promise;
  }
  const after = (ms: number) => clock.sleep(ms, new AbortController().signal);
  return { clock, passUntil, after, sleepers: () => sleepers };
}

export type Script = (call: { id: number; attempt: number; now: number; host: string }) => {
  ms: number;
  attempt: Attempt;
};

export const ok = (content = 'fine'): Attempt => ({ status: 'ok', content, usage: { completionTokens: 10 } });
export const failed = (kind: FailureClass, more: Partial<AttemptFailure> = {}): Attempt => ({
  status: 'failed',
  class: kind,
  reason: `it was ${kind}`,
  ...more,
});
export const unreachable = failed('transient', { unreachable: true, reason: 'connection refused' });

/** An endpoint that follows the script, and stops at once when it is aborted. */
function scripted(clock: Clock, host: string, script: Script): Endpoint {
  return {
    host,
    async call(request, attempt, abort) {
      const { ms, attempt: result } = script({ id: request.seedOffset, attempt, now: clock.now(), host });
      await clock.sleep(ms, abort);
      return abort.aborted ? { status: 'interrupted' } : result;
    },
    close: async () => {},
  };
}

interface Started {
  readonly id: number;
  readonly group: string;
  readonly host: string;
  /** Milliseconds of the clock. */
  readonly at: number;
}

/** A backend over scripted endpoints, with a record of everything that happened. */
export function stage(
  script: Script,
  options: Partial<ScheduleOptions> & { hosts?: readonly string[]; rpm?: number; tpm?: number } = {},
) {
  const { hosts = ['a'], rpm, tpm, ...rest } = options;
  const time = virtualClock();
  const groups = new Map<number, string>();
  const started: Started[] = [];
  const inFlight = new Map<string, number>();
  const most = new Map<string, number>();
  const notices: string[] = [];
  const endpoints = hosts.map((host): Endpoint => {
    const endpoint = scripted(time.clock, host, script);
    return {
      ...endpoint,
      async call(request, attempt, abort) {
        started.push({
          id: request.seedOffset,
          group: groups.get(request.seedOffset) ?? '',
          host,
          at: time.clock.now(),
        });
        inFlight.set(host, (inFlight.get(host) ?? 0) + 1);
        most.set(host, Math.max(most.get(host) ?? 0, inFlight.get(host) as number));
        const result = await endpoint.call(request, attempt, abort);
        inFlight.set(host, (inFlight.get(host) as number) - 1);
        return result;
      },
    };
  });
  const backend = openPool(endpoints, {
    concurrency: 2,
    maxAttempts: 6,
    retryMs: 600_000,
    clock: time.clock,
    random: () => 0.5,
    onNotice: (text) => notices.push(text),
    pace: new Pace({ rpm, tpm, clock: time.clock }),
    ...rest,
  });
  const settled = new Map<number, ModelOutcome[]>();
  const asked = new Set<number>();
  const stop = new AbortController();
  const abort = new AbortController();
  const request = async (job: TestJob): Promise<ModelRequest> => {
    if (settled.has(job.id)) throw new Error(`job ${job.id} was asked for again once it was settled`);
    asked.add(job.id);
    groups.set(job.id, job.group);
    return { messages: [], seedOffset: job.id };
  };
  const settle = async (job: TestJob, outcome: ModelOutcome) => {
    settled.set(job.id, [...(settled.get(job.id) ?? []), outcome]);
    return 'done' as const;
  };
  const ask = (jobs: readonly TestJob[], hooks: Partial<Hooks<TestJob>> = {}) =>
    time.passUntil(
      askByHooks(backend, jobs, { request, settle, ...hooks }, { stop: stop.signal, abort: abort.signal }),
    );
  const outcome = (id: number) => settled.get(id)?.[0];
  const statuses = () => [...settled.values()].map(([first]) => first?.status);
  return { ...time, ask, backend, stop, abort, started, most, notices, settled, asked, outcome, statuses, request };
}

export const jobsOf = (...groups: readonly string[]): TestJob[] => groups.map((group, id) => ({ id, group }));
export const singles = (count: number): TestJob[] =>
  Array.from({ length: count }, (_, id) => ({ id, group: `g${id}` }));
export const steady: Script = () => ({ ms: 100, attempt: ok() });
