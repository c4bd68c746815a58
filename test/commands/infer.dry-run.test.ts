// `awb infer --dry-run`: the bill before the run, without a trace.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { type Row, rowsOf } from '../support/judging.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { everythingIn, madeUpRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const TWO_DOMAINS = { 'a_test.jsonl': madeUpRows('mcp', 6), 'b_test.jsonl': madeUpRows('terminal', 9) };

/** A server that counts a token per `perToken` characters (half a character, for example), and answers with the given number of tokens. */
function counting(perToken: number, completionTokens: number): Handler {
  return ({ body }) => {
    const characters = body.messages.reduce((sum: number, { content }: { content: string }) => sum + content.length, 0);
    const usage = { prompt_tokens: characters / perToken, completion_tokens: completionTokens };
    return { content: 'seen', usage };
  };
}

async function setUp(script?: Handler, options: Parameters<typeof startLoopbackServer>[1] = {}) {
  const folder = await temporaryFolder();
  const server = await startLoopbackServer(script, options);
  servers.push(server);
  const data = await writeDataset(join(folder, 'data'), TWO_DOMAINS);
  const infer = (out: string, ...flags: string[]) =>
    awb(
      [
        ...['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm'],
        ...['--output-dir', join(folder, 'runs', out), ...flags],
      ],
      { cwd: folder },
    );
  const bill = async (out: string, ...flags: string[]) => {
    const { code, stdout, stderr } = await infer(out, '--dry-run', '--json', ...flags);
    expect([code, stderr]).toEqual([EXIT.done, '']);
    return JSON.parse(stdout);
  };
  return { folder, server, data, infer, bill };
}

/** The rows in a folder's files. */
async function rowsIn(data: string): Promise<Row[]> {
  const names = await readdir(data);
  return (await Promise.all(names.map((name) => rowsOf(join(data, name))))).flat();
}

/** The characters of all messages of a made-up folder's rows, counted only from the files. */
async function charactersIn(data: string): Promise<number> {
  return (await textsIn(data)).join('').length;
}

/** The messages of all rows. */
async function textsIn(data: string): Promise<string[]> {
  return (await rowsIn(data)).flatMap(({ system_str, prompt, response, turn_idx }) => [
    ...[system_str, ...prompt.slice(0, turn_idx), ...response.slice(0, turn_idx - 1)],
  ]);
}

