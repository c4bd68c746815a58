// Claims about endpoints that stop answering, never answer, or come back, on a clock that needs no waiting.

import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import type { BackendStatus } from '../../../src/core/types.js';
import type { Attempt } from '../../../src/model/attempt.js';
import { failed, jobsOf, ok, type Script, singles, stage, unreachable } from '../../support/scheduling.js';

const badGateway = failed('transient', { down: true, reason: 'the server failed (HTTP 502)' });
const serverError = failed('transient', { reason: 'the server failed (HTTP 500)' });
const reset = failed('transient', { reason: 'the connection broke (ECONNRESET)' });
const silence = failed('timeout', { reason: 'no first token' });
const webPage = failed('malformed', { down: true, reason: 'the reply is a web page' });
const notFound = failed('fatal', { down: true, reason: 'no chat completions at this address' });

/** Answers after a second, except from `from` to `to`, where it does as it is told. */
function outage(from: number, to: number, during: Attempt, ms = 10): Script {
  return ({ now }) => {
    // What is in flight when it breaks off is lost as well.
    if (now + 1_000 > from && now < from) return { ms: from - now, attempt: reset };
    return now >= from && now < to ? { ms, attempt: during } : { ms: 1_000, attempt: ok() };
  };
}

const minutes = (count: number) => count * 60_000;
const MANY = 200;

