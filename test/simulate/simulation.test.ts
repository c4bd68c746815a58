// Many worlds with one world model: each is independent, and all are paid from one budget.

import { afterEach, describe, expect, test } from 'vitest';
import type { World } from '../../src/infer/world.js';
import { openSimulation, type StepOutcome } from '../../src/simulate/simulation.js';
import { closeAll, closers, NEVER, serve, until } from '../support/endpoint.js';
import { ioIn } from '../support/io.js';
import type { Handler } from '../support/loopback-server.js';
import { simulationSettings } from '../support/simulation.js';

afterEach(closeAll);

const answer = (text: string) => ({ content: `<predicted_observation>${text}</predicted_observation>` });

async function open(script: Handler, flags: readonly string[] = []) {
  const server = await serve(script);
  const settings = await simulationSettings(['--model-base-url', server.url, '--model-name', 'wm', ...flags]);
  const simulation = await openSimulation(settings, ioIn('/'), () => {});
  closers.push(() => simulation.close());
  const start = () => simulation.world({ domain: 'terminal' });
  const step = (world: World, action: string) => simulation.step({ world, action }, { signal: NEVER });
  return { server, simulation, start, step };
}

function worldAfter(outcome: StepOutcome): World {
  if (outcome.status !== 'ok') throw new Error(outcome.status);
  return outcome.world;
}

describe('a simulation', () => {
  test('runs worlds side by side, and none affects another', async () => {
    const waiting: (() => void)[] = [];
    const { server, start, step } = await open(async ({ body }) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return answer(JSON.stringify(body.messages).includes('in A') ? 'A' : 'B');
    });
    const both = [step(await start(), 'in A'), step(await start(), 'in B')];
    await until(() => waiting.length === 2);
    expect(server.maxInFlight).toBe(2);
    for (const go of waiting) go();
    const [a, b] = (await Promise.all(both)).map((outcome) =>
      worldAfter(outcome).turns.map(({ observation }) => observation),
    );
    expect([a, b]).toEqual([['A'], ['B']]);
  });

  test('spends one budget over all worlds', async () => {
    const { start, step, simulation } = await open(
      () => ({ ...answer('x'), usage: { prompt_tokens: 60, completion_tokens: 1 } }),
      ['--budget-tokens', '100'],
    );
    expect((await step(await start(), 'a')).status).toBe('ok');
    expect((await step(await start(), 'b')).status).toBe('ok');
    expect(await step(await start(), 'c')).toMatchObject({ status: 'spent' });
    expect(simulation.budget.spending).toMatchObject({ tokens: 122, budget: { tokens: 100 } });
    expect(simulation.asked.calls).toBe(2);
  });

  test('exceeds its budget by less than one step, however many worlds are at work', async () => {
    const { start, step, simulation, server } = await open(
      ({ index }) => ({
        ...answer('x'),
        usage: { prompt_tokens: 60, completion_tokens: 40 },
        latencyMs: 5 * (index % 5),
      }),
      ['--budget-tokens', '1950', '--max-tokens', '100'],
    );
    const worlds = await Promise.all(Array.from({ length: 40 }, start));
    const outcomes = await Promise.all(worlds.map((world) => step(world, 'a')));
    expect(outcomes.map(({ status }) => status).sort()).toEqual([...Array(20).fill('ok'), ...Array(20).fill('spent')]);
    expect([simulation.budget.spending.tokens, server.count]).toEqual([2_000, 20]);
    expect(server.maxInFlight).toBeGreaterThan(2);
  });

  test('stops waiting for the budget when it is aborted', async () => {
    const { start, simulation } = await open(() => 'hang', ['--budget-tokens', '20000']);
    const ended = new AbortController();
    const [world, other] = [await start(), await start()];
    const both = [world, other].map((one) => simulation.step({ world: one, action: 'a' }, { signal: ended.signal }));
    setTimeout(() => ended.abort(), 100);
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
  });

  test('knows the request size of a world after going back to it', async () => {
    const counts = [1_000, 3_000];
    const { start, step, simulation } = await open(
      ({ index }) => ({ ...answer('x'), usage: { prompt_tokens: counts[index], completion_tokens: 1 } }),
      ['--context', '4096'],
    );
    const one = worldAfter(await step(await start(), 'a'));
    const two = worldAfter(await step(one, 'b'));
    const taken = (world: World) => simulation.roomFor({ world, action: 'c' })?.promptTokens ?? 0;
    expect(taken(two)).toBeGreaterThan(3_000);
    expect(taken(one)).toBeGreaterThan(1_000);
    expect(taken(one)).toBeLessThan(1_500);
  });

  test('asks for no longer reply than the context allows, so that no server refuses the budget', async () => {
    const usage = { prompt_tokens: 1_200, completion_tokens: 1 };
    const { start, step, server } = await open(() => ({ ...answer('x'), usage }), ['--context', '4096']);
    const one = worldAfter(await step(await start(), 'a'));
    await step(one, 'b');
    const budgets = server.requests.map(({ body }) => body.max_tokens);
    expect(budgets[0]).toBeLessThan(4_096 - 1_200);
    expect(budgets[1]).toBeGreaterThan(2_000);
    expect(budgets[1]).toBeLessThan(4_096 - 1_200);
    const other = await open(() => answer('x'), ['--max-tokens', '300', '--context', '4096']);
    await other.step(await other.start(), 'a');
    const unknown = await open(() => answer('x'));
    await unknown.step(await unknown.start(), 'a');
    expect([other, unknown].map(({ server: { requests } }) => requests[0]?.body.max_tokens)).toEqual([300, 32_768]);
  });

  test('returns a failure and leaves the world unchanged', async () => {
    const { start, step } = await open(() => ({
      status: 400,
      body: { error: { message: 'maximum context length is 10 tokens' } },
    }));
    const world = await start();
    expect(await step(world, 'a')).toMatchObject({ status: 'failed' });
    expect(world.turns).toEqual([]);
  });
});
