// Claims about jobs that are asked again at once, in the slot that they hold.

import { describe, expect, it } from 'vitest';
import type { ModelOutcome } from '../../../src/core/types.js';
import { askByHooks } from '../../support/ask-by-hooks.js';
import { failed, jobsOf, ok, type Script, singles, stage, steady, type TestJob } from '../../support/scheduling.js';

/** Asks, having each job asked again as often as `again` says; what was settled, and each request's seed offset, are recorded. */
function asking(script: Script, again: (id: number) => number, options: Parameters<typeof stage>[1] = {}) {
  const run = stage(script, options);
  const times = new Map<number, number>();
  const settled: { id: number; outcome: ModelOutcome; at: number }[] = [];
  const requests: number[] = [];
  const hooks = {
    async request(job: TestJob) {
      requests.push(job.id);
      return { messages: [], seedOffset: job.id };
    },
    async settle(job: TestJob, outcome: ModelOutcome) {
      settled.push({ id: job.id, outcome, at: run.clock.now() });
      const before = times.get(job.id) ?? 0;
      times.set(job.id, before + 1);
      return before < again(job.id) ? ('again' as const) : ('done' as const);
    },
  };
  const ask = (jobs: readonly TestJob[]) => run.ask(jobs, hooks);
  return { ...run, hooks, ask, outcomes: settled, requests, ids: () => settled.map(({ id }) => id) };
}