describe('an outage of an endpoint that has answered', () => {
  it.each<[string, Attempt]>([
    ['refused connections', unreachable],
    ['HTTP 502', badGateway],
    ['HTTP 500', serverError],
    ['broken connections', reset],
    ['web pages with status 200', webPage],
    ["a gateway's 404", notFound],
  ])('of 5 and 40 s costs no row, whatever it looks like: %s', async (_, during) => {
    for (const concurrency of [1, 2, 8, 'adaptive'] as const) {
      for (const seconds of [5, 40]) {
        const run = stage(outage(5_500, 5_500 + seconds * 1_000, during), { concurrency });
        await run.ask(singles(MANY));
        expect(run.settled.size).toBe(MANY);
        expect(new Set(run.statuses())).toEqual(new Set(['ok']));
      }
    }
  });

  it('of silence costs no row either, although each probe takes its time', async () => {
    const run = stage(outage(5_500, 205_500, silence, 90_000), { concurrency: 4 });
    await run.ask(singles(MANY));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
  });

  it('of 700 s ends the run after --retry-minutes 10, no row failed, and not after 15', async () => {
    const script = outage(5_500, 705_500, unreachable);
    const short = stage(script, { retryMs: minutes(10) });
    const error = await short.ask(singles(MANY)).catch((error: unknown) => error);
    expect(error).toMatchObject({
      exitCode: EXIT.unavailable,
      message:
        'a: no reply for 10 min: connection refused; check the server (--retry-minutes sets how long an outage may last), then repeat the command: finished rows are kept',
    });
    expect(short.clock.now()).toBeGreaterThan(600_000);
    expect(short.clock.now()).toBeLessThanOrEqual(605_500);
    expect(short.statuses()).not.toContain('failed');

    const long = stage(script, { retryMs: minutes(15) });
    await long.ask(singles(MANY));
    expect(new Set(long.statuses())).toEqual(new Set(['ok']));
    expect(long.settled.size).toBe(MANY);
  });

  it('is probed by one call at a time, by a row that it has answered and by another row in turn, ever more rarely up to every 15 s', async () => {
    const probes: { id: number; now: number }[] = [];
    const script = outage(5_500, 125_500, badGateway);
    const run = stage(
      (call) => {
        if (call.now > 5_600 && call.now < 125_500) probes.push(call);
        return script(call);
      },
      { concurrency: 8 },
    );
    await run.ask(singles(MANY));
    const answered = (id: number) => id < 40;
    expect(new Set(probes.filter(({ id }) => answered(id)).map(({ id }) => id)).size).toBe(1);
    expect(probes.filter(({ id }) => answered(id)).length).toBeGreaterThanOrEqual(probes.length / 2 - 1);
    const rows = probes.filter(({ id }) => !answered(id)).map(({ id }) => id);
    expect(new Set(rows).size).toBe(rows.length);
    const gaps = probes.slice(1).map(({ now }, index) => now - (probes[index]?.now as number));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(15_010);
    expect(Math.min(...gaps)).toBeGreaterThan(500);
    expect(probes.length).toBeLessThan(25);
  });

  it('leaves seeds and tries as they were', async () => {
    const indices = new Set<number>();
    const script = outage(5_500, 45_500, badGateway);
    const run = stage(
      (call) => {
        if (call.now >= 45_500) indices.add(call.attempt);
        return script(call);
      },
      { concurrency: 8, maxAttempts: 2 },
    );
    await run.ask(singles(MANY));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect([...indices]).toEqual([0]);
  });

  it('during the growth of an adaptive limit does not stunt it', async () => {
    const run = stage(outage(3_500, 23_500, unreachable), { concurrency: 'adaptive', ceiling: 64 });
    await run.ask(singles(3_000));
    expect(run.most.get('a')).toBe(64);
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
  });

  it('with a few rows left, down to the last, costs none', async () => {
    for (const count of [1, 2, 3]) {
      const run = stage(outage(5_500, 45_500, unreachable), { concurrency: 1 });
      await run.ask(singles(5 + count));
      expect(run.statuses()).toEqual(Array(5 + count).fill('ok'));
    }
  });

  it('that ends while a probe hangs is noticed by the next one', async () => {
    const run = stage(
      ({ now }) => {
        if (now < 5_500) return { ms: 1_000, attempt: ok() };
        if (now < 8_000) return { ms: 10, attempt: unreachable };
        return now < 40_000 ? { ms: minutes(30), attempt: silence } : { ms: 1_000, attempt: ok() };
      },
      { concurrency: 4, retryMs: minutes(60) },
    );
    let settledBy2Minutes = 0;
    void run.after(minutes(2)).then(() => {
      settledBy2Minutes = run.settled.size;
    });
    await run.ask(singles(40));
    // A row that hangs is not lost, and the others do not wait for it.
    expect(settledBy2Minutes).toBeGreaterThanOrEqual(39);
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
  });

  it('ends at the next probe where one probe’s row fails for ever', async () => {
    const poisoned = new Set<number>();
    const run = stage(
      ({ id, now }) => {
        if (now < 5_500) return { ms: 1_000, attempt: ok() };
        if (now < 20_000) {
          // What has been answered before goes on being answered.
          if (id >= 12) poisoned.add(id);
          return { ms: 10, attempt: unreachable };
        }
        return poisoned.has(id) && id % 2 === 0 ? { ms: 10, attempt: serverError } : { ms: 1_000, attempt: ok() };
      },
      { concurrency: 2 },
    );
    await run.ask(singles(60));
    const even = [...poisoned].filter((id) => id % 2 === 0);
    for (const id of even) expect(run.outcome(id)).toMatchObject({ status: 'failed', class: 'transient' });
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(60 - even.length);
  });

  it('says since when, when next, and until when; and once that it began and ended', async () => {
    const run = stage(outage(5_500, 65_500, unreachable), { concurrency: 2 });
    const seen: BackendStatus[] = [];
    void run.after(30_000).then(() => seen.push(run.backend.status()));
    await run.ask(singles(40));
    expect(seen[0]?.outages).toEqual([
      { host: 'a', hasAnswered: true, forMs: 24_500, nextMs: expect.any(Number), leftMs: 575_500 },
    ]);
    expect(seen[0]?.failure).toMatchObject({ text: 'a: connection refused' });
    expect(run.notices).toEqual([
      'a does not answer (connection refused): probing it with one call at a time, up to 10 min (--retry-minutes)',
      'a answers again',
    ]);
    expect(run.backend.status().outages).toEqual([]);
  });

  it('is over at once when the run is stopped', async () => {
    const run = stage(outage(5_500, minutes(9), unreachable), { concurrency: 8 });
    void run.after(60_000).then(() => run.stop.abort());
    await run.ask(singles(MANY));
    expect(run.clock.now()).toBeLessThanOrEqual(60_010);
    expect(run.statuses()).not.toContain('failed');
    expect(run.sleepers()).toBe(0);
  });

  it('does not end calls that were in flight before and may still be answered', async () => {
    const run = stage(
      ({ id, now }) => {
        if (id === 0) return { ms: minutes(20), attempt: ok() };
        return now < 5_500 ? { ms: 1_000, attempt: ok() } : { ms: 10, attempt: badGateway };
      },
      { concurrency: 2, retryMs: minutes(10) },
    );
    await expect(run.ask(singles(MANY))).rejects.toMatchObject({ exitCode: EXIT.unavailable });
    expect(run.outcome(0)).toMatchObject({ status: 'ok' });
  });
});

