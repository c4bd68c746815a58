// A budget: when it stops a run, what counts against it in this and earlier sessions, and what it refuses.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT, present } from '../../src/core/errors.js';
import type { ModelOutcome } from '../../src/core/types.js';
import { Ledger, Reserve, reachedIn } from '../../src/run/budget.js';
import { budgetListener } from '../../src/run/command.js';
import type { BudgetSettings } from '../../src/run/options.js';
import { requirePriced } from '../../src/run/target.js';
import { temporaryFolder } from '../support/cli.js';
import { type MadeUp, recordOf, runMadeUp } from '../support/made-up-stage.js';
import { randomFrom } from '../support/random.js';

/** Runs a made-up stage under a budget, with calls that cost ten tokens each. */
async function within(settings: BudgetSettings, options: Omit<MadeUp, 'dir'> & { readonly dir: string }) {
  const run = await runMadeUp({ ...options, listeners: [...(options.listeners ?? []), budgetListener(settings)] });
  return { asked: run.asked, result: await run.result };
}

function reply(log: Partial<Extract<ModelOutcome, { status: 'ok' }>['log']> = {}): ModelOutcome {
  return {
    status: 'ok',
    content: 'fine',
    log: { attempts: 1, usage: { promptTokens: 8, completionTokens: 2 }, ms: 1, host: 'here', ...log },
  };
}

test('a run stops once it has spent its budget and keeps everything; a larger budget continues with the remaining rows', async () => {
  const dir = await temporaryFolder();
  const first = await within({ budgetTokens: 25 }, { dir, answer: () => reply() });
  expect(first.result).toMatchObject({
    exitCode: EXIT.later,
    stopReason: 'the run has spent its budget of 25 tokens (--budget-tokens)',
    manifest: { state: 'stopped', counts: { ok: 3, notDone: 3 } },
  });
  const second = await within({ budgetTokens: 45 }, { dir, answer: () => reply() });
  expect([second.asked, second.result.exitCode]).toEqual([['row-3', 'row-4'], EXIT.later]);
  const third = await within({ budgetTokens: 1_000 }, { dir, answer: () => reply() });
  expect([third.asked, third.result.exitCode]).toEqual([['row-5'], EXIT.done]);
  const whole = await temporaryFolder();
  await within({}, { dir: whole, answer: () => reply() });
  const output = (of: string) => readFile(join(of, 'predictions.jsonl'), 'utf8');
  expect(await output(dir)).toBe(await output(whole));
});

test('a budget spent to the last token is spent; a budget of one token more allows another call', async () => {
  const { asked } = await within({ budgetTokens: 30 }, { dir: await temporaryFolder(), answer: () => reply() });
  expect(asked).toHaveLength(3);
  const more = await within({ budgetTokens: 31 }, { dir: await temporaryFolder(), answer: () => reply() });
  expect(more.asked).toHaveLength(4);
});

test('if earlier sessions spent the budget, no backend is opened and no row is asked', async () => {
  const dir = await temporaryFolder();
  await within({ budgetTokens: 20 }, { dir, answer: () => reply() });
  const openBackend = () => Promise.reject(new Error('it was opened'));
  const { asked, result } = await within({ budgetTokens: 20 }, { dir, openBackend });
  expect([asked, result.exitCode, result.asked]).toEqual([[], EXIT.later, 0]);
});

test('a run whose last row spends the budget is complete', async () => {
  const { result } = await within({ budgetTokens: 60 }, { dir: await temporaryFolder(), answer: () => reply() });
  expect(result).toMatchObject({ exitCode: EXIT.done, manifest: { state: 'complete' } });
});