describe('a dry run', () => {
  test('asks no model and leaves no trace', async () => {
    const { folder, server, infer } = await setUp();
    const before = await readdir(folder, { recursive: true });
    const { code, stdout } = await infer('one', '--dry-run');
    expect(code).toBe(EXIT.done);
    expect(stdout).toMatch(/^World model wm, 127\.0\.0\.1:\d+: 15 rows, 15 to ask\n/);
    expect(stdout).toContain('Nothing was asked or written.');
    expect(server.requests).toEqual([]);
    expect(await readdir(folder, { recursive: true })).toEqual(before);
  });

  test('needs neither server nor key', async () => {
    const { server, infer } = await setUp();
    await server.close();
    const { code, stdout } = await infer('one', '--dry-run');
    expect([code, stdout]).toEqual([EXIT.done, expect.stringContaining('15 to ask')]);
  });

  test('reports unknown figures as unknown, with their bounds, and none as zero', async () => {
    const { bill, infer, data } = await setUp();
    const { total, price, time, tokens_by } = await bill('one', '--max-tokens', '100');
    const characters = await charactersIn(data);
    expect([price, time, total.usd, total.usd_cached]).toEqual([null, null, null, null]);
    expect(total.output_tokens).toMatchObject({ at_least: 0, at_most: 1_500 });
    expect(tokens_by).toEqual({ by: 'guess', characters_per_token: 4 });
    expect(total).toMatchObject({ rows: 15, calls: 15, characters, prompt_tokens: Math.round(characters / 4) });
    const { stdout } = await infer('one', '--dry-run');
    expect(stdout).toMatch(/\nAll +15 +15 +\S+ +\S+ +\d+ +unknown\n/);
    expect(stdout).toContain('Price: unknown; give it with --prices FILE.');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('assumes replies as long as the ground truths, within the output budget', async () => {
    const { data, bill } = await setUp();
    const lengths = (await rowsIn(data)).map(({ response, turn_idx }) => response[turn_idx - 1].length / 4);
    const { total, output_by } = await bill('one');
    expect(output_by).toEqual({ by: 'truth' });
    expect(total.output_tokens.expected).toBe(Math.round(lengths.reduce((sum, length) => sum + length, 0)));
    expect((await bill('one', '--max-tokens', '2')).total.output_tokens).toMatchObject({ expected: 30, at_most: 30 });
  });

  test('based on an earlier run predicts what the server then counts and charges', async () => {
    const { folder, infer, bill, data } = await setUp(counting(0.5, 40));
    await writeFile(join(folder, 'prices.yaml'), 'unit: million-tokens\nmodels:\n  wm: { input: 2, output: 10 }\n');
    const prices = ['--prices', join(folder, 'prices.yaml')];
    expect((await infer('first', '--domains', 'mcp')).code).toBe(EXIT.done);
    const planned = await bill('second', ...prices, '--estimate-from', join(folder, 'runs/first'));
    const characters = await charactersIn(data);
    expect(planned.tokens_by).toMatchObject({ by: 'measured', characters_per_token: 0.5, calls: 6, models: ['wm'] });
    expect(planned.output_by).toMatchObject({ by: 'measured', rows: 6, guessed_domains: ['terminal'] });
    expect(planned.time).toMatchObject({ by: 'measured', at_least: false });
    expect((await infer('second', ...prices)).code).toBe(EXIT.done);
    const manifest = JSON.parse(await readFile(join(folder, 'runs/second/predictions.manifest.json'), 'utf8'));
    const { promptTokens, completionTokens } = manifest.tokens;
    expect([planned.total.prompt_tokens, planned.total.output_tokens.expected]).toEqual([
      promptTokens,
      completionTokens,
    ]);
    expect(promptTokens).toBe(2 * characters);
    const spent = manifest.costs.mcp.usd + manifest.costs.terminal.usd;
    expect(planned.total.usd.expected).toBeCloseTo(spent, 12);
  });

  test('of a started run leaves out what is done, includes what failed, and changes nothing', async () => {
    let calls = 0;
    const { folder, infer, bill } = await setUp(({ body }) =>
      calls++ % 3 === 0 ? { status: 400, body: { error: { message: 'no' } } } : counting(0.5, 40)({ body } as never),
    );
    await infer('one', '--domains', 'mcp', '--concurrency', '1', '--max-attempts', '1');
    const before = await everythingIn(folder);
    const { rows, domains } = await bill('one');
    expect(rows).toEqual({ chosen: 15, done: 4, without_call: 0, absent: 0, to_ask: 11 });
    expect(domains.map(({ domain, rows }: { domain: string; rows: number }) => [domain, rows])).toEqual([
      ['mcp', 2],
      ['terminal', 9],
    ]);
    expect(await everythingIn(folder)).toBe(before);
    expect((await bill('one', '--fresh')).rows).toMatchObject({ done: 0, to_ask: 15 });
    expect(await everythingIn(folder)).toBe(before);
  });

  test('is refused if the run would be, with its exit code', async () => {
    const { infer } = await setUp();
    await infer('one', '--domains', 'mcp');
    const { code, stderr } = await infer('one', '--dry-run', '--temperature', '1');
    expect([code, stderr]).toEqual([EXIT.identityDiffers, expect.stringContaining('sampling.temperature')]);
  });

  test('counts the calls of all repeats, and what a cache can serve of them', async () => {
    const { bill } = await setUp();
    const once = (await bill('one')).total;
    const twice = (await bill('one', '--repeats', '2')).total;
    expect([twice.calls, twice.prompt_tokens]).toEqual([30, expect.closeTo(2 * once.prompt_tokens, -1)]);
    expect(once.cached_tokens).toBeGreaterThan(0);
    // The second time, every prompt is cached.
    expect(twice.cached_tokens - once.cached_tokens).toBeCloseTo(once.prompt_tokens, -1);
  });

  test("with a tokenizer counts every message like the tokenizer's own library", async () => {
    const { data, bill } = await setUp();
    const file = join(ROOT, 'fixtures/tokenizers/gpt2.json');
    const library = new Tokenizer(JSON.parse(await readFile(file, 'utf8')), {});
    const texts = await textsIn(data);
    const tokens = texts.map((text) => library.encode(text, { add_special_tokens: false }).ids.length);
    const { total, tokens_by } = await bill('one', '--tokenizer', file);
    expect(tokens_by).toEqual({ by: 'tokenizer', file });
    expect(total.prompt_tokens).toBe(tokens.reduce((sum, count) => sum + count));
    expect(total.cached_tokens).toBeLessThan(total.prompt_tokens);
  });

  test.each([
    ['a baseline', ['--baseline', 'oracle']],
    ['a run with nothing left', []],
  ])('for %s says that no model needs to be asked', async (_, flags) => {
    const out = await temporaryFolder();
    const args = [
      'infer',
      '--data-dir',
      RECORDED,
      '--output-dir',
      join(out, 'run'),
      '--baseline',
      'oracle',
      '--limit',
      '1',
    ];
    if (flags.length === 0) expect((await awb(args)).code).toBe(EXIT.done);
    const { code, stdout } = await awb([...args, '--dry-run']);
    expect([code, stdout]).toEqual([EXIT.done, expect.stringContaining('No model needs to be asked.')]);
  });

  test('starts no local server', async () => {
    const out = await temporaryFolder();
    const args = ['infer', '--data-dir', RECORDED, '--local', join(out, 'no-such.gguf'), '--output-dir', out, '--json'];
    const { code, stdout } = await awb([...args, '--dry-run', '--rate', '6']);
    expect(code).toBe(EXIT.done);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ hosts: ['local'], total: { rows: 63 }, price: null, servers: [] },
      time: { by: 'rate', seconds: 630 },
    });
  });

  test('takes at least as long as the given limits require', async () => {
    const { bill } = await setUp();
    expect((await bill('one', '--rate', '60', '--rpm', '5')).time).toMatchObject({ by: 'rpm', seconds: 180 });
    expect((await bill('one', '--rpm', '5')).time).toMatchObject({ by: 'rpm', at_least: true });
    const { time, total } = await bill('one', '--rate', '60', '--tpm', '10');
    const tokens = total.prompt_tokens + total.output_tokens.expected;
    expect([time.by, time.seconds]).toEqual(['tpm', expect.closeTo(6 * tokens, -1)]);
  });
});