describe('a row that fails for ever', () => {
  it.each([1, 2, 8])(
    'ends by its tries while others succeed, and does not stall them (%i at once)',
    async (concurrency) => {
      const run = stage(({ id }) => (id === 30 ? { ms: 10, attempt: serverError } : { ms: 1_000, attempt: ok() }), {
        concurrency,
      });
      await run.ask(singles(MANY));
      expect(run.outcome(30)).toMatchObject({ status: 'failed', class: 'transient', log: { attempts: 6 } });
      expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(MANY - 1);
      expect(run.clock.now()).toBeLessThan((MANY / concurrency) * 1_000 + 60_000);
      expect(run.notices).toEqual([]);
    },
  );

  it('is tried once under --retry-minutes 0, and as long as --retry-minutes says otherwise', async () => {
    const script: Script = ({ id }) => (id === 30 ? { ms: 10, attempt: serverError } : { ms: 1_000, attempt: ok() });
    const once = stage(script, { concurrency: 2, retryMs: 0 });
    await once.ask(singles(MANY));
    expect(once.outcome(30)).toMatchObject({ status: 'failed', log: { attempts: 1 } });
    const atTheEnd = stage(({ id }) => ({ ms: 10, attempt: id > 30 ? unreachable : ok() }), {
      concurrency: 2,
      retryMs: 0,
    });
    await atTheEnd.ask(singles(34));
    expect(atTheEnd.statuses().filter((status) => status === 'failed')).toHaveLength(3);
    const short = stage(script, { concurrency: 2, retryMs: 2_000, maxAttempts: 99 });
    await short.ask(singles(MANY));
    const { log } = short.outcome(30) as { log: { attempts: number; ms: number } };
    expect(log.attempts).toBeLessThan(9);
    expect(log.ms).toBeLessThan(6_000);
  });

  it.each<[string, Attempt]>([
    ['502', badGateway],
    ['no connection', unreachable],
  ])('ends too where the gateway is blamed: %s', async (_, attempt) => {
    const run = stage(({ id }) => (id === 30 ? { ms: 10, attempt } : { ms: 1_000, attempt: ok() }), { concurrency: 2 });
    await run.ask(singles(MANY));
    expect(run.outcome(30)).toMatchObject({ status: 'failed', class: 'transient' });
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(MANY - 1);
  });

  it('and takes the engine down with it each time does not keep the run for ever', async () => {
    let downUntil = 0;
    const run = stage(
      ({ id, now }) => {
        if (now < downUntil) return { ms: 10, attempt: unreachable };
        if (id !== 30) return { ms: 100, attempt: ok() };
        downUntil = now + 30_000;
        return { ms: 10, attempt: reset };
      },
      { concurrency: 4 },
    );
    await run.ask(singles(MANY));
    expect(run.outcome(30)).toMatchObject({ status: 'failed', class: 'transient' });
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(MANY - 1);
  });

  it.each([1, 2, 3])('and is among the last %i, all of which do, is failed, and the run is done', async (count) => {
    const run = stage(({ id }) => (id >= 20 ? { ms: 10, attempt: serverError } : { ms: 1_000, attempt: ok() }), {
      concurrency: 4,
    });
    await run.ask(singles(20 + count));
    expect(run.statuses().filter((status) => status === 'failed')).toHaveLength(count);
    expect(run.clock.now()).toBeLessThan(minutes(10));
  });

  it('with a group of its own kind leaves the others alone', async () => {
    const run = stage(
      ({ id }) => (id >= 40 && id < 60 ? { ms: 10, attempt: serverError } : { ms: 1_000, attempt: ok() }),
      { concurrency: 1 },
    );
    await run.ask(jobsOf(...Array.from({ length: 240 }, (_, id) => `g${Math.floor(id / 20)}`)));
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(220);
    expect(run.statuses().filter((status) => status === 'failed')).toHaveLength(20);
  });
});

