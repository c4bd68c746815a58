// Budgets end to end: when a run stops, what it has asked by then, and how it continues.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { choice, marked, verdict } from '../support/judging.js';
import { type Answer, type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { randomFrom } from '../support/random.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const TOKENS = 110;
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: TOKENS };
const reply = (more: object = {}): Answer => ({ content: 'fine', usage: USAGE, ...more }) as Answer;

const PRICES = `unit: million-tokens
models:
  wm: { input: 10, output: 100 }
  judge: { input: 10, output: 100 }
`;
/** 100 tokens at 10, and 10 at 100 dollars per million. */
const USD = 0.002;

async function setUp(answer: Handler, rows = 30) {
  const server = await startLoopbackServer(answer);
  servers.push(server);
  const dir = await temporaryFolder();
  const data = await writeDataset(join(dir, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', rows) });
  await writeFile(join(dir, 'prices.yaml'), PRICES);
  const out = join(dir, 'out');
  const args = ['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm'];
  const judging = ['judge', '--predictions', join(out, 'predictions.jsonl'), '--judge-base-url', server.url];
  const asked = () => server.requests.map(({ body }) => JSON.stringify(body.messages));
  return {
    server,
    out,
    asked,
    prices: ['--prices', join(dir, 'prices.yaml')],
    args: (...flags: string[]) => [...args, '--output-dir', out, ...flags],
    infer: (...flags: string[]) => awb([...args, '--output-dir', out, ...flags]),
    judge: (...flags: string[]) => awb([...judging, '--judge-model', 'judge', '--output-dir', out, ...flags]),
    output: (name = 'predictions') => readFile(join(out, `${name}.jsonl`), 'utf8'),
    elsewhere: async () => {
      const other = await temporaryFolder();
      await awb([...args, '--output-dir', other, '--quiet']);
      return readFile(join(other, 'predictions.jsonl'), 'utf8');
    },
  };
}

test('a run stops at its budget, continues with larger ones, asks nothing twice, and ends with the bytes of an uninterrupted run', async () => {
  const run = await setUp(() => reply());
  const first = await run.infer('--budget-tokens', `${10 * TOKENS}`, '--concurrency', '1');
  expect(first.code).toBe(EXIT.later);
  expect(run.server.count).toBe(10);
  expect(first.stdout).toContain('predictions: 10 of 30 done, 20 not done');
  expect(first.stdout).toContain('spent: 1,100 of 1,100 tokens, all sessions together\n');
  expect(first.stdout).toMatch(
    /stopped: the run has spent its budget of 1,100 tokens \(--budget-tokens\); all finished work is saved; the same command with a larger budget resumes the run\n$/,
  );
  const second = await run.infer('--budget-usd', `${15 * USD}`, ...run.prices, '--concurrency', '1');
  expect([second.code, run.server.count]).toEqual([EXIT.later, 15]);
  expect((await run.infer('--budget-tokens', '1000000')).code).toBe(EXIT.done);
  expect(run.server.count).toBe(30);
  expect(new Set(run.asked()).size).toBe(30);
  expect(await run.output()).toBe(await run.elsewhere());
});

test('a run whose budget is spent says so at once, without a call', async () => {
  const run = await setUp(() => reply());
  await run.infer('--budget-tokens', '500', '--concurrency', '1');
  const { count } = run.server;
  const again = await run.infer('--budget-tokens', '500');
  expect([again.code, run.server.count]).toEqual([EXIT.later, count]);
  expect(again.stdout).toContain('0 in this session');
  expect(again.stderr).toContain('stopping: the run has spent its budget of 500 tokens (--budget-tokens)\n');
});

test('64 calls in flight spend no more than sequential calls', async () => {
  const random = randomFrom(64);
  const run = await setUp(() => reply({ latencyMs: random() * 40 }), 400);
  const { code } = await run.infer('--budget-tokens', `${100 * TOKENS}`, '--concurrency', '64', '--quiet');
  expect([code, run.server.count]).toEqual([EXIT.later, 100]);
});

describe('a budget is spent completely and exceeded by less than the most expensive call, by', () => {
  const MOST = 300;

  test.each([
    ['infer', 'infer', 1, 'usd', []],
    ['infer with many calls in flight', 'infer', 64, 'tokens', []],
    ['infer with many calls in flight, in dollars', 'infer', 64, 'usd', []],
    ['a rollout', 'infer', 32, 'usd', ['--rollout']],
    ['a judge', 'judge', 48, 'usd', ['--judge-repeats', '9']],
    ['a judge that reads choices', 'judge', 16, 'tokens', ['--mode', 'turing', '--judge-repeats', '4']],
    ['a calibration', 'calibrate', 24, 'tokens', ['--max-calls', '200', '--attacks', 'none']],
  ])('%s', async (what, command, concurrency, unit, flags) => {
    const random = randomFrom(what.length + concurrency);
    const used: { readonly prompt: number; readonly completion: number }[] = [];
    const run = await setUp((request) => {
      const { body } = request;
      if (body.model === 'first') return reply();
      const prompt = Math.ceil(JSON.stringify(body.messages).length / (2.5 + 2 * random()));
      const completion = Math.ceil(MOST * random() ** 3);
      used.push({ prompt, completion });
      const content = flags.includes('turing')
        ? choice(random() < 0.5 ? 'A' : 'B', request)
        : marked(verdict(3), request);
      return reply({
        content: command === 'infer' ? 'fine' : content,
        usage: { prompt_tokens: prompt, completion_tokens: completion },
        latencyMs: completion / 5,
      });
    }, 1);
    const spentBy = ({ prompt, completion }: (typeof used)[number]) =>
      unit === 'usd' ? (10 * prompt + 100 * completion) / 1e6 : prompt + completion;
    const data = ['--data-dir', 'fixtures/recorded'];
    if (command === 'judge') await run.infer('--quiet', ...data, '--model-name', 'first');
    const mean = unit === 'usd' ? 0.06 : 4_000;
    const budget = mean * (10 + 20 * random());
    const asked = ['--concurrency', `${concurrency}`, '--max-tokens', `${MOST}`, ...run.prices, '--json', ...flags];
    const told = [...asked, `--budget-${unit}`, `${unit === 'usd' ? budget : Math.ceil(budget)}`];
    const { code, stdout } = await {
      infer: () => run.infer(...data, ...told),
      judge: () => run.judge(...told),
      calibrate: () =>
        awb([
          ...['calibrate', ...data, '--judge-base-url', run.server.url, '--judge-model', 'judge'],
          ...['--output-dir', run.out, ...told],
        ]),
    }[command as 'infer']();
    const { spent } = JSON.parse(stdout);
    expect(code).toBe(EXIT.later);
    expect(spent[unit]).toBeCloseTo(
      used.reduce((sum, call) => sum + spentBy(call), 0),
      8,
    );
    expect(spent[unit]).toBeGreaterThanOrEqual(spent.budget[unit]);
    expect(spent[unit]).toBeLessThan(spent.budget[unit] + Math.max(...used.map(spentBy)));
  });
});

test('the document says what was spent of which budget', async () => {
  const run = await setUp(() => reply());
  const { stdout } = await run.infer('--budget-usd', '0.0199', ...run.prices, '--concurrency', '1', '--json');
  const { exit_code, state, spent } = JSON.parse(stdout);
  expect({ exit_code, state, spent }).toEqual({
    exit_code: 75,
    state: 'stopped',
    spent: { tokens: 1_100, estimated: 0, usd: expect.closeTo(0.02, 12), budget: { usd: 0.0199 } },
  });
});

test('progress shows how much of the budget was spent', async () => {
  const run = await setUp(() => reply());
  const { stderr } = await run.infer('--budget-usd', '5', ...run.prices);
  expect(stderr).toMatch(/infer 30\/30 rows.*, \$0\.06 of \$5\.00/);
});

describe('what counts against the budget', () => {
  test('the tries of a call: none starts once it is spent', async () => {
    const broken = reply({ ending: 'cut-off' });
    const run = await setUp(({ index }) => (index === 0 ? reply() : broken));
    // A reply that breaks off reports no usage, so its prompt and its partial output are estimated: some fifty tokens.
    const { code, stdout } = await run.infer('--budget-tokens', '180', '--concurrency', '1', '--json');
    expect(code).toBe(EXIT.later);
    const { spent, asked } = JSON.parse(stdout);
    expect([asked, spent.tokens - spent.estimated]).toEqual([1, TOKENS]);
    expect(spent.tokens).toBeGreaterThanOrEqual(180);
    expect([2, 3]).toContain(run.server.count);
    const { stdout: again } = await run.infer('--budget-tokens', '180', '--json');
    expect(JSON.parse(again)).toMatchObject({ exit_code: 75, asked: 0 });
  });

  test('calls that timed out, by their prompts', async () => {
    const run = await setUp(({ index }) => (index === 0 ? reply() : 'hang'));
    const { code, stdout } = await run.infer(
      ...['--budget-tokens', '150', '--concurrency', '1', '--first-token-timeout', '0.3s', '--retry-minutes', '0'],
    );
    expect(code).toBe(EXIT.later);
    expect(stdout).toMatch(/ of 150 tokens \(\d+ tokens estimated\), all sessions together/);
  });

  test('unreadable replies of a judge', async () => {
    const run = await setUp(({ body }) => reply(body.model === 'wm' ? {} : { content: 'I cannot say' }));
    await run.infer('--quiet');
    const before = run.server.count;
    const flags = ['--budget-tokens', `${8 * TOKENS}`, '--concurrency', '1', '--max-retries', '3'];
    const { code, stdout } = await run.judge(...flags);
    expect([code, run.server.count - before]).toEqual([EXIT.later, 8]);
    // Two judgements took three tries each. The third was abandoned midway, and its cost is not forgotten.
    expect(stdout).toContain('2 failed');
    expect(stdout).toContain('spent: 880 of 880 tokens');
    const again = await run.judge(...flags);
    expect([again.code, run.server.count - before]).toEqual([EXIT.later, 8]);
  });

  test('tokens of a server that counts none, as estimated', async () => {
    const run = await setUp(() => reply({ usage: null, content: 'x'.repeat(400) }));
    const { code, stdout } = await run.infer('--budget-tokens', '1000', '--concurrency', '1');
    expect(code).toBe(EXIT.later);
    expect(run.server.count).toBeLessThan(10);
    expect(stdout).toMatch(/spent: 1,\d{3} of 1,000 tokens \(1,\d{3} tokens estimated\)/);
    expect((await run.infer('--budget-tokens', '1000', '--json')).code).toBe(EXIT.later);
  });
});

describe('a budget in dollars', () => {
  test('without a price is refused before anything is asked, with what to do', async () => {
    const run = await setUp(() => reply());
    const { code, stderr } = await run.infer('--budget-usd', '5');
    expect(code).toBe(EXIT.usage);
    expect(stderr).toMatch(/none is known for "wm" at 127\.0\.0\.1:\d+; .*--prices FILE.*--budget-tokens/);
    expect(run.server.count).toBe(0);
  });

  test('is refused for a model that would be served locally, before it is loaded', async () => {
    const run = await setUp(() => reply());
    const local = run
      .args('--local', 'no-such-model.gguf', '--budget-usd', '5')
      .filter((_, index) => index < 3 || index > 6);
    const { code, stderr } = await awb(local);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toMatch(/none is known for "no-such-model\.gguf".*--prices FILE.*--budget-tokens/);
  });

  test('needs no price if no model is asked', async () => {
    const run = await setUp(() => reply());
    const baseline = run
      .args('--baseline', 'persistence', '--budget-usd', '5')
      .filter((_, index) => index < 3 || index > 6);
    expect((await awb(baseline)).code).toBe(EXIT.done);
    expect((await run.judge('--mode', 'metrics', '--budget-usd', '5')).code).toBe(EXIT.done);
  });

  test('stops a judge', async () => {
    const run = await setUp(({ body }) => reply(body.model === 'wm' ? {} : { content: verdict(4) }));
    await run.infer('--quiet');
    const { code, stdout } = await run.judge('--budget-usd', `${7 * USD}`, ...run.prices, '--concurrency', '1');
    expect(code).toBe(EXIT.later);
    expect(stdout).toContain('judgements: 7 of 30 done, 23 not done');
    expect(stdout).toContain('spent: $0.014 of $0.014, all sessions together');
    expect((await run.judge('--budget-usd', '1', ...run.prices)).code).toBe(EXIT.done);
  });
});

test('how the budget is reported over the recorded rows', async () => {
  const run = await setUp(() => reply({ latencyMs: 20 }), 1);
  const { code, stdout } = await run.infer(
    ...['--data-dir', 'fixtures/recorded', '--budget-usd', '0.03', '--concurrency', '32', ...run.prices],
  );
  const text = `${stdout}--- exit ${code}, ${run.server.count} calls\n`.replace(/\d+\.\d s$/m, '<time>');
  await holdText('infer-budget', text, { [run.out]: '<out>' });
});