describe('a server that describes itself', () => {
  const models = [{ id: 'wm', owned_by: 'vllm', max_model_len: 4_096 }];

  test('is shown with its context, and with the error that would end the run', async () => {
    const { bill, server } = await setUp(undefined, { models });
    const { servers: told, notes } = await bill('one');
    expect(told).toEqual([{ host: new URL(server.url).host, model: 'wm', context_tokens: 4_096 }]);
    expect(notes).toEqual([expect.stringContaining('--max-tokens is 32768')]);
    expect((await bill('one', '--fit-max-tokens')).notes).toEqual([]);
  });
});

test('rows that are too long for the served context are listed, the longest first', async () => {
  const models = [{ id: 'wm', owned_by: 'vllm', max_model_len: 100 }];
  const { bill, infer, data } = await setUp(undefined, { models });
  const { overlong, notes } = await bill('one', '--max-tokens', '20');
  const sizes: [string, number][] = [];
  for (const name of await readdir(data)) {
    const lines = (await readFile(join(data, name), 'utf8')).trim().split('\n');
    for (const [index, line] of lines.entries()) {
      const { system_str, prompt, response, turn_idx } = JSON.parse(line);
      const sent = [system_str, ...prompt.slice(0, turn_idx), ...response.slice(0, turn_idx - 1)].join('');
      sizes.push([`${name}:${index + 1}`, Math.ceil(sent.length / 4)]);
    }
  }
  const tooLong = sizes.filter(([, tokens]) => tokens > 80).sort((a, b) => b[1] - a[1]);
  expect(tooLong.length).toBeGreaterThan(0);
  expect(tooLong.length).toBeLessThan(15);
  expect(overlong.map(({ place, tokens }: { place: string; tokens: number }) => [place, tokens])).toEqual(tooLong);
  expect(notes).toEqual([]);
  const { stdout } = await infer('one', '--dry-run', '--max-tokens', '20');
  expect(stdout).toContain(`\n  ${tooLong[0]?.[0]} (`);
});