describe('one endpoint of several', () => {
  it('that is out gives its rows to the others, and is used again when it is back', async () => {
    const run = stage(
      ({ host, now }) => ({ ms: 500, attempt: host === 'b' && now > 10_000 && now < 60_000 ? badGateway : ok() }),
      { concurrency: 2, hosts: ['a', 'b', 'c'] },
    );
    await run.ask(Array.from({ length: 1_500 }, (_, id) => ({ id, group: `g${id % 60}` })));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.started.filter(({ host }) => host === 'b').length).toBeGreaterThan(150);
    expect(run.notices).toEqual([
      'b is out of service (the server failed (HTTP 502)); its rows go to the other endpoints',
      'b answers again',
    ]);
  });

  it('that is not there at the start is used once it is', async () => {
    const run = stage(({ host, now }) => ({ ms: 500, attempt: host === 'b' && now < 60_000 ? unreachable : ok() }), {
      concurrency: 2,
      hosts: ['a', 'b'],
    });
    await run.ask(singles(600));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.started.filter(({ host }) => host === 'b').length).toBeGreaterThan(50);
  });

  it.each<[string, Attempt]>([
    ['has nobody behind its gateway', badGateway],
    ['answers with a web page', webPage],
    ['fails', serverError],
    ['asks to wait for a day', failed('rate-limit', { retryAfterMs: 86_400_000 })],
    ['is unavailable for a day', failed('transient', { down: true, retryAfterMs: 86_400_000 })],
  ])('that %s from the start costs no row, and is used once it is back', async (_name, attempt) => {
    const run = stage(({ host, now }) => ({ ms: 500, attempt: host === 'b' && now < 120_000 ? attempt : ok() }), {
      concurrency: 4,
      hosts: ['a', 'b'],
    });
    await run.ask(singles(3_000));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.started.filter(({ host }) => host === 'b').length).toBeGreaterThan(500);
    expect(run.notices.join('\n')).toMatch(/b is out of service[\s\S]*b answers again/);
  });

  it('and then the other being out ends the run only when both have been out for long', async () => {
    const script: Script = ({ host, now }) => ({
      ms: 500,
      attempt: now > 10_000 && now < (host === 'a' ? 700_000 : 300_000) ? unreachable : ok(),
    });
    const run = stage(script, { concurrency: 2, hosts: ['a', 'b'], retryMs: minutes(8) });
    await run.ask(singles(3_000));
    expect(run.settled.size).toBe(3_000);
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
  });
});

describe('an endpoint that has never answered', () => {
  it.each<[string, Attempt]>([
    ['HTTP 500', serverError],
    [
      'web pages',
      failed('malformed', {
        down: true,
        reason: 'the reply is a web page, not JSON: is /v1 missing from the base URL?',
      }),
    ],
    ['refusals', failed('refused', { reason: 'refused by the content filter' })],
    ['overflows', failed('context-overflow', { reason: 'the context overflows' })],
    ['nonsense', failed('malformed', { reason: 'the reply is not JSON' })],
    ['waits of years', failed('rate-limit', { reason: 'rate limited', retryAfterMs: 99_999_999_000 })],
    ['waits without end', failed('rate-limit', { reason: 'rate limited', retryAfterMs: Number.POSITIVE_INFINITY })],
  ])('is given up after twenty rows that failed in one way: %s', async (_, attempt) => {
    const run = stage(() => ({ ms: 10, attempt }), { concurrency: 4 });
    const error = await run.ask(singles(MANY)).catch((error: unknown) => error);
    expect(error).toMatchObject({ exitCode: EXIT.unavailable });
    const { message } = error as Error;
    expect(message).toContain((attempt as { reason: string }).reason);
    expect(message).toMatch(
      /^a: the first 20 rows failed in the same way, and none succeeded .*--keep-going.*repeat the command/,
    );
    expect(run.statuses().filter((status) => status === 'failed')).toHaveLength(20);
  });

  it('is asked on with --keep-going', async () => {
    const run = stage(() => ({ ms: 10, attempt: serverError }), { concurrency: 4, keepGoing: true });
    await run.ask(singles(50));
    expect(run.statuses()).toEqual(Array(50).fill('failed'));
  });

  it('in twenty rows of several kinds of failure is asked on', async () => {
    const run = stage(({ id }) => ({ ms: 10, attempt: id % 2 === 0 ? failed('refused') : failed('context-overflow') }));
    await run.ask(singles(38));
    expect(run.settled.size).toBe(38);
  });

  it('is waited for as long as --wait-ready says, with one call at a time and no try lost', async () => {
    const loading: Script = ({ now }) => {
      if (now < 100_000) return { ms: 10, attempt: unreachable };
      return now < minutes(14)
        ? { ms: 10, attempt: failed('transient', { down: true, reason: 'HTTP 503: Loading model' }) }
        : { ms: 10, attempt: ok() };
    };
    const run = stage(loading, { concurrency: 8, waitReadyMs: minutes(15) });
    await run.ask(singles(MANY));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.notices).toEqual([
      'a is not ready (connection refused): waiting for it, up to 15 min (--wait-ready)',
      'a is ready',
    ]);
    expect(run.started.length).toBeLessThan(MANY + 100);

    const tooShort = stage(loading, { concurrency: 8, waitReadyMs: minutes(10) });
    await expect(tooShort.ask(singles(MANY))).rejects.toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(/^a: not ready after 10 min: HTTP 503: Loading model; .*--wait-ready/),
    });
    expect(tooShort.statuses()).not.toContain('failed');
  });

  it('is found in its initial state by whoever asks after it was given up', async () => {
    const run = stage(({ now }) => ({ ms: 10, attempt: now < 120_000 ? unreachable : ok() }));
    await expect(run.ask(singles(4))).rejects.toMatchObject({ exitCode: EXIT.unavailable });
    expect(run.backend.status().outages).toEqual([]);
    await run.passUntil(run.after(120_000));
    await run.ask([{ id: 10, group: 'later' }]);
    expect(run.outcome(10)).toMatchObject({ status: 'ok', log: { attempts: 1 } });
  });

  it('is given up soon without it, and the error says that it exists', async () => {
    const run = stage(() => ({ ms: 10, attempt: unreachable }));
    await expect(run.ask(singles(MANY))).rejects.toMatchObject({
      message: expect.stringContaining('--wait-ready 15m'),
    });
    expect(run.clock.now()).toBeLessThan(60_000);
  });
});

