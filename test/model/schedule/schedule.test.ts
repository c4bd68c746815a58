// Claims about scheduling: limits, groups, tries, interruption and throughput, on a clock that needs no waiting.

import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../../src/core/errors.js';
import type { Backend, ModelOutcome } from '../../../src/core/types.js';
import type { Attempt } from '../../../src/model/attempt.js';
import type { Endpoint } from '../../../src/model/endpoint/endpoint.js';
import { openPool } from '../../../src/model/schedule/pool.js';
import { askByHooks } from '../../support/ask-by-hooks.js';
import {
  failed,
  jobsOf,
  ok,
  type Script,
  singles,
  stage,
  steady,
  type TestJob,
  unreachable,
} from '../../support/scheduling.js';

const warnings: Error[] = [];
const remember = (warning: Error) => warnings.push(warning);
process.on('warning', remember);
afterEach(() => {
  expect(warnings.splice(0)).toEqual([]);
});

describe('slots', () => {
  it('a fixed number is kept exactly, at each endpoint', async () => {
    const { ask, most, clock } = stage(steady, { concurrency: 3, hosts: ['a', 'b'] });
    await ask(singles(60));
    expect([...most]).toEqual([
      ['a', 3],
      ['b', 3],
    ]);
    expect(clock.now()).toBe(1_000);
  });

  it('a slot is held until the row is settled', async () => {
    const run = stage(steady, { concurrency: 1 });
    const events: string[] = [];
    await run.ask(singles(2), {
      request: async (job) => {
        events.push(`request ${job.id}`);
        return { messages: [], seedOffset: job.id };
      },
      settle: async (job) => {
        await run.after(1_000);
        events.push(`settled ${job.id}`);
        return 'done';
      },
    });
    expect(events).toEqual(['request 0', 'settled 0', 'request 1', 'settled 1']);
  });

  it('a row that fails leaves its slot to the rows that have not begun, and is retried after them', async () => {
    const { ask, started } = stage(
      ({ id, attempt }) => ({
        ms: 10,
        attempt: id === 0 && attempt === 0 ? failed('transient') : ok(),
      }),
      { concurrency: 1 },
    );
    await ask(singles(3));
    expect(started.map(({ id }) => id)).toEqual([0, 1, 2, 0]);
  });

  it('a slot is held during back-off after a rate limit', async () => {
    const { ask, started } = stage(
      ({ id, now }) => ({ ms: 10, attempt: id === 0 && now === 0 ? failed('rate-limit') : ok() }),
      { concurrency: 1 },
    );
    await ask(singles(2));
    expect(started.map(({ id }) => id)).toEqual([0, 0, 1]);
  });

  it('are shared by everything asked at a time, and one that ends does not disturb the others', async () => {
    const run = stage(steady, { concurrency: 3 });
    const asked = (jobs: readonly TestJob[], stop: AbortSignal) => {
      const settle = async ({ id }: TestJob, outcome: ModelOutcome) => {
        run.settled.set(id, [outcome]);
        return 'done' as const;
      };
      return askByHooks(run.backend, jobs, { request: run.request, settle }, { stop, abort: run.abort.signal });
    };
    const early = new AbortController();
    void run.after(250).then(() => early.abort());
    const [one, other] = [singles(30).slice(0, 15), singles(30).slice(15)];
    await run.passUntil(Promise.all([asked(one, early.signal), asked(other, run.stop.signal)]));
    expect([...run.most]).toEqual([['a', 3]]);
    expect(other.every(({ id }) => run.settled.has(id))).toBe(true);
    expect(one.filter(({ id }) => run.settled.has(id)).length).toBeLessThan(15);
    expect(run.sleepers()).toBe(0);
  });

  it('nothing to do is done at once', async () => {
    await expect(stage(steady).ask([])).resolves.toBeUndefined();
  });

  it('progress sees calls in flight, the limits together and the pause', async () => {
    const seen: ReturnType<Backend['status']>[] = [];
    const run = stage(
      ({ id, now }) => ({
        ms: 10,
        attempt: id === 0 && now === 0 ? failed('rate-limit', { retryAfterMs: 5_000 }) : ok(),
      }),
      { concurrency: 4 },
    );
    void run.after(5).then(() => seen.push(run.backend.status()));
    void run.after(1_010).then(() => seen.push(run.backend.status()));
    await run.ask(singles(6));
    expect(seen).toEqual([
      { inFlight: 4, limit: 4, pausedMs: 0, outages: [] },
      {
        inFlight: 1,
        limit: 4,
        pausedMs: 4_000,
        failure: { text: 'a: it was rate-limit', agoMs: 1_000 },
        outages: [],
      },
    ]);
    expect(run.backend.status()).toMatchObject({ inFlight: 0, limit: 4, pausedMs: 0, outages: [] });
  });
});