describe('spending that never became a record', () => {
  const unreadable: MadeUp['settle'] = async () => 'again';

  test('counts in this session', async () => {
    const dir = await temporaryFolder();
    const { asked, result } = await within({ budgetTokens: 40 }, { dir, answer: () => reply(), settle: unreadable });
    expect(asked).toEqual(['row-0', 'row-0', 'row-0', 'row-0']);
    expect(result.manifest.unrecorded).toEqual({ calls: 4, usage: { promptTokens: 32, completionTokens: 8 } });
  });

  test('counts in the next session, so a judge whose replies are unreadable does not spend its budget twice', async () => {
    const dir = await temporaryFolder();
    const options = { dir, answer: () => reply(), settle: unreadable };
    await within({ budgetTokens: 40 }, options);
    expect((await within({ budgetTokens: 40 }, options)).asked).toEqual([]);
    const further = await within({ budgetTokens: 60 }, options);
    expect(further.asked).toHaveLength(2);
    expect(further.result.manifest.unrecorded).toMatchObject({ calls: 6 });
  });

  test('becomes part of the record once there is one, and is counted once', async () => {
    let asked = 0;
    const settle: MadeUp['settle'] = async (job, outcome) => (asked++ === 0 ? 'again' : recordOf(job, outcome));
    const dir = await temporaryFolder();
    const options = { dir, rows: 1, answer: () => reply(), settle };
    const { result } = await within({ budgetTokens: 1_000 }, options);
    expect(result.ledger.tokens).toBe(20);
    expect(result.manifest.unrecorded).toBeUndefined();
    const later = await within({}, { dir, rows: 2, answer: () => reply() });
    expect(later.result.ledger.tokens).toBe(30);
  });

  test('includes the estimated cost of calls that were broken off', async () => {
    const dir = await temporaryFolder();
    const stop = new AbortController();
    const openBackend: MadeUp['openBackend'] = async () => ({
      async work([job], solve, _signals, hooks) {
        await solve(present(job), async () => {
          hooks?.tried?.(present(job), { usage: {}, uncounted: { sent: 400, received: 0 } });
          stop.abort('SIGINT');
          return { status: 'interrupted' };
        });
      },
      status: () => ({ inFlight: 0, limit: 1, pausedMs: 0, outages: [] }),
      dropped: () => [],
      async close() {},
    });
    const { result } = await within({ budgetTokens: 100 }, { dir, openBackend, stop: stop.signal });
    expect(result.exitCode).toBe(EXIT.interrupted);
    expect((await within({ budgetTokens: 100 }, { dir })).asked).toEqual([]);
  });
});

test('replaced records still count as spent', async () => {
  const dir = await temporaryFolder();
  const log = { attempts: 1, usage: { promptTokens: 8, completionTokens: 2 }, ms: 1, host: 'here' };
  const failing = () => ({ status: 'failed', class: 'malformed', reason: 'no text', log }) as const;
  await within({}, { dir, rows: 3, answer: failing });
  await within({}, { dir, rows: 3, answer: () => reply() });
  expect((await within({ budgetTokens: 60 }, { dir, rows: 4 })).asked).toEqual([]);
  expect((await within({ budgetTokens: 61 }, { dir, rows: 4 })).asked).toEqual(['row-3']);
});

test('calls that the server does not count are estimated and charged to the budget', async () => {
  const uncounted = { sent: 32, received: 8 };
  const answer = () => reply({ usage: {}, uncounted });
  const dir = await temporaryFolder();
  const { asked, result } = await within({ budgetTokens: 30 }, { dir, answer });
  expect(asked).toHaveLength(3);
  expect(result.ledger).toMatchObject({ tokens: 30, estimated: 30 });
  expect((await within({ budgetTokens: 30 }, { dir })).asked).toEqual([]);
});

test('no call starts when many slots become free at the moment the budget is spent', async () => {
  let waiting: (() => void)[] = [];
  const answer = () =>
    new Promise<ModelOutcome>((resolve) => {
      waiting.push(() => resolve(reply()));
      if (waiting.length < 64) return;
      for (const end of waiting) end();
      waiting = [];
    });
  const dir = await temporaryFolder();
  const { asked } = await within({ budgetTokens: 10 }, { dir, rows: 640, slots: 64, answer });
  expect(asked).toHaveLength(64);
});

