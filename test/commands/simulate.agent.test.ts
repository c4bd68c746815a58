// `awb simulate` with an agent, from outside: what is asked, what is written, how episodes end, and how a run continues.

import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { loadPrompts } from '../../src/benchmark/prompts.js';
import { awb } from '../support/cli.js';
import { type Players, shows, startPlayers, typedIn, types } from '../support/episodes.js';
import { folderOf } from '../support/folder.js';
import { jsonOf, type Row, rowsOf } from '../support/judging.js';
import { holdText } from '../support/messages.js';
import { rowText } from '../support/rows.js';

const open: Players[] = [];
afterEach(() => Promise.all(open.splice(0).map((players) => players.close())));

async function setUp(script: Parameters<typeof startPlayers>[0] = {}, files: Readonly<Record<string, string>> = {}) {
  const players = await startPlayers(script);
  open.push(players);
  const folder = await folderOf(files);
  const out = join(folder, 'out');
  const simulate = (...args: string[]) =>
    awb(['simulate', ...players.flags, '--output-dir', 'out', ...args], { cwd: folder });
  return {
    ...{ players, folder, out, simulate },
    json: async (...args: string[]): Promise<Row> => {
      const { code, stdout, stderr } = await simulate(...args, '--json');
      return { code, stderr, ...JSON.parse(stdout === '' ? '{}' : stdout) };
    },
    rows: () => rowsOf(join(out, 'episodes_test.jsonl')),
    run: (...args: string[]) => awb(args, { cwd: folder }),
  };
}

const TERMINAL = ['--domain', 'terminal'];

