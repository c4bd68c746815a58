// `awb likelihood` from outside: figures of models with a known likelihood, what is asked and written, and how a run continues.

import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, type CliResult, temporaryFolder } from '../support/cli.js';
import { start } from '../support/engine.js';
import { biasedModel, uniformModel } from '../support/known-likelihood.js';
import {
  type Handler,
  type LoopbackServer,
  type PlainAnswer,
  type SeenRequest,
  startLoopbackServer,
} from '../support/loopback-server.js';
import { type MadeUpRow, madeUpRow, madeUpRows, readRows, writeDataset } from '../support/run-folder.js';
import { serve } from '../support/scripted-server.js';

const models = await mkdtemp(join(tmpdir(), 'awb-known-'));
const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function setUp(rows: readonly MadeUpRow[], url: string, ...own: string[]) {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'a_test.jsonl': rows });
  const out = join(folder, 'out');
  const args = ['--data-dir', data, '--model-base-url', url, '--model-name', 'tiny', '--output-dir', out, ...own];
  return {
    out,
    db: join(folder, 'runs.sqlite'),
    file: join(out, 'likelihood.jsonl'),
    measure: (...more: string[]): Promise<CliResult> => awb(['likelihood', ...args, ...more]),
  };
}

/** A row whose truth is this text. */
function withTruth(truth: string, id = 1): MadeUpRow {
  return { ...madeUpRow('mcp', id), response: [`**Environment Observation:**\n${truth}`] };
}

/** Texts that end at token boundaries, so their tokens are the same inside the tag. */
const TRUTHS = ['ok 3 files', '{"status": "done", "rows": 12}\nnext', 'Straße nach Zürich 😀 x'];

describe('on a model with a known likelihood', () => {
  test.each([
    ['every token is equally likely', uniformModel],
    ['each token has its own likelihood', biasedModel],
  ])('bits per byte are exact if %s', async (_what, make) => {
    const { path, nats } = await make(models);
    const server = await serve((await start(path)).engine);
    const { measure, file } = await setUp(TRUTHS.map(withTruth), `${server.url}/v1`);
    expect((await measure()).code).toBe(EXIT.done);
    const rows = await readRows(file);
    expect(rows).toHaveLength(TRUTHS.length);
    for (const [index, truth] of TRUTHS.entries()) {
      const response = await fetch(`${server.url}/tokenize`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ prompt: truth }),
      });
      const { tokens } = (await response.json()) as { tokens: number[] };
      const cost = tokens.reduce((sum, token) => sum + nats(token), 0);
      const { measures, judge } = rows[index].awb;
      expect(measures.bits_per_byte).toBeCloseTo(cost / Math.log(2) / Buffer.byteLength(truth), 5);
      expect(measures.nats_per_token).toBeCloseTo(cost / tokens.length, 5);
      expect(judge.truth).toMatchObject({ tokens: tokens.length, bytes: Buffer.byteLength(truth) });
    }
  });
});

/** Answers like vLLM: one token per word, and each costs two nats; the first has no probability. */
const vllm: Handler = ({ body }: SeenRequest) => {
  const text = body.messages
    .map(({ role, content }: Record<string, string>) => `<|${role}|>${content}<|end|>`)
    .join('');
  const tokens = text.match(/\s*[^\s<>]+|[<>]|\s+/g) ?? [];
  const told = tokens.map((decoded_token: string, place: number) => ({
    [place + 9]: { logprob: -2, rank: 4, decoded_token },
  }));
  return {
    status: 200,
    body: {
      object: 'chat.completion',
      model: 'tiny',
      choices: [{ index: 0, message: { role: 'assistant', content: '!' }, finish_reason: 'length' }],
      usage: { prompt_tokens: tokens.length, completion_tokens: 1, total_tokens: tokens.length + 1 },
      prompt_logprobs: [null, ...told.slice(1)],
    },
  };
};

async function loopback(script: Handler): Promise<LoopbackServer> {
  const server = await startLoopbackServer(script);
  servers.push(server);
  return server;
}