describe('a server that asks to wait for longer than --retry-minutes', () => {
  const hostile = [86_400_000, 99_999_999_000, Date.UTC(9999, 0), Number.POSITIVE_INFINITY];

  it.each(hostile)('once, among good answers, delays nothing (%d ms)', async (retryAfterMs) => {
    const run = stage(
      ({ id, attempt, now }) =>
        id === 20 && attempt === 0 && now < 12_000
          ? { ms: 10, attempt: failed('rate-limit', { retryAfterMs }) }
          : { ms: 1_000, attempt: ok() },
      { concurrency: 2 },
    );
    await run.ask(singles(MANY));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.clock.now()).toBeLessThan(110_000);
    expect(run.notices[0]).toContain('longer than --retry-minutes');
  });

  it.each(hostile)(
    'and has never answered is tried now and then, beside one that does the work (%d ms)',
    async (retryAfterMs) => {
      const run = stage(
        ({ host }) =>
          host === 'a'
            ? { ms: 10, attempt: failed('rate-limit', { retryAfterMs, reason: 'rate limited' }) }
            : { ms: 1_000, attempt: ok() },
        { hosts: ['a', 'b'], concurrency: 2 },
      );
      await run.ask(singles(MANY));
      expect(new Set(run.statuses())).toEqual(new Set(['ok']));
      expect(run.started.filter(({ host }) => host === 'a').length).toBeLessThan(40);
    },
  );

  it.each(hostile)(
    'for good is unavailable: the run ends after --retry-minutes, and shows that time (%d ms)',
    async (retryAfterMs) => {
      const run = stage(
        ({ now }) =>
          now > 5_000
            ? { ms: 10, attempt: failed('rate-limit', { retryAfterMs, reason: 'rate limited' }) }
            : { ms: 1_000, attempt: ok() },
        { concurrency: 'adaptive' },
      );
      const seen: BackendStatus[] = [];
      void run.after(60_000).then(() => seen.push(run.backend.status()));
      await expect(run.ask(singles(MANY))).rejects.toMatchObject({ exitCode: EXIT.unavailable });
      expect(run.clock.now()).toBeLessThanOrEqual(minutes(10) + 7_000);
      expect(seen[0]).toMatchObject({ pausedMs: 0, outages: [{ host: 'a', leftMs: expect.any(Number) }] });
      expect(seen[0]?.outages[0]?.leftMs).toBeLessThanOrEqual(minutes(10));
      expect(run.statuses()).not.toContain('failed');
    },
  );
});