describe('an episode', () => {
  test("is a row of the benchmark: the agent's actions, the world's observations, and how it ended", async () => {
    const { players, simulate, rows } = await setUp({
      agent: ({ turn }) => (turn < 2 ? types(`step ${turn}`) : 'There are two files.\n\nDONE'),
    });
    const { code, stdout } = await simulate(...TERMINAL, '--task', 'Count the files.', '--seed', '5');
    expect(code).toBe(0);
    expect(stdout).toContain('episodes: 1 of 1 ended');
    expect(stdout).toContain('steps: 2, 2.0 per episode');
    const [row, ...others] = await rows();
    expect(others).toEqual([]);
    const system = (await loadPrompts('world-model')).prompt('terminal');
    const action = (turn: number) =>
      `**Action:**\n\`\`\`json\n[\n  {\n    "keystrokes": "step ${turn}\\n",\n    "duration": 0.5\n  }\n]\n\`\`\``;
    expect(row).toMatchObject({
      task: 'simulated/terminal',
      system_str: system,
      current_prompt: `### Turn 2\n${action(1)}`,
      response: ['**Environment Observation:**\n$ step 0', '**Environment Observation:**\n$ step 1'],
      turn_idx: 2,
      total_turns: 2,
      awb: {
        ...{ episode: 1, agent: 'agent', world_model: 'world', seed: 5, task: 'Count the files.' },
        ...{ end: 'done', steps: 2, said: 'There are two files.' },
      },
    });
    expect(row?.prompt[0]).toBe(`### Turn 1\n**Task Instruction:**\nCount the files.\n\n${action(0)}`);
    expect(row?.prompt[1].startsWith(row?.current_prompt)).toBe(true);
    // What the agent sees: the task, its own actions, and observations without their marker.
    const [, , asked] = players.asked.agent;
    expect(asked?.messages.slice(1).map(({ content }) => content)).toEqual([
      '**Task Instruction:**\nCount the files.',
      action(0).replace('**Action:**\n', ''),
      '$ step 0',
      action(1).replace('**Action:**\n', ''),
      '$ step 1',
    ]);
    expect(asked?.system).toContain('answer with the single word DONE');
    expect(players.asked.world.map(({ request }) => request.body.seed)).not.toContain(undefined);
  });

  test.each([
    ['done', () => 'DONE', 0],
    ['done', () => '```json\nDONE\n```', 0],
    ['gave-up', ({ turn }: { turn: number }) => (turn === 1 ? 'The disk is full.\nFAIL.' : types('df')), 1],
    ['unreadable', ({ turn }: { turn: number }) => (turn === 1 ? 'I would look around.' : types('ls')), 1],
    ['steps', () => types('ls'), 3],
  ] as const)('ends as %s according to what the agent says', async (end, agent, steps) => {
    const { json, rows, players, out } = await setUp({ agent });
    const result = await json(...TERMINAL, '--steps', '3');
    expect(result).toMatchObject({ code: 0, ends: { [end]: 1 }, steps, rows: steps === 0 ? 0 : 1 });
    const [row] = await rows();
    if (steps > 0) expect(row?.awb).toMatchObject({ end, steps });
    if (end === 'unreadable') {
      expect(players.asked.agent).toHaveLength(1 + 3);
      expect(row?.awb.reason).toBe('no fence, and the action is not JSON');
      const journal = await rowsOf(join(out, 'episodes_test.journal.jsonl'));
      const lost = journal
        .filter(({ row: { status } }) => status === 'failed')
        .map(({ id, row: { gen } }) => [id, gen]);
      expect(lost).toEqual(['0/1a.0', '0/1a.1', '0/1a.2'].map((id) => [id, 'I would look around.']));
    }
  });

  test('carries out an action before a final word in the same reply', async () => {
    const { json } = await setUp({ agent: ({ turn }) => (turn === 0 ? `${types('ls')}\nDONE` : 'DONE') });
    expect(await json(...TERMINAL)).toMatchObject({ ends: { done: 1 }, steps: 1 });
  });

  test('ends if the world shows nothing in any of its tries, each with another seed', async () => {
    const { json, players } = await setUp({ world: ({ turn }) => (turn === 0 ? shows('$') : '<think>hm</think>') });
    const result = await json(...TERMINAL, '--seed', '1', '--agent-tries', '2');
    expect(result).toMatchObject({ ends: { 'no-observation': 1 }, steps: 1 });
    const seeds = players.asked.world.map(({ request }) => request.body.seed);
    expect(seeds).toHaveLength(3);
    expect(new Set(seeds).size).toBe(3);
  });

  test("ends when a context is full: the world's by its size, the agent's by its server's error", async () => {
    const world = await setUp({ world: () => shows('x'.repeat(4000)) });
    expect(await world.json(...TERMINAL, '--context', '4000')).toMatchObject({ code: 0, ends: { context: 1 } });
    const message = "This model's maximum context length is 100 tokens, however you requested 900 tokens";
    const full = { status: 400, body: { error: { message, code: 'context_length_exceeded' } } };
    const agent = await setUp({ agent: ({ turn }) => (turn === 0 ? types('ls') : full) });
    expect(await agent.json(...TERMINAL)).toMatchObject({ code: 0, ends: { context: 1 }, steps: 1 });
  });
});