describe('a run', () => {
  test('asks each row once for the truth after the messages of infer, and writes what score, tables and SQLite read', async () => {
    const server = await loopback(vllm);
    const rows = madeUpRows('mcp', 6);
    const { measure, file, out, db } = await setUp(rows, server.url, '--label', 'step-1', '--meta', 'step=1');
    const { code, stdout } = await measure();
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain('true observations: 6 of 6 done');
    expect(server.count).toBe(6);
    const first = server.requests.find(({ body }) =>
      body.messages[2]?.content.endsWith('result 1 of mcp 0\n</predicted_observation>'),
    );
    expect(first?.body).toEqual({
      model: 'tiny',
      messages: [
        { role: 'system', content: rows[0]?.system_str },
        { role: 'user', content: rows[0]?.prompt[0] },
        { role: 'assistant', content: '<predicted_observation>\nresult 1 of mcp 0\n</predicted_observation>' },
      ],
      max_tokens: 1,
      temperature: 0,
      add_generation_prompt: false,
      prompt_logprobs: 0,
    });
    const written = await readRows(file);
    // `result 1 of mcp 0`: five words of two nats each, 17 bytes.
    expect(written[0]).toMatchObject({
      task: 'lwm/mcp',
      awb: { measures: { nats_per_token: 2 }, judge: { status: 'ok', truth: { nats: 10, tokens: 5, bytes: 17 } } },
    });
    expect(written[0].awb.measures.bits_per_byte).toBeCloseTo(10 / Math.log(2) / 17, 12);
    const manifest = JSON.parse(await readFile(join(out, 'likelihood.manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({
      kind: 'likelihood',
      label: 'step-1',
      identity: { mode: 'likelihood', protocol: 'history' },
    });

    const scored = await awb(['score', '--predictions', file, '--db', db, '--json']);
    expect(scored.code).toBe(EXIT.done);
    const document = JSON.parse(scored.stdout);
    expect(document.run).toMatchObject({ label: 'step-1', kind: 'likelihood', world_model: 'tiny' });
    expect(document.overall_measures ?? document.overall.measures).toMatchObject({ nats_per_token: { value: 2 } });
    const shown = await awb(['leaderboard', '--db', db]);
    expect(shown.stdout).toContain('bits_per_byte');
    const text = await awb(['score', '--predictions', file, '--db', db]);
    expect(text.stdout).toContain('smaller is better');
    const page = await awb(['report', '--run', 'step-1', '--db', db, '--output', join(out, 'report.html')]);
    expect(page.code).toBe(EXIT.done);
    expect(await readFile(join(out, 'report.html'), 'utf8')).toContain('bits_per_byte');
  });

  test('that is repeated asks nothing that is done, asks failed rows again, and ends like one that never failed', async () => {
    let isDown = true;
    const flaky = await loopback((request) =>
      isDown && request.body.messages.at(-1).content.includes('mcp 1')
        ? { status: 400, body: { error: { message: 'no' } } }
        : vllm(request),
    );
    const { measure, file } = await setUp(madeUpRows('mcp', 6), flaky.url);
    const broken = await measure();
    expect(broken.code).toBe(EXIT.incomplete);
    const asked = flaky.count;
    isDown = false;
    expect((await measure()).code).toBe(EXIT.done);
    expect(flaky.count).toBe(asked + 3);
    const whole = await setUp(madeUpRows('mcp', 6), flaky.url);
    await whole.measure();
    expect(await readFile(file, 'utf8')).toBe(await readFile(whole.file, 'utf8'));
    await measure();
    expect(flaky.count).toBe(asked + 3 + 6);
  });

  test('exceeds its budget by less than one row, with as many rows in flight as fit', async () => {
    const server = await loopback((request) => ({ ...(vllm(request) as PlainAnswer), latencyMs: 30 }));
    const { measure } = await setUp(madeUpRows('mcp', 40), server.url);
    const { code, stdout } = await measure('--budget-tokens', '1500', '--concurrency', '32', '--json');
    const { spent, asked } = JSON.parse(stdout);
    expect(code).toBe(EXIT.later);
    expect(spent.tokens).toBeGreaterThanOrEqual(1_500);
    expect(spent.tokens).toBeLessThan(1_500 + Math.ceil((2 * spent.tokens) / asked));
    expect(server.maxInFlight).toBeGreaterThan(1);
  });

  test('leaves out rows that do not fit in the context, and counts them', async () => {
    const { path } = await uniformModel(models);
    const server = await serve((await start(path, { contextSize: 1024 })).engine);
    const { measure, file } = await setUp([withTruth('ok'), withTruth('x'.repeat(5000), 2)], `${server.url}/v1`);
    const { code, stdout, stderr } = await measure();
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toContain('failed: context-overflow 1');
    expect(stderr).toContain('will probably not fit into the context of 1,024 tokens');
    const rows = await readRows(file);
    expect(rows[1].awb).toMatchObject({ judge: { status: 'failed', class: 'context-overflow' } });
    expect(rows[1].awb.measures).toBeUndefined();
  });

  test("under another protocol writes to none of this run's files", async () => {
    const server = await loopback(vllm);
    const { measure } = await setUp(madeUpRows('mcp', 2), server.url);
    await measure();
    const other = await measure('--protocol', 'blind');
    expect(other.code).toBe(EXIT.identityDiffers);
    expect(other.stderr).toContain('protocol: "history" before, "blind" now');
  });

  test('is billed before it is asked, with one output token per row', async () => {
    const server = await loopback(vllm);
    const { measure } = await setUp(madeUpRows('mcp', 6), server.url);
    const { code, stdout } = await measure('--dry-run', '--json');
    expect(code).toBe(EXIT.done);
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'likelihood', max_tokens: 1 });
    expect(server.count).toBe(0);
  });

  test('stops at a server without probabilities after the first calls, and says what is needed', async () => {
    const server = await loopback(() => ({ content: 'hello' }));
    const { measure } = await setUp(madeUpRows('mcp', 6), server.url, '--concurrency', '1');
    const { code, stderr } = await measure();
    expect(code).toBe(EXIT.unavailable);
    expect(stderr).toContain('no prompt_logprobs');
    expect(stderr).toContain('awb serve');
    expect(server.count).toBe(1);
  });
});
