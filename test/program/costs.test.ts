// What a run cost, from the first call to SQLite: every sum is checked against what the servers themselves reported.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import { verdict } from '../support/judging.js';
import {
  type Answer,
  deterministicAnswer,
  type LoopbackServer,
  startLoopbackServer,
} from '../support/loopback-server.js';

/** Dollars per million tokens. */
const RATES = {
  wm: { input: 0.5, cached: 0.05, output: 2 },
  judge: { input: 1.75, cached: 0.175, output: 14, call: 0.001 },
};

/** What a server reported: the token counts of every reply with a usage, in its order. */
interface Bill {
  calls: number;
  prompt: number;
  cached: number;
  output: number;
  reasoning: number;
}

const bills: Record<'wm' | 'judge', Bill> = { wm: nothing(), judge: nothing() };
const servers: LoopbackServer[] = [];
let dir: string;

function nothing(): Bill {
  return { calls: 0, prompt: 0, cached: 0, output: 0, reasoning: 0 };
}

/** A server with different counts in every reply, some of them uncached; `answer` decides what else happens to a call. */
async function serve(name: 'wm' | 'judge', answer: (index: number, messages: unknown) => Answer): Promise<string> {
  const server = await startLoopbackServer(({ index, body }) => {
    const reply = answer(index, body.messages);
    if (typeof reply !== 'object' || !('content' in reply) || reply.usage === null) return reply;
    const count = { prompt: 1000 + 37 * index, cached: index % 2 === 0 ? 512 : 0, output: 50 + index, reasoning: 11 };
    const bill = bills[name];
    bill.calls++;
    for (const kind of ['prompt', 'cached', 'output', 'reasoning'] as const) bill[kind] += count[kind];
    return {
      ...reply,
      usage: {
        prompt_tokens: count.prompt,
        completion_tokens: count.output,
        prompt_tokens_details: { cached_tokens: count.cached },
        completion_tokens_details: { reasoning_tokens: count.reasoning },
      },
    };
  });
  servers.push(server);
  return server.url;
}

function query(sql: string): Record<string, number>[] {
  const database = openSqlite(join(dir, 'awb.sqlite'), { readonly: true });
  try {
    // Every query below returns only numbers.
    return database.prepare(sql).all() as Record<string, number>[];
  } finally {
    database.close();
  }
}

const run = (...args: string[]) => awb([...args, '--concurrency', '1', '--no-stream'], { cwd: dir });

beforeAll(async () => {
  dir = await temporaryFolder();
  const models = Object.entries(RATES).map(([name, rates]) => `  ${name}: ${JSON.stringify(rates)}\n`);
  await writeFile(join(dir, 'prices.yaml'), `unit: million-tokens\nmodels:\n${models.join('')}`);
  let isRefusing = true;
  // The third row is cut off before it is counted, then asked again by the same command and answered.
  const wm = await serve('wm', (index, messages) => {
    if (isRefusing && index === 2) return { status: 400, body: { error: { message: 'bad request: no' } } };
    return { content: deterministicAnswer(messages) };
  });
  // Every fifth reply is unreadable: the judge is asked again at once, and both calls cost money.
  const judge = await serve('judge', (index) => ({
    content: index % 5 === 4 ? 'no verdict' : verdict((index % 5) + 1),
  }));
  const infer = () =>
    run(
      ...[
        'infer',
        '--data-dir',
        RECORDED,
        '--output-dir',
        'run',
        '--domains',
        'os,web,mcp',
        '--limit',
        '2',
        '--repeats',
        '2',
      ],
      ...['--model-base-url', wm, '--model-name', 'wm', '--prices', 'prices.yaml', '--max-attempts', '1'],
    );
  await infer();
  isRefusing = false;
  const again = await infer();
  if (again.code !== 0) throw new Error(again.stderr);
  const judged = await run(
    ...['judge', '--predictions', 'run/predictions.jsonl', '--output-dir', 'run', '--judge-repeats', '2'],
    ...['--judge-base-url', judge, '--judge-model', 'judge', '--prices', 'prices.yaml'],
  );
  if (judged.code !== 0) throw new Error(judged.stderr);
  const scored = await awb(['score', 'run'], { cwd: dir });
  if (scored.code !== 0) throw new Error(scored.stderr);
});
afterAll(() => Promise.all(servers.map((server) => server.close())));

const TOKENS =
  'sum(prompt_tokens) prompt, sum(cached_tokens) cached, sum(completion_tokens) output, sum(reasoning_tokens) reasoning';

test.each([
  ['wm', 'world_model', 'predictions', 12],
  ['judge', 'judge', 'judgements', 24],
] as const)('the cost of %s by row, domain and run equals what its server counted', (name, asked, table, rows) => {
  const { calls, ...tokens } = bills[name];
  expect(calls).toBeGreaterThanOrEqual(rows);
  const { input, cached, output } = RATES[name];
  const usd = ((tokens.prompt - tokens.cached) * input + tokens.cached * cached + tokens.output * output) / 1e6;
  const fees = name === 'judge' ? calls * RATES.judge.call : 0;
  for (const [what, from] of [
    ['rows', `${table} WHERE run_id = 1`],
    ['domains', `domain_costs WHERE asked = '${asked}'`],
    ['run', `run_costs WHERE asked = '${asked}'`],
  ]) {
    const [found] = query(`SELECT ${TOKENS}, sum(usd) usd FROM ${from}`);
    expect([what, found]).toEqual([what, { ...tokens, usd: expect.closeTo(usd + fees, 9) }]);
  }
  expect(query(`SELECT rows, unpriced FROM run_costs WHERE asked = '${asked}'`)).toEqual([{ rows, unpriced: 0 }]);
  expect(query(`SELECT count(*) n FROM ${table}`)).toEqual([{ n: rows }]);
});
