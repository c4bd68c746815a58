// Processes killed during their work, again and again: nothing finished is lost, asked twice or written twice.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { caseIn, marked, type Row } from '../support/judging.js';
import { type Answer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { randomFrom } from '../support/random.js';
import { madeUpRows, readRows, writeDataset } from '../support/run-folder.js';

/** AWB_KILLS=60 takes minutes. */
const KILLS = Number(process.env.AWB_KILLS ?? 5);
const TIMEOUT_MS = 100_000 + 10_000 * KILLS;
/** More than are asked between the first kill and the last. */
const ROWS_OF_A_DOMAIN = 75 + 5 * KILLS;
const DOMAINS = ['mcp', 'terminal', 'web'];
const LATENCY_MS = 20;

/** Names a request by what it asks. Replies contain the name, so it can be found in the journal. */
function nameOf(body: Row): string {
  return `asked-${createHash('sha256').update(caseIn(body)).digest('hex').slice(0, 16)}`;
}

/** A server that knows what must not be asked any more. */
interface WatchingServer extends Pick<LoopbackServer, 'url' | 'close'> {
  readonly finished: Set<string>;
  readonly askedAgain: string[];
  /** Resolves after this many more requests. */
  after(requests: number): Promise<void>;
}

async function watch(answer: (name: string, isFirst: boolean) => Answer): Promise<WatchingServer> {
  const finished = new Set<string>();
  const askedAgain: string[] = [];
  let count = 0;
  let alarm = { at: Number.POSITIVE_INFINITY, ring: () => {} };
  const server = await startLoopbackServer(
    ({ body }) => {
      const name = nameOf(body);
      if (finished.has(name)) askedAgain.push(name);
      if (++count >= alarm.at) alarm.ring();
      const isFirst = !String(body.messages.at(-1)?.content).includes('\n\nAn earlier answer to this case');
      const answered = answer(name, isFirst);
      return typeof answered === 'object' && 'content' in answered
        ? { ...answered, content: marked(String(answered.content), { body }) }
        : answered;
    },
    { record: false },
  );
  return {
    url: server.url,
    close: server.close,
    finished,
    askedAgain,
    after: (requests) => new Promise((ring) => (alarm = { at: count + requests, ring })),
  };
}

interface Killed {
  /** Rows in the journal after each kill. */
  readonly durable: readonly number[];
  readonly records: readonly { readonly id: string }[];
}

/** Kills the command at random points, continues it each time, then lets it finish. */
async function killAgainAndAgain(
  server: WatchingServer,
  args: readonly string[],
  journal: string,
  random: () => number,
): Promise<Killed> {
  const durable: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, ended } = startAwb(args);
    // Most are killed while rows are asked, a few at any other point: starting, loading, between two rows.
    const moment = kill % 5 === 4 ? wait(random() * 400) : server.after(1 + Math.floor(random() * 26));
    await Promise.race([moment, ended]);
    await wait(random() * LATENCY_MS);
    child.kill('SIGKILL');
    await ended;
    const records = await readRows(journal).catch(() => []);
    for (const record of records) server.finished.add(/asked-[0-9a-f]{16}/.exec(JSON.stringify(record))?.[0] as string);
    durable.push(records.length);
  }
  const last = await startAwb(args).ended;
  expect(last).toMatchObject({ code: 0, signal: null });
  return { durable, records: await readRows(journal) };
}

function expectNothingLost({ durable, records }: Killed, server: WatchingServer, rows: number): void {
  expect(server.askedAgain).toEqual([]);
  expect(durable).toEqual([...durable].sort((a, b) => a - b));
  // The kills came during the work, not before or after it.
  expect(durable.filter((count) => count > 0 && count < rows).length).toBeGreaterThan(KILLS / 2);
  expect(new Set(records.map(({ id }) => id)).size).toBe(rows);
  expect(records).toHaveLength(rows);
}

const ROWS = ROWS_OF_A_DOMAIN * DOMAINS.length;
let data: string;
let whole: string;
const servers: WatchingServer[] = [];

async function serve(answer: Parameters<typeof watch>[0]): Promise<WatchingServer> {
  const server = await watch(answer);
  servers.push(server);
  return server;
}

