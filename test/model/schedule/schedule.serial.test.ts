// Claims about serial groups in the schedule: one job in flight whatever goes wrong, and no slot left empty while groups last.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/core/errors.js';
import type { ModelOutcome } from '../../../src/core/types.js';
import { failed, ok, stage, steady, type TestJob, unreachable } from '../../support/scheduling.js';

const serial = (...groups: readonly string[]): TestJob[] => groups.map((group, id) => ({ id, group, serial: true }));
/** Chains of so many jobs each, one chain after the other. */
const chains = (...lengths: readonly number[]): TestJob[] =>
  serial(...lengths.flatMap((length, chain) => Array<string>(length).fill(`chain ${chain}`)));

describe('serial groups', () => {
  it('keep every slot busy while there are as many groups as slots', async () => {
    const { ask, clock } = stage(steady, { concurrency: 4 });
    await ask(chains(10, 10, 10, 10, 10, 10, 10, 10));
    expect(clock.now()).toBe(2_000);
  });

  it('in the order of their length come to the ideal time within a fifth', async () => {
    const lengths = Array.from({ length: 60 }, (_, chain) => 2 + ((chain * 7) % 23)).sort((a, b) => b - a);
    const { ask, clock } = stage(steady, { concurrency: 16 });
    await ask(chains(...lengths));
    const turns = lengths.reduce((sum, length) => sum + length, 0);
    expect(clock.now()).toBeLessThanOrEqual(1.2 * 100 * Math.max(Math.ceil(turns / 16), lengths[0] ?? 0));
  });

  it('go on with the group that began rather than begin another', async () => {
    const { ask, started } = stage(steady, { concurrency: 2 });
    await ask(chains(3, 3, 3));
    expect(started.map(({ group }) => group.at(-1)).join('')).toBe('010101222');
  });

  it('wait after a call that waits for an outage to end, and none of them is lost', async () => {
    const run = stage(({ now }) => ({ ms: 100, attempt: now >= 200 && now < 60_000 ? unreachable : ok() }), {
      concurrency: 4,
    });
    await run.ask(chains(4, 4));
    expect(run.statuses()).toEqual(Array(8).fill('ok'));
    expect(run.settled.size).toBe(8);
  });

  it('go to another endpoint when theirs is gone, from the turn on that was in flight', async () => {
    const run = stage(({ host, now }) => ({ ms: 100, attempt: host === 'a' && now >= 300 ? unreachable : ok() }), {
      concurrency: 2,
      hosts: ['a', 'b'],
    });
    await run.ask(chains(8, 8, 8, 8, 8, 8));
    expect(run.statuses()).toEqual(Array(48).fill('ok'));
    expect(run.started.at(-1)?.host).toBe('b');
  });

  it('are no longer asked after a job that ends its group, and are not settled either', async () => {
    const run = stage(steady, { concurrency: 2 });
    const seen: number[] = [];
    await run.ask(chains(3, 3), {
      settle: async ({ id }) => {
        seen.push(id);
        return id === 1 ? 'ends-group' : 'done';
      },
    });
    expect(seen.sort()).toEqual([0, 1, 3, 4, 5]);
  });
});

describe('whatever happens to serial groups', () => {
  const attempts = {
    ok: () => ok(),
    rateLimit: () => failed('rate-limit'),
    server: () => failed('transient'),
    overflow: () => failed('context-overflow'),
    gone: () => unreachable,
    gateway: () => failed('transient', { down: true }),
  };
  const kinds = fc.constantFrom(...(Object.keys(attempts) as (keyof typeof attempts)[]));
  const scenario = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 8 }),
    hosts: fc.constantFrom(['a'], ['a', 'b'], ['a', 'b', 'c']),
    concurrency: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant('adaptive' as const)),
    replies: fc.array(fc.tuple(kinds, fc.integer({ min: 1, max: 900 })), { minLength: 1, maxLength: 40 }),
    retryMs: fc.constantFrom(0, 4_000, 600_000),
    endsGroup: fc.boolean(),
    stopAt: fc.option(fc.nat(20_000)),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  // The witness answers while the last row, which a probe failed before, still has to wait: only its back-off's end can go on with it.
  const probedInItsBackOff: typeof scenario extends fc.Arbitrary<infer T> ? T : never = {
    lengths: [3, 1],
    hosts: ['a'],
    concurrency: 1,
    replies: [
      ['gateway', 1],
      ['gone', 1],
      ['ok', 1],
      ['gateway', 1],
      ['gone', 1],
    ],
    retryMs: 600_000,
    endsGroup: false,
    stopAt: null,
    random: 0.04927868852459017,
  };

  it('no group has two jobs begun and not settled, and a group is settled from its first job on without a gap', async () => {
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
        if (given.stopAt !== null) void run.after(given.stopAt).then(() => run.stop.abort());
        const jobs = chains(...given.lengths);
        const open = new Map<string, number>();
        const settled = new Map<string, number[]>();
        const ended = new Set<string>();
        const broken: string[] = [];
        const thrown = await run
          .ask(jobs, {
            request: async (job) => {
              if ((open.get(job.group) ?? job.id) !== job.id || ended.has(job.group)) broken.push(job.group);
              open.set(job.group, job.id);
              return run.request(job);
            },
            settle: async (job, outcome: ModelOutcome) => {
              open.delete(job.group);
              if (outcome.status === 'interrupted') return 'done';
              settled.set(job.group, [...(settled.get(job.group) ?? []), job.id]);
              if (!given.endsGroup || outcome.status === 'ok') return 'done';
              ended.add(job.group);
              return 'ends-group';
            },
          })
          .catch((error: unknown) => error);
        expect(thrown === undefined || thrown instanceof UserError).toBe(true);
        expect(broken).toEqual([]);
        for (const [group, ids] of settled) {
          const all = jobs.filter((job) => job.group === group).map(({ id }) => id);
          expect(ids).toEqual(all.slice(0, ids.length));
          const isWhole = thrown === undefined && !run.stop.signal.aborted && !ended.has(group);
          if (isWhole) expect(ids).toEqual(all);
        }
        if (thrown === undefined && !run.stop.signal.aborted) expect(settled.size).toBe(given.lengths.length);
      }),
      { numRuns: 500, examples: [[probedInItsBackOff]] },
    );
  });
});
