// `--prices` end to end: under which price a run was asked, and what it cost.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { marked, verdict } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

let server: LoopbackServer | undefined;
afterEach(() => server?.close());

const USAGE = {
  prompt_tokens: 1_000,
  completion_tokens: 100,
  total_tokens: 1_100,
  prompt_tokens_details: { cached_tokens: 400 },
};

async function setUp(prices: string) {
  server = await startLoopbackServer((request) => ({
    content: marked(verdict(4), request),
    usage: USAGE,
    model: 'gpt-5.2',
  }));
  const dir = await temporaryFolder();
  const data = await writeDataset(join(dir, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 3) });
  await writeFile(join(dir, 'prices.yaml'), prices);
  const out = join(dir, 'out');
  const file = ['--prices', join(dir, 'prices.yaml')];
  const infer = [
    'infer',
    '--data-dir',
    data,
    '--model-base-url',
    server.url,
    '--model-name',
    'wm',
    '--output-dir',
    out,
  ];
  const judge = ['judge', '--predictions', join(out, 'predictions.jsonl'), '--judge-base-url', server.url];
  return {
    file,
    infer: (...flags: string[]) => awb([...infer, ...flags]),
    judge: (...flags: string[]) => awb([...judge, '--judge-model', 'gpt-5.2', '--output-dir', out, ...flags]),
    manifest: async (name: string) => JSON.parse(await readFile(join(out, `${name}.manifest.json`), 'utf8')),
    source: join(dir, 'prices.yaml'),
  };
}

const PRICES = `unit: million-tokens
models:
  wm: { input: 2, cached: 1, output: 10 }
  gpt-5.2: { input: 1.75, cached: 0.175, output: 14 }
`;

test("the manifest contains the price file's price, and what the rows cost under it", async () => {
  const { infer, file, manifest, source } = await setUp(PRICES.replace('  gpt-5.2', '  other'));
  expect((await infer(...file)).code).toBe(EXIT.done);
  const { price, costs } = await manifest('predictions');
  expect(price).toEqual({ model: 'wm', source, input: 2, cached: 1, output: 10 });
  // Three rows of 600 tokens at 2, 400 at 1 and 100 at 10 dollars per million.
  expect(costs.mcp.usd).toBeCloseTo(0.0078, 12);
});

test('the price is that of the model that answered, if the file names it', async () => {
  const { infer, file, manifest } = await setUp(PRICES);
  await infer(...file);
  expect((await manifest('predictions')).price.model).toBe('gpt-5.2');
});

test("a judge has its own price, next to that of its predictions' model", async () => {
  const { infer, judge, file, manifest, source } = await setUp(PRICES.replace('  wm', '  "w*"'));
  await infer(...file);
  expect((await judge(...file)).code).toBe(EXIT.done);
  const { price, predictions } = await manifest('judged');
  expect(price).toMatchObject({ model: 'gpt-5.2', source, input: 1.75, cached: 0.175, output: 14 });
  expect(predictions.price).toEqual((await manifest('predictions')).price);
});

test("a local server's price is unknown, whatever it calls its model", async () => {
  const { infer, judge, manifest } = await setUp(PRICES);
  await infer();
  await judge();
  const { price, predictions, costs } = await manifest('judged');
  expect([price, predictions.price, costs.mcp.usd]).toEqual([undefined, undefined, undefined]);
});

test('a price that is known once is kept by a later session that knows none', async () => {
  const { infer, file, manifest } = await setUp(PRICES);
  await infer(...file, '--limit', '1');
  const { price } = await manifest('predictions');
  await infer();
  expect((await manifest('predictions')).price).toEqual(price);
});

test('a price file without a unit', async () => {
  const { infer, file, source } = await setUp('models:\n  wm: { input: 2, cached: 1, output: 10 }\n');
  const { code, stderr, stdout } = await infer(...file, '--quiet');
  const spent = stdout.split('\n').filter((line) => line.startsWith('spent'));
  await holdText('prices-without-unit', `${spent.join('\n')}\n--- stderr\n${stderr}--- exit ${code}\n`, {
    [source]: 'prices.yaml',
  });
});

test('an unusable price file is refused before anything is asked', async () => {
  const { infer, file, source } = await setUp('unit: tokens\nmodels: {}\n');
  const { code, stderr } = await infer(...file);
  expect(code).toBe(EXIT.badData);
  expect(stderr).toContain(`${source}:1: unknown unit "tokens"; did you mean "token"?`);
  expect(server?.count).toBe(0);
});
