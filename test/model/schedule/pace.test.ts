// The pace of a run: over any minute no more calls and tokens than were said, whatever the calls come to.

import { describe, expect, it } from 'vitest';
import type { Attempt } from '../../../src/model/attempt.js';
import { randomFrom } from '../../support/random.js';
import { failed, jobsOf, ok, type Script, singles, stage, steady, unreachable } from '../../support/scheduling.js';

const MINUTE_MS = 60_000;

/** The most that any sliding minute holds; a call weighs 1 where nothing else is said. */
function mostInMinute(starts: readonly { readonly at: number }[], weigh: (index: number) => number = () => 1): number {
  const sums = starts.map(({ at }) =>
    starts.reduce((sum, start, index) => (start.at >= at && start.at < at + MINUTE_MS ? sum + weigh(index) : sum), 0),
  );
  return Math.max(0, ...sums);
}

const counted = (promptTokens: number, completionTokens: number): Attempt => ({
  status: 'ok',
  content: 'fine',
  usage: { promptTokens, completionTokens },
});

/** Requests of so many characters each. */
const ofSize = (chars: number) => ({
  request: async ({ id }: { readonly id: number }) => ({
    messages: [{ role: 'user', content: 'x'.repeat(chars) } as const],
    seedOffset: id,
  }),
});

describe('calls a minute', () => {
  it('are no more than was said in any minute, and come evenly', async () => {
    const run = stage(steady, { rpm: 30, concurrency: 16 });
    await run.ask(singles(100));
    expect(run.statuses()).toEqual(Array(100).fill('ok'));
    expect(mostInMinute(run.started)).toBe(30);
    const apart = run.started.slice(1).map(({ at }, index) => at - (run.started[index]?.at ?? 0));
    expect(Math.min(...apart)).toBeGreaterThan(2_000);
    expect(Math.max(...apart)).toBeLessThan(2_100);
  });

  it('count over all endpoints together', async () => {
    const run = stage(steady, { rpm: 20, concurrency: 8, hosts: ['a', 'b', 'c'] });
    await run.ask(singles(60));
    expect(new Set(run.started.map(({ host }) => host)).size).toBe(3);
    expect(mostInMinute(run.started)).toBe(20);
  });

  it.each(Array.from({ length: 12 }, (_, seed) => seed))(
    'are kept through retries, rate limits, outages and rows asked again (%i)',
    async (seed) => {
      const random = randomFrom(seed);
      const [rpm, hosts] = [5 + Math.floor(random() * 120), ['a', 'b'].slice(0, 1 + (seed % 2))];
      let isOut = 0;
      const script: Script = ({ now, host }) => {
        const ms = random() * 20_000;
        if (now < isOut && host === 'a') return { ms: 5, attempt: unreachable };
        const luck = random();
        if (luck < 0.02) isOut = now + 90_000;
        if (luck < 0.15) return { ms, attempt: failed('rate-limit', { retryAfterMs: random() * 30_000 }) };
        if (luck < 0.25) return { ms, attempt: failed('transient') };
        if (luck < 0.3) return { ms, attempt: failed('timeout') };
        return { ms, attempt: ok() };
      };
      const again = new Set([3, 5, 8]);
      const run = stage(script, { rpm, hosts, concurrency: 1 + Math.floor(random() * 40), random });
      await run.ask(singles(80), {
        request: async ({ id }) => ({ messages: [], seedOffset: id }),
        settle: async (job, outcome) => {
          run.settled.set(job.id, [...(run.settled.get(job.id) ?? []), outcome]);
          return again.delete(job.id) ? 'again' : 'done';
        },
      });
      expect(run.settled.size).toBe(80);
      expect(run.started.length).toBeGreaterThan(83);
      expect(mostInMinute(run.started)).toBeLessThanOrEqual(rpm);
    },
  );
});

