// Rows that fail on their own over real connections, for infer, judge and a rollout, some with the server gone for 20 s in between.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { verdict } from '../support/judging.js';
import {
  type Answer,
  deterministicAnswer,
  type Handler,
  type LoopbackServer,
  startLoopbackServer,
} from '../support/loopback-server.js';
import { madeUpRow, madeUpRows, writeDataset } from '../support/run-folder.js';

const DOMAINS = ['mcp', 'os', 'terminal'];
const ROWS = 63;
const GONE_MS = 20_000;
const LATENCY_MS = 200;
/** The tries of a row that times out take their time. */
const TIMEOUT = ['--first-token-timeout', '2s'];

const status = (code: number, headers = {}): Answer => ({
  status: code,
  body: { error: { message: `error ${code}` } },
  headers,
});
const page: Answer = {
  status: 200,
  body: '<html><body>It works!</body></html>',
  headers: { 'content-type': 'text/html' },
};

interface Shape {
  readonly name: string;
  readonly failing: number;
  readonly answer: Answer;
  readonly class: string;
  /** The positions of the failing rows, and the number of endpoints. */
  readonly order: 'first' | 'last' | 'mixed';
  readonly endpoints: 1 | 2;
  readonly isGone?: true;
}

const SHAPES: readonly Shape[] = [
  { name: '1 row 500', failing: 1, answer: status(500), class: 'transient', order: 'last', endpoints: 1 },
  {
    name: '3 rows 500',
    failing: 3,
    answer: status(500),
    class: 'transient',
    order: 'first',
    endpoints: 1,
    isGone: true,
  },
  { name: '1 row 503', failing: 1, answer: status(503), class: 'transient', order: 'mixed', endpoints: 1 },
  { name: 'one domain 500', failing: 21, answer: status(500), class: 'transient', order: 'first', endpoints: 2 },
  {
    name: '30 % 500',
    failing: 19,
    answer: status(500),
    class: 'transient',
    order: 'mixed',
    endpoints: 1,
    isGone: true,
  },
  { name: '30 % 503', failing: 19, answer: status(503), class: 'transient', order: 'last', endpoints: 2 },
  { name: '30 % reset', failing: 19, answer: 'reset', class: 'transient', order: 'first', endpoints: 1 },
  { name: '30 % HTML with status 200', failing: 19, answer: page, class: 'malformed', order: 'mixed', endpoints: 1 },
  { name: '2 rows 404', failing: 2, answer: status(404), class: 'fatal', order: 'last', endpoints: 1 },
  {
    name: '2 rows 429 for an hour',
    failing: 2,
    answer: status(429, { 'retry-after': '3600' }),
    class: 'rate-limit',
    order: 'mixed',
    endpoints: 2,
  },
  { name: '8 rows 429', failing: 8, answer: status(429), class: 'rate-limit', order: 'mixed', endpoints: 1 },
  { name: '12 rows that time out', failing: 12, answer: 'hang', class: 'timeout', order: 'last', endpoints: 1 },
];

const servers: LoopbackServer[] = [];
const lines: string[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
  console.log(lines.sort().join('\n'));
});

async function serve(handler: Handler, port = 0): Promise<LoopbackServer> {
  const server = await startLoopbackServer(handler, { port, record: false });
  servers.push(server);
  return server;
}

/** The number of the row that a request asks about. */
function rowIn(body: unknown): number {
  return Number(/step 1 of \w+ (\d+)/.exec(JSON.stringify(body))?.[1]);
}

function failingRows({ order, failing }: Shape): ReadonlySet<number> {
  const rows = Array.from({ length: failing }, (_, at) =>
    order === 'first' ? at : order === 'last' ? ROWS - 1 - at : Math.floor((at * ROWS) / failing),
  );
  return new Set(rows);
}

async function dataset(folder: string): Promise<string> {
  const files = DOMAINS.map((domain, at) => {
    const rows = Array.from({ length: ROWS / 3 }, (_, row) => madeUpRow(domain, at * 21 + row));
    return [`${domain}_test.jsonl`, rows] as const;
  });
  return writeDataset(join(folder, 'data'), Object.fromEntries(files));
}

/**
 * Servers that fail the rows of the shape; `seconds` says how long the run has continued since the first request of its last healthy row.
 */