describe('earlier runs', () => {
  test('are those that the user names; otherwise the run is refused', async () => {
    const { folder, infer, bill } = await setUp(counting(0.5, 40));
    await infer('first', '--domains', 'mcp');
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    const path = join(folder, 'runs/first/predictions.manifest.json');
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    manifest.identity.model = 'another';
    manifest.costs.mcp.usage.completionTokens = 600;
    await writeFile(join(elsewhere, 'predictions.manifest.json'), JSON.stringify(manifest));
    for (const named of [
      elsewhere,
      join(elsewhere, 'predictions.jsonl'),
      join(elsewhere, 'predictions.manifest.json'),
    ]) {
      const { output_by, total } = await bill('second', '--estimate-from', named, '--domains', 'mcp');
      expect(output_by).toMatchObject({ by: 'measured', models: ['another'], rows: 6 });
      expect(total.output_tokens.expected).toBe(600);
    }
    const { code, stderr } = await infer('second', '--dry-run', '--estimate-from', folder);
    expect([code, stderr]).toEqual([EXIT.inputMissing, expect.stringContaining('--estimate-from')]);
  });

  test("in neighbouring folders are ignored, and the run's own earlier sessions are used", async () => {
    const { folder, infer, bill } = await setUp(counting(0.5, 40));
    await infer('first', '--domains', 'mcp');
    expect(await bill('second')).toMatchObject({ tokens_by: { by: 'guess' }, output_by: { by: 'truth' }, time: null });
    const { tokens_by, output_by, time } = await bill('first');
    const own = [join(folder, 'runs/first/predictions.manifest.json')].map((path) => path.slice(folder.length + 1));
    expect(tokens_by).toMatchObject({ by: 'measured', characters_per_token: 0.5, runs: own });
    expect(output_by).toMatchObject({ by: 'measured', rows: 6, guessed_domains: ['terminal'] });
    expect(time).toMatchObject({ by: 'measured', at_least: false });
    const { stdout } = await infer('first', '--dry-run');
    expect(stdout.replace(/\s+/g, ' ')).toContain('the mean of 6 rows of earlier runs;');
  });

  test('with longer replies than the budget now allows are capped at the budget', async () => {
    const { folder, infer, bill } = await setUp(counting(0.5, 4_000));
    await infer('first');
    const from = ['--estimate-from', join(folder, 'runs/first')];
    const { total, output_by } = await bill('second', '--max-tokens', '1000', ...from);
    expect(output_by).toMatchObject({ rows: 15 });
    expect(total.output_tokens).toEqual({ expected: 15_000, at_least: 0, at_most: 15_000 });
  });
});

describe('an option of the dry run, without --dry-run,', () => {
  test.each([
    ['--rate', '60'],
    ['--estimate-from', 'runs/first'],
  ])('%s is refused before anything is asked', async (flag, value) => {
    const { server, infer } = await setUp();
    const { code, stderr } = await infer('one', flag, value);
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining(`${flag} needs --dry-run; add it`)]);
    expect(server.requests).toEqual([]);
  });

  test('is ignored if it comes from a variable or the configuration file', async () => {
    const { data } = await setUp();
    const flags = ['infer', '--data-dir', data, '--baseline', 'oracle', '--output-dir', await temporaryFolder()];
    expect((await awb(flags, { env: { AWB_RATE: '60' } })).code).toBe(EXIT.done);
    const config = join(await temporaryFolder(), 'awb.yaml');
    await writeFile(config, 'rate: 60\n');
    expect((await awb([...flags, '--config', config])).code).toBe(EXIT.done);
    expect((await awb([...flags, '--rate', '60'])).code).toBe(EXIT.usage);
  });
});

test('a missing tokenizer is reported before anything is asked', async () => {
  const { server, infer } = await setUp();
  const { code, stderr } = await infer('one', '--dry-run', '--tokenizer', 'nope');
  expect([code, stderr]).toEqual([EXIT.inputMissing, expect.stringContaining('cannot read the tokenizer nope')]);
  expect(server.requests).toEqual([]);
});