describe('episodes', () => {
  test('start at each task in turn, have ids that no other run has, and are the same when played again', async () => {
    const tasks = { 'tasks.txt': 'List them.\r\n\r\n  Count them.  \n' };
    const one = await setUp({}, tasks);
    const flags = [...TERMINAL, '--tasks', 'tasks.txt', '--steps', '2', '--seed', '3'];
    expect(await one.json(...flags, '--episodes', '5')).toMatchObject({ episodes: { chosen: 5, ended: 5 }, steps: 10 });
    const rows = await one.rows();
    const [list, count] = ['List them.', 'Count them.'];
    expect(rows.map(({ awb: { task } }) => task)).toEqual([list, count, list, count, list]);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(5);
    expect(rows[0]?.id).toMatch(/^[0-9a-f]{8}-1$/);
    const two = await setUp({}, tasks);
    expect(await two.json(...flags)).toMatchObject({ episodes: { chosen: 2 } });
    expect(await two.json(...flags, '--episodes', '5')).toMatchObject({ episodes: { chosen: 5, ended: 5 } });
    expect(await two.rows()).toEqual(rows);
    const others = await setUp({}, tasks);
    await others.json(...flags.slice(0, -1), '4');
    expect((await others.rows())[0]?.id).not.toBe(rows[0]?.id);
  });

  test('continue after an interrupt: no saved reply is asked for again, even in the middle of an episode', async () => {
    let left = 7;
    const gate = { open: false };
    const guarded = (asked: { readonly turn: number; readonly last: string }) => {
      if (!gate.open && left-- <= 0) return 'hang' as const;
      const typed = typedIn(asked.last);
      return typed === '' || asked.last.startsWith('$') ? types(`step ${asked.turn}`) : shows(`$ did ${typed}`);
    };
    const { players, json, rows, folder } = await setUp({ agent: guarded, world: guarded });
    const flags = [...TERMINAL, '--steps', '6', '--seed', '1'];
    const stop = new AbortController();
    const args = ['simulate', ...players.flags, '--output-dir', 'out', ...flags];
    const first = awb(args, { cwd: folder, stop: stop.signal });
    while (players.count < 8) await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort('SIGINT');
    const said = expect.stringContaining('interrupted; every reply is saved');
    expect(await first).toMatchObject({ code: 130, stdout: said });
    expect(await rows()).toEqual([]);
    gate.open = true;
    const before = players.count;
    expect(await json(...flags)).toMatchObject({ code: 0, ends: { steps: 1 }, steps: 6 });
    // Seven of twelve replies were saved; the eighth call was broken off.
    expect(players.count - before).toBe(12 - 7);
    const whole = await setUp({ agent: guarded, world: guarded });
    await whole.json(...flags);
    expect(await rows()).toEqual(await whole.rows());
    const again = await json(...flags);
    expect([again.code, players.count]).toEqual([0, before + 5]);
  });
});