async function open(shape: Shape, contentOf: (body: { messages?: unknown }) => string) {
  const failing = failingRows(shape);
  const seen = new Set<number>();
  let lastAt = 0;
  const handler: Handler = ({ body }) => {
    const row = rowIn(body);
    if (failing.has(row)) return shape.answer;
    if (!seen.has(row)) lastAt = performance.now();
    seen.add(row);
    return { content: contentOf(body), latencyMs: LATENCY_MS };
  };
  const opened = await Promise.all(Array.from({ length: shape.endpoints }, () => serve(handler)));
  const leave = async () => {
    while (seen.size < 20) await wait(10);
    const { port, close } = opened[0] as LoopbackServer;
    await close();
    await wait(GONE_MS);
    await serve(handler, port);
  };
  return { failing, urls: opened.map(({ url }) => url), leave, seconds: () => (performance.now() - lastAt) / 1000 };
}

/** The classes of failed rows, and the number of finished ones, according to a journal. */
async function recorded(journal: string) {
  const records = (await readFile(journal, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const failures = records.map(({ row }) => row.judge ?? row.awb).filter((told) => told?.status === 'failed');
  const classes = failures.map(({ class: kind }) => kind);
  const done = records.length - failures.length;
  return { done, classes };
}

describe.concurrent.each(SHAPES)('$name, $order in order, $endpoints endpoints', (shape) => {
  test.concurrent('infer: the others are done, and these fail with their own class', async () => {
    const folder = await temporaryFolder();
    const data = await dataset(folder);
    const { failing, urls, leave, seconds } = await open(shape, ({ messages }) => deterministicAnswer(messages));
    const out = join(folder, 'out');
    const endpoints = urls.flatMap((url) => ['--model-base-url', url]);
    const args = [
      'infer',
      '--data-dir',
      data,
      ...endpoints,
      '--model-name',
      'wm',
      '--output-dir',
      out,
      '--order',
      'file',
      ...TIMEOUT,
    ];
    const running = awb([...args, '--quiet']);
    if (shape.isGone) await leave();
    const { code, stderr } = await running;
    lines.push(`infer ${shape.name}: exit ${code}, ${seconds().toFixed(1)} s after its last healthy row`);
    expect(code, stderr).toBe(EXIT.incomplete);
    const { done, classes } = await recorded(join(out, 'predictions.journal.jsonl'));
    expect(done).toBe(ROWS - failing.size);
    expect(classes).toEqual(Array(failing.size).fill(shape.class));
  }, 400_000);

  test.concurrent('judge: the others are done, and these fail with their own class', async () => {
    const folder = await temporaryFolder();
    const data = await dataset(folder);
    const out = join(folder, 'out');
    await awb(['infer', '--data-dir', data, '--baseline', 'oracle', '--output-dir', out, '--quiet']);
    const { failing, urls, leave, seconds } = await open(shape, () => verdict(4));
    const endpoints = urls.flatMap((url) => ['--judge-base-url', url]);
    const predictions = join(out, 'predictions.jsonl');
    const args = [
      'judge',
      '--predictions',
      predictions,
      '--output-dir',
      out,
      ...endpoints,
      '--judge-model',
      'j',
      ...TIMEOUT,
    ];
    const running = awb([...args, '--quiet']);
    if (shape.isGone) await leave();
    const { code, stderr } = await running;
    lines.push(`judge ${shape.name}: exit ${code}, ${seconds().toFixed(1)} s after its last healthy row`);
    expect(code, stderr).toBe(EXIT.incomplete);
    const { done, classes } = await recorded(join(out, 'judged.journal.jsonl'));
    expect(done).toBe(ROWS - failing.size);
    expect(classes).toEqual(Array(failing.size).fill(`judge-${shape.class}`));
  }, 400_000);
});

test.concurrent('a rollout in which one turn of some trajectories fails asks all others to their end', async () => {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', ROWS) });
  const server = await serve(({ body }) => {
    const [, turn, id] = /step (\d) of mcp (\d+)\n\nPlease/.exec(JSON.stringify(body).replaceAll('\\n', '\n')) ?? [];
    if (turn === '2' && Number(id) % 7 === 0) return status(500);
    return { content: deterministicAnswer(body.messages), latencyMs: LATENCY_MS };
  });
  const out = join(folder, 'out');
  const { code } = await awb([
    'infer',
    '--rollout',
    '--data-dir',
    data,
    '--model-base-url',
    server.url,
    '--model-name',
    'wm',
    '--output-dir',
    out,
    '--quiet',
  ]);
  expect(code).toBe(EXIT.incomplete);
  const { done, classes } = await recorded(join(out, 'predictions.journal.jsonl'));
  // Of 21 trajectories, three fail at their second turn, and their third turn waits for it.
  expect([done, classes]).toEqual([ROWS - 6, Array(3).fill('transient')]);
}, 400_000);