describe('a budget next to the bill', () => {
  const PRICES = 'unit: million-tokens\nmodels:\n  wm: { input: 2, output: 10 }\n';

  test('says what earlier sessions have spent of it, and what share of the bill the rest covers', async () => {
    const { folder, infer, bill } = await setUp(counting(0.5, 40));
    await writeFile(join(folder, 'prices.yaml'), PRICES);
    const prices = ['--prices', join(folder, 'prices.yaml')];
    expect((await infer('one', '--domains', 'mcp', ...prices)).code).toBe(EXIT.done);
    const { tokens, costs } = JSON.parse(await readFile(join(folder, 'runs/one/predictions.manifest.json'), 'utf8'));
    const spent = { tokens: tokens.promptTokens + tokens.completionTokens, usd: costs.mcp.usd };
    const { total, budget: none } = await bill('one', ...prices);
    expect(none).toBeNull();
    const need = { tokens: total.prompt_tokens + total.output_tokens.expected, usd: total.usd.expected };
    const half = [
      '--budget-tokens',
      `${spent.tokens + need.tokens / 2}`,
      '--budget-usd',
      `${spent.usd + need.usd / 4}`,
    ];
    expect((await bill('one', ...prices, ...half)).budget).toEqual({
      is_spent: false,
      usd: {
        ...{ budget: spent.usd + need.usd / 4, spent: expect.closeTo(spent.usd, 12) },
        ...{ covers: expect.closeTo(0.25, 9) },
      },
      tokens: {
        ...{ budget: spent.tokens + need.tokens / 2, spent: spent.tokens },
        ...{ covers: expect.closeTo(0.5, 9) },
      },
    });
    const { stdout } = await infer('one', '--dry-run', ...prices, ...half);
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /Budget: \$\S+ of \$\S+ is spent; the rest covers 2[45] % of this bill\./,
    );
    const { stdout: ample } = await infer('one', '--dry-run', '--budget-tokens', '1000000000');
    expect(ample.replace(/\s+/g, ' ')).toContain(
      'of 1,000,000,000 tokens is spent; the rest covers 100 % of this bill.',
    );
  });

  test('that is spent covers none of the bill, and the run stops at once', async () => {
    const { infer, bill, server } = await setUp(counting(0.5, 40));
    await infer('one', '--domains', 'mcp');
    const { stdout } = await infer('one', '--dry-run', '--budget-tokens', '50');
    expect(stdout.replace(/\s+/g, ' ')).toMatch(/of 50 tokens is spent; the rest covers 0 % of this bill\. /);
    expect((await bill('one', '--budget-tokens', '50')).budget).toMatchObject({ is_spent: true, usd: null });
    const asked = server.requests.length;
    expect((await infer('one', '--budget-tokens', '50')).code).toBe(EXIT.later);
    expect(server.requests.length).toBe(asked);
  });

  test('in dollars without a price is refused, like the run', async () => {
    const { infer } = await setUp();
    const dry = await infer('one', '--dry-run', '--budget-usd', '5');
    const { code, stderr } = await infer('one', '--budget-usd', '5');
    expect([dry.code, dry.stderr]).toEqual([code, stderr]);
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining('--budget-usd needs a price')]);
  });
});

test('for a finished run, it says that nothing is left, whatever was spent, and the run agrees', async () => {
  const { infer, server } = await setUp(counting(0.5, 40));
  await infer('one');
  const asked = server.requests.length;
  const { stdout } = await infer('one', '--dry-run', '--budget-tokens', '50');
  expect(stdout.replace(/\s+/g, ' ')).toMatch(/No model needs to be asked\. Nothing was asked or written\. $/);
  expect((await infer('one', '--budget-tokens', '50')).code).toBe(EXIT.done);
  expect(server.requests.length).toBe(asked);
});

test('with a baseline, it says that the rest is done without a call', async () => {
  const { data } = await setUp();
  const flags = ['--data-dir', data, '--baseline', 'oracle', '--output-dir', await temporaryFolder()];
  const { stdout } = await awb(['infer', ...flags, '--dry-run']);
  expect(stdout.replace(/\s+/g, ' ')).toMatch(
    /^Without a model: .* 0 to ask No model needs to be asked\. Nothing was asked or written\. $/,
  );
});
