// Rows that fail for themselves, in every shape, order and number of endpoints: they end by their own tries, and nobody waits for them.

import { describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../../src/core/errors.js';
import type { Attempt } from '../../../src/model/attempt.js';
import { failed, ok, type Script, singles, stage, unreachable } from '../../support/scheduling.js';

const ROWS = 63;
const LONGEST_MS = 1_000;
const serverError = failed('transient', { reason: 'HTTP 500' });
const unavailable = failed('transient', { down: true, reason: 'HTTP 503' });
const reset = failed('transient', { reason: 'the connection broke (ECONNRESET)' });
const webPage = failed('malformed', { down: true, reason: 'the reply is a web page' });
const notFound = failed('fatal', { down: true, stop: new UserError('nothing there', EXIT.unavailable) });
const moved = failed('fatal', { down: true, stop: new UserError('moved', EXIT.unavailable) });
const limited = failed('rate-limit', { reason: 'HTTP 429' });
const hourLimited = failed('rate-limit', { reason: 'HTTP 429', retryAfterMs: 3_600_000 });
const silence = failed('timeout', { reason: 'no first token' });

/** The class that a row ends with. */
const classOf = (attempt: Attempt) => (attempt.status === 'failed' ? attempt.class : undefined);

const ORDERS: Readonly<Record<string, (count: number) => readonly number[]>> = {
  first: (count) => Array.from({ length: count }, (_, at) => at),
  last: (count) => Array.from({ length: count }, (_, at) => ROWS - 1 - at),
  mixed: (count) => Array.from({ length: count }, (_, at) => Math.floor((at * ROWS) / count)),
};

const SHAPES: readonly (readonly [name: string, count: number, attempt: Attempt, ms: number])[] = [
  ['1 row always 500', 1, serverError, 10],
  ['3 rows always 500', 3, serverError, 10],
  ['1 row always 503', 1, unavailable, 10],
  ['a domain of 9 rows always 500', 9, serverError, 10],
  ['30 % always 500', 19, serverError, 10],
  ['30 % always 503', 19, unavailable, 10],
  ['30 % reset', 19, reset, 10],
  ['30 % web pages with status 200', 19, webPage, 10],
  ['2 rows 404', 2, notFound, 10],
  ['2 rows 405 or 3xx', 2, moved, 10],
  ['2 rows 429 with a Retry-After of an hour', 2, hourLimited, 10],
  ['8 rows 429', 8, limited, 10],
  ['12 long rows time out', 12, silence, 5_000],
];

/** When the last healthy row began (later calls of such rows only look whether the endpoint answers), and when failing rows began again. */
function course(run: ReturnType<typeof stage>, failing: ReadonlySet<number>) {
  const begun = new Map<number, number>();
  const again: number[] = [];
  for (const { id, at } of run.started) {
    if (!begun.has(id)) begun.set(id, at);
    else if (failing.has(id)) again.push(at);
  }
  const healthy = [...begun].filter(([id]) => !failing.has(id)).map(([, at]) => at);
  return { again, lastBegun: Math.max(...healthy) };
}

describe.each(SHAPES)('%s', (_name, count, attempt, ms) => {
  const cases = Object.keys(ORDERS).flatMap((order) => [1, 2].map((endpoints) => ({ order, endpoints })));
  it.each(cases)('$order in order, $endpoints endpoints', async ({ order, endpoints }) => {
    const failing = new Set(ORDERS[order]?.(count));
    const script: Script = ({ id }) => (failing.has(id) ? { ms, attempt } : { ms: LONGEST_MS, attempt: ok() });
    const hosts = ['a', 'b'].slice(0, endpoints);
    // The rows that have been answered come first where nothing else tells a failing gateway from a wrong address.
    const isStopped = classOf(attempt) === 'fatal' && order !== 'last';
    const run = stage(script, { concurrency: 8, hosts, random: () => 0.9 });
    const ended = await run.ask(singles(ROWS)).catch((error: unknown) => error);
    if (isStopped && ended !== undefined) {
      expect(ended).toBeInstanceOf(UserError);
      return;
    }
    expect(ended).toBeUndefined();
    for (const { id } of singles(ROWS)) {
      const outcome = run.outcome(id);
      if (!failing.has(id)) expect(outcome?.status).toBe('ok');
      else expect(outcome).toMatchObject({ status: 'failed', class: classOf(attempt) });
      // Rate limits that others were answered behind do not count.
      if (failing.has(id) && attempt !== limited) expect(outcome).toMatchObject({ log: { attempts: 6 } });
    }
    const { again, lastBegun } = course(run, failing);
    const healthyEnd = lastBegun + LONGEST_MS;
    // A rate limit may mean all rows: its first ones are waited out in the slot.
    if (attempt !== limited) for (const at of again) expect(at).toBeGreaterThanOrEqual(lastBegun);
    const ideal = Math.ceil((ROWS - count) / (8 * endpoints)) * LONGEST_MS;
    const waves = Math.ceil(count / 8) * ms;
    if (attempt !== limited) expect(healthyEnd).toBeLessThanOrEqual(ideal + waves + 2_500);
    const ownTries = 6 * waves;
    expect(run.clock.now()).toBeLessThanOrEqual(healthyEnd + endpoints * 40_000 + ownTries);
    if (endpoints === 2) {
      for (const id of failing) {
        expect(new Set(run.started.filter((one) => one.id === id).map(({ host }) => host))).toEqual(new Set(hosts));
      }
    }
  });
});

describe('a failing row among others', () => {
  it('8 rows that get 429 leave the two slots to healthy rows', async () => {
    const run = stage(({ id }) => (id < 8 ? { ms: 10, attempt: limited } : { ms: LONGEST_MS, attempt: ok() }), {
      concurrency: 2,
      random: () => 0.5,
    });
    await run.ask(singles(ROWS));
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(55);
    expect(run.outcome(0)).toMatchObject({ status: 'failed', class: 'rate-limit' });
    expect(run.clock.now()).toBeLessThan(150_000);
  });

  it('504 on the first try of every row, and then a reply: all are done', async () => {
    const seen = new Set<number>();
    const run = stage(
      ({ id }) => {
        const isFirst = !seen.has(id);
        seen.add(id);
        return isFirst
          ? { ms: 10, attempt: failed('transient', { down: true, reason: 'HTTP 504' }) }
          : { ms: LONGEST_MS, attempt: ok() };
      },
      { concurrency: 8, random: () => 0.9 },
    );
    await run.ask(singles(ROWS));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.clock.now()).toBeLessThan(40_000);
  });

  it.each([
    ['500', serverError],
    ['503', unavailable],
  ])('two endpoints, A fails one half and B the other with %s: each row is done at the other', async (_, attempt) => {
    const run = stage(
      ({ id, host }) => (host === (id % 2 === 0 ? 'a' : 'b') ? { ms: 10, attempt } : { ms: LONGEST_MS, attempt: ok() }),
      { concurrency: 4, hosts: ['a', 'b'], random: () => 0.9 },
    );
    await run.ask(singles(ROWS));
    expect(new Set(run.statuses())).toEqual(new Set(['ok']));
    expect(run.clock.now()).toBeLessThan(30_000);
  });

  it.each([
    ['503', unavailable, 1],
    ['503', unavailable, 3],
    ['no connection', unreachable, 1],
    ['no connection', unreachable, 3],
    ['500', serverError, 3],
  ])(
    'two endpoints, one dead from the start (%s), the other fails %#: no healthy row is lost',
    async (_, dead, count) => {
      const run = stage(
        ({ id, host }) => {
          if (host === 'x') return { ms: 10, attempt: dead };
          return id % 20 === 5 && id < 20 * count
            ? { ms: 10, attempt: serverError }
            : { ms: LONGEST_MS, attempt: ok() };
        },
        { concurrency: 4, hosts: ['x', 'y'], random: () => 0.9 },
      );
      await run.ask(singles(ROWS));
      expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(ROWS - count);
      for (const [, [outcome]] of run.settled) {
        if (outcome?.status === 'failed')
          expect(outcome).toMatchObject({ class: 'transient', reason: 'HTTP 500', log: { host: 'y' } });
      }
      expect(run.clock.now()).toBeLessThan((ROWS / 4) * LONGEST_MS + 2 * 40_000);
    },
  );

  it('one domain of many fails and comes first: the others are asked anyway', async () => {
    const run = stage(({ id }) => (id < 300 ? { ms: 10, attempt: serverError } : { ms: LONGEST_MS, attempt: ok() }), {
      concurrency: 8,
      random: () => 0.9,
    });
    await run.ask(singles(1_000));
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(700);
    expect(run.clock.now()).toBeLessThan((700 / 8) * LONGEST_MS * 1.1 + 45_000);
  });

  it('a serial group whose job fails lets the others go on', async () => {
    const jobs = Array.from({ length: ROWS }, (_, id) => ({
      id,
      group: `g${Math.floor(id / 7)}`,
      serial: true as const,
    }));
    const run = stage(
      ({ id }) => (id === 2 || id === 30 ? { ms: 10, attempt: serverError } : { ms: 100, attempt: ok() }),
      {
        concurrency: 4,
        random: () => 0.9,
      },
    );
    await run.ask(jobs, {
      settle: async (job, outcome) => {
        run.settled.set(job.id, [outcome]);
        return outcome.status === 'failed' ? 'ends-group' : 'done';
      },
    });
    expect(run.statuses().filter((status) => status === 'failed')).toHaveLength(2);
    expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(7 * 7 + 2 + 2);
    expect(run.clock.now()).toBeLessThan(45_000);
  });

  it.each([5_000, 20_000])(
    'and an outage of %i ms in the middle costs no healthy row, and no failing one a try',
    async (outageMs) => {
      const run = stage(
        ({ id, now }) => {
          if (now >= 3_050 && now < 3_050 + outageMs) return { ms: 10, attempt: unreachable };
          return id % 10 === 3 ? { ms: 10, attempt: serverError } : { ms: LONGEST_MS, attempt: ok() };
        },
        { concurrency: 4, random: () => 0.9 },
      );
      await run.ask(singles(ROWS));
      const bad = singles(ROWS).filter(({ id }) => id % 10 === 3);
      expect(run.statuses().filter((status) => status === 'ok')).toHaveLength(ROWS - bad.length);
      for (const { id } of bad) expect(run.outcome(id)).toMatchObject({ class: 'transient', reason: 'HTTP 500' });
    },
  );
});
