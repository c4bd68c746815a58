// The contract of `Backend` for every backend, whatever it asks through: one suite of claims, run against each.

import { afterEach, describe, expect, it } from 'vitest';
import { UserError } from '../../src/core/errors.js';
import type { Backend, CallCost, ModelOutcome } from '../../src/core/types.js';
import { askByHooks, type HookedJob, type Hooks } from './ask-by-hooks.js';
import { type ModelCall, type ModelScript, USAGE_OF_A_CALL } from './scripted-backend.js';

/** Opens a backend under test over a model that answers by the script, with the given number of slots (even). */
export type OpenSubject = (
  script: ModelScript,
  options: { readonly slots: number; readonly maxAttempts: number },
) => Promise<Subject>;

export interface Subject {
  readonly backend: Backend;
  /** Ends the model. */
  close(): Promise<unknown>;
}

interface TestJob extends HookedJob {
  readonly id: number;
}

const jobsOf = (...groups: readonly string[]): TestJob[] => groups.map((group, id) => ({ id, group }));
const singles = (count: number): TestJob[] => jobsOf(...Array.from({ length: count }, (_, id) => `g${id}`));
const idOf = ({ text }: ModelCall): number => Number(/^job (\d+)/.exec(text)?.[1]);
const replyTo = (call: ModelCall) => ({ text: `reply to ${idOf(call)}` });
const never = new Promise<never>(() => {});

/** An event that happens once, and that can be awaited. */
function happening() {
  let happen = () => {};
  const happened = new Promise<void>((resolve) => {
    happen = resolve;
  });
  return { happen, happened };
}

