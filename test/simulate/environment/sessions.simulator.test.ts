// Worlds that begin as an agent asks, and a world model on 127.0.0.1 that answers in them.

import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { trajectoryRow, type World } from '../../../src/infer/world.js';
import { type Simulator, simulatorOf } from '../../../src/simulate/environment/sessions.js';
import { openSimulation, type Simulation } from '../../../src/simulate/simulation.js';
import { RECORDED } from '../../support/cli.js';
import { ioIn } from '../../support/io.js';
import { rowsOf } from '../../support/judging.js';
import { type Answer, type Handler, type LoopbackServer, startLoopbackServer } from '../../support/loopback-server.js';
import { simulationSettings } from '../../support/simulation.js';

const NEVER = new AbortController().signal;
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A world model that answers by `script`, and the worlds in it. */
async function start(
  script: Handler | readonly Answer[] = ({ body }) => ({ content: echo(body.messages) }),
  flags: readonly string[] = [],
): Promise<{ simulator: Simulator; server: LoopbackServer; simulation: Simulation }> {
  const server = await startLoopbackServer(script);
  open.push(server);
  const target = ['--model-base-url', server.url, '--model-name', 'loopback'];
  const data = flags.includes('--data-dir') ? [] : ['--data-dir', RECORDED];
  const settings = await simulationSettings([...target, ...data, '--retry-minutes', '0', ...flags]);
  const io = ioIn(process.cwd());
  const simulation = await openSimulation(settings, io, () => {});
  open.push(simulation);
  return { simulator: await simulatorOf(simulation, settings, io), server, simulation };
}

function echo(messages: readonly { content: string }[]): string {
  return `<predicted_observation>saw ${messages.length} messages</predicted_observation>`;
}

type Begun = Awaited<ReturnType<Simulator['begin']>>;

/** An episode after a further action. */
async function observed(begun: Begun, action: string): Promise<Begun> {
  const acted = await begun.step(begun.world, action, NEVER);
  if (acted.status !== 'ok') throw new Error(JSON.stringify(acted));
  return { ...begun, world: acted.world };
}

function act({ world, step }: Begun, action: string, signal = NEVER) {
  return step(world, action, signal);
}

function history({ turns }: World) {
  return turns.map(({ action, observation }) => ({ action, observation }));
}

