// The cost of a run in several sessions: the servers' own bills, the budget's account, the manifests and the score give the same sum.

import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import { caseIn, jsonOf, marked, type Row, rowsOf, verdict } from '../support/judging.js';
import {
  type Answer,
  deterministicAnswer,
  type LoopbackServer,
  startLoopbackServer,
} from '../support/loopback-server.js';

/** Dollars per million tokens, and per call. */
const RATES = {
  wm: { input: 2, output: 8, call: 0.25 },
  judge: { input: 1.25, output: 10, call: 0 },
};
type Name = keyof typeof RATES;

const servers: LoopbackServer[] = [];
/** What each server charged, per call as a provider does. */
const charged = { wm: 0, judge: 0 };
const calls = { wm: 0, judge: 0 };
let dir: string;
/** The last session's output of infer and judge. */
const ended: Partial<Record<Name, Row>> = {};

/** A server that refuses a row the first times it sees it, as `answer` decides, and charges for every answer. */
async function serve(name: Name, answer: (seen: number, row: number, body: Row) => Answer): Promise<string> {
  const rows = new Map<string, { readonly row: number; seen: number }>();
  const server = await startLoopbackServer(({ body }) => {
    const hash = createHash('sha256').update(caseIn(body)).digest();
    const state = rows.get(hash.toString('hex')) ?? { row: rows.size, seen: 0 };
    rows.set(hash.toString('hex'), state);
    const reply = answer(state.seen++, state.row, body);
    if (typeof reply !== 'object' || 'status' in reply) return reply;
    const prompt = 120_000 * (1 + (state.row % 2)) + state.row;
    const output = 50 + calls[name]++;
    const { input, output: written, call } = RATES[name];
    charged[name] += (prompt * input + output * written) / 1e6 + call;
    return { ...reply, usage: { prompt_tokens: prompt, completion_tokens: output } };
  });
  servers.push(server);
  return server.url;
}

const session = async (name: Name, codes: readonly number[], ...args: string[]) => {
  for (const code of codes) {
    const run = await awb([...args, '--concurrency', '1', '--no-stream', '--json', '--prices', 'prices.json'], {
      cwd: dir,
    });
    if (run.code !== code) throw new Error(`${run.code}: ${run.stderr}`);
    ended[name] = JSON.parse(run.stdout);
  }
};

beforeAll(async () => {
  dir = await temporaryFolder();
  await writeFile(join(dir, 'prices.json'), JSON.stringify({ unit: 'million-tokens', models: RATES }));
  // Of three rows, one is refused without charge. Another gets five empty replies, which are charged: two of them in each session.
  const wm = await serve('wm', (seen, row, { messages }) => {
    if (row % 3 === 0 && seen === 0) return { status: 400, body: { error: { message: 'bad request: no' } } };
    if (row % 3 === 1 && seen < 5) return { message: { role: 'assistant' } };
    return { content: deterministicAnswer(messages) };
  });
  // In the first session every row is asked twice in vain; in the second, some are readable at the second try.
  const judge = await serve('judge', (seen, row, body) => ({
    content: seen < 2 + (row % 3) ? 'no verdict' : marked(verdict(4), { body }),
  }));
  await session(
    ...(['wm', [3, 3, 0], 'infer', '--data-dir', RECORDED, '--output-dir', 'run', '--domains', 'os,web,mcp'] as const),
    ...['--limit', '3', '--model-base-url', wm, '--model-name', 'wm', '--max-attempts', '2'],
  );
  await session(
    ...(['judge', [3, 3, 0], 'judge', '--predictions', 'run/predictions.jsonl', '--output-dir', 'run'] as const),
    ...['--judge-base-url', judge, '--judge-model', 'judge', '--max-retries', '2'],
  );
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const scored = async () => {
  const { code, stdout, stderr } = await awb(['score', 'run', '--json'], { cwd: dir });
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout).costs;
};
/** Dollars rounded to a billionth, since sums are added up in different orders. */
const rounded = (value: unknown) =>
  JSON.parse(JSON.stringify(value), (_key, inner) => (typeof inner === 'number' ? Number(inner.toFixed(9)) : inner));

test.each([
  ['wm', 'predictions'],
  ['judge', 'judged'],
] as const)(
  "the manifest of %s and its budget's account contain what its server charged, over all sessions",
  async (name, file) => {
    const journal = await rowsOf(join(dir, `run/${file}.journal.jsonl`));
    expect(journal.length).toBeGreaterThan(9);
    expect(journal.some(({ log }) => log.tries === 2)).toBe(true);
    const { costs } = await jsonOf(join(dir, `run/${file}.manifest.json`));
    const domains: Row[] = Object.values(costs);
    expect(domains.map(({ rows, unpriced }) => [rows, unpriced])).toEqual(Array(3).fill([3, undefined]));
    expect(domains.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(charged[name], 9);
    expect(ended[name]?.spent.usd).toBeCloseTo(charged[name], 9);
  },
);

test('the characters of prompts are counted only for records of a single call', async () => {
  const { costs } = await jsonOf(join(dir, 'run/judged.manifest.json'));
  const counted = Object.values<Row>(costs).reduce((sum, { counted }) => sum + (counted?.rows ?? 0), 0);
  const latest = new Map((await rowsOf(join(dir, 'run/judged.journal.jsonl'))).map(({ id, log }) => [id, log]));
  const single = [...latest.values()].filter(({ attempts }) => attempts === 1);
  expect([counted, latest.size]).toEqual([single.length, 9]);
  expect(single.length).toBeGreaterThan(0);
  expect(single.length).toBeLessThan(9);
});

describe('awb score', () => {
  test('reports the same with and without the journals', async () => {
    const whole = await scored();
    expect(whole.world_model.usd).toBeCloseTo(charged.wm, 9);
    expect(whole.judge.usd).toBeCloseTo(charged.judge, 9);
    await rm(join(dir, 'run/predictions.journal.jsonl'));
    const halved = await scored();
    await rm(join(dir, 'run/judged.journal.jsonl'));
    expect([rounded(halved), rounded(await scored())]).toEqual([rounded(whole), rounded(whole)]);
  });
});
