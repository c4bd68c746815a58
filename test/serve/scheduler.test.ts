// Which request is served next, without a model: a slot that counts tokens and only goes back to kept states, on recorded trajectories.

import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Sample } from '../../src/core/types.js';
import { buildMessages } from '../../src/infer/messages.js';
import { planPrompt } from '../../src/serve/prompt.js';
import { commonPrefix, type Evaluator, type Scheduled, Scheduler } from '../../src/serve/scheduler.js';

interface Row extends Scheduled {
  readonly name: string;
  readonly trajectory: string;
  readonly turn: number;
}

const RECORDED = new URL('../../fixtures/recorded/', import.meta.url);
const MARKS = { opener: '<s>', openerId: 1, closer: '<e>' };
const REPLY_TOKENS = 5;
const OPTIONS = [512, 32] as const;

/** A word, a run of white space or a sign is a token. */
const ids = new Map<string, number>([
  ['<s>', 1],
  ['<e>', 2],
]);
function tokenize(text: string): number[] {
  return (text.match(/<s>|<e>|\w+|\s+|[^\w\s]/g) ?? []).map((piece) => {
    const id = ids.get(piece) ?? ids.size + 1;
    ids.set(piece, id);
    return id;
  });
}

/** Every row of a domain, in the order in which `infer` asks by default. */
function rowsOf(domain: string): Row[] {
  const lines = readFileSync(new URL(`${domain}_test.jsonl`, RECORDED), 'utf8')
    .trim()
    .split('\n');
  const rows = lines.map((line) => {
    const { id, prompt, response, current_prompt, system_str, turn_idx } = JSON.parse(line);
    const sample = { prompts: prompt, responses: response, currentPrompt: current_prompt, turnIdx: turn_idx } as Sample;
    const messages = buildMessages(sample, 'history', system_str);
    const text = `${messages.map(({ role, content }) => `<s>${role}\n${content}<e>\n`).join('')}<s>assistant\n<think>\n`;
    const trajectory = `${domain} ${id}`;
    return {
      name: `${trajectory} ${turn_idx}`,
      trajectory,
      turn: turn_idx,
      prompt: planPrompt(text, tokenize(text), MARKS, tokenize),
      fail: (error: unknown) => {
        throw error;
      },
    };
  });
  return rows.sort((a, b) => (a.trajectory < b.trajectory ? -1 : a.trajectory > b.trajectory ? 1 : a.turn - b.turn));
}

/** Evaluates nothing but counts; recurrent state can be restored only where it was kept. */
class Counter<R extends Scheduled> implements Evaluator<R> {
  readonly needsCheckpoints = true;
  evaluated = 0;
  #held: number[] = [];
  #kept: number[] = [];
  #left = 0;

  constructor(
    readonly onAdmitted: (request: R) => void = () => undefined,
    readonly onDone: (request: R) => void = () => undefined,
  ) {}

  get position(): number {
    return this.#held.length;
  }

