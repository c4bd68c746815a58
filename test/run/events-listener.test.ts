// `--events`: what the file contains across sessions and kills, and what happens if it cannot be written.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import type { BackendStatus } from '../../src/core/types.js';
import { eventsListener } from '../../src/run/events.js';
import { awb, RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { EVENT_TYPES, readEvents } from '../support/events.js';
import { verdict } from '../support/judging.js';
import { type Answer, type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { backendOf, fine, runMadeUp } from '../support/made-up-stage.js';
import { holdText } from '../support/messages.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const server of servers.splice(0)) await server.close();
});

const KEY = 'sk-secret-0123456789';
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const reply = (more: object = {}): Answer => ({ content: 'fine', usage: USAGE, ...more }) as Answer;
const PRICES = 'unit: million-tokens\nmodels:\n  wm: { input: 10, output: 100 }\n';

async function setUp(answer: Handler = () => reply(), rows = 6) {
  const server = await startLoopbackServer(answer);
  servers.push(server);
  const dir = await temporaryFolder();
  const data = await writeDataset(join(dir, 'data'), {
    'mcp_test.jsonl': madeUpRows('mcp', rows / 2),
    'terminal_test.jsonl': madeUpRows('terminal', rows / 2),
  });
  await writeFile(join(dir, 'prices.yaml'), PRICES);
  const out = join(dir, 'out');
  const file = join(dir, 'events.jsonl');
  const asking = ['--model-base-url', server.url, '--model-name', 'wm', '--model-api-key', KEY];
  const args = ['infer', '--data-dir', data, '--output-dir', out, ...asking];
  const events = async () => readEvents(await readFile(file, 'utf8'));
  return { server, dir, data, out, file, args, asking, events };
}

const types = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

test('a run is reported from start to end, each row with its domain, tokens, seconds and cost', async () => {
  const run = await setUp(({ index }) => (index === 0 ? { status: 400, body: { error: `no ${KEY}` } } : reply()));
  const flags = ['--prices', join(run.dir, 'prices.yaml'), '--label', 'step-100', '--concurrency', '1'];
  const { code } = await awb([...run.args, ...flags, '--events', run.file]);
  expect(code).toBe(EXIT.incomplete);
  const events = await run.events();
  const of = (type: string) => events.filter((event) => event.type === type);
  expect(types(events).filter((type) => type !== 'notice')).toEqual([
    ...['started', 'limit', 'row', 'row', 'row', 'row', 'row', 'row', 'finished'],
  ]);
  expect(
    events.every(({ run: { kind, dir, label } }) => kind === 'infer' && dir === run.out && label === 'step-100'),
  ).toBe(true);
  expect(of('started')[0]).toMatchObject({ totals: { mcp: 3, terminal: 3 }, already: {}, pid: process.pid });
  expect(of('limit')[0]).toMatchObject({ limit: 1 });
  expect(of('row')[0]).toMatchObject({ status: 'failed', class: expect.any(String), reason: expect.any(String) });
  expect(of('row').slice(1)).toEqual(
    Array.from({ length: 5 }, () =>
      expect.objectContaining({
        ...{ status: 'ok', attempts: 1, usd: 0.002, seconds: expect.any(Number) },
        tokens: { promptTokens: 100, completionTokens: 10 },
      }),
    ),
  );
  expect(new Set(of('row').map(({ id }) => id)).size).toBe(6);
  expect(of('finished')[0]).toMatchObject({
    ...{ state: 'incomplete', exit_code: 3, asked: 6 },
    counts: { chosen: 6, ok: 5, failed: 1, not_done: 0, absent: 0 },
    spent: { usd: 0.01 },
  });
  expect(await readFile(run.file, 'utf8')).not.toContain(KEY);
});

test('judge, calibrate, likelihood and scenarios report their events, each to the same file', async () => {
  const run = await setUp(({ body, path }) => {
    if (path.endsWith('/completions') && body.messages === undefined) return { content: 'x' };
    return { content: JSON.stringify(body.messages).includes('Format') ? verdict(4) : 'fine' };
  });
  const events = ['--events', run.file, '--quiet'];
  await awb([...run.args, ...events]);
  const judge = ['--judge-base-url', run.server.url, '--judge-model', 'judge', '--output-dir', run.out];
  await awb(['judge', '--predictions', join(run.out, 'predictions.jsonl'), ...judge, ...events]);
  const calibrate = ['calibrate', '--data-dir', run.data, '--max-calls', '24', ...judge, ...events];
  await awb(calibrate);
  const suite = ['--data-dir', RECORDED, '--scenarios', 'standard', '--max-calls', '4'];
  await awb(['infer', ...suite, ...run.asking, '--output-dir', run.out, ...events]);
  await awb(['likelihood', '--data-dir', run.data, ...run.asking, '--output-dir', run.out, '--keep-going', ...events]);
  const kinds = (await run.events()).map(({ run: { kind } }) => kind);
  expect([...new Set(kinds)]).toEqual(['infer', 'judge', 'calibrate', 'scenarios', 'likelihood']);
});

