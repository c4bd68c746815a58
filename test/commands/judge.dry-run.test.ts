// `awb judge --dry-run`: the judge's bill, without a trace.

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb } from '../support/cli.js';
import { changeRows, fakeCheckout, inferred, verdict } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { everythingIn } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function setUp(options: readonly string[] = [], isReadable: (index: number) => boolean = () => true) {
  const { dir, predictions } = await inferred(options);
  const server = await startLoopbackServer(({ body, index }) => {
    const characters = body.messages.reduce((sum: number, { content }: { content: string }) => sum + content.length, 0);
    return {
      content: isReadable(index) ? verdict(4) : 'I cannot say',
      usage: { prompt_tokens: characters, completion_tokens: 70 },
    };
  });
  servers.push(server);
  const judge = (...flags: string[]) =>
    awb([
      ...['judge', '--predictions', predictions, '--output-dir', join(dir, 'run')],
      ...['--judge-base-url', server.url, '--judge-model', 'j', ...flags],
    ]);
  const bill = async (...flags: string[]) => {
    const { code, stdout, stderr } = await judge('--dry-run', '--json', ...flags);
    expect([code, stderr]).toEqual([EXIT.done, '']);
    return JSON.parse(stdout);
  };
  return { dir, predictions, server, judge, bill };
}

test('counts exactly the characters that judging then sends, and leaves no trace', async () => {
  const { dir, server, judge, bill } = await setUp();
  const before = await everythingIn(dir);
  const { rows, total, kind, model } = await bill();
  expect(await everythingIn(dir)).toBe(before);
  expect(server.requests).toEqual([]);
  expect((await judge()).code).toBe(EXIT.done);
  const sent = server.requests.flatMap(({ body }) => body.messages.map(({ content }: { content: string }) => content));
  expect([kind, model, rows.to_ask, total.calls]).toEqual(['judge', 'j', 7, server.requests.length]);
  expect(total.characters).toBe(sent.join('').length);
});

test("bills every judgement, and matches what the judge's server then counts", async () => {
  const { dir, judge, bill, server } = await setUp();
  expect((await judge()).code).toBe(EXIT.done);
  const again = await bill('--judge-repeats', '3');
  expect(again.rows).toMatchObject({ chosen: 21, done: 7, to_ask: 14 });
  expect(again.tokens_by).toMatchObject({ by: 'measured', characters_per_token: 1, models: ['j'] });
  const before = server.requests.length;
  expect((await judge('--judge-repeats', '3')).code).toBe(EXIT.done);
  const { tokens } = JSON.parse(readFileSync(join(dir, 'run/judged.manifest.json'), 'utf8'));
  expect([again.total.calls, again.total.output_tokens.expected]).toEqual([server.requests.length - before, 14 * 70]);
  const once = await bill('--fresh', '--estimate-from', join(dir, 'run'));
  expect(once.total.prompt_tokens + again.total.prompt_tokens).toBe(tokens.promptTokens);
  // Of two consecutive judgements, the second has its entire prompt cached.
  expect(again.total.cached_tokens).toBeGreaterThanOrEqual(again.total.prompt_tokens / 2);
});

test('of another judge uses no measurements of the first one', async () => {
  const { judge, bill } = await setUp();
  await judge();
  const { output_by, tokens_by, notes, rows } = await bill('--judge-model', 'another');
  expect([output_by, tokens_by.by, rows.to_ask]).toEqual([{ by: 'guess', tokens_per_call: 600 }, 'guess', 7]);
  // The file of the judging.
  expect(notes).toEqual([expect.stringContaining('judged.jsonl contains another judging')]);
});

test('bills no call for a prediction that is missing or empty, and says so', async () => {
  const { predictions, bill } = await setUp();
  await changeRows(predictions, (row, index) => {
    if (index === 0) row.gen = '';
    if (index === 1) delete row.gen;
  });
  expect((await bill('--quiet')).rows).toMatchObject({ chosen: 7, without_call: 2, to_ask: 5 });
});

test('for text metrics says that no model is asked', async () => {
  const { predictions, dir } = await setUp();
  const before = await readdir(dir);
  const args = ['judge', '--predictions', predictions, '--output-dir', dir, '--mode', 'metrics', '--dry-run'];
  const { code, stdout } = await awb(args);
  expect([code, stdout]).toEqual([EXIT.done, expect.stringContaining('No model needs to be asked.')]);
  expect(await readdir(dir)).toEqual(before);
});

test('of a recheck bills its sample', async () => {
  const { dir, judge, bill } = await setUp();
  await judge();
  const before = await everythingIn(dir);
  expect((await bill('--recheck', '3')).rows).toMatchObject({ chosen: 3, to_ask: 3 });
  expect(await everythingIn(dir)).toBe(before);
});

test('uses the rubric pack that is named', async () => {
  const { bill } = await setUp();
  const own = await bill();
  const official = await bill('--rubrics', await fakeCheckout(), '--verdicts', 'official');
  expect(official.total.characters).toBeLessThan(own.total.characters);
});

test('for a judge with unreadable verdicts says how many additional calls it needed', async () => {
  // The first verdict of every judgement is unreadable.
  const { dir, judge, bill, server } = await setUp([], (index) => index % 2 === 1);
  expect((await bill()).asked_again).toBeNull();
  expect((await judge('--concurrency', '1')).code).toBe(EXIT.done);
  expect(server.requests.length).toBe(14);
  const from = ['--estimate-from', join(dir, 'run')];
  const { asked_again: again, total } = await bill('--fresh', ...from);
  expect(total.calls).toBe(7);
  expect(again).toMatchObject({ times: 2, calls: 14, models: ['j'] });
  // Both are estimates, and each is rounded separately.
  expect(Math.abs(again.prompt_tokens - 2 * total.prompt_tokens)).toBeLessThanOrEqual(1);
  const { stdout } = await judge('--fresh', '--dry-run', ...from);
  expect(stdout.replace(/\s+/g, ' ')).toContain('took 2.00 calls for each of these');
  expect(stdout.replace(/\s+/g, ' ')).toContain('at that rate this run takes 14 calls,');
});