/** Runs the suite. */
export function conformsToBackend(name: string, open: OpenSubject): void {
  const subjects: Subject[] = [];
  afterEach(async () => {
    for (const { backend, close } of subjects.splice(0)) {
      await backend.close();
      await close();
    }
  });

  /** A backend over a scripted model, asked with hooks that record everything. */
  async function setUp(script: ModelScript = replyTo, options: { slots?: number; maxAttempts?: number } = {}) {
    const calls: ModelCall[] = [];
    const running = { now: 0, most: 0 };
    const counted: ModelScript = async (call) => {
      calls.push(call);
      running.most = Math.max(running.most, ++running.now);
      try {
        return await script(call);
      } finally {
        running.now--;
      }
    };
    const subject = await open(counted, { slots: 2, maxAttempts: 3, ...options });
    subjects.push(subject);
    const { backend } = subject;
    const requested: TestJob[] = [];
    const settled: { readonly job: TestJob; readonly outcome: ModelOutcome }[] = [];
    const stop = new AbortController();
    const abort = new AbortController();
    const hooks: Hooks<TestJob> = {
      async request(job) {
        requested.push(job);
        return { messages: [{ role: 'user', content: `job ${job.id}` }], seedOffset: 0 };
      },
      async settle(job, outcome) {
        settled.push({ job, outcome });
        return 'done';
      },
    };
    const ask = (jobs: readonly TestJob[], own: Partial<Hooks<TestJob>> = {}) =>
      askByHooks(backend, jobs, { ...hooks, ...own }, { stop: stop.signal, abort: abort.signal });
    const statuses = () => Object.fromEntries(settled.map(({ job, outcome }) => [job.id, outcome.status]));
    return { backend, calls, running, requested, settled, stop, abort, hooks, ask, statuses };
  }

  /** Job 0 gets a reply on every third of its tries, the others on each. */
  function onEveryThirdTry(): ModelScript {
    let count = 0;
    return (call) => (idOf(call) === 0 && ++count % 3 !== 0 ? 'passing' : replyTo(call));
  }

  /** Keeps as many calls in flight as there are slots, and answers none of them before `release`. */
  async function held(slots = 2) {
    const full = happening();
    const released = happening();
    let waiting = 0;
    const run = await setUp(
      async (call) => {
        if (++waiting === slots) full.happen();
        await released.happened;
        return replyTo(call);
      },
      { slots },
    );
    return { ...run, full: full.happened, release: released.happen };
  }

  describe(`${name}: jobs`, () => {
    it('are each settled once, with the reply to their own request', async () => {
      const run = await setUp(replyTo, { slots: 4 });
      await run.ask(singles(60));
      expect(run.settled.map(({ job }) => job.id).sort((a, b) => a - b)).toEqual(singles(60).map(({ id }) => id));
      for (const { job, outcome } of run.settled) {
        expect(outcome).toMatchObject({ status: 'ok', content: `reply to ${job.id}` });
      }
      expect(run.calls.length).toBe(60);
    });

    it('are passed to the hooks unchanged', async () => {
      const run = await setUp();
      const jobs = singles(3);
      await run.ask(jobs);
      expect(run.requested.every((job) => jobs.includes(job))).toBe(true);
      expect(run.settled.every(({ job }) => jobs.includes(job))).toBe(true);
    });

    it('are started in the given order', async () => {
      const run = await setUp();
      await run.ask(singles(20));
      expect(run.requested.map(({ id }) => id)).toEqual(singles(20).map(({ id }) => id));
    });

    it('may be none', async () => {
      const run = await setUp();
      await expect(run.ask([])).resolves.toBeUndefined();
      expect(run.requested).toEqual([]);
    });

    it('can be asked in several rounds', async () => {
      const run = await setUp();
      await run.ask(singles(3));
      await run.ask(singles(5));
      expect(run.settled.length).toBe(8);
      expect(run.settled.every(({ outcome }) => outcome.status === 'ok')).toBe(true);
    });

    it('are asked as chats and completions, each unchanged', async () => {
      const run = await setUp();
      const text = 'job 1  <|im_start|>\n\t„as it stands“ ';
      await run.ask(singles(2), {
        request: async ({ id }) => {
          if (id === 1) return { prompt: text, seedOffset: 0 };
          return { messages: [{ role: 'user', content: text }], seedOffset: 0 };
        },
      });
      expect(run.calls.map((call) => call.kind).sort()).toEqual(['chat', 'completion']);
      expect(run.calls.every((call) => call.text === text)).toBe(true);
    });

    it('keep the white space and case of their replies', async () => {
      const text = ' \n„Über“ \u{1f600}\r\n\t<b>&amp;</b>  ';
      const run = await setUp(() => ({ text }));
      await run.ask(singles(1));
      expect(run.settled[0]?.outcome).toMatchObject({ content: text });
    });
  });

  describe(`${name}: groups`, () => {
    it('have their jobs asked one after the other, while there are others for all slots', async () => {
      const run = await setUp();
      const active: string[] = [];
      const together: string[] = [];
      await run.ask(jobsOf('x', 'x', 'y', 'y'), {
        request: async (job) => {
          if (active.includes(job.group)) together.push(job.group);
          active.push(job.group);
          return run.hooks.request(job);
        },
        settle: async (job) => {
          active.splice(active.indexOf(job.group), 1);
          return 'done';
        },
      });
      expect(together).toEqual([]);
    });

    it('stay at the endpoint where they began', async () => {
      const run = await setUp(replyTo, { slots: 4 });
      const jobs = jobsOf(...Array.from({ length: 60 }, (_, id) => `g${id % 12}`));
      await run.ask(jobs);
      const places = new Map<string, Set<number>>();
      for (const call of run.calls) {
        const group = jobs[idOf(call)]?.group ?? '';
        places.set(group, (places.get(group) ?? new Set()).add(call.where));
      }
      expect([...places.values()].map(({ size }) => size)).toEqual(Array(12).fill(1));
    });

    it('leave no slot empty', async () => {
      const run = await held();
      const asking = run.ask(jobsOf('x', 'x', 'y', 'y'));
      await run.full;
      run.release();
      await asking;
      expect(run.running.most).toBe(2);
    });
  });

  describe(`${name}: serial groups`, () => {
    const serial = (...groups: readonly string[]) =>
      jobsOf(...groups).map((job) => ({ ...job, serial: true as const }));

    it('have at most one job in flight, in the given order, however many slots are free', async () => {
      const run = await setUp(replyTo, { slots: 8 });
      const events: string[] = [];
      await run.ask(serial('x', 'y', 'x', 'y', 'x', 'x'), {
        request: async (job) => {
          events.push(`request ${job.id}`);
          return run.hooks.request(job);
        },
        settle: async (job) => {
          await new Promise((resolve) => setImmediate(resolve));
          events.push(`settled ${job.id}`);
          return 'done';
        },
      });
      const ofGroup = (...ids: number[]) => events.filter((event) => ids.includes(Number(event.split(' ')[1])));
      const inTurn = (...ids: number[]) => ids.flatMap((id) => [`request ${id}`, `settled ${id}`]);
      expect(ofGroup(0, 2, 4, 5)).toEqual(inTurn(0, 2, 4, 5));
      expect(ofGroup(1, 3)).toEqual(inTurn(1, 3));
    });

    it('fill the slots in parallel', async () => {
      const run = await held();
      const asking = run.ask(serial('x', 'x', 'y', 'y'));
      await run.full;
      run.release();
      await asking;
      expect(run.running.most).toBe(2);
      expect(run.settled).toHaveLength(4);
    });

    it('ask a job again before the next', async () => {
      const run = await setUp(replyTo, { slots: 4 });
      const settled: number[] = [];
      await run.ask(serial('x', 'x', 'x'), {
        settle: async (job) => {
          settled.push(job.id);
          return job.id === 1 && settled.length === 2 ? 'again' : 'done';
        },
      });
      expect(settled).toEqual([0, 1, 1, 2]);
    });

    it('are ended by a job that says so, and other groups continue', async () => {
      const run = await setUp();
      const settled: number[] = [];
      await run.ask(serial('x', 'x', 'x', 'y', 'y'), {
        settle: async (job) => {
          settled.push(job.id);
          return job.id === 1 ? 'ends-group' : 'done';
        },
      });
      expect(settled.sort()).toEqual([0, 1, 3, 4]);
      expect(run.calls).toHaveLength(4);
      await run.ask(serial('x'));
      expect(run.settled).toHaveLength(1);
    });
  });

  describe(`${name}: slots`, () => {
    it('are all used, and never exceeded', async () => {
      const run = await held(4);
      const asking = run.ask(singles(40));
      await run.full;
      run.release();
      await asking;
      expect(run.running.most).toBe(4);
    });

    it('are occupied from the request until the settled result is durable', async () => {
      const run = await setUp();
      let taken = 0;
      const most: number[] = [];
      await run.ask(singles(12), {
        request: async (job) => {
          most.push(++taken);
          return run.hooks.request(job);
        },
        settle: async () => {
          for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
          taken--;
          return 'done';
        },
      });
      expect(Math.max(...most)).toBe(2);
    });

    it('are counted by the status while calls are in flight', async () => {
      const run = await held();
      const asking = run.ask(singles(5));
      await run.full;
      expect(run.backend.status()).toMatchObject({ inFlight: 2, limit: 2, pausedMs: 0, outages: [] });
      expect(run.backend.status()).not.toHaveProperty('failure');
      run.release();
      await asking;
      expect(run.backend.status().inFlight).toBe(0);
    });
  });

  describe(`${name}: failures`, () => {
    it('that are transient are retried, and the job gets its reply', async () => {
      const failing = new Set([1, 2]);
      const run = await setUp((call) => (failing.delete(idOf(call)) ? 'passing' : replyTo(call)));
      await run.ask(singles(6));
      expect(run.calls.length).toBe(8);
      expect(Object.values(run.statuses())).toEqual(Array(6).fill('ok'));
    });

    it('that are transient cost what all tries together cost', async () => {
      let isFirst = true;
      const run = await setUp((call) => {
        const isPassing = idOf(call) === 0 && isFirst;
        if (isPassing) isFirst = false;
        return isPassing ? 'passing' : replyTo(call);
      });
      await run.ask(singles(4));
      const outcome = run.settled.find(({ job }) => job.id === 0)?.outcome;
      const { promptTokens, completionTokens } = USAGE_OF_A_CALL;
      expect(outcome).toMatchObject({
        log: { attempts: 2, usage: { promptTokens: 2 * promptTokens, completionTokens: 2 * completionTokens } },
      });
    });

    it('and replies are reported try by try with their costs, before their job is settled', async () => {
      const told: string[] = [];
      const run = await setUp((call) => (idOf(call) === 0 ? 'passing' : replyTo(call)), { maxAttempts: 2 });
      await run.ask(singles(3), {
        request: async (job) => {
          told.push(`request ${job.id}`);
          return run.hooks.request(job);
        },
        tried: (job, { usage }) => void told.push(`tried ${job.id} ${usage.promptTokens} ${usage.completionTokens}`),
        settle: async (job) => {
          told.push(`settle ${job.id}`);
          return 'done';
        },
      });
      const { promptTokens, completionTokens } = USAGE_OF_A_CALL;
      for (const id of [1, 2]) {
        const ofJob = told.filter((line) => line.split(' ')[1] === `${id}`);
        expect(ofJob).toEqual([`request ${id}`, `tried ${id} ${promptTokens} ${completionTokens}`, `settle ${id}`]);
      }
      // Probes of whether the endpoint is up are reported as those of a failing job.
      expect(told.filter((line) => line.startsWith('tried')).length).toBe(run.calls.length);
      expect(run.calls.filter((call) => idOf(call) === 0).length).toBe(2);
    });

    it('that are broken off are reported as uncounted', async () => {
      const run = await held();
      const told: CallCost[] = [];
      const asking = run.ask(singles(9), { tried: (_job, cost) => void told.push(cost) });
      await run.full;
      run.abort.abort();
      await asking;
      expect(told).toHaveLength(2);
      for (const { usage, uncounted } of told) {
        expect(usage).toEqual({});
        expect(uncounted?.sent).toBeGreaterThan(0);
      }
    });

    it('that are permanent fail only their job, after all its tries', async () => {
      const run = await setUp((call) => (idOf(call) === 1 ? 'passing' : replyTo(call)));
      await run.ask(singles(30));
      const tries = run.calls.filter((call) => idOf(call) === 1).length;
      // Another endpoint may take over the job, with as many tries again.
      expect(tries).toBeGreaterThanOrEqual(3);
      expect(run.settled.length).toBe(30);
      const failed = run.settled.filter(({ outcome }) => outcome.status !== 'ok');
      expect(failed).toMatchObject([
        { job: { id: 1 }, outcome: { status: 'failed', class: 'transient', log: { attempts: tries } } },
      ]);
    });

    it('caused by the job itself are not retried, and stop no other job', async () => {
      const run = await setUp((call) => (idOf(call) < 2 ? 'permanent' : replyTo(call)));
      await run.ask(singles(5));
      expect(run.calls.length).toBe(5);
      expect(run.statuses()).toEqual({ 0: 'failed', 1: 'failed', 2: 'ok', 3: 'ok', 4: 'ok' });
      expect(run.settled.find(({ job }) => job.id === 0)?.outcome).toMatchObject({
        class: 'context-overflow',
        reason: expect.stringMatching(/./),
        log: { attempts: 1, host: expect.stringMatching(/./) },
      });
    });

    it('are reported by the status, with the host', async () => {
      const run = await setUp((call) => (idOf(call) === 0 ? 'permanent' : replyTo(call)));
      await run.ask(singles(2));
      expect(run.backend.status().failure?.text).toMatch(/^\S+: ./);
      expect(run.backend.status().failure?.agoMs).toBeGreaterThanOrEqual(0);
    });

    it("that would hit every job end the run, with the user's next step, and interrupt what is in flight", async () => {
      const inFlight = happening();
      const run = await setUp(async (call) => {
        if (idOf(call) === 0) {
          inFlight.happen();
          return never;
        }
        await inFlight.happened;
        return 'fatal' as const;
      });
      await expect(run.ask(singles(30))).rejects.toThrow(UserError);
      expect(run.settled.find(({ job }) => job.id === 0)?.outcome).toMatchObject({ status: 'interrupted' });
      expect(run.requested.length).toBe(2);
    });

    it.each(['request', 'settle'] as const)('of %s end the run with what it threw', async (hook) => {
      const broken = new Error('the disk is full');
      const inFlight = happening();
      const run = await setUp(async (call) => {
        if (idOf(call) !== 0) return replyTo(call);
        inFlight.happen();
        return never;
      });
      const asking = run.ask(singles(30), {
        request: async (job) => {
          if (job.id === 1) await inFlight.happened;
          if (job.id === 1 && hook === 'request') throw broken;
          return run.hooks.request(job);
        },
        settle: async (job, outcome) => {
          await run.hooks.settle(job, outcome);
          if (job.id === 1 && hook === 'settle') throw broken;
          return 'done';
        },
      });
      await expect(asking).rejects.toBe(broken);
      expect(run.settled.find(({ job }) => job.id === 0)?.outcome).toMatchObject({ status: 'interrupted' });
      expect(run.settled.some(({ job }) => job.id > 1)).toBe(false);
    });

    it('leave nothing behind: all hooks are done when the run ends, and it can be asked again', async () => {
      let isBroken = true;
      const run = await setUp((call) => (isBroken && idOf(call) === 3 ? 'fatal' : replyTo(call)));
      let busy = 0;
      const settle: Hooks<TestJob>['settle'] = async (job, outcome) => {
        busy++;
        await new Promise((resolve) => setImmediate(resolve));
        busy--;
        return run.hooks.settle(job, outcome);
      };
      await expect(run.ask(singles(30), { settle })).rejects.toThrow(UserError);
      expect(busy).toBe(0);
      expect(run.backend.status().inFlight).toBe(0);
      isBroken = false;
      run.settled.length = 0;
      await run.ask(singles(4), { settle });
      expect(run.statuses()).toEqual({ 0: 'ok', 1: 'ok', 2: 'ok', 3: 'ok' });
    });
  });

  describe(`${name}: signals`, () => {
    it('stop lets calls in flight finish, and starts nothing', async () => {
      const run = await held();
      const asking = run.ask(singles(9));
      await run.full;
      run.stop.abort();
      run.release();
      await asking;
      expect(run.statuses()).toEqual({ 0: 'ok', 1: 'ok' });
      expect(run.requested.length).toBe(2);
    });

    it('abort interrupts what is in flight: none of its outcomes is kept', async () => {
      const run = await held();
      const asking = run.ask(singles(9));
      await run.full;
      run.abort.abort();
      await asking;
      expect(run.settled.map(({ outcome }) => outcome)).toMatchObject(Array(2).fill({ status: 'interrupted' }));
      expect(run.requested.length).toBe(2);
    });

    it('abort ends what stop left in flight', async () => {
      const run = await held();
      const asking = run.ask(singles(9));
      await run.full;
      run.stop.abort();
      run.abort.abort();
      await asking;
      expect(run.statuses()).toEqual({ 0: 'interrupted', 1: 'interrupted' });
    });

    it.each(['stop', 'abort'] as const)('%s before the start prevents all requests', async (signal) => {
      const run = await setUp();
      run[signal].abort();
      await run.ask(singles(9));
      expect(run.calls).toEqual([]);
      expect(run.settled.filter(({ outcome }) => outcome.status !== 'interrupted')).toEqual([]);
    });

    it('leave the backend ready for another round', async () => {
      const run = await held();
      const asking = run.ask(singles(9));
      await run.full;
      run.abort.abort();
      await asking;
      run.release();
      run.settled.length = 0;
      const signals = { stop: new AbortController().signal, abort: new AbortController().signal };
      await askByHooks(run.backend, singles(3), run.hooks, signals);
      expect(run.statuses()).toEqual({ 0: 'ok', 1: 'ok', 2: 'ok' });
    });
  });

  describe(`${name}: seeds`, () => {
    const offset = (seedOffset: number) => ({ messages: [{ role: 'user', content: 'job 0' }], seedOffset }) as const;

    it("follow only the request's offset", async () => {
      const run = await setUp();
      await run.ask(singles(8), {
        request: async ({ id }) => ({ messages: [{ role: 'user', content: `job ${id}` }], seedOffset: id % 4 }),
      });
      const seeds = run.calls.map((call) => `${idOf(call) % 4} ${call.seed}`);
      expect(new Set(seeds).size).toBe(4);
      expect(new Set(run.calls.map(({ seed }) => seed)).size).toBe(4);
    });

    it('differ from try to try, so a reply that broke off does not come back the same', async () => {
      const run = await setUp(onEveryThirdTry(), { slots: 4 });
      await run.ask(singles(4));
      expect(new Set(run.calls.filter((call) => idOf(call) === 0).map(({ seed }) => seed)).size).toBe(3);
    });

    it('of a job asked again are those of its new request', async () => {
      const run = await setUp();
      const offsets = [0, 5, 0];
      let at = 0;
      await run.ask(singles(1), {
        request: async () => offset(offsets[at] ?? 0),
        settle: async () => (++at < offsets.length ? 'again' : 'done'),
      });
      const [first, second, third] = run.calls.map(({ seed }) => seed);
      expect(second).not.toBe(first);
      expect(third).toBe(first);
    });
  });

  describe(`${name}: asking again`, () => {
    it('happens at once, at the same endpoint, before its group continues', async () => {
      const run = await setUp();
      let isFirst = true;
      await run.ask(jobsOf('x', 'x', 'y', 'y'), {
        settle: async (job) => {
          const again = job.id === 0 && isFirst;
          if (again) isFirst = false;
          return again ? 'again' : 'done';
        },
      });
      const ofX = run.calls.filter((call) => idOf(call) < 2);
      expect(ofX.map(idOf)).toEqual([0, 0, 1]);
      expect(ofX[1]?.where).toBe(ofX[0]?.where);
    });

    it('starts afresh: a new request, all tries, and a log without the earlier ones', async () => {
      const run = await setUp(onEveryThirdTry(), { slots: 4 });
      let isFirst = true;
      const settle: Hooks<TestJob>['settle'] = async (job, outcome) => {
        await run.hooks.settle(job, outcome);
        const again = job.id === 0 && isFirst;
        if (again) isFirst = false;
        return again ? 'again' : 'done';
      };
      await run.ask(singles(4), { settle });
      const outcomes = run.settled.filter(({ job }) => job.id === 0).map(({ outcome }) => outcome);
      expect(outcomes).toMatchObject(Array(2).fill({ status: 'ok', log: { attempts: 3 } }));
      expect(run.requested.filter(({ id }) => id === 0).length).toBeGreaterThanOrEqual(2);
    });

    it('is possible after a failure', async () => {
      let isFirst = true;
      const run = await setUp((call) => {
        const answer = isFirst ? 'permanent' : replyTo(call);
        isFirst = false;
        return answer;
      });
      await run.ask(singles(1), {
        settle: async (job, outcome) => {
          await run.hooks.settle(job, outcome);
          return outcome.status === 'failed' ? 'again' : 'done';
        },
      });
      expect(run.settled.map(({ outcome }) => outcome.status)).toEqual(['failed', 'ok']);
    });

    it('never exceeds the slots', async () => {
      const run = await setUp(replyTo, { slots: 4 });
      const times = new Map<number, number>();
      await run.ask(singles(12), {
        settle: async ({ id }) => {
          times.set(id, (times.get(id) ?? 0) + 1);
          return times.get(id) === 3 ? 'done' : 'again';
        },
      });
      expect(run.calls.length).toBe(36);
      expect(run.running.most).toBeLessThanOrEqual(4);
    });

    it.each(['stop', 'abort'] as const)('ends after %s', async (signal) => {
      const run = await held();
      const settle: Hooks<TestJob>['settle'] = async (job, outcome) => {
        await run.hooks.settle(job, outcome);
        // A backend that does not stop should fail the claim instead of hanging.
        return run.settled.length < 20 ? 'again' : 'done';
      };
      const asking = run.ask(singles(9), { settle });
      await run.full;
      run[signal].abort();
      run.release();
      await asking;
      expect(run.settled.map(({ job }) => job.id).sort()).toEqual([0, 1]);
      expect(run.requested.length).toBe(2);
    });
  });

  describe(`${name}: close`, () => {
    it('may be called before anything was asked, and twice', async () => {
      const { backend } = await setUp();
      await backend.close();
      await expect(backend.close()).resolves.toBeUndefined();
    });

    it('may be called after a failure', async () => {
      const run = await setUp(() => 'fatal');
      await expect(run.ask(singles(3))).rejects.toThrow(UserError);
      await run.backend.close();
      await expect(run.backend.close()).resolves.toBeUndefined();
    });
  });
}
