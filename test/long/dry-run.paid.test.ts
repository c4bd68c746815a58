// The bill of a dry run, checked against what the same command is then charged, over the recorded rows.

import { readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { afterEach, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { inferred, rowsOf, verdict } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { randomFrom } from '../support/random.js';

const TOKENIZER = join(ROOT, 'fixtures/tokenizers/qwen.json');
const library = new Tokenizer(JSON.parse(readFileSync(TOKENIZER, 'utf8')), {});
const tokensIn = (text: string): number => library.encode(text, { add_special_tokens: false }).ids.length;
/** What a chat template adds around a message. */
const AROUND = 5;

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** A server that counts like the tokenizer, plus what a chat template adds. */
async function serverOf(reply: (last: string) => string): Promise<LoopbackServer> {
  const server = await startLoopbackServer(({ body }) => {
    const texts = body.messages.map(({ content }: { content: string }) => content);
    const content = reply(texts.at(-1));
    const prompt_tokens = texts.reduce((sum: number, text: string) => sum + tokensIn(text) + AROUND, 0);
    return { content, usage: { prompt_tokens, completion_tokens: tokensIn(content) } };
  });
  servers.push(server);
  return server;
}

/** The bill of a command, and what its manifest says it paid. */
async function billedAndPaid(command: readonly string[], manifest: string) {
  const prices = join(await temporaryFolder(), 'prices.yaml');
  writeFileSync(prices, 'models: { m: { input: 1.75, output: 14 } }\n');
  const flags = [...command, '--prices', prices];
  const dry = await awb([...flags, '--tokenizer', TOKENIZER, '--dry-run', '--json', '--quiet']);
  expect([dry.code, dry.stderr]).toEqual([EXIT.done, '']);
  expect(await awb([...flags, '--quiet'])).toMatchObject({ code: EXIT.done });
  const { costs } = JSON.parse(readFileSync(manifest, 'utf8')) as { costs: Record<string, { usd: number }> };
  const paid = Object.values(costs).reduce((sum, { usd }) => sum + usd, 0);
  return { billed: JSON.parse(dry.stdout), paid };
}

test('of infer is within a tenth of what is paid if replies are about as long as the ground truths', async () => {
  const names = (await readdir(RECORDED)).filter((name) => name.endsWith('_test.jsonl'));
  const rows = (await Promise.all(names.map((name) => rowsOf(join(RECORDED, name))))).flat();
  const truths = new Map(rows.map((row) => [row.prompt[row.turn_idx - 1], row.response[row.turn_idx - 1]]));
  const random = randomFrom(1);
  // From half of a truth to one and a half.
  const { url } = await serverOf((last) => {
    const truth = String(truths.get(last) ?? 'No such turn.');
    return `${truth}${truth}`.slice(0, truth.length * (0.5 + random()));
  });
  const out = await temporaryFolder();
  const command = ['infer', '--data-dir', RECORDED, '--model-base-url', url, '--model-name', 'm', '--output-dir', out];
  const { billed, paid } = await billedAndPaid(command, join(out, 'predictions.manifest.json'));
  expect(billed).toMatchObject({ output_by: { by: 'truth' }, total: { calls: rows.length } });
  expect(Math.abs(billed.total.usd.expected - paid)).toBeLessThan(0.1 * paid);
});

test('of judge is within a tenth of what is paid, for verdicts of 200 to 800 tokens', async () => {
  const { dir, predictions } = await inferred(['--limit', '9']);
  const random = randomFrom(2);
  const { url } = await serverOf(() => {
    const most = 200 + 600 * random();
    const facts: string[] = [];
    for (let tokens = 60; tokens < most; tokens += tokensIn(facts.at(-1) ?? ''))
      facts.push(`${facts.length}. It is so.\n`);
    return `${facts.join('')}${verdict(4)}`;
  });
  const out = join(dir, 'judged');
  const asked = ['--judge-base-url', url, '--judge-model', 'm', '--output-dir', out];
  const command = ['judge', '--predictions', predictions, ...asked];
  const { billed, paid } = await billedAndPaid(command, join(out, 'judged.manifest.json'));
  expect(billed.output_by).toEqual({ by: 'guess', tokens_per_call: 600 });
  expect(Math.abs(billed.total.usd.expected - paid)).toBeLessThan(0.1 * paid);
});