describe('groups', () => {
  const order = async (concurrency: number, ...groups: string[]) => {
    const { ask, started } = stage(steady, { concurrency });
    await ask(jobsOf(...groups));
    return started.map(({ id }) => id);
  };

  it('jobs of a group go one after the other while other groups can fill the slots', async () => {
    expect(await order(2, 'x', 'x', 'y', 'y', 'z', 'z')).toEqual([0, 2, 1, 3, 4, 5]);
  });

  it('jobs of one group run side by side rather than leaving slots empty', async () => {
    const { ask, clock, started } = stage(steady, { concurrency: 3 });
    await ask(jobsOf('x', 'x', 'x', 'x', 'x', 'x'));
    expect(started.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(clock.now()).toBe(200);
  });

  it('with one slot the order given is kept', async () => {
    expect(await order(1, 'x', 'y', 'x', 'z', 'y')).toEqual([0, 1, 2, 3, 4]);
  });

  it('a group stays at the endpoint where it started, and groups are spread evenly', async () => {
    const { ask, started } = stage(steady, { concurrency: 2, hosts: ['a', 'b'] });
    await ask(Array.from({ length: 80 }, (_, id) => ({ id, group: `g${id % 20}` })));
    const homes = new Map<string, Set<string>>();
    for (const { group, host } of started) homes.set(group, (homes.get(group) ?? new Set()).add(host));
    expect([...homes.values()].every((hosts) => hosts.size === 1)).toBe(true);
    expect([...homes.values()].filter((hosts) => hosts.has('a'))).toHaveLength(10);
  });

  it('an endpoint that is gone hands its groups to the others, and no row fails by it', async () => {
    const { ask, started, statuses, settled, notices, backend } = stage(
      ({ host, now }) => ({ ms: 100, attempt: host === 'a' && now >= 300 ? unreachable : ok() }),
      { concurrency: 2, hosts: ['a', 'b'] },
    );
    await ask(Array.from({ length: 80 }, (_, id) => ({ id, group: `g${id % 8}` })));
    expect(settled.size).toBe(80);
    expect(new Set(statuses())).toEqual(new Set(['ok']));
    expect(started.at(-1)?.host).toBe('b');
    expect(notices).toEqual(['a is out of service (connection refused); its rows go to the other endpoints']);
    expect(backend.status().limit).toBe(2);
  });

  it('a call in back-off at an endpoint that is gone does not wait its time out', async () => {
    const run = stage(
      ({ id, host }) => {
        const refusal = id === 0 ? unreachable : failed('rate-limit', { retryAfterMs: 500_000 });
        return { ms: 10, attempt: host === 'a' ? refusal : ok() };
      },
      { concurrency: 2, hosts: ['a', 'b'] },
    );
    await run.ask(singles(4));
    expect(run.statuses()).toEqual(Array(4).fill('ok'));
    expect(run.clock.now()).toBeLessThan(60_000);
  });
});

describe('tries', () => {
  const always =
    (attempt: Attempt): Script =>
    () => ({ ms: 10, attempt });

  it.each([
    ['transient', 6],
    ['timeout', 6],
    ['malformed', 6],
    ['context-overflow', 1],
    ['refused', 1],
    ['fatal', 1],
    ['auth', 1],
  ] as const)('a row that stays %s fails after %i tries, with class and reason', async (kind, tries) => {
    const { ask, outcome } = stage(always(failed(kind)));
    await ask(singles(1));
    expect(outcome(0)).toMatchObject({
      status: 'failed',
      class: kind,
      reason: `it was ${kind}`,
      log: { attempts: tries },
    });
  });

  it('back-off doubles up to its cap, with full jitter', async () => {
    const at: number[] = [];
    const script: Script = ({ now }) => {
      at.push(now);
      return { ms: 0, attempt: failed('transient') };
    };
    const { ask } = stage(script, { maxAttempts: 9, random: () => 0.5 });
    await ask(singles(1));
    const gaps = at.slice(1).map((time, index) => time - (at[index] as number));
    expect(gaps).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it('rate limits cost no tries, but the time since the first failure bounds them', async () => {
    const storm: Script = ({ now }) => ({ ms: 10, attempt: now < 500_000 ? failed('rate-limit') : ok() });
    const survivor = stage(storm);
    await survivor.ask(singles(8));
    expect(survivor.statuses()).toEqual(Array(8).fill('ok'));
    const loser = stage(storm, { retryMs: 400_000 });
    await loser.ask(singles(1));
    expect(loser.outcome(0)).toMatchObject({ status: 'failed', class: 'rate-limit' });
    expect(loser.clock.now()).toBeLessThanOrEqual(400_030);
  });

  it('a try that met a rate limit leaves the seed as it was', async () => {
    const seen: number[] = [];
    const script = [failed('rate-limit'), failed('malformed'), failed('rate-limit'), ok()];
    const { ask } = stage(({ attempt }) => ({
      ms: 1,
      attempt: script[seen.push(attempt) - 1] as Attempt,
    }));
    await ask(singles(1));
    expect(seen).toEqual([0, 0, 1, 1]);
  });

  it('Retry-After is waited for, holds back new starts there, and ends the row where it is too long', async () => {
    const at: [number, string, number][] = [];
    const { ask } = stage(
      ({ id, now, host }) => {
        at.push([id, host, now]);
        return { ms: 10, attempt: id === 0 && now < 4_000 ? failed('rate-limit', { retryAfterMs: 4_000 }) : ok() };
      },
      { concurrency: 2, hosts: ['a', 'b'], random: () => 0 },
    );
    await ask(jobsOf('x', 'y', 'x', 'z', 'v', 'w', 'u', 't'));
    const later = at.filter(([, host, now]) => host === 'a' && now > 10).map(([, , now]) => now);
    expect(Math.min(...later)).toBeGreaterThanOrEqual(4_010);
    expect(at.filter(([, host]) => host === 'b').length).toBeGreaterThanOrEqual(5);

    const { ask: askLong, outcome, notices } = stage(always(failed('rate-limit', { retryAfterMs: 700_000 })));
    await askLong(singles(1));
    expect(outcome(0)).toMatchObject({ status: 'failed', class: 'rate-limit', log: { attempts: 6 } });
    expect(notices).toEqual([expect.stringContaining('a limits the rate and asks to wait 12 min')]);
  });

  it('a wait that a server asks for ends with the last row', async () => {
    const refusal = failed('rate-limit', { retryAfterMs: 5_000 });
    const run = stage(({ id }) => ({ ms: 10, attempt: id === 0 ? refusal : ok() }), {
      hosts: ['a', 'b'],
      concurrency: 1,
      retryMs: 5_000,
    });
    await run.ask(singles(2));
    expect(run.statuses().sort()).toEqual(['failed', 'ok']);
    expect(run.sleepers()).toBe(0);
  });

  it('a reply shows room: the call that has waited longest for a rate limit goes next', async () => {
    const { ask, settled, clock } = stage(
      ({ id, now }) => ({ ms: id === 1 ? 700 : 10, attempt: id === 0 && now < 600 ? failed('rate-limit') : ok() }),
      { concurrency: 2, random: () => 0.999 },
    );
    await ask(singles(2));
    expect([...settled.keys()]).toEqual([1, 0]);
    expect(clock.now()).toBe(710);
  });

  it('the log sums usage over the tries and says who answered', async () => {
    const { ask, outcome } = stage(({ attempt }) => ({
      ms: 100,
      attempt:
        attempt === 0
          ? failed('malformed', { usage: { promptTokens: 5, completionTokens: 7 } })
          : {
              status: 'ok',
              content: 'x',
              usage: { promptTokens: 5, cachedTokens: 4 },
              firstTokenMs: 30,
              finishReason: 'stop',
            },
    }));
    await ask(singles(1));
    expect(outcome(0)).toEqual({
      status: 'ok',
      content: 'x',
      finishReason: 'stop',
      log: {
        attempts: 2,
        usage: { promptTokens: 10, completionTokens: 7, cachedTokens: 4 },
        tries: 2,
        uncounted: { sent: 0, received: 1 },
        ms: 700,
        firstTokenMs: 30,
        host: 'a',
      },
    });
  });
});

describe('what ends a run', () => {
  it('with no endpoint in service it ends with hosts and remedy, and no row counts as failed', async () => {
    const { ask, statuses, notices, asked } = stage(() => ({ ms: 10, attempt: unreachable }), {
      hosts: ['a:1', 'b:2'],
    });
    const error = await ask(singles(20)).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(UserError);
    expect(error).toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(/a:1.*b:2.*check the base URL/),
    });
    expect(statuses()).toEqual(Array(asked.size).fill('interrupted'));
    expect(notices[0]).toBe('a:1 cannot be reached: connection refused; retrying');
    expect(notices.filter((text) => text.startsWith('a:1 cannot'))).toHaveLength(1);
  });

  it('a server that starts late is waited for', async () => {
    const { ask, statuses } = stage(({ now }) => ({ ms: 10, attempt: now < 6_000 ? unreachable : ok() }));
    await ask(singles(4));
    expect(statuses()).toEqual(Array(4).fill('ok'));
  });

  it('a row that finds no connection while others succeed is failed, and the endpoint stays', async () => {
    const { ask, outcome, statuses } = stage(({ id }) => ({ ms: 1_000, attempt: id === 0 ? unreachable : ok() }));
    await ask(singles(30));
    expect(outcome(0)).toMatchObject({ status: 'failed', class: 'transient' });
    expect(statuses().filter((status) => status === 'ok')).toHaveLength(29);
  });

  it('a failure with a remedy aborts all in flight and is thrown', async () => {
    const remedy = new UserError('the key was refused', EXIT.authRefused);
    const { ask, statuses, clock } = stage(
      ({ id }) => (id === 3 ? { ms: 50, attempt: failed('auth', { stop: remedy }) } : { ms: 60_000, attempt: ok() }),
      { concurrency: 4 },
    );
    await expect(ask(singles(20))).rejects.toBe(remedy);
    expect(statuses()).toEqual(Array(4).fill('interrupted'));
    expect(clock.now()).toBe(50);
  });

  it.each(['request', 'settle'] as const)(
    'what %s throws ends the run after all in flight are settled',
    async (name) => {
      const run = stage(({ id }) => ({ ms: id === 0 ? 10 : 60_000, attempt: ok() }), { concurrency: 4 });
      const settled: number[] = [];
      const broken = new Error('the disk is full');
      const promise = run.ask(singles(20), {
        request: async (job) => {
          if (name === 'request' && job.id === 2) throw broken;
          return run.request(job);
        },
        settle: async (job) => {
          settled.push(job.id);
          if (name === 'settle' && job.id === 0) throw broken;
          return 'done';
        },
      });
      await expect(promise).rejects.toBe(broken);
      // What has thrown has no outcome.
      expect(settled.sort()).toEqual(name === 'request' ? [0, 1, 3] : [0, 1, 2, 3]);
      expect(run.clock.now()).toBeLessThan(60_000);
    },
  );

  it('stop lets calls in flight end, ends back-offs at once and starts nothing new', async () => {
    const run = stage(({ id }) => (id === 0 ? { ms: 10, attempt: failed('rate-limit') } : { ms: 900, attempt: ok() }), {
      random: () => 1,
    });
    void run.after(500).then(() => run.stop.abort());
    await run.ask(singles(20));
    expect(run.outcome(0)).toMatchObject({ status: 'interrupted', failure: { class: 'rate-limit' } });
    expect(run.outcome(1)).toMatchObject({ status: 'ok' });
    expect(run.settled.size).toBe(2);
    expect(run.clock.now()).toBe(900);
  });

  it('stop during a pause ends it', async () => {
    const run = stage(() => ({ ms: 10, attempt: failed('rate-limit', { retryAfterMs: 500_000 }) }));
    void run.after(500).then(() => run.stop.abort());
    await run.ask(singles(20));
    expect(run.clock.now()).toBe(500);
    expect(run.sleepers()).toBe(0);
  });

  it('abort interrupts what is in flight', async () => {
    const run = stage(() => ({ ms: 60_000, attempt: ok() }));
    void run.after(500).then(() => run.abort.abort());
    await run.ask(singles(20));
    expect(run.statuses()).toEqual(['interrupted', 'interrupted']);
    expect(run.clock.now()).toBe(500);
  });

  it('nothing is started where stop was signalled before', async () => {
    const run = stage(steady);
    run.stop.abort();
    await run.ask(singles(20));
    expect(run.settled.size).toBe(0);
  });

  it('a reply that arrives in spite of an abort is kept', async () => {
    const run = stage(steady);
    const stubborn: Endpoint = {
      host: 'a',
      call: async () => {
        await run.after(100);
        return ok();
      },
      close: async () => {},
    };
    const backend = openPool([stubborn], { concurrency: 2, maxAttempts: 6, retryMs: 600_000, clock: run.clock });
    const outcomes: string[] = [];
    void run.after(50).then(() => run.abort.abort());
    const settle = async (_: TestJob, { status }: ModelOutcome) => {
      outcomes.push(status);
      return 'done' as const;
    };
    const signals = { stop: run.stop.signal, abort: run.abort.signal };
    await run.passUntil(askByHooks(backend, singles(9), { request: run.request, settle }, signals));
    expect(outcomes).toEqual(['ok', 'ok']);
  });

  it('on the real clock too, stop ends a pause longer than a timer can count', async () => {
    const endpoint: Endpoint = {
      host: 'a',
      call: async () => failed('rate-limit', { retryAfterMs: 2 ** 32 }),
      close: async () => {},
    };
    const backend = openPool([endpoint], { concurrency: 2, maxAttempts: 6, retryMs: 2 ** 33 });
    const stop = new AbortController();
    const outcomes: string[] = [];
    const asking = askByHooks(
      backend,
      singles(9),
      {
        request: async (job) => ({ messages: [], seedOffset: job.id }),
        settle: async (_, { status }) => {
          outcomes.push(status);
          return 'done';
        },
      },
      { stop: stop.signal, abort: new AbortController().signal },
    );
    while (backend.status().pausedMs === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    stop.abort();
    await asking;
    expect(outcomes).toEqual(['interrupted', 'interrupted']);
  });
});

describe('whatever happens', () => {
  const attempts = {
    ok: () => ok(),
    rateLimit: () => failed('rate-limit'),
    rateLimitFor: () => failed('rate-limit', { retryAfterMs: 3_000 }),
    server: () => failed('transient'),
    timeout: () => failed('timeout'),
    overflow: () => failed('context-overflow'),
    gone: () => unreachable,
    gateway: () => failed('transient', { down: true }),
    page: () => failed('malformed', { down: true }),
    hostile: () => failed('rate-limit', { retryAfterMs: 1e12 }),
    moved: () => failed('fatal', { down: true, stop: new UserError('nothing there', EXIT.unavailable) }),
  };
  const kinds = fc.constantFrom(...(Object.keys(attempts) as (keyof typeof attempts)[]));
  const scenario = fc.record({
    groups: fc.array(fc.nat(6), { maxLength: 40 }),
    hosts: fc.constantFrom(['a'], ['a', 'b'], ['a', 'b', 'c']),
    concurrency: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant('adaptive' as const)),
    replies: fc.array(fc.tuple(kinds, fc.integer({ min: 1, max: 900 })), { minLength: 1, maxLength: 60 }),
    retryMs: fc.constantFrom(0, 4_000, 600_000),
    waitReadyMs: fc.constantFrom(0, 30_000),
    keepGoing: fc.boolean(),
    stopAt: fc.option(fc.nat(20_000)),
    abortAt: fc.option(fc.nat(20_000)),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it('every job is settled exactly once or was never started, limits hold, and groups stay where they are', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        let turn = 0;
        const run = stage(
          () => {
            const [kind, ms] = given.replies[turn++ % given.replies.length] as [keyof typeof attempts, number];
            return { ms, attempt: attempts[kind]() };
          },
          { ...given, ceiling: 12, random: () => given.random },
        );
        const { stopAt, abortAt } = given;
        let alarms = 0;
        const later = (ms: number | null, ring: () => void) => {
          if (ms === null) return;
          alarms++;
          void run.after(ms).then(() => {
            alarms--;
            ring();
          });
        };
        later(stopAt, () => run.stop.abort());
        later(abortAt, () => run.abort.abort());
        const jobs = given.groups.map((group, id) => ({ id, group: String(group) }));
        const thrown = await run.ask(jobs).catch((error: unknown) => error);

        expect([...run.settled.keys()].sort()).toEqual([...run.asked].sort());
        expect([...run.settled.values()].every((outcomes) => outcomes.length === 1)).toBe(true);
        expect(run.backend.status().inFlight).toBe(0);
        expect(run.sleepers()).toBe(alarms);
        const most = given.concurrency === 'adaptive' ? 12 : given.concurrency;
        expect(Math.max(0, ...run.most.values())).toBeLessThanOrEqual(most);
        const ended = run.stop.signal.aborted || run.abort.signal.aborted;
        if (thrown !== undefined) expect(thrown).toMatchObject({ exitCode: EXIT.unavailable });
        else if (!ended) {
          expect(run.settled.size).toBe(jobs.length);
          expect(run.statuses()).not.toContain('interrupted');
        }
        // A row that fails at one endpoint is tried at another.
        if (given.replies.every(([kind]) => kind === 'ok' || kind === 'overflow')) {
          const homes = new Map<string, string>();
          for (const { group, host } of run.started) {
            expect(homes.get(group) ?? host).toBe(host);
            homes.set(group, host);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('a wait that ends while slots are filled is not lost', async () => {
    for (let early = 0; early < 3; early += 0.05) {
      let now = 0;
      // Each look at this clock takes a while, so that waits end between two of them.
      const clock = {
        now: () => {
          now += 0.3;
          return now;
        },
        async sleep(ms: number, signal: AbortSignal) {
          await new Promise((resolve) => setImmediate(resolve));
          if (!signal.aborted) now += Math.max(0.1, ms - early);
        },
      };
      let calls = 0;
      const endpoint: Endpoint = {
        host: 'a',
        call: async () => (++calls % 4 === 0 ? ok() : failed('transient')),
        close: async () => {},
      };
      const backend = openPool([endpoint], {
        concurrency: 2,
        maxAttempts: 6,
        retryMs: 600_000,
        clock,
        random: () => 0.5,
      });
      const outcomes: unknown[] = [];
      const asked = backend.work(
        singles(1),
        async (job, ask) => {
          outcomes.push((await ask({ make: async () => ({ messages: [], seedOffset: job.id }) })).status);
        },
        { stop: new AbortController().signal, abort: new AbortController().signal },
      );
      const stalled = new Promise((resolve) => setTimeout(() => resolve('stalled'), 2_000).unref());
      expect(await Promise.race([asked, stalled])).toBeUndefined();
      expect(outcomes).toEqual(['ok']);
    }
  });

  it.each([
    ['one group', () => 'x'],
    ['each its own group', (id: number) => `g${id}`],
    ['groups of ten', (id: number) => `g${id % 2_500}`],
  ])('5,000 jobs are asked once each, without leaking listeners: %s', async (_, groupOf) => {
    const endpoint: Endpoint = { host: 'a', call: async () => ok(), close: async () => {} };
    const backend = openPool([endpoint], { concurrency: 64, maxAttempts: 6, retryMs: 600_000 });
    const stop = new AbortController();
    const seen = new Uint8Array(5_000);
    await askByHooks(
      backend,
      Array.from(seen, (_, id) => ({ id, group: groupOf(id) })),
      {
        request: async (job) => ({ messages: [], seedOffset: job.id }),
        settle: async (job) => {
          seen[job.id] = (seen[job.id] as number) + 1;
          return 'done';
        },
      },
      { stop: stop.signal, abort: new AbortController().signal },
    );
    expect(seen.every((times) => times === 1)).toBe(true);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});