test('later sessions of a run append to the file, after a line that a kill has torn', async () => {
  const run = await setUp();
  const flags = [...run.args, '--events', run.file, '--concurrency', '1'];
  expect((await awb([...flags, '--budget-tokens', '250'])).code).toBe(EXIT.later);
  const first = await readFile(run.file, 'utf8');
  expect(types(readEvents(first))).toContain('budget');
  expect(readEvents(first).at(-1)).toMatchObject({
    state: 'stopped',
    exit_code: 75,
    reason: expect.stringContaining('budget'),
  });
  await truncate(run.file, first.length - 30);
  // A power loss may leave zeros after the last complete line.
  await appendFile(run.file, '\0\0\0');
  expect((await awb(flags)).code).toBe(EXIT.done);
  const events = await run.events();
  expect(types(events).filter((type) => type === 'started')).toHaveLength(2);
  expect(events.findLast(({ type }) => type === 'started').already).not.toEqual({});
  const again = await awb(flags);
  expect(again.code).toBe(EXIT.done);
  expect((await run.events()).at(-1)).toMatchObject({ type: 'finished', state: 'complete', asked: 0, exit_code: 0 });
});

test('a budget is reported at each tenth, and once when it is reached', async () => {
  const run = await setUp(undefined, 20);
  await awb([...run.args, '--events', run.file, '--concurrency', '1', '--budget-tokens', '1100', '--quiet']);
  const budgets = (await run.events()).filter(({ type }) => type === 'budget');
  expect(budgets.map(({ spent }) => spent.tokens)).toEqual(Array.from({ length: 11 }, (_, step) => step * 110));
  expect(budgets.map(({ reached }) => reached)).toEqual([...Array(10).fill(false), true]);
});

test('a killed run leaves only complete lines, and none says that it finished', async () => {
  const run = await setUp(({ index }) => (index < 4 ? reply() : 'hang'), 12);
  const { child, ended } = startAwb([...run.args, '--events', run.file, '--concurrency', '1']);
  const lines = async () => (await readFile(run.file, 'utf8').catch(() => '')).split('"type":"row"').length - 1;
  while ((await lines()) < 4) await wait(20);
  child.kill('SIGKILL');
  await ended;
  expect(types(await run.events())).not.toContain('finished');
});

describe('a file that cannot be written', () => {
  test.runIf(process.platform === 'linux')(
    'because the disk is full causes one notice and has no other effect',
    async () => {
      const run = await setUp();
      const { code, stderr } = await awb([...run.args, '--events', '/dev/full']);
      expect(code).toBe(EXIT.done);
      expect(
        stderr.match(/cannot write --events \/dev\/full \(ENOSPC\); the run continues without events/g),
      ).toHaveLength(1);
    },
  );

  test.each([
    ['-', EXIT.usage, /--events - is not a regular file; choose one/],
    ['missing/events.jsonl', EXIT.cannotCreate, /cannot open --events missing\/events\.jsonl for writing \(ENOENT\)/],
    ['package.json/events.jsonl', EXIT.cannotCreate, /cannot open --events package\.json\/events\.jsonl.*\(ENOTDIR\)/],
    ['.', EXIT.cannotCreate, /cannot open --events \. for writing \(EISDIR\)/],
    ['package.json', EXIT.usage, /--events package\.json contains something other than events; choose another file/],
  ])('such as %s is refused before anything is asked', async (file, exitCode, message) => {
    const run = await setUp();
    const { code, stderr } = await awb([...run.args, '--events', file]);
    expect([code, run.server.count]).toEqual([exitCode, 0]);
    expect(stderr).toMatch(message);
  });
});