const predict = (name: string): Answer =>
  ({
    content: `<predicted_observation>\n${name}\n</predicted_observation>`,
    reasoning: name.endsWith('0') ? `thought about ${name}` : undefined,
    finishReason: name.endsWith('1') ? 'length' : 'stop',
    latencyMs: LATENCY_MS,
  }) as Answer;

const SCORES = ['format', 'factuality', 'consistency', 'realism', 'quality'];

/** A verdict that depends on the messages; every fourth row is unreadable at the first try. */
const rate = (name: string, isFirst: boolean): Answer => {
  const digits = [...name.slice(-6)].map((digit) => Number.parseInt(digit, 16));
  if (isFirst && (digits[5] as number) % 4 === 0) return { content: `no verdict on ${name}`, latencyMs: LATENCY_MS };
  const scores = Object.fromEntries(SCORES.map((dimension, index) => [dimension, 1 + ((digits[index] as number) % 5)]));
  const verdict = JSON.stringify({ scores, strengths: [name], weaknesses: [] });
  return { content: `<final_evaluation>\n${verdict}\n</final_evaluation>`, latencyMs: LATENCY_MS };
};

function inferArgs(server: WatchingServer, out: string): string[] {
  return ['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', '--output-dir', out];
}

function judgeArgs(server: WatchingServer, out: string): string[] {
  const judge = ['--judge-base-url', server.url, '--judge-model', 'judge', '--output-dir', out];
  return ['judge', '--predictions', join(whole, 'predictions.jsonl'), ...judge];
}

beforeAll(async () => {
  const folder = await temporaryFolder();
  const files = DOMAINS.map((domain) => [`${domain}_test.jsonl`, madeUpRows(domain, ROWS_OF_A_DOMAIN)]);
  data = await writeDataset(join(folder, 'data'), Object.fromEntries(files));
  whole = join(folder, 'whole');
  expect((await awb([...inferArgs(await serve(predict), whole), '--quiet'])).code).toBe(0);
});

afterAll(() => Promise.all(servers.map((server) => server.close())));

const FEW = ['--concurrency', '4', '--quiet'];

describe('a run killed at random points and continued each time', { timeout: TIMEOUT_MS }, () => {
  test('by infer ends with the bytes of an uninterrupted one, and no finished row is asked again', async () => {
    const out = await temporaryFolder();
    const server = await serve(predict);
    const journal = join(out, 'predictions.journal.jsonl');
    const killed = await killAgainAndAgain(server, [...inferArgs(server, out), ...FEW], journal, randomFrom(20_261));
    expectNothingLost(killed, server, ROWS);
    const predictions = await readFile(join(out, 'predictions.jsonl'));
    expect(predictions.equals(await readFile(join(whole, 'predictions.jsonl')))).toBe(true);
  });

  test('by a rollout ends with the bytes of an uninterrupted one, and no turn is asked after another history', async () => {
    const undisturbed = await temporaryFolder();
    const args = (server: WatchingServer, to: string) => [...inferArgs(server, to), '--rollout'];
    expect((await awb([...args(await serve(predict), undisturbed), '--quiet'])).code).toBe(0);
    const out = await temporaryFolder();
    const server = await serve(predict);
    const journal = join(out, 'predictions.journal.jsonl');
    const killed = await killAgainAndAgain(server, [...args(server, out), ...FEW], journal, randomFrom(20_263));
    expectNothingLost(killed, server, ROWS);
    for (const file of ['predictions.jsonl', 'rollout.jsonl']) {
      expect((await readFile(join(out, file))).equals(await readFile(join(undisturbed, file)))).toBe(true);
    }
  });

  test('by judge ends with the bytes of an uninterrupted one, and no finished row is asked again', async () => {
    const undisturbed = await temporaryFolder();
    expect((await awb([...judgeArgs(await serve(rate), undisturbed), '--quiet'])).code).toBe(0);
    const out = await temporaryFolder();
    const server = await serve(rate);
    const journal = join(out, 'judged.journal.jsonl');
    const killed = await killAgainAndAgain(server, [...judgeArgs(server, out), ...FEW], journal, randomFrom(20_262));
    expectNothingLost(killed, server, ROWS);
    const judged = await readFile(join(out, 'judged.jsonl'));
    expect(judged.equals(await readFile(join(undisturbed, 'judged.jsonl')))).toBe(true);
  });
});
