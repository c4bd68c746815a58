// A judging over the Files and Batches API, and one that is answered here: both end like a live one.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { type BatchEnd, batchReply, startBatchServer } from '../support/batch-server.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { caseIn, marked, type Row } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const SCORES = ['format', 'factuality', 'consistency', 'realism', 'quality'];
const TOO_LONG = {
  error: { message: "This model's maximum context length is 4096 tokens", code: 'context_length_exceeded' },
};

/** The judge's reply about a row: mostly a verdict, sometimes at first unreadable text, or an error that the row is too long. */
function verdictOn(body: Row): string | undefined {
  const { seed } = body;
  const hash = createHash('sha256').update(caseIn(body)).digest('hex');
  const kind = Number.parseInt(hash.slice(6, 8), 16) % 6;
  if (kind === 0) return undefined;
  if (kind === 1 && seed === 5) return 'I would rather not say.';
  const scores = SCORES.map((name, at) => [name, 1 + (Number.parseInt(hash[at] ?? '0', 16) % 5)]);
  const verdict = JSON.stringify({ scores: Object.fromEntries(scores), strengths: ['s'], weaknesses: ['w'] });
  return marked(`<final_evaluation>${verdict}</final_evaluation>`, { body });
}

let judge: LoopbackServer;
let predictions: string;
let live: string;

const judgeArgs = (output: string) => [
  ...['judge', '--predictions', predictions, '--output-dir', output, '--judge-base-url', judge.url],
  ...['--judge-model', 'loopback-1', '--seed', '5', '--quiet', '--judge-repeats', '2'],
];

beforeAll(async () => {
  judge = await startLoopbackServer(({ body }) => {
    const content = verdictOn(body);
    return content === undefined ? { status: 400, body: TOO_LONG } : { content };
  });
  const rows = { 'mcp_test.jsonl': madeUpRows('mcp', 10), 'terminal_test.jsonl': madeUpRows('terminal', 10) };
  const data = await writeDataset(await temporaryFolder(), rows);
  const world = await temporaryFolder();
  await awb(['infer', '--data-dir', data, '--output-dir', world, '--baseline', 'oracle', '--quiet']);
  predictions = join(world, 'predictions.jsonl');
  live = await temporaryFolder();
  const judged = await awb(judgeArgs(live));
  expect(judged.stdout).toContain('context-overflow');
});

afterAll(() => judge.close());

/** Judges with batch files until nothing is awaited; `answer` answers the requests of each round. */
async function judgeByBatch(answer: (dir: string) => Promise<void>): Promise<string> {
  const output = await temporaryFolder();
  const dir = join(output, 'batch');
  for (let round = 0; ; round++) {
    const { code } = await awb([...judgeArgs(output), '--batch-dir', dir]);
    if (code !== EXIT.later) break;
    expect(round).toBeLessThan(8);
    await answer(dir);
  }
  return readFile(join(output, 'judged.jsonl'), 'utf8');
}

describe('a judging with batch files', () => {
  test('over an API that expires, refuses, fails in part and mixes the order ends like a live one', async () => {
    const ends: BatchEnd[] = [
      { status: 'failed', errors: [{ code: 'server_error', message: 'try again' }] },
      { status: 'expired', answered: 7 },
    ];
    const api = await startBatchServer({
      key: 'sk-secret-0123456789',
      answer(body) {
        const content = verdictOn(body);
        return content === undefined ? { status: 400, body: TOO_LONG } : batchReply(content);
      },
      end: (batch) => ends[batch] ?? { status: 'completed' },
      trouble: ({ index }) => (index % 7 === 6 ? { status: 503, headers: { 'retry-after-ms': '1' } } : undefined),
    });
    try {
      const env = { AWB_API_KEY: 'sk-secret-0123456789', AWB_BASE_URL: api.url, AWB_POLL: '0.01' };
      const judged = await judgeByBatch(async (dir) => {
        const { code } = await awb(['batch', 'submit', dir, '--wait'], { env });
        if (code === EXIT.incomplete) {
          expect((await awb(['batch', 'submit', dir, '--wait', '--again'], { env })).code).toBe(EXIT.done);
        } else {
          expect(code).toBe(EXIT.done);
        }
        expect((await awb(['batch', 'fetch', dir], { env })).code).toBe(EXIT.done);
      });
      expect(judged).toBe(await readFile(join(live, 'judged.jsonl'), 'utf8'));
      expect(api.batches.map(({ status }) => status).slice(0, 3)).toEqual(['failed', 'expired', 'completed']);
    } finally {
      await api.close();
    }
  });

  test('that awb batch run answers ends like a live one', async () => {
    const judged = await judgeByBatch(async (dir) => {
      expect((await awb(['batch', 'run', dir, '--model-base-url', judge.url])).code).toBe(EXIT.done);
    });
    expect(judged).toBe(await readFile(join(live, 'judged.jsonl'), 'utf8'));
  });
});