describe('asking again', () => {
  it('comes before any other job, with a request of its own', async () => {
    const run = asking(steady, (id) => (id === 0 ? 2 : 0), { concurrency: 1 });
    await run.ask(singles(3));
    expect(run.ids()).toEqual([0, 0, 0, 1, 2]);
    expect(run.requests).toEqual([0, 0, 0, 1, 2]);
  });

  it('stays at the endpoint, and keeps its group there in line', async () => {
    const run = asking(steady, (id) => (id === 0 ? 3 : 0), { concurrency: 1, hosts: ['a', 'b'] });
    await run.ask(jobsOf('x', 'x', 'y', 'z'));
    expect(run.ids().filter((id) => id < 2)).toEqual([0, 0, 0, 0, 1]);
    expect(new Set(run.started.filter(({ id }) => id === 0).map(({ host }) => host)).size).toBe(1);
  });

  it('takes no slot beyond the limit', async () => {
    const run = asking(steady, () => 2, { concurrency: 3 });
    await run.ask(singles(30));
    expect(run.outcomes.length).toBe(90);
    expect([...run.most.values()]).toEqual([3]);
  });

  it('begins with all tries, and the log counts none of those before', async () => {
    const attempts: number[] = [];
    const run = asking(
      ({ id, attempt }) => {
        if (id > 0) return { ms: 5, attempt: ok() };
        attempts.push(attempt);
        return { ms: 10, attempt: attempt < 2 ? failed('transient') : ok() };
      },
      (id) => (id === 0 ? 1 : 0),
      { maxAttempts: 3 },
    );
    await run.ask(singles(3_000));
    expect(attempts).toEqual([0, 1, 2, 0, 1, 2]);
    const ofFirst = run.outcomes.filter(({ id }) => id === 0);
    expect(ofFirst.map(({ outcome }) => outcome.status === 'ok' && outcome.log)).toMatchObject([
      { attempts: 3, usage: { completionTokens: 10 } },
      { attempts: 3, usage: { completionTokens: 10 } },
    ]);
  });

  it('counts its time from its own first failure', async () => {
    const run = asking(
      ({ id, attempt }) => ({ ms: id === 0 ? 400 : 50, attempt: id === 0 && attempt < 2 ? failed('timeout') : ok() }),
      (id) => (id === 0 ? 5 : 0),
      { retryMs: 5_000, random: () => 1 },
    );
    await run.ask(singles(1_000));
    const ofFirst = run.outcomes.filter(({ id }) => id === 0);
    expect(ofFirst.map(({ outcome }) => outcome.status)).toEqual(Array(6).fill('ok'));
    expect(ofFirst.at(-1)?.at).toBeGreaterThan(5_000);
  });

  it('is possible after a failure, too', async () => {
    let calls = 0;
    const run = asking(
      () => ({ ms: 10, attempt: calls++ === 0 ? failed('context-overflow') : ok() }),
      () => 1,
    );
    await run.ask(singles(1));
    expect(run.outcomes.map(({ outcome }) => outcome.status)).toEqual(['failed', 'ok']);
  });

  it.each(['stop', 'abort'] as const)('is not done after %s', async (signal) => {
    const run = asking(
      ({ id }) => ({ ms: 100 * (id + 1), attempt: ok() }),
      () => 5,
      { concurrency: 2 },
    );
    void run.after(150).then(() => run[signal].abort());
    await run.ask(singles(9));
    const expected = signal === 'stop' ? [0, 1, 0] : [0, 0, 1];
    expect(run.ids().sort()).toEqual(expected.sort());
    expect(run.requests.filter((id) => id > 1)).toEqual([]);
  });

  it('is not done once the run has failed', async () => {
    const broken = new Error('the disk is full');
    const run = asking(
      ({ id }) => ({ ms: id === 0 ? 120 : 200, attempt: ok() }),
      () => 5,
    );
    const settle = async (job: TestJob, outcome: ModelOutcome) => {
      if (job.id === 1) throw broken;
      return run.hooks.settle(job, outcome);
    };
    const asked = run.passUntil(
      askByHooks(run.backend, singles(9), { ...run.hooks, settle }, { stop: run.stop.signal, abort: run.abort.signal }),
    );
    await expect(asked).rejects.toBe(broken);
    expect(run.outcomes.at(-1)).toMatchObject({ id: 0, outcome: { status: 'interrupted' } });
    expect(run.backend.status().inFlight).toBe(0);
  });

  it("waits for the end of a rate limit's pause like every start", async () => {
    const run = asking(
      ({ id, now }) => {
        if (id === 1) return { ms: 50, attempt: now < 1_000 ? failed('rate-limit', { retryAfterMs: 30_000 }) : ok() };
        return { ms: 100, attempt: ok() };
      },
      (id) => (id === 0 ? 1 : 0),
      { concurrency: 2 },
    );
    await run.ask(singles(2));
    expect(run.outcomes.filter(({ id }) => id === 0).map(({ at }) => at)).toEqual([100, 30_150]);
  });

  it('stop ends that wait', async () => {
    const run = asking(
      ({ id }) => ({ ms: 50 * (2 - id), attempt: id === 1 ? failed('rate-limit', { retryAfterMs: 30_000 }) : ok() }),
      () => 1,
    );
    void run.after(500).then(() => run.stop.abort());
    await run.ask(singles(2));
    expect(run.clock.now()).toBe(500);
    expect(run.sleepers()).toBe(0);
  });

  it('in an outage it is waited for, and costs the row no try', async () => {
    const isOut = (now: number) => now > 100 && now < 60_000;
    const run = asking(
      ({ now }) => ({ ms: 60, attempt: isOut(now) ? failed('transient', { down: true }) : ok() }),
      () => 1,
      { concurrency: 4, maxAttempts: 2 },
    );
    await run.ask(singles(12));
    expect(run.outcomes.length).toBe(24);
    expect(run.outcomes.every(({ outcome }) => outcome.status === 'ok')).toBe(true);
  });

  it('a row asked again is handed over with its endpoint out of service, and is asked again no more than it was to be', async () => {
    const run = asking(
      ({ host, now }) => ({
        ms: 100,
        attempt: host === 'a' && now >= 100 ? failed('transient', { down: true }) : ok(),
      }),
      () => 1,
      { concurrency: 2, hosts: ['a', 'b'] },
    );
    await run.ask(singles(8));
    expect(run.outcomes.length).toBe(16);
    expect(run.outcomes.every(({ outcome }) => outcome.status === 'ok')).toBe(true);
    expect(run.notices.some((text) => text.includes('out of service'))).toBe(true);
  });
});
