// `awb infer` through real outages of a server: what is lost (nothing), what is reported, and how it ends.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { awb, type CliProcess, startAwb, temporaryFolder } from '../support/cli.js';
import {
  type Answer,
  deterministicAnswer,
  type Handler,
  type LoopbackServer,
  type SeenRequest,
  startLoopbackServer,
} from '../support/loopback-server.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
const children: CliProcess[] = [];

afterEach(async () => {
  for (const { child } of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(handler: Handler, port = 0): Promise<LoopbackServer> {
  const server = await startLoopbackServer(handler, { port });
  servers.push(server);
  return server;
}

const ROWS = madeUpRows('mcp', 60);
/** Longer than all the tries of a single call. */
const OUTAGE_MS = 8_000;
const fine = ({ body }: SeenRequest): Answer => ({ content: deterministicAnswer(body.messages), latencyMs: 50 });

async function setUp(port: number) {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'mcp_test.jsonl': ROWS });
  const out = join(folder, 'out');
  const url = `http://127.0.0.1:${port}/v1`;
  return {
    args: ['infer', '--data-dir', data, '--model-base-url', url, '--model-name', 'wm', '--output-dir', out],
    predictions: () => readFile(join(out, 'predictions.jsonl'), 'utf8'),
    journal: async () =>
      (await readFile(join(out, 'predictions.journal.jsonl'), 'utf8'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
  };
}

async function uninterrupted(): Promise<string> {
  const server = await serve(fine);
  const run = await setUp(server.port);
  expect((await awb([...run.args, '--quiet'])).code).toBe(0);
  return run.predictions();
}

/** The server closes during replies, and returns at the same port. */
async function refusesConnections(): Promise<void> {
  const server = await serve(({ index, ...request }) =>
    index < 12 ? fine({ index, ...request }) : { deltas: [{ content: 'a' }], ending: 'stall' },
  );
  const { port } = server;
  const run = await setUp(port);
  const running = awb([...run.args, '--concurrency', '4', '--max-attempts', '2']);
  await expect.poll(() => server.count, { timeout: 25_000 }).toBe(16);
  await server.close();
  await wait(OUTAGE_MS);
  await serve(fine, port);
  const { code, stderr, stdout } = await running;
  expect([code, stdout]).toEqual([0, expect.stringContaining('60 of 60 done')]);
  expect(stderr).toMatch(
    /does not answer \(connection refused \(ECONNREFUSED\)\): probing it with one call at a time, up to 10 min/,
  );
  expect(stderr).toMatch(/127\.0\.0\.1:\d+ answers again/);
  expect(await run.predictions()).toBe(await uninterrupted());
}

async function answers502(): Promise<void> {
  let isOut = false;
  const server = await serve((request) =>
    isOut ? { status: 502, body: '<html><title>502 Bad Gateway</title></html>' } : fine(request),
  );
  const run = await setUp(server.port);
  const running = awb([...run.args, '--concurrency', '4', '--max-attempts', '2']);
  await expect.poll(() => server.count, { timeout: 25_000 }).toBeGreaterThan(12);
  isOut = true;
  const before = server.count;
  await wait(OUTAGE_MS);
  expect(server.count - before).toBeLessThan(20);
  isOut = false;
  expect((await running).code).toBe(0);
  expect(await run.predictions()).toBe(await uninterrupted());
}

describe('an outage', () => {
  test('that outlasts the tries of a call costs nothing, whether connections are refused or get HTTP 502', {
    timeout: OUTAGE_MS + 40_000,
  }, async () => {
    await Promise.all([refusesConnections(), answers502()]);
  });

  test('that lasts beyond --retry-minutes ends with 69, and the same command continues', async () => {
    const server = await serve((request) => (request.index < 12 ? fine(request) : { status: 503, body: 'gone' }));
    const { port } = server;
    const run = await setUp(port);
    const args = [...run.args, '--concurrency', '4', '--retry-minutes', '0.05'];
    const { code, stderr } = await awb(args);
    expect(code).toBe(69);
    expect(stderr).toMatch(
      /^awb: 127\.0\.0\.1:\d+: no reply for 3 s: the server failed \(HTTP 503: gone\).*--retry-minutes/m,
    );
    expect((await run.journal()).map(({ row }) => row.awb.status)).toEqual(Array(12).fill('ok'));
    await server.close();
    const again = await serve(fine, port);
    expect((await awb(args)).code).toBe(0);
    expect(again.count).toBe(48);
    expect(await run.predictions()).toBe(await uninterrupted());
  });

  test('can be interrupted at once with Ctrl-C, with everything saved', async () => {
    const server = await serve((request) => (request.index < 12 ? fine(request) : 'reset'));
    const run = await setUp(server.port);
    const process = startAwb([...run.args, '--concurrency', '4']);
    children.push(process);
    let said = '';
    process.child.stderr?.on('data', (text) => {
      said += text;
    });
    await expect.poll(() => said, { timeout: 25_000 }).toContain('does not answer');
    process.child.kill('SIGINT');
    const { code, stdout } = await process.ended;
    expect(code).toBe(130);
    expect(stdout).toContain('12 of 60 done, 48 not done');
  });
});

describe('an engine that is still loading', () => {
  test('is waited for with --wait-ready: first with refused connections, then with HTTP 503', async () => {
    const { port } = await serve(fine).then(async (server) => {
      await server.close();
      return server;
    });
    const run = await setUp(port);
    const running = awb([...run.args, '--wait-ready', '15m', '--max-attempts', '1']);
    await wait(1_500);
    const loading = await serve(
      () => ({ status: 503, body: { error: { code: 503, message: 'Loading model' } } }),
      port,
    );
    await expect.poll(() => loading.count, { timeout: 25_000 }).toBeGreaterThan(0);
    await loading.close();
    await serve(fine, port);
    const { code, stderr } = await running;
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /is not ready \(connection refused \(ECONNREFUSED\)\): waiting for it, up to 15 min \(--wait-ready\)/,
    );
    expect(stderr).toMatch(/127\.0\.0\.1:\d+ is ready/);
    expect(await run.predictions()).toBe(await uninterrupted());
  });

  test('without the flag, the error says that it exists', async () => {
    const server = await serve(fine);
    await server.close();
    const run = await setUp(server.port);
    const { code, stderr } = await awb([...run.args, '--max-attempts', '1']);
    expect(code).toBe(69);
    expect(stderr).toContain('--wait-ready 15m waits for one that is still loading its model');
  });
});

describe('an endpoint that never answers well', () => {
  test.each<[string, Answer, RegExp]>([
    [
      'HTML with status 200',
      { status: 200, body: '<html><title>Welcome</title></html>' },
      /web page.*is \/v1 missing from the base URL/,
    ],
    ['HTTP 500 without end', { status: 500, body: { error: { message: 'CUDA error' } } }, /HTTP 500: CUDA error/],
  ])('is given up after twenty rows: %s; --keep-going asks on', async (_what, answer, reason) => {
    const server = await serve(() => answer);
    const run = await setUp(server.port);
    const args = [...run.args, '--max-attempts', '1'];
    const { code, stderr } = await awb(args);
    expect([code, server.count]).toEqual([69, expect.any(Number)]);
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(/the first 20 rows failed in the same way, and none succeeded/);
    expect(server.count).toBeLessThan(20 + 8);
    expect((await awb([...args, '--keep-going'])).code).toBe(3);
    expect(await run.journal()).toHaveLength(20 + 60);
  });
});