describe('spending', () => {
  const PRICES =
    'unit: million-tokens\nmodels:\n  world: { input: 1, output: 1 }\n  agent: { input: 10, output: 10 }\n';

  test('is the cost of both models at their own prices, stops at the budget, and continues with a larger one', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 1000 };
    const { json, players } = await setUp(
      {
        agent: ({ turn }) => ({ content: types(`step ${turn}`), usage }),
        world: () => ({ content: shows('$'), usage }),
      },
      { 'prices.yaml': PRICES },
    );
    const flags = [...TERMINAL, '--episodes', '2', '--steps', '5', '--concurrency', '1', '--prices', 'prices.yaml'];
    const stopped = await json(...flags, '--budget-usd', '0.05');
    // A step costs 2 cents for the agent and 0.2 for the world.
    expect(stopped).toMatchObject({ code: 75, state: 'stopped', spent: { budget: { usd: 0.05 } } });
    expect(stopped.stop_reason).toContain('$0.05');
    expect(stopped.spent.usd).toBeCloseTo(0.064, 10);
    const done = await json(...flags, '--budget-usd', '1');
    expect(done).toMatchObject({ code: 0, episodes: { ended: 2 } });
    expect(done.tokens).toMatchObject({ agent: { promptTokens: 10_000 }, world: { promptTokens: 10_000 } });
    expect(done.spent.usd).toBeCloseTo(10 * 0.022, 10);
    expect(players.count).toBe(20);
  });

  test('exceeds the budget by less than one call if episodes are played in parallel', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 1000 };
    const { json } = await setUp(
      {
        agent: ({ turn }) => ({ content: types(`step ${turn}`), usage, latencyMs: 10 }),
        world: () => ({ content: shows('$'), usage, latencyMs: 10 }),
      },
      { 'prices.yaml': PRICES },
    );
    const flags = [...TERMINAL, '--episodes', '12', '--steps', '9', '--concurrency', '12', '--prices', 'prices.yaml'];
    const limits = ['--max-tokens', '1500', '--agent-max-tokens', '1500', '--budget-usd', '0.5'];
    const stopped = await json(...flags, ...limits);
    expect(stopped).toMatchObject({ code: 75, state: 'stopped' });
    expect(stopped.spent.usd).toBeGreaterThanOrEqual(0.5);
    expect(stopped.spent.usd).toBeLessThan(0.5 + 0.02);
  });

  test('needs the prices of both models before anything is asked', async () => {
    const { json, players } = await setUp({}, { 'prices.yaml': PRICES.slice(0, PRICES.indexOf('  agent')) });
    const refused = await json(...TERMINAL, '--prices', 'prices.yaml', '--budget-usd', '1');
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('none is known for "agent"') });
    expect(players.count).toBe(0);
  });

  test('is bounded by --dry-run, which asks no model and writes nothing', async () => {
    const { simulate, json, players, out } = await setUp({}, { 'prices.yaml': PRICES });
    const limits = ['--agent-max-tokens', '100', '--max-tokens', '400', '--prices', 'prices.yaml'];
    const bill = await json(...TERMINAL, '--task', 'Look.', '--episodes', '3', '--steps', '4', ...limits, '--dry-run');
    expect(bill.at_most.agent).toMatchObject({ calls: 12, completionTokens: 1200 });
    expect(bill.at_most.world).toMatchObject({ calls: 12, completionTokens: 4800 });
    const { agent, world } = bill.at_most;
    const usd = ((agent.promptTokens + 1200) * 10 + world.promptTokens + 4800) / 1e6;
    expect(bill.at_most.usd).toBeCloseTo(usd, 10);
    const one = await simulate(...TERMINAL, '--task', 'Look.', '--steps', '1', '--dry-run');
    await holdText('simulate-dry-run-one-step', one.stdout);
    const text = (await simulate(...TERMINAL, '--task', 'Look.', '--dry-run')).stdout;
    expect(text).toMatch(/^episodes: 1 of 20 steps at most\n/);
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(players.count).toBe(0);
    await expect(rowsOf(join(out, 'episodes_test.jsonl'))).rejects.toThrow('ENOENT');
  });
});

describe('the folder of episodes', () => {
  test('is data for infer and for rollouts, is counted, and can be shown in a report', async () => {
    const { json, run, out, players } = await setUp();
    await json(...TERMINAL, '--task', 'Look.', '--episodes', '3', '--steps', '3', '--seed', '1');
    const stats = await run('data', 'stats', '--data-dir', 'out');
    expect(stats.stdout).toMatch(/^Terminal +3 +3 /m);
    const inferred = await run('infer', '--data-dir', 'out', '--baseline', 'oracle', '--output-dir', 'seen');
    expect([inferred.code, inferred.stdout]).toEqual([0, expect.stringContaining('3 of 3 done')]);
    const measuring = ['--mode', 'metrics', '--predictions', 'seen/predictions.jsonl', '--output-dir', 'seen'];
    expect((await run('judge', ...measuring)).code).toBe(0);
    expect((await run('report', '--run', 'seen/judged.jsonl', '-o', 'page.html')).code).toBe(0);
    const before = players.asked.world.length;
    const world = ['--model-base-url', players.url, '--model-name', 'world'];
    const rolled = await run('infer', '--rollout', '--data-dir', 'out', ...world, '--output-dir', 'rolled');
    expect([rolled.code, rolled.stdout]).toEqual([0, expect.stringContaining('3 of 3 done')]);
    expect(players.asked.world.length - before).toBe(3 * 3);
    const { identity, kind, state, counts } = await jsonOf(join(out, 'episodes_test.manifest.json'));
    expect([kind, state, counts.ok]).toEqual(['simulate', 'complete', 3]);
    expect(identity).toMatchObject({ model: 'world', steps: 3, agent: { model: 'agent' } });
  });

  test('does not mix with episodes of another agent, world, task or length', async () => {
    const { json, players } = await setUp();
    await json(...TERMINAL, '--steps', '1');
    const before = players.count;
    for (const other of [
      ['--agent-temperature', '0.5'],
      ['--temperature', '1'],
      ['--task', 'Else.'],
      ['--steps', '2'],
    ]) {
      const refused = await json(...TERMINAL, '--steps', '1', ...other);
      expect([other, refused.code]).toEqual([other, 78]);
    }
    expect(players.count).toBe(before);
  });
});