describe('a budget in dollars', () => {
  const at = { model: 'my-model', hosts: ['gpu-1:8000'] };

  test('is refused if no price is known, with the two ways forward', () => {
    const refused = () => requirePriced({ budgetUsd: 5 }, false, at);
    expect(refused).toThrow(expect.objectContaining({ exitCode: EXIT.usage }));
    expect(refused).toThrow(/none is known for "my-model" at gpu-1:8000.*--prices FILE.*--budget-tokens/);
  });

  test('is accepted if a price is known; a budget in tokens is always accepted', () => {
    expect(() => requirePriced({ budgetUsd: 5 }, true, at)).not.toThrow();
    expect(() => requirePriced({ budgetTokens: 5 }, false, at)).not.toThrow();
  });
});

describe('calls in flight', () => {
  /** Plays calls of random sizes, `concurrency` at a time, each taking as long as its output, until the budget is spent. */
  function play(seed: number, lengthOf: (random: () => number) => number, maxTokens = 4_096) {
    const random = randomFrom(seed);
    const concurrency = 1 + Math.floor(random() * 64);
    const price = { model: 'm', source: 'test', input: 1 + 9 * random(), output: 1 + 29 * random() };
    const ledger = new Ledger(() => price);
    const call = () => ({
      chars: 400 + Math.floor(random() * 40_000),
      output: 1 + Math.floor(lengthOf(random) * 1_000),
    });
    const usageOf = ({ chars, output }: ReturnType<typeof call>) => ({
      promptTokens: Math.ceil(chars / (2.5 + 2 * random())),
      completionTokens: Math.min(output, maxTokens),
    });
    const isInDollars = random() < 0.5;
    const most = 20 + random() * 400;
    const settings = isInDollars ? { budgetUsd: most * 0.02 } : { budgetTokens: Math.ceil(most * 6_000) };
    const spent = () => (isInDollars ? (ledger.usd ?? 0) : ledger.tokens);
    const budget = settings.budgetUsd ?? settings.budgetTokens ?? 0;
    const reserve = new Reserve(ledger, settings);
    const flying: { readonly end: number; finish(): void }[] = [];
    let [now, dearest, widest] = [0, 0, 0];
    let next = call();
    for (let calls = 0; calls < 20_000; ) {
      const isOver = reachedIn(ledger, settings) !== undefined;
      const release = isOver || flying.length === concurrency ? undefined : reserve.take(next.chars, maxTokens);
      if (release !== undefined) {
        const usage = usageOf(next);
        const finish = () => {
          const before = spent();
          ledger.add({ usage });
          dearest = Math.max(dearest, spent() - before);
          release(usage);
        };
        flying.push({ end: now + usage.completionTokens, finish });
        widest = Math.max(widest, flying.length);
        next = call();
        calls++;
        continue;
      }
      // A call is never held back while none is in flight.
      if (flying.length === 0) return { beyond: (spent() - budget) / dearest, isSpent: isOver, widest, concurrency };
      flying.sort((a, b) => a.end - b.end);
      const first = flying.shift();
      now = first?.end ?? now;
      first?.finish();
    }
    throw new Error('the budget is never spent');
  }

  test.each<[string, (random: () => number) => number, number?]>([
    ['one token long', () => 0, 1],
    ['equally long', () => 1],
    ['evenly distributed', (random) => random()],
    ['mostly short', (random) => -Math.log(1 - random())],
    ['short with a few exceptions', (random) => (random() < 0.03 ? 4 : 0.3 * random())],
  ])('spend a budget and overshoot by less than one call, with outputs that are %s', (_what, lengthOf, maxTokens) => {
    const runs = Array.from({ length: 250 }, (_, seed) => play(seed + 1, lengthOf, maxTokens));
    expect(runs.every(({ isSpent }) => isSpent)).toBe(true);
    expect(Math.max(...runs.map(({ beyond }) => beyond))).toBeLessThanOrEqual(1);
    // Most reach the full concurrency.
    expect(runs.filter(({ widest, concurrency }) => widest === concurrency).length).toBeGreaterThan(120);
  });
});