  async restore(request: R, tokens: number): Promise<void> {
    if (tokens > 0 && !this.#kept.includes(tokens)) throw new Error(`no state was kept at ${tokens}`);
    if (commonPrefix(this.#held, request.prompt.tokens) < tokens) throw new Error('the state is of other tokens');
    this.#held.length = tokens;
    this.#kept = this.#kept.filter((at) => at <= tokens);
    this.onAdmitted(request);
  }

  async feed(request: R, end: number): Promise<void> {
    const fed = request.prompt.tokens.slice(this.position, end);
    this.#held.push(...fed);
    this.evaluated += fed.length;
  }

  async keep(): Promise<number> {
    this.#kept.push(this.#held.length);
    return this.#kept.length;
  }

  async step(request: R): Promise<number> {
    if (this.position < request.prompt.tokens.length) {
      await this.feed(request, request.prompt.tokens.length);
      this.#left = REPLY_TOKENS;
    }
    return this.say(request);
  }

  /** The reply's next token; resolves as `step`. */
  async say(request: R): Promise<number> {
    this.#held.push(-this.#left);
    if (--this.#left > 0) return 1;
    this.onDone(request);
    return 0;
  }

  async leave(): Promise<void> {}
}

/**
 * Evaluated tokens when a client asks for every row with so many requests in flight, as `infer` does: the first row of whose trajectory
 * none is in flight, else the first. And the most later requests that any was overtaken by.
 */
async function serve(
  rows: readonly Row[],
  slots: number,
  inFlight: number,
): Promise<{ evaluated: number; overtaken: number }> {
  const todo = [...rows];
  const flying = new Set<Row>();
  const arrivals: Row[] = [];
  const admissions: Row[] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const send = (): void => {
    while (flying.size < inFlight && todo.length > 0) {
      const busy = new Set([...flying].map(({ trajectory }) => trajectory));
      const idle = todo.findIndex(({ trajectory }) => !busy.has(trajectory));
      const [row] = todo.splice(Math.max(idle, 0), 1) as [Row];
      flying.add(row);
      arrivals.push(row);
      scheduler.submit(row);
    }
    if (flying.size === 0) finish();
  };
  const counters = Array.from(
    { length: slots },
    () =>
      new Counter<Row>(
        (row) => admissions.push(row),
        (row) => {
          flying.delete(row);
          send();
        },
      ),
  );
  const scheduler = new Scheduler<Row>(counters, ...OPTIONS);
  send();
  await finished;
  await scheduler.close();
  const overtaken = admissions.map(
    (row, at) => admissions.slice(0, at).filter((other) => arrivals.indexOf(other) > arrivals.indexOf(row)).length,
  );
  expect(admissions).toHaveLength(rows.length);
  return { evaluated: counters.reduce((sum, { evaluated }) => sum + evaluated, 0), overtaken: Math.max(...overtaken) };
}

describe('on recorded trajectories', () => {
  const domains = readdirSync(RECORDED).map((file) => file.replace('_test.jsonl', ''));
  const byDomain = new Map<string, Row[]>();
  beforeAll(() => {
    for (const domain of domains) byDomain.set(domain, rowsOf(domain));
  });

  test('one slot evaluates as little as if the turns of each trajectory came one after the other, within 5 %', async () => {
    let [ideal, served] = [0, 0];
    for (const [domain, rows] of byDomain) {
      const oneByOne = await serve(rows, 1, 1);
      const together = await serve(rows, 1, 8);
      ideal += oneByOne.evaluated;
      served += together.evaluated;
      expect(together.overtaken, domain).toBeLessThanOrEqual(8);
    }
    const whole = [...byDomain.values()].flat().reduce((sum, { prompt }) => sum + prompt.tokens.length, 0);
    expect(ideal).toBeLessThan(whole / 2);
    expect(served).toBeLessThanOrEqual(1.05 * ideal);
  });

  test.each([2, 4, 8])('turns of one trajectory wait for its slot of %d, even if others are free', async (slots) => {
    for (const [domain, rows] of byDomain) {
      const ideal = await serve(rows, slots, 1);
      const served = await serve(rows, slots, slots);
      // A trajectory that begins in a slot of its own evaluates the system prompt again.
      expect(served.evaluated, domain).toBeLessThanOrEqual(1.1 * ideal.evaluated);
      expect(served.overtaken, domain).toBeLessThanOrEqual(8);
    }
  });

  test.each([
    [1, 8],
    [1, 63],
    [2, 8],
    [4, 24],
  ])(
    'with %d slots and %d requests in flight none is overtaken by more than eight later ones',
    async (slots, inFlight) => {
      const rows = [...byDomain.values()].flat();
      const { evaluated, overtaken } = await serve(rows, slots, inFlight);
      expect(overtaken).toBeLessThanOrEqual(8);
      expect(evaluated).toBeLessThan(0.85 * rows.reduce((sum, { prompt }) => sum + prompt.tokens.length, 0));
    },
  );
});

describe('the queue', () => {
  const request = (name: string, fail: (error: unknown) => void = () => undefined): Scheduled & { name: string } => ({
    name,
    prompt: { tokens: tokenize(`${name} and some more`), pauses: [], checkpoints: [] },
    fail,
  });
  type Named = ReturnType<typeof request>;

  test('one that leaves is out of it at once, even after one that stays', async () => {
    const admitted: string[] = [];
    const scheduler = new Scheduler<Named>([new Counter<Named>(({ name }) => admitted.push(name))], ...OPTIONS);
    const [working, head, leaving, last] = ['working', 'head', 'leaving', 'last'].map((name) => request(name)) as [
      Named,
      Named,
      Named,
      Named,
    ];
    for (const each of [working, head, leaving, last]) scheduler.submit(each);
    await Promise.resolve();
    const before = scheduler.waiting;
    scheduler.withdraw(leaving);
    expect(scheduler.waiting).toBe(before - 1);
    while (scheduler.waiting + scheduler.busy > 0) await new Promise(setImmediate);
    expect(admitted).toEqual(['working', 'head', 'last']);
  });

  test('one that fails in its slot ends without affecting others', async () => {
    const failed: unknown[] = [];
    class Failing extends Counter<Named> {
      override async feed(one: Named, end: number): Promise<void> {
        if (one.name === 'bad') throw new Error('no');
        return super.feed(one, end);
      }
    }
    const admitted: string[] = [];
    const scheduler = new Scheduler<Named>([new Failing(({ name }) => admitted.push(name))], ...OPTIONS);
    for (const name of ['good', 'bad', 'good again']) scheduler.submit(request(name, (error) => failed.push(error)));
    while (scheduler.waiting + scheduler.busy > 0) await new Promise(setImmediate);
    expect(admitted).toEqual(['good', 'bad', 'good again']);
    expect(failed).toEqual([new Error('no')]);
  });

  test('a slot that cannot be left still takes the next one, from its start', async () => {
    const failed: unknown[] = [];
    class Stuck extends Counter<Named> {
      override async leave(): Promise<void> {
        throw new Error('no');
      }
    }
    const counter = new Stuck();
    const scheduler = new Scheduler<Named>([counter], ...OPTIONS);
    const names = ['a', 'b', 'c'].map((name) => request(name, (error) => failed.push(error)));
    for (const one of names) scheduler.submit(one);
    while (scheduler.waiting + scheduler.busy > 0) await new Promise(setImmediate);
    expect(failed).toEqual([]);
    expect(counter.evaluated).toBe(names.reduce((sum, { prompt }) => sum + prompt.tokens.length, 0));
  });

  test('nothing is evaluated after closing', async () => {
    const counter = new Counter<Named>();
    const scheduler = new Scheduler<Named>([counter], ...OPTIONS);
    for (const name of ['a', 'b', 'c']) scheduler.submit(request(name));
    await scheduler.close();
    const { evaluated } = counter;
    await new Promise(setImmediate);
    expect([scheduler.waiting, scheduler.busy, counter.evaluated]).toEqual([0, 0, evaluated]);
  });
});

describe('a request that continues where a busy slot will end', () => {
  type Named = Scheduled & { name: string };
  /** 2,000 tokens that all share, then 2,000 of the trajectory, then ten of the turn. */
  const turn = (trajectory: number, own: number): Named => ({
    name: `${trajectory}.${own}`,
    prompt: {
      tokens: Array.from({ length: 4010 }, (_, at) => (at < 2000 ? 1 : at < 4000 ? 10 + trajectory : 100 + own)),
      pauses: [2000, 4000],
      checkpoints: [2000, 4000],
    },
    fail: (error) => {
      throw error;
    },
  });
  /** Two slots whose replies have so many tokens; what was admitted behind how many steps of the first reply. */
  function start(replyTokens: number): { scheduler: Scheduler<Named>; counters: Counter<Named>[]; admitted: string[] } {
    let steps = 0;
    class Replying extends Counter<Named> {
      #said = 0;
      override async say(request: Named): Promise<number> {
        if (request.name === '1.1') steps++;
        if (++this.#said < replyTokens) return 1;
        this.#said = 0;
        return 0;
      }
    }
    const admitted: string[] = [];
    const counters = [1, 2].map(() => new Replying(({ name }) => admitted.push(`${name} after ${steps}`)));
    return { scheduler: new Scheduler<Named>(counters, ...OPTIONS), counters, admitted };
  }
  async function finish(scheduler: Scheduler<Named>): Promise<void> {
    while (scheduler.waiting + scheduler.busy > 0) await new Promise(setImmediate);
  }

  test('waits for it, while one of another trajectory takes the free slot at once', async () => {
    const { scheduler, counters, admitted } = start(50);
    for (const request of [turn(1, 1), turn(1, 2), turn(2, 1)]) scheduler.submit(request);
    await finish(scheduler);
    expect(admitted).toEqual(['1.1 after 0', '2.1 after 0', '1.2 after 50']);
    expect(counters.reduce((sum, { evaluated }) => sum + evaluated, 0)).toBe(4010 + 4010 + 10);
  });

  test('waits no longer than evaluating again takes', async () => {
    const { scheduler, admitted } = start(1000);
    for (const request of [turn(1, 1), turn(1, 2)]) scheduler.submit(request);
    await finish(scheduler);
    const [, after] = /^1\.2 after (\d+)$/.exec(admitted[1] ?? '') ?? [];
    // A step has room for 31 tokens more, and 4,000 are saved.
    expect(Math.abs(Number(after) - 4000 / 31)).toBeLessThan(3);
  });

  test('does not wait if less than a batch is saved', async () => {
    const short = (own: number): Named => ({
      ...turn(1, own),
      prompt: { tokens: [...Array(500).fill(1), own], pauses: [10, 500], checkpoints: [10, 500] },
    });
    const { scheduler, admitted } = start(50);
    for (const request of [short(1), short(2)]) scheduler.submit(request);
    await finish(scheduler);
    expect(admitted).toEqual(['1.1 after 0', '1.2 after 0']);
  });
});