describe('bad input', () => {
  test.each([
    [[], 2, 'say where episodes start'],
    [['--from', 'terminal:1:1'], 66, 'there is no benchmark in data'],
    [['--domain', 'terminal', '--from', 'x'], 2, 'say where episodes start'],
    [['--domain', 'terminl'], 2, 'did you mean "terminal"?'],
    [['--domain', 'terminal', '--task', 'a', '--tasks', 'b'], 2, 'not both'],
    [['--domain', 'terminal', '--tasks', 'none.txt'], 66, 'none.txt'],
    [['--domain', 'terminal', '--tasks', '.'], 66, '--tasks names a file of tasks, one per line'],
    [['--from', 'terminal:1:1', '--data-dir', 'rows', '--task', 'x'], 2, 'rows have a task'],
    [['--domain', 'kitchen', '--domain-prompts', 'own'], 65, 'DIR/agent/kitchen.txt'],
  ])('%j is refused before anything is asked', async (flags, exitCode, message) => {
    const files = { 'own/kitchen.txt': 'You are a kitchen.', 'rows/a_test.jsonl': `${rowText()}\n` };
    const { json, players } = await setUp({}, files);
    const refused = await json(...flags);
    const said = refused.stderr.replace(/\s+/g, ' ');
    expect([refused.code, said]).toEqual([exitCode, expect.stringContaining(message)]);
    expect(players.count).toBe(0);
  });

  test.each([['--episodes', '3'], ['--tasks', 'x'], ['--dry-run']])(
    '%s is refused without an agent',
    async (...flags) => {
      const { players, run } = await setUp();
      const world = ['--model-base-url', players.url, '--model-name', 'world'];
      const refused = await run('simulate', ...world, ...TERMINAL, ...flags);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining(`${flags[0]} needs --agent-model; add it`),
      ]);
    },
  );

  test('a server that refuses the key stops the run, and what was played is kept', async () => {
    const refusal = { status: 401, body: { error: { message: 'bad key' } } };
    const { json, rows } = await setUp(
      { agent: ({ turn, last }) => (last.includes('second') ? refusal : types(`step ${turn}`)) },
      { 'tasks.txt': 'first\nsecond\n' },
    );
    const result = await json(...TERMINAL, '--tasks', 'tasks.txt', '--steps', '2', '--concurrency', '1');
    expect([result.code, result.stderr]).toEqual([77, expect.stringContaining('--agent-api-key')]);
    expect((await rows()).map(({ awb }) => awb.end)).toEqual(['steps']);
  });
});

test("in a user's own domain, the agent uses the prompts of the folder", async () => {
  const { json, players } = await setUp(
    { agent: () => '```text\nopen the oven\n```', world: () => shows('It is hot.') },
    { 'own/kitchen.txt': 'You are a kitchen.', 'own/agent/kitchen.txt': 'You cook.' },
  );
  const done = await json('--domain', 'kitchen', '--domain-prompts', 'own', '--steps', '2');
  expect(done).toMatchObject({ code: 0, episodes: { by_domain: { kitchen: 1 } }, ends: { steps: 1 } });
  expect(players.asked.world[0]?.system).toBe('You are a kitchen.');
  expect(players.asked.agent[0]?.system.startsWith('You cook.\n\n')).toBe(true);
});