describe('a start', () => {
  test('by domain has the task before the first action, with the bundled prompt', async () => {
    const { simulator, server } = await start();
    const begun = await simulator.begin({ domain: 'terminal', task: 'count the files' });
    expect(begun.world.preface).toContain('count the files');
    await observed(begun, 'ls | wc -l');
    const [system, user] = server.requests[0]?.body.messages ?? [];
    expect(system.content).toMatch(/^You are a Linux terminal/);
    expect(user.content).toMatch(/### Turn 1\n\*\*Task Instruction:\*\*\ncount the files\n\n\*\*Action:\*\*\n```json/);
  });

  test('by row begins at the row, with its true earlier turns', async () => {
    const { simulator, server } = await start();
    const rows = await rowsOf(join(RECORDED, 'terminal_test.jsonl'));
    const { id, turn_idx: turn } = rows.find((row) => row.turn_idx > 1) ?? {};
    const begun = await simulator.begin({ row: `terminal:${id}:${turn}` });
    expect(begun.world.turns).toHaveLength(turn - 1);
    const { world: next } = await observed(begun, 'pwd');
    expect(next.turns).toHaveLength(begun.world.turns.length + 1);
    expect(server.requests[0]?.body.messages).toHaveLength(2 * begun.world.turns.length + 2);
  });

  test('without arguments begins where the flags say', async () => {
    const { simulator } = await start(undefined, ['--domain', 'web', '--task', 'buy a kettle', '--state', 'a shop']);
    const begun = await simulator.begin({});
    expect([begun.world.domain, begun.world.preface]).toEqual([
      'web',
      '**Task Instruction:**\nbuy a kettle\n\n**Current State:**\na shop',
    ]);
    expect((await simulator.begin({ domain: 'web', task: 'other' })).world.preface).toBe(
      '**Task Instruction:**\nother',
    );
  });

  test('with its own prompt uses that prompt', async () => {
    const { simulator, server } = await start();
    await observed(await simulator.begin({ domain: 'terminal', prompt: 'You are a toaster.' }), 'toast');
    expect(server.requests[0]?.body.messages[0]).toEqual({ role: 'system', content: 'You are a toaster.' });
  });

  test('with a scenario gives it to the world model before each action, and never to the agent', async () => {
    const { simulator, server } = await start();
    const begun = await simulator.begin({ domain: 'terminal', scenario: 'The disk is full.' });
    expect(begun.world.preface).not.toContain('disk');
    const next = await observed(begun, 'touch a');
    await observed(next, 'touch b');
    for (const { body } of server.requests) {
      expect(body.messages.at(-1).content).toContain('**Simulation Instruction:**\nThe disk is full.\n\n**Action:**');
    }
    expect(JSON.stringify(history(next.world))).not.toContain('disk');
    expect(trajectoryRow(next.world, 'x')).toMatchObject({
      current_prompt: expect.stringContaining('The disk is full.'),
    });
  });

  test.each([
    ['no place at all', {}, /name the domain/],
    ['a prompt alone', { prompt: 'p' }, /even with a prompt/],
    ['two places', { domain: 'web', row: 'x' }, /one place/],
    ['a task at a row', { row: 'x', task: 't' }, /its own task/],
    ['an unknown domain', { domain: 'terminl' }, /did you mean "terminal"/],
    ['a row that is not there', { row: 'nowhere' }, /no row "nowhere"/],
  ])('with %s is refused', async (_, given, message) => {
    const { simulator, server } = await start();
    await expect(simulator.begin(given)).rejects.toThrow(message);
    expect(server.count).toBe(0);
  });

  test.each([
    ['an unknown domain', ['--domain', 'terminl'], /did you mean "terminal"/],
    ['a row that is not there', ['--from', 'nowhere'], /no row "nowhere"/],
    ['a task at a row', ['--from', 'nowhere', '--task', 't'], /--task and --state belong to --domain/],
  ])('of the flags with %s is refused before anybody acts', async (_, flags, message) => {
    await expect(start([], flags)).rejects.toThrow(message);
  });
});

describe('an agent elsewhere', () => {
  test.each([
    ['a row that is not there', { row: 'nowhere' }, [], 'there is no row "nowhere"'],
    ['a row one turn off', { row: 'terminal:179757071433034:7' }, [], /^there is no row .*; did you mean ".*:6"\?$/],
    ['a row where there is no data', { row: 'nowhere' }, ['--data-dir', 'none'], /^no world can start at a row here/],
    ['an unknown domain', { domain: 'terminl' }, [], 'unknown domain "terminl"; did you mean "terminal"?'],
  ])('that asks for %s is told of no flag and no folder of this machine', async (_, given, flags, message) => {
    const { simulator } = await start([], flags);
    const told = await simulator.begin(given).catch((error: Error) => error.message);
    if (typeof message === 'string') expect(told).toBe(message);
    else expect(told).toMatch(message);
  });
});

describe('seeds', () => {
  test('the same seed sends the same seeds, a different one per turn; no seed sends none', async () => {
    const { simulator, server } = await start();
    for (const seed of [7, 7, 8]) {
      const begun = await observed(await simulator.begin({ domain: 'os', seed }), 'a');
      await observed(begun, 'b');
    }
    await observed(await simulator.begin({ domain: 'os' }), 'a');
    const seeds = server.requests.map(({ body }) => body.seed);
    expect(seeds.slice(0, 2)).toEqual(seeds.slice(2, 4));
    expect(new Set(seeds.slice(2, 6)).size).toBe(4);
    expect(seeds.at(-1)).toBeUndefined();
  });

  test('episodes without a seed differ under --seed, and all of them again in the next process', async () => {
    const asked = async () => {
      const { simulator, server } = await start(undefined, ['--seed', '3']);
      for (let episode = 0; episode < 2; episode++) await observed(await simulator.begin({ domain: 'os' }), 'a');
      return server.requests.map(({ body }) => body.seed);
    };
    const seeds = await asked();
    expect(new Set(seeds).size).toBe(2);
    expect(await asked()).toEqual(seeds);
  });
});

describe('the outcome of an action', () => {
  test('a world that can be recorded: a row of the benchmark', async () => {
    const { simulator } = await start();
    const { world } = await observed(await simulator.begin({ domain: 'terminal' }), 'ls');
    expect(trajectoryRow(world, 'e1')).toMatchObject({
      task: 'simulated/terminal',
      id: 'e1',
      turn_idx: 1,
      total_turns: 1,
    });
  });

  test('a failure of the server leaves the world as it is', async () => {
    const { simulator } = await start([{ status: 503, body: 'down' }]);
    const begun = await simulator.begin({ domain: 'terminal' });
    expect(await act(begun, 'ls')).toMatchObject({ status: 'failed', class: 'transient' });
    expect(begun.world.turns).toEqual([]);
  });

  test('a reply without an observation can be asked for again', async () => {
    const { simulator } = await start([{ content: '<predicted_observation></predicted_observation>' }]);
    const begun = await simulator.begin({ domain: 'terminal' });
    expect(await act(begun, 'ls')).toMatchObject({ status: 'empty' });
  });

  test('the end of the context is known after the last step that fits, and before one that does not', async () => {
    const long = { content: 'x'.repeat(4_000), usage: { prompt_tokens: 1_500, completion_tokens: 1_000 } };
    const { simulator } = await start([long], ['--context', '2000']);
    const begun = await simulator.begin({ domain: 'terminal', prompt: 'p' });
    expect(begun.isFull((await observed(begun, 'ls')).world)).toBe(true);
    const tight = await simulator.begin({ domain: 'terminal', prompt: 'y'.repeat(10_000) });
    expect(await act(tight, 'ls')).toMatchObject({ status: 'full' });
  });

  test('a spent budget lets nothing more be asked', async () => {
    const { simulator, server } = await start(undefined, ['--budget-tokens', '1']);
    const begun = await observed(await simulator.begin({ domain: 'terminal' }), 'ls');
    expect(await act(begun, 'ls')).toMatchObject({
      status: 'spent',
      reason: expect.stringContaining('--budget-tokens'),
    });
    expect(server.count).toBe(1);
  });

  test('an aborted action has not happened', async () => {
    const { simulator } = await start(['hang']);
    const begun = await simulator.begin({ domain: 'terminal' });
    const leaving = new AbortController();
    const acted = act(begun, 'ls', leaving.signal);
    setTimeout(() => leaving.abort(), 20);
    expect(await acted).toMatchObject({ status: 'interrupted' });
  });
});
