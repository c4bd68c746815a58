// The pool with many calls: throughput against servers of many kinds, on a clock that needs no waiting, and 25,000 jobs.

import { afterEach, describe, expect, it } from 'vitest';
import { openPool } from '../../src/model/schedule/pool.js';
import { failed, ok, type Script, singles, stage } from '../support/scheduling.js';

const warnings: Error[] = [];
const remember = (warning: Error) => warnings.push(warning);
process.on('warning', remember);
afterEach(() => {
  expect(warnings.splice(0)).toEqual([]);
});

describe('adaptive concurrency', () => {
  /** Serves this many at once and queues the others: an engine that never answers 429. */
  function queueing(slots: number, ms: () => number): Script {
    const freeAt = new Array<number>(slots).fill(0);
    return ({ now }) => {
      const first = freeAt.indexOf(Math.min(...freeAt));
      const end = Math.max(now, freeAt[first] as number) + ms();
      freeAt[first] = end;
      return { ms: end - now, attempt: ok() };
    };
  }

  /** Answers 429 above this many at once. */
  function limitedAtOnce(slots: number, ms: () => number): Script {
    let ends: number[] = [];
    return ({ now }) => {
      ends = ends.filter((end) => end > now);
      if (ends.length >= slots) return { ms: 20, attempt: failed('rate-limit') };
      const end = now + ms();
      ends.push(end);
      return { ms: end - now, attempt: ok() };
    };
  }

  /** Answers 429 above this many requests per second of the server's clock. */
  function limitedPerSecond(requests: number, ms: () => number, tells = false): Script {
    let second = 0;
    let count = 0;
    return ({ now }) => {
      if (Math.floor(now / 1_000) !== second) count = 0;
      second = Math.floor(now / 1_000);
      if (++count > requests) {
        return { ms: 20, attempt: failed('rate-limit', tells ? { retryAfterMs: 1_000 - (now % 1_000) } : {}) };
      }
      return { ms: ms(), attempt: ok() };
    };
  }

  /** Numbers from 0 to 1, the same in every run. */
  function chance(): () => number {
    let state = 1;
    return () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
  }

  const about = (ms: number) => {
    const next = chance();
    return () => ms * (0.5 + next());
  };

  it.each([
    ['32 slots', 32, 32, 32],
    ['5 slots', 5, 8, 16],
    ['100 slots', 100, 64, 128],
  ])('growth ends when throughput stops growing, and nine tenths of it are used: %s', async (_, slots, low, high) => {
    const run = stage(queueing(slots, about(1_000)), { concurrency: 'adaptive', random: chance() });
    const limits: number[] = [];
    void (async () => {
      for (;;) {
        await run.after(10_000);
        limits.push(run.backend.status().limit);
      }
    })();
    await run.ask(singles(200 * slots));
    const usual = limits.sort((a, b) => a - b)[limits.length >> 1];
    expect(usual).toBeGreaterThanOrEqual(low);
    expect(usual).toBeLessThanOrEqual(high);
    expect(200_000 / run.clock.now()).toBeGreaterThan(0.9);
  });

  it('a server bound only by latency is asked up to the ceiling', async () => {
    const run = stage(() => ({ ms: 2_000, attempt: ok() }), { concurrency: 'adaptive' });
    await run.ask(singles(3_000));
    expect(run.most.get('a')).toBe(256);
  });

  // The last but one is the hardest: at nine tenths of such a small number, every third call is refused by chance.
  it.each([
    ['20 at once, 2 s each', 90, 10, limitedAtOnce(20, () => 2_000)],
    ['20 at once, 1 to 3 s', 90, 10, limitedAtOnce(20, about(2_000))],
    ['60 at once, 10 to 30 s', 90, 3, limitedAtOnce(60, about(20_000))],
    ['3 at once, 1 to 3 s', 90, 1.5, limitedAtOnce(3, about(2_000))],
    ['40 at once, 0.5 to 1.5 s', 90, 40, limitedAtOnce(40, about(1_000))],
    ['10 a second, 500 ms each', 90, 10, limitedPerSecond(10, () => 500)],
    ['20 a second, 1 to 3 s', 90, 20, limitedPerSecond(20, about(2_000))],
    ['20 a second with Retry-After, 1 to 3 s', 90, 20, limitedPerSecond(20, about(2_000), true)],
    ['3 a second, 5 to 15 s', 75, 3, limitedPerSecond(3, about(10_000))],
    ['10 a second, 5 to 15 s', 88, 10, limitedPerSecond(10, about(10_000))],
  ])(
    'no row is lost to a server that takes %s, and %i percent of what it allows get through',
    async (_, percent, perSecond, script) => {
      const run = stage(script, { concurrency: 'adaptive', random: chance() });
      const seconds = Math.min(2_000, 20_000 / perSecond);
      await run.ask(singles(seconds * perSecond));
      expect(run.settled.size).toBe(seconds * perSecond);
      expect(new Set(run.statuses())).toEqual(new Set(['ok']));
      expect((100 * seconds * 1_000) / run.clock.now()).toBeGreaterThan(percent);
      // Refusals are free, but a server should not be flooded with requests that it refuses.
      expect(run.started.length / run.settled.size).toBeLessThan(2);
    },
  );

  it('each endpoint has a limit of its own', async () => {
    const slow = queueing(4, about(1_000));
    const fast: Script = () => ({ ms: 1_000, attempt: ok() });
    const run = stage((call) => (call.host === 'slow' ? slow(call) : fast(call)), {
      concurrency: 'adaptive',
      ceiling: 64,
      hosts: ['slow', 'fast'],
    });
    await run.ask(singles(2_000));
    expect(run.most.get('slow')).toBeLessThanOrEqual(32);
    expect(run.most.get('fast')).toBe(64);
  });
});

it.each([
  ['one group', () => 'x'],
  ['a separate group each', (id: number) => `g${id}`],
  ['groups of ten', (id: number) => `g${id % 2_500}`],
])('25,000 jobs are asked once each: %s', async (_, groupOf) => {
  const pool = openPool([{ host: 'a', call: async () => ok(), close: async () => {} }], {
    concurrency: 64,
    maxAttempts: 6,
    retryMs: 600_000,
  });
  const never = new AbortController().signal;
  const seen = new Uint8Array(25_000);
  await pool.work(
    Array.from(seen, (_, id) => ({ id, group: groupOf(id) })),
    async ({ id }, ask) => {
      const { status } = await ask({ make: async () => ({ messages: [], seedOffset: id }) });
      if (status === 'ok') seen[id] = (seen[id] ?? 0) + 1;
    },
    { stop: never, abort: never },
  );
  expect(seen.every((times) => times === 1)).toBe(true);
});