describe('a file that the run itself writes', () => {
  test('is refused before anything is asked', async () => {
    const run = await setUp();
    const { code, stdout, stderr } = await awb([
      ...run.args,
      ...['--events', join(run.out, 'predictions.journal.jsonl'), '--quiet'],
    ]);
    const text = `${stdout.replace(/(in this session, ).*/, '$1<time>')}--- stderr\n${stderr}--- exit ${code}\n`;
    await holdText('events-own-file', text, { [run.dir]: '<folder>', [run.server.url]: '<model>' });
    expect(run.server.count).toBe(0);
  });

  test.each([
    ['by its own name', (out: string) => join(out, 'predictions.jsonl')],
    ['if it is its manifest', (out: string) => join(out, 'predictions.manifest.json')],
    ['if it is its lock', (out: string) => join(out, '.predictions.lock')],
    ['if it is the file of its rollout', (out: string) => join(out, 'rollout.jsonl')],
    ['through a link to its folder', (_: string, dir: string) => join(dir, 'link/predictions.jsonl')],
    ['through a link to a file that does not exist yet', (_: string, dir: string) => join(dir, 'own.jsonl')],
  ])('is refused %s', async (_, fileIn) => {
    const run = await setUp();
    await symlink('out', join(run.dir, 'link'));
    await symlink('link/predictions.jsonl', join(run.dir, 'own.jsonl'));
    const { code, stderr } = await awb([...run.args, '--events', fileIn(run.out, run.dir)]);
    expect([code, run.server.count]).toEqual([EXIT.usage, 0]);
    expect(stderr).toMatch(/is a broken link; choose a file|is a file that the run itself writes; choose another/);
  });

  test('does not include a new file in the same folder', async () => {
    const run = await setUp();
    expect((await awb([...run.args, '--events', join(run.out, 'events.jsonl')])).code).toBe(EXIT.done);
  });
});

test.runIf(process.platform !== 'win32')('a FIFO is refused before anything is asked', async () => {
  const run = await setUp();
  const path = join(await temporaryFolder(), 'fifo');
  await once(spawn('mkfifo', [path]), 'close');
  const { code, stderr } = await awb([...run.args, '--events', path]);
  expect([code, run.server.count]).toEqual([EXIT.usage, 0]);
  expect(stderr).toMatch(/--events .*fifo is not a regular file; choose one, for tail -f/);
});

test('limits, pauses and outages are reported when they change', async () => {
  const dir = await temporaryFolder();
  const calm: BackendStatus = { inFlight: 1, limit: 8, pausedMs: 0, outages: [] };
  const outage = { host: 'gpu-1:8000', hasAnswered: true, forMs: 10, nextMs: 10, leftMs: 1_000 };
  const states: BackendStatus[] = [
    calm,
    { ...calm, limit: 16 },
    { ...calm, limit: 16, pausedMs: 30_000 },
    { ...calm, limit: 16, pausedMs: 20_000, outages: [outage] },
    { ...calm, limit: 12, outages: [outage] },
    { ...calm, limit: 12 },
  ];
  let now = calm;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  vi.spyOn(Date, 'now').mockReturnValue(0);
  const file = join(dir, 'events.jsonl');
  const io = { cwd: dir, stderr: { write() {} }, env: {} } as never;
  const listener = eventsListener(file, { quiet: false }, io, []);
  const answer = () => {
    for (const state of states) {
      now = state;
      vi.advanceTimersByTime(400);
    }
    return fine();
  };
  const openBackend = async () => ({ ...backendOf(answer), status: () => now });
  await (await runMadeUp({ dir: join(dir, 'out'), rows: 1, listeners: [listener], openBackend })).result;
  const events = readEvents(await readFile(file, 'utf8'));
  expect(events.map(({ v: _, at: __, run: ___, ...event }) => event).slice(1, -2)).toEqual([
    { type: 'limit', limit: 8, in_flight: 1 },
    { type: 'limit', limit: 16, before: 8, in_flight: 1 },
    { type: 'paused', cause: 'rate-limit', seconds: 30, until: '1970-01-01T00:00:30.000Z' },
    { type: 'paused', cause: 'outage', host: 'gpu-1:8000' },
    { type: 'limit', limit: 12, before: 16, in_flight: 1 },
    { type: 'resumed', cause: 'rate-limit' },
    { type: 'resumed', cause: 'outage', host: 'gpu-1:8000' },
  ]);
});

test('docs/events.md lists every type and every member of it', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/events.md'), 'utf8');
  for (const type of EVENT_TYPES) expect(page).toContain(`| \`${type}\` |`);
});

test('a hostile reason becomes one line of text that cannot control a terminal', async () => {
  const dir = await temporaryFolder();
  const file = join(dir, 'events.jsonl');
  const io = { cwd: dir, stderr: { write() {} }, env: {} } as never;
  const reason = `bad\u001b[2J\nnews ${KEY}`;
  const log = { attempts: 1, usage: {}, ms: 5, host: 'here' };
  const answer = () => ({ status: 'failed', class: 'refused', reason, log }) as const;
  const listener = eventsListener(file, { quiet: false, modelApiKey: KEY }, io, []);
  await (await runMadeUp({ dir: join(dir, 'out'), rows: 1, answer, listeners: [listener] })).result;
  const [row] = readEvents(await readFile(file, 'utf8')).filter(({ type }) => type === 'row');
  expect(row).toMatchObject({ reason: 'bad news [redacted]', class: 'refused', seconds: 0.005 });
});