describe('tokens a minute', () => {
  it('are no more than was said in any minute, with the output that is to be expected', async () => {
    const run = stage(() => ({ ms: 500, attempt: counted(1_000, 200) }), { tpm: 30_500, concurrency: 32 });
    await run.ask(singles(120), ofSize(4_000));
    expect(run.started.length).toBe(120);
    expect(mostInMinute(run.started, () => 1_200)).toBeLessThanOrEqual(30_500);
    // What is allowed is used: after the first calls, whose output nobody knew, 25 start each minute.
    const last = run.started.at(-1)?.at ?? 0;
    expect(last).toBeLessThan(6 * MINUTE_MS);
  });

  it('are learned from what the server counts: prompts of two characters per token, and long replies', async () => {
    const run = stage(() => ({ ms: 500, attempt: counted(4_000, 3_000) }), { tpm: 70_000, concurrency: 8 });
    await run.ask(singles(80), ofSize(8_000));
    const learnt = run.started.slice(10);
    expect(mostInMinute(learnt, () => 7_000)).toBeLessThanOrEqual(70_000);
  });

  it('let a call that is larger than they are start on its own', async () => {
    const run = stage(() => ({ ms: 100, attempt: counted(50_000, 10) }), { tpm: 20_000, concurrency: 4 });
    await run.ask(singles(3), ofSize(200_000));
    expect(run.statuses()).toEqual(['ok', 'ok', 'ok']);
    expect(mostInMinute(run.started)).toBe(1);
  });

  it('hold together with calls a minute', async () => {
    const run = stage(() => ({ ms: 100, attempt: counted(100, 10) }), { rpm: 600, tpm: 1_100, concurrency: 8 });
    await run.ask(singles(40), ofSize(400));
    expect(mostInMinute(run.started.slice(3), () => 110)).toBeLessThanOrEqual(1_100);
  });
});

describe('a call that waits for its turn', () => {
  it('is no sign of a full endpoint: an adaptive limit does not grow', async () => {
    const run = stage(steady, { rpm: 60, concurrency: 'adaptive' });
    await run.ask(singles(400));
    expect(run.backend.status().limit).toBe(8);
    expect([...run.most.values()]).toEqual([1]);
  });

  it('is not in flight, and is counted separately', async () => {
    const run = stage(({ now }) => ({ ms: now === 0 ? 30_000 : 10, attempt: ok() }), { rpm: 1, concurrency: 4 });
    const seen: unknown[] = [];
    run.after(10_000).then(() => seen.push(run.backend.status()));
    await run.ask(singles(4));
    expect(seen).toMatchObject([{ inFlight: 1, paced: 3, limit: 4 }]);
    expect(run.backend.status()).not.toHaveProperty('paced');
  });

  it.each(['stop', 'abort'] as const)('is let go at once on %s, and is not asked', async (signal) => {
    const run = stage(steady, { rpm: 1, concurrency: 4 });
    run.after(1_000).then(() => run[signal].abort());
    await run.ask(singles(9));
    expect(run.clock.now()).toBe(1_000);
    expect(run.started.length).toBe(1);
    // The slot that the first reply left took a row as well.
    expect(run.statuses().sort()).toEqual([...Array(4).fill('interrupted'), 'ok']);
  });

  it('waits for the end of a Retry-After as well', async () => {
    const run = stage(
      ({ now }) => ({ ms: 10, attempt: now === 0 ? failed('rate-limit', { retryAfterMs: 200_000 }) : ok() }),
      { rpm: 60, concurrency: 4 },
    );
    await run.ask(singles(8));
    expect(run.started.filter(({ at }) => at > 0 && at < 200_000).length).toBe(0);
    expect(run.statuses()).toEqual(Array(8).fill('ok'));
  });

  it('holds up no other endpoint where its own is out', async () => {
    const run = stage(({ host, now }) => ({ ms: 10, attempt: host === 'a' && now > 5_000 ? unreachable : ok() }), {
      rpm: 60,
      concurrency: 3,
      hosts: ['a', 'b'],
    });
    await run.ask(jobsOf(...Array.from({ length: 40 }, (_, id) => `g${id % 10}`)));
    expect(run.statuses()).toEqual(Array(40).fill('ok'));
    expect(mostInMinute(run.started)).toBeLessThanOrEqual(60);
  });
});

it('without limits nothing waits', async () => {
  const run = stage(steady, { concurrency: 4 });
  await run.ask(singles(8));
  expect(run.clock.now()).toBe(200);
});
