// `awb infer` when things go wrong: what is reported, which exit code it has, and that nothing finished is lost.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { awb, type CliProcess, type CliResult, ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import {
  type Answer,
  deterministicAnswer,
  type Handler,
  type LoopbackServer,
  type SeenRequest,
  startLoopbackServer,
} from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { everythingIn, type MadeUpRow, madeUpRow, madeUpRows, readRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
const children: CliProcess[] = [];

afterEach(async () => {
  for (const { child } of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(...args: Parameters<typeof startLoopbackServer>): Promise<LoopbackServer> {
  const server = await startLoopbackServer(...args);
  servers.push(server);
  return server;
}

function start(args: readonly string[]): CliProcess {
  const process = startAwb(args);
  children.push(process);
  return process;
}

interface Setting {
  readonly server: LoopbackServer;
  readonly args: readonly string[];
  readonly data: string;
  readonly out: string;
  readonly predictions: string;
  readonly journal: string;
  infer(...args: string[]): Promise<CliResult>;
  manifest(): Promise<ReturnType<typeof JSON.parse>>;
}

const SIX = madeUpRows('mcp', 6);

async function setUp(
  script?: Handler | readonly Answer[],
  rows: readonly (MadeUpRow | Record<string, unknown> | string)[] = SIX,
  models?: readonly Record<string, unknown>[],
): Promise<Setting> {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'mcp_test.jsonl': rows });
  const server = await serve(script, models === undefined ? {} : { models });
  const out = join(folder, 'out');
  const args = ['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', '--output-dir', out];
  return {
    server,
    args,
    data,
    out,
    predictions: join(out, 'predictions.jsonl'),
    journal: join(out, 'predictions.journal.jsonl'),
    infer: (...more) => awb([...args, ...more]),
    manifest: async () => JSON.parse(await readFile(join(out, 'predictions.manifest.json'), 'utf8')),
  };
}

const fine = ({ body }: SeenRequest): Answer => ({ content: deterministicAnswer(body.messages) });
const error = (status: number, message: string, more: object = {}): Answer => ({
  status,
  body: { error: { message, ...more } },
});

/** The bytes that an uninterrupted run over the same rows writes. */
async function uninterrupted(rows?: readonly MadeUpRow[]): Promise<string> {
  const run = await setUp(fine, rows);
  expect((await run.infer('--quiet')).code).toBe(0);
  return readFile(run.predictions, 'utf8');
}

describe('unusable data', () => {
  const { task, response, ...noResponse } = madeUpRow('mcp', 1);
  const bad = [
    '{"task": "mcp", ',
    JSON.stringify({ task, ...noResponse }),
    JSON.stringify({ ...madeUpRow('mcp', 2), turn_idx: 3 }),
    JSON.stringify({ ...madeUpRow('mcp', 3), task: 'lwm/two words' }),
    JSON.stringify({ ...madeUpRow('mcp', 4), prompt: 'text', response }),
  ];
  const reasons = [
    /mcp_test\.jsonl:7: not valid JSON/,
    /mcp_test\.jsonl:8: required key "response" is missing/,
    /mcp_test\.jsonl:9: "turn_idx" 3 lies outside "prompt", which has 1 turns/,
    /mcp_test\.jsonl:10: "task" names no domain/,
    /mcp_test\.jsonl:11: "prompt" is not a list of strings/,
  ];

  test('is listed with file, line and reason, and refused before any request', async () => {
    const run = await setUp(fine, [...SIX, ...bad]);
    const { code, stderr, stdout } = await run.infer();
    expect([code, stdout, run.server.count, existsSync(run.out)]).toEqual([65, '', 0, false]);
    for (const reason of reasons) expect(stderr).toMatch(reason);
    expect(stderr).toContain('--skip-invalid');
  });

  test('is left out under --skip-invalid, reported, and counted against coverage', async () => {
    const run = await setUp(fine, [...SIX, ...bad]);
    const { code, stderr, stdout } = await run.infer('--skip-invalid');
    expect([code, run.server.count]).toEqual([3, 6]);
    for (const reason of reasons) expect(stderr).toMatch(reason);
    expect(stdout).toContain('6 of 11 done, 5 unusable');
    expect(await run.manifest()).toMatchObject({
      state: 'incomplete',
      chosen: { mcp: 9, unknown: 2 },
      counts: { chosen: 11, ok: 6, absent: 5, notDone: 0 },
    });
    expect((await run.infer('--skip-invalid', '--quiet')).code).toBe(3);
    expect(run.server.count).toBe(6);
  });

  test('is an error if no row remains', async () => {
    const run = await setUp(fine, bad);
    const { code, stderr } = await run.infer('--skip-invalid');
    expect(code).toBe(65);
    expect(stderr).toContain('5 of 5 rows in');
  });

  test.each([
    ['a missing folder', 'nowhere'],
    ['a folder without benchmark files', '.'],
  ])('%s is missing input', async (_what, name) => {
    const run = await setUp();
    const folder = name === '.' ? await temporaryFolder() : join(run.out, name);
    const { code, stderr } = await run.infer('--data-dir', folder);
    expect(code).toBe(66);
    expect(stderr).toContain('--data-dir');
  });
});

describe('an endpoint that stops the run', () => {
  test('that is down: reported with its address and remedy, and the same command continues when it is up', async () => {
    const run = await setUp(fine);
    const { port } = run.server;
    await run.infer('--limit', '2');
    await run.server.close();
    const down = await run.infer('--max-attempts', '1');
    expect(down.code).toBe(69);
    expect(down.stderr).toContain(`127.0.0.1:${port}`);
    expect(down.stderr).toMatch(/check the base URL and that the server is running/);
    expect(await readRows(run.predictions)).toHaveLength(2);
    expect((await run.manifest()).state).toBe('stopped');
    const up = await serve(fine, { port });
    expect((await run.infer()).code).toBe(0);
    expect(up.count).toBe(4);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });

  test('if one of two is down, no row is lost', async () => {
    const run = await setUp(fine);
    const gone = await serve();
    await gone.close();
    const { code, stderr } = await run.infer('--model-base-url', gone.url, '--max-attempts', '1');
    expect(code).toBe(0);
    expect(stderr).toMatch(/out of service .* its rows go to the other endpoints/);
    expect(run.server.count).toBe(6);
  });

  test.each<[string, Answer, string[], number, RegExp[]]>([
    ['refuses the key', error(401, 'Incorrect API key'), ['--model-api-key', 'sk-wrong'], 77, [/--model-api-key/]],
    ['wants a key', error(401, 'no key'), [], 77, [/an API key is needed.*--model-api-key or AWB_MODEL_API_KEY/]],
    ['denies access', error(403, 'not for you'), [], 77, [/access denied/]],
    [
      'does not know the model',
      error(404, 'The model `wm` does not exist.', { code: 'model_not_found' }),
      [],
      69,
      [/no model "wm"/, /--model-name/, /It has loopback/],
    ],
    [
      'has nothing at this address',
      { status: 404, body: 'Not Found' },
      [],
      69,
      [/base URL: most servers have the API under \/v1/],
    ],
    [
      'has no credit left',
      error(429, 'You exceeded your quota', { code: 'insufficient_quota' }),
      [],
      69,
      [/add credit/],
    ],
    [
      'rejects the temperature',
      error(400, "Unsupported value: 'temperature'", { param: 'temperature' }),
      [],
      2,
      [/--temperature default/, /--allow-param-drop/],
    ],
    [
      'rejects top_k',
      error(400, 'Unrecognized request argument supplied: top_k'),
      ['--top-k', '3'],
      2,
      [/leave out --top-k/],
    ],
    [
      'rejects what --extra-body adds',
      error(400, 'unknown field: magic'),
      ['--extra-body', '{"magic":1}'],
      2,
      [/--extra-body/],
    ],
  ])('because it %s ends the run at its first call', async (_what, answer, args, code, messages) => {
    const run = await setUp([answer]);
    const result = await run.infer('--concurrency', '1', ...args);
    expect([result.code, run.server.count, result.stdout]).toEqual([code, 1, '']);
    for (const message of messages) expect(result.stderr).toMatch(message);
  });

  test('after some rows keeps those', async () => {
    let until = 2;
    const run = await setUp((request) => (request.index >= until ? error(401, 'key revoked') : fine(request)));
    expect((await run.infer('--concurrency', '1')).code).toBe(77);
    expect(await readRows(run.predictions)).toHaveLength(2);
    until = 4;
    expect((await run.infer('--concurrency', '1')).code).toBe(77);
    expect(await readRows(run.predictions)).toHaveLength(3);
    expect(await run.manifest()).toMatchObject({ state: 'stopped', counts: { ok: 3, notDone: 3 } });
    until = Number.POSITIVE_INFINITY;
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count).toBe(8);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });
});

describe('parameters that a server rejects', () => {
  const wantsNewName = (request: SeenRequest): Answer =>
    'max_tokens' in request.body
      ? error(
          400,
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
          {
            code: 'unsupported_parameter',
            param: 'max_tokens',
          },
        )
      : fine(request);
  const noTemperature = (request: SeenRequest): Answer =>
    'temperature' in request.body
      ? error(400, "Unsupported value: 'temperature' does not support 0.6 with this model.", { param: 'temperature' })
      : fine(request);

  test('max_tokens is renamed once for every endpoint, with one notice, and no row is lost', async () => {
    const run = await setUp(wantsNewName, madeUpRows('mcp', 60));
    const other = await serve(wantsNewName);
    const { code, stderr } = await run.infer('--model-base-url', other.url);
    expect(code).toBe(0);
    expect(stderr.match(/sent as max_completion_tokens/g)).toHaveLength(1);
    expect((await run.manifest()).notices).toEqual([expect.stringContaining('max_completion_tokens')]);
    const answered = [...run.server.requests, ...other.requests].filter(({ body }) => 'max_completion_tokens' in body);
    expect(answered).toHaveLength(60);
    for (const { body } of answered) expect([body.max_completion_tokens, 'max_tokens' in body]).toEqual([32768, false]);
    expect((await run.manifest()).identity.sampling).toEqual({ maxTokens: 32768, temperature: 0.6 });
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted(madeUpRows('mcp', 60)));
  });

  test('--allow-param-drop leaves out a rejected parameter everywhere, as part of the identity', async () => {
    const run = await setUp(noTemperature, madeUpRows('mcp', 30));
    const other = await serve(noTemperature);
    const drop = ['--allow-param-drop', '--model-base-url', other.url];
    const first = await run.infer(...drop, '--limit', '20');
    expect(first.code).toBe(0);
    expect(first.stderr.match(/the server rejects temperature/g)).toHaveLength(1);
    expect((await run.manifest()).identity.sampling.dropped).toEqual(['temperature']);
    expect(await readRows(run.predictions)).toHaveLength(20);

    const seen = run.server.count + other.count;
    expect((await run.infer(...drop, '--limit', '20')).code).toBe(0);
    expect(run.server.count + other.count).toBe(seen);

    const without = await run.infer();
    expect(without.code).toBe(78);
    expect(without.stderr).toContain('sampling.dropped: ["temperature"] before, absent now');
    expect(run.server.count + other.count).toBe(seen);

    expect((await run.infer(...drop)).code).toBe(0);
    const later = [...run.server.requests, ...other.requests].filter(({ body }) => 'temperature' in body);
    expect(run.server.count + other.count).toBe(seen + 10);
    // Nothing in the second session was rejected again.
    expect(later.length).toBeLessThanOrEqual(seen - 20);
  });

  test('a dropped parameter is in the manifest before the journal has any row asked without it', async () => {
    const snapshots: { rows: number; dropped: unknown }[] = [];
    let run: Setting | undefined;
    run = await setUp(async (request) => {
      const rows = (await readRows((run as Setting).journal)).length;
      snapshots.push({ rows, dropped: (await (run as Setting).manifest()).identity.sampling.dropped });
      return noTemperature(request);
    });
    expect((await run.infer('--allow-param-drop', '--concurrency', '1')).code).toBe(0);
    const withRows = snapshots.filter(({ rows }) => rows > 0);
    expect(withRows.length).toBeGreaterThan(3);
    for (const { dropped } of withRows) expect(dropped).toEqual(['temperature']);
  });

  test('replies discarded because a parameter was dropped meanwhile are charged to their rows', async () => {
    const costing = { content: 'x', usage: { prompt_tokens: 1, completion_tokens: 1000 } };
    let drop = () => {};
    const dropped = new Promise<void>((resolve) => {
      drop = resolve;
    });
    let replies = 0;
    const run = await setUp(
      async (request) => {
        if ('temperature' in request.body && request.index > 0) return noTemperature(request);
        if ('temperature' in request.body) await dropped;
        else drop();
        replies++;
        return costing;
      },
      ['mcp', 'os', 'web'].map((domain) => madeUpRow(domain, 1)),
    );
    expect((await run.infer('--allow-param-drop', '--concurrency', '2')).code).toBe(0);
    expect(replies).toBeGreaterThan(3);
    expect(await run.manifest()).toMatchObject({
      counts: { ok: 3 },
      tokens: { promptTokens: replies, completionTokens: 1000 * replies },
    });
  });

  test('a second drop causes every row of the session to be asked again, including finished ones', async () => {
    let answered = 0;
    const run = await setUp((request) => {
      if ('temperature' in request.body) return noTemperature(request);
      if ('top_p' in request.body && answered >= 6) return error(400, 'unknown parameter top_p', { param: 'top_p' });
      answered++;
      return fine(request);
    });
    const args = ['--allow-param-drop', '--top-p', '0.9', '--concurrency', '4'];
    expect((await run.infer(...args)).code).toBe(0);
    expect((await run.manifest()).identity.sampling.dropped).toEqual(['temperature', 'top_p']);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
    const bare = run.server.requests.filter(({ body }) => !('top_p' in body) && !('temperature' in body));
    expect(new Set(bare.map(({ body }) => JSON.stringify(body.messages))).size).toBe(6);
  });

  test('a drop after rows of an earlier session is refused, and those rows are kept', async () => {
    let rejects = false;
    const run = await setUp((request) => (rejects ? noTemperature(request) : fine(request)));
    await run.infer('--limit', '2', '--allow-param-drop');
    rejects = true;
    const { code, stderr } = await run.infer('--allow-param-drop');
    expect(code).toBe(78);
    expect(stderr).toMatch(/rejects temperature, but 2 finished rows were asked with it/);
    expect(await readRows(run.predictions)).toHaveLength(2);
    rejects = false;
    expect((await run.infer()).code).toBe(0);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });
});

describe('failures of a row', () => {
  const overflow = error(
    400,
    "This model's maximum context length is 4096 tokens. However, you requested 33768 tokens (1000 in the messages, 32768 in the completion).",
    { code: 'context_length_exceeded' },
  );

  test.each<[string, Answer, string, RegExp]>([
    ['a context overflow', overflow, 'context-overflow', /the context overflows/],
    ['the content filter', { content: 'par', finishReason: 'content_filter' }, 'refused', /content filter/],
    [
      'a refusal',
      { message: { role: 'assistant', content: null, refusal: 'no' }, stream: false },
      'refused',
      /refused/,
    ],
  ])('%s is recorded and not retried', async (_what, answer, failure, reason) => {
    const run = await setUp([answer], [madeUpRow('mcp', 1)]);
    expect((await run.infer()).code).toBe(3);
    expect(run.server.count).toBe(1);
    const [row] = await readRows(run.predictions);
    expect(row).toMatchObject({ gen: '', awb: { status: 'failed', class: failure, flags: [] } });
    expect(row.awb.reason).toMatch(reason);
  });

  test('in GitHub Actions, no server text becomes a command for the runner', async () => {
    const run = await setUp([error(400, 'x\n::error::y ##[error]z')], [madeUpRow('mcp', 1)]);
    const { stdout, stderr } = await awb([...run.args, '--verbose'], { env: { GITHUB_ACTIONS: 'true' } });
    expect(stdout + stderr).toContain('## [error]z');
    expect(stdout + stderr).not.toMatch(/^\s*::|##\[/m);
  });

  test('--fit-max-tokens asks once more with the remaining budget, and flags the row', async () => {
    const run = await setUp(
      (request) => (request.body.max_tokens > 3096 ? overflow : fine(request)),
      [madeUpRow('mcp', 1)],
    );
    expect((await run.infer('--fit-max-tokens')).code).toBe(0);
    expect(run.server.requests.map(({ body }) => body.max_tokens)).toEqual([32768, 3080]);
    const [row] = await readRows(run.predictions);
    expect(row.awb).toMatchObject({ flags: ['fitted-max-tokens'], fitted_max_tokens: 3080 });
    expect((await run.infer()).code).toBe(78);
  });

  describe('an output budget that does not fit next to the prompt', () => {
    const overflows = (step: string) => (request: SeenRequest) =>
      JSON.stringify(request.body).includes(step) && request.body.max_tokens > 3096 ? overflow : fine(request);

    test('costs only the rows concerned if they are many, and --fit-max-tokens asks them', async () => {
      const run = await setUp(overflows('step 2 of'), madeUpRows('mcp', 150));
      const { code, stderr } = await run.infer('--concurrency', '4');
      expect(code).toBe(3);
      expect(stderr).toMatch(
        /prompts fit into the context of 4,096 tokens, but not with --max-tokens 32768: such rows count as missing; add --fit-max-tokens/,
      );
      expect((await run.manifest()).counts.ok).toBe(50);
      expect((await run.infer('--fit-max-tokens')).code).toBe(0);
      expect((await run.manifest()).counts.flags).toEqual({ 'fitted-max-tokens': 100 });
    });

    test('is reported once if the rows are few, and costs only those until it is fitted', async () => {
      const run = await setUp(overflows('step 2 of mcp 3'), madeUpRows('mcp', 60));
      const { code, stderr, stdout } = await run.infer('--concurrency', '2');
      expect([code, stdout]).toEqual([3, expect.stringContaining('58 of 60 done, 2 failed')]);
      expect(stderr.match(/--fit-max-tokens/g)).toHaveLength(1);
      const before = run.server.count;
      expect((await run.infer('--fit-max-tokens')).code).toBe(0);
      expect(run.server.count - before).toBe(4);
    });

    test('stops the run before any row is asked if the server reports its context at /models', async () => {
      const run = await setUp(fine, SIX, [{ id: 'wm', owned_by: 'vllm', max_model_len: 8192 }]);
      const { code, stderr } = await run.infer();
      expect([code, run.server.count]).toEqual([2, 0]);
      expect(stderr).toContain('no row can fit; add --fit-max-tokens');
      expect((await run.infer('--fit-max-tokens')).code).toBe(0);
    });
  });

  test.each<[string, Answer, string[], string]>([
    ['a server that never answers', 'hang', ['--first-token-timeout', '0.1'], '--first-token-timeout'],
    ['a server that sends only heartbeats', 'heartbeats', ['--first-token-timeout', '0.1'], '--first-token-timeout'],
    [
      'a stream that stalls',
      { deltas: [{ content: 'a' }], ending: 'stall' },
      ['--gap-timeout', '0.1'],
      '--gap-timeout',
    ],
    [
      'heartbeats in mid-stream',
      { deltas: [{ content: 'a' }], ending: 'heartbeats' },
      ['--gap-timeout', '0.1'],
      '--gap-timeout',
    ],
    ['a call that takes too long', 'hang', ['--no-stream', '--call-timeout', '0.1'], '--call-timeout'],
  ])('%s runs into a timeout that names itself', async (_what, answer, args, clock) => {
    const run = await setUp([answer], [madeUpRow('mcp', 1)]);
    expect((await run.infer('--max-attempts', '1', ...args)).code).toBe(3);
    const [row] = await readRows(run.predictions);
    expect(row.awb).toMatchObject({ class: 'timeout', reason: expect.stringContaining(clock) });
  });

  test.each<[string, Answer, string]>([
    ['a reset', 'reset', 'transient'],
    ['a 500', error(500, 'oops'), 'transient'],
    ['nonsense', { status: 200, body: 'hello' }, 'malformed'],
    ['a stream that is cut off', { deltas: [{ content: 'a' }], ending: 'cut-off' }, 'malformed'],
  ])(
    '%s on a single row is retried a limited number of times, and the others finish',
    async (_what, answer, failure) => {
      const run = await setUp((request) =>
        JSON.stringify(request.body).includes('step 3 of mcp 1') ? answer : fine(request),
      );
      expect((await run.infer('--max-attempts', '2')).code).toBe(3);
      // Two tries, and one token of an answered row, which shows that the server is up.
      expect(run.server.requests.map(({ body }) => body.max_tokens === 1).filter(Boolean)).toHaveLength(1);
      expect(run.server.count).toBe(8);
      const rows = await readRows(run.predictions);
      expect(rows.map(({ awb: { status } }) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'failed']);
      expect(rows[5].awb.class).toBe(failure);
    },
  );

  test('a failure reads the same in every run', async () => {
    const files = await Promise.all(
      [1, 2].map(async () => {
        const run = await setUp((request) =>
          error(400, `request id: req-${Math.floor(request.index * 7919 + 10 ** 9)} took 1.${request.index} s`),
        );
        await run.infer('--concurrency', '2', '--order', 'random');
        return readFile(run.predictions, 'utf8');
      }),
    );
    expect(files[0]).toBe(files[1]);
  });

  test('a storm of 429 loses no row', async () => {
    const tries = new Map<string, number>();
    const run = await setUp(
      (request) => {
        const row = JSON.stringify(request.body.messages);
        tries.set(row, (tries.get(row) ?? 0) + 1);
        const refused = (tries.get(row) as number) < 3;
        return refused
          ? { ...(error(429, 'slow down') as object), status: 429, headers: { 'retry-after-ms': '5' } }
          : fine(request);
      },
      madeUpRows('mcp', 12),
    );
    // More refusals for each row than it has attempts: refusals do not count.
    expect((await run.infer('--max-attempts', '1')).code).toBe(0);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted(madeUpRows('mcp', 12)));
  });
});

describe('interrupts', () => {
  /** Answers the first calls, then none until it is released. */
  function stalling(after: number) {
    const state = { stalls: true };
    const handler: Handler = (request) => (state.stalls && request.index >= after ? 'hang' : fine(request));
    return { state, handler };
  }

  test('the first one saves what finishes in time, and the same command continues', async () => {
    const stop = new AbortController();
    const run = await setUp((request) => {
      if (request.index === 3) stop.abort('SIGINT');
      return { ...(fine(request) as object), latencyMs: 50 };
    });
    const { code, stdout, stderr } = await awb([...run.args, '--concurrency', '2'], { stop: stop.signal });
    expect(code).toBe(130);
    expect(stdout).toContain('interrupted: all finished work is saved; the same command resumes the run');
    expect(stderr).toContain('interrupt again to stop immediately');
    const kept = await readRows(run.predictions);
    expect(kept).toHaveLength(run.server.count);
    expect((await run.manifest()).state).toBe('interrupted');
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count).toBe(6);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });

  test('SIGINT and SIGTERM end processes with hanging calls within seconds, with their state saved', async () => {
    const endBy = async (signal: NodeJS.Signals, code: number) => {
      const { state, handler } = stalling(4);
      const run = await setUp(handler);
      const { child, ended } = start([...run.args, '--concurrency', '1']);
      await expect.poll(() => run.server.count, { timeout: 25_000 }).toBe(5);
      child.kill(signal);
      expect(await ended).toMatchObject({ code, signal: null, stdout: expect.stringContaining('interrupted:') });
      expect(await readRows(run.predictions)).toHaveLength(4);
      state.stalls = false;
      expect((await run.infer()).code).toBe(0);
      // Only the interrupted row was asked again.
      expect(run.server.count).toBe(7);
      expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
    };
    await Promise.all([endBy('SIGINT', 130), endBy('SIGTERM', 143)]);
  });

  test('a second one ends the run at once, and the same command continues', async () => {
    const { state, handler } = stalling(4);
    const run = await setUp(handler);
    const { child, ended } = start([...run.args, '--concurrency', '1']);
    await expect.poll(() => run.server.count, { timeout: 25_000 }).toBe(5);
    child.kill('SIGINT');
    const again = setInterval(() => child.kill('SIGINT'), 150);
    const { code, stdout, stderr } = await ended;
    clearInterval(again);
    // It did not reach its summary.
    expect([code, stdout]).toEqual([130, '']);
    expect(stderr).toMatch(
      /^awb: stopped immediately: all finished rows are saved; the same command resumes the run$/m,
    );
    state.stalls = false;
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count).toBe(7);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });
});

describe('the run folder', () => {
  test('belongs to one process: a second one is refused and says who has it; a killed one leaves it free', async () => {
    let hangs = true;
    const run = await setUp((request) => (hangs ? 'hang' : fine(request)));
    const { child, ended } = start(run.args);
    await expect.poll(() => run.server.count, { timeout: 25_000 }).toBeGreaterThan(0);
    const second = await run.infer();
    expect(second.code).toBe(73);
    expect(second.stderr).toContain(`process ${child.pid}`);
    child.kill('SIGKILL');
    await ended;
    hangs = false;
    expect((await run.infer()).code).toBe(0);
  });

  test('with a torn last line is repaired, reported, and only that row is asked again', async () => {
    const run = await setUp(fine);
    await run.infer('--limit', '5');
    const journal = await readFile(run.journal);
    await truncate(run.journal, journal.length - 20);
    const { code, stdout, stderr } = await run.infer();
    expect(code).toBe(0);
    expect(stderr).toMatch(/repaired .*cut off a torn last line of \d+ bytes/);
    expect(stdout).toMatch(/note: repaired/);
    expect(run.server.count).toBe(7);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });

  test('with garbage in its journal skips it and says so', async () => {
    const run = await setUp(fine);
    await run.infer('--limit', '3');
    await appendFile(run.journal, '\0\0\0\0\nnull\n{"id":"x","row":null,"log":{}}\n');
    const { code, stderr } = await run.infer();
    expect(code).toBe(0);
    expect(stderr).toMatch(/skipped 3 damaged lines: 4, 5, 6 \(their rows will be asked again\)/);
    expect(run.server.count).toBe(6);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });

  test('killed between its last row and the output file is assembled without asking', async () => {
    const run = await setUp(fine);
    await run.infer('--limit', '2');
    const early = await readFile(run.predictions);
    const manifest = JSON.stringify(await run.manifest());
    await run.infer();
    // What such a process leaves: every row in the journal, with manifest and output as its session found and started them.
    const { output: _, ...begun } = { ...JSON.parse(manifest), state: 'running' };
    await writeFile(join(run.out, 'predictions.manifest.json'), JSON.stringify(begun));
    await writeFile(run.predictions, early);
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count).toBe(6);
    expect(await readFile(run.predictions, 'utf8')).toBe(await uninterrupted());
  });

  test('has no output file in its manifest while rows are asked', async () => {
    const promised: unknown[] = [];
    let run: Setting | undefined;
    run = await setUp(async (request) => {
      promised.push((await (run as Setting).manifest()).output);
      return fine(request);
    });
    await run.infer('--limit', '2');
    await run.infer();
    expect(promised).toEqual(Array(6).fill(undefined));
  });

  test('that cannot be created is reported before anything is asked', async () => {
    const run = await setUp(fine);
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, '');
    const { code, stderr } = await run.infer('--output-dir', join(file, 'out'));
    expect([code, run.server.count]).toEqual([73, 0]);
    expect(stderr).toContain('--output-dir');
  });

  test.each<[string, string]>([
    ['of another kind', '{"schema":"other/9"}'],
    ['that is not JSON', '{"schema":'],
  ])('with a manifest %s is refused', async (_what, text) => {
    const run = await setUp(fine);
    await mkdir(run.out);
    await writeFile(join(run.out, 'predictions.manifest.json'), text);
    const { code } = await run.infer();
    expect([code, run.server.count]).toEqual([65, 0]);
    expect((await run.infer('--fresh')).code).toBe(0);
  });
});

// A file system small enough to fill. Without permission to mount one, the tests below are skipped.
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

describe('a full disk', () => {
  const long = (request: SeenRequest): Answer => ({
    content: `${deterministicAnswer(request.body.messages)}${'.'.repeat(3000)}`,
  });

  /** Runs the command on a tmpfs of this size, then again after making room; returns the results and the final file. */
  async function fillThenMakeRoom(run: Setting, kilobytes: number) {
    const kept = `${run.out}-kept`;
    const script = `
      mkdir -p "$OUT" "$KEPT"; mount -t tmpfs -o size=${kilobytes}k tmpfs "$OUT"
      "$@" 2>"$KEPT/first"; echo $? >"$KEPT/code"; cp "$OUT/predictions.journal.jsonl" "$KEPT/"
      mount -o remount,size=10m "$OUT"
      "$@" >"$KEPT/second" 2>&1; echo $? >>"$KEPT/code"; cp "$OUT/predictions.jsonl" "$KEPT/"`;
    const command = [process.execPath, join(ROOT, 'dist/bin.js'), ...run.args, '--concurrency', '1'];
    const child = spawn('unshare', ['-rm', 'sh', '-c', script, 'sh', ...command], {
      env: { PATH: process.env.PATH, OUT: run.out, KEPT: kept },
      stdio: 'inherit',
    });
    await once(child, 'close');
    const read = (name: string) => readFile(join(kept, name), 'utf8');
    return {
      codes: (await read('code')).trim().split('\n').map(Number),
      stderr: await read('first'),
      finished: (await readRows(join(kept, 'predictions.journal.jsonl'))).length,
      predictions: await read('predictions.jsonl'),
    };
  }

  /** Runs the command with files limited to 64 blocks (of 512 or 1,024 bytes, depending on the shell). */
  async function withSmallFiles(args: readonly string[]) {
    const command = [process.execPath, join(ROOT, 'dist/bin.js'), ...args, '--quiet'];
    const child = spawn('sh', ['-c', 'ulimit -f 64; exec "$@"', 'sh', ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const [code] = await once(child, 'close');
    return { code, stderr };
  }

  test.skipIf(process.platform === 'win32')('or a limit on file sizes leaves what was finished', async () => {
    const run = await setUp(long, madeUpRows('mcp', 30));
    const { code, stderr } = await withSmallFiles([...run.args, '--concurrency', '1']);
    expect(code).toBe(74);
    expect(stderr).toMatch(/cannot write .*predictions\.journal\.jsonl.*run the same command again/);
    const kept = (await readRows(run.journal)).length;
    expect(kept).toBeGreaterThan(5);
    expect((await run.manifest()).counts).toMatchObject({ ok: kept, notDone: 30 - kept });
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count).toBe(31);
  });

  test.skipIf(process.platform === 'win32')('under a baseline ends in the same way', async () => {
    const run = await setUp(fine, madeUpRows('mcp', 900));
    const args = ['infer', '--data-dir', run.data, '--baseline', 'oracle', '--output-dir', run.out];
    const { code, stderr } = await withSmallFiles(args);
    expect(code).toBe(74);
    expect(stderr).toMatch(/^awb: cannot write .*run the same command again\n$/);
    expect((await awb([...args, '--quiet'])).code).toBe(0);
    expect(await readRows(run.predictions)).toHaveLength(900);
  });

  test.skipIf(!canMount).each([
    ['while rows are asked', 100, 20, 29],
    ['while the output file is written', 180, 30, 30],
  ])(
    '%s ends the run with the remedy; with more room, the same command continues',
    async (_what, kilobytes, least, most) => {
      const rows = madeUpRows('mcp', 30);
      const run = await setUp(long, rows);
      const { codes, stderr, finished, predictions } = await fillThenMakeRoom(run, kilobytes);
      expect(codes).toEqual([74, 0]);
      expect(stderr).toMatch(/the disk is full.*run the same command again/);
      expect(finished).toBeGreaterThanOrEqual(least);
      expect(finished).toBeLessThanOrEqual(most);
      // At most the one call whose reply found no room was made twice.
      expect(run.server.count).toBe(finished === 30 ? 30 : 31);
      const whole = await setUp(long, rows);
      await whole.infer('--quiet');
      expect(predictions).toBe(await readFile(whole.predictions, 'utf8'));
    },
  );
});

describe('the API key', () => {
  const key = 'sk-proj-"Ab/C+9=secret\\value';
  const echoes: readonly Answer[] = [
    { content: `your key is ${key}, in JSON ${JSON.stringify(key)}`, reasoning: `it said Bearer ${key}` },
    { deltas: [...key].map((letter) => ({ content: letter })) },
    { content: 'x', model: `model-${key}`, finishReason: key },
    error(400, `bad key ${key}`),
    { status: 400, body: `plain ${key} ${encodeURIComponent(key)}`, headers: { 'x-key': encodeURIComponent(key) } },
    error(500, `oops ${key}`),
    { status: 200, body: `<html><title>${key}</title></html>` },
    { deltas: [{ content: 'a' }], ending: { event: { error: { message: `in the stream ${key}`, code: 400 } } } },
    error(401, `Incorrect API key provided: ${key}`),
  ];

  test.each(echoes.map((answer, index) => [index, answer] as const))(
    'appears nowhere, although the server echoes it (way %i)',
    async (_index, answer) => {
      const run = await setUp([answer], [madeUpRow('mcp', 1), madeUpRow('mcp', 2)]);
      const outputs = [];
      for (const more of [['--verbose'], ['--json'], ['--no-stream']]) {
        const { stdout, stderr } = await run.infer('--model-api-key', key, '--max-attempts', '1', ...more);
        outputs.push(stdout, stderr);
      }
      expect(run.server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
      const everything = [await everythingIn(run.out), ...outputs].join('\n');
      for (const form of [key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key), 'secret\\', 'secret%5C']) {
        expect(everything).not.toContain(form);
      }
    },
  );

  test('in the address appears nowhere either', async () => {
    const run = await setUp(fine);
    const url = run.server.url.replace('http://', 'http://user:hidden-password@');
    const args = ['infer', '--data-dir', run.data, '--model-name', 'wm', '--output-dir', run.out];
    const { code, stdout, stderr } = await awb([...args, '--model-base-url', `${url}?api-key=hidden-query-key`]);
    expect(code).toBe(0);
    expect(run.server.requests[0]?.path).toContain('hidden-query-key');
    expect([await everythingIn(run.out), stdout, stderr].join('\n')).not.toMatch(/hidden/);
  });
});

describe('a key in the extra body', () => {
  const first = 'made-up-"Ab/C+9=first';
  const body = (key: string) => JSON.stringify({ top_k: 5, metadata: { 'X-API-Key': key, token_type_ids: [1] } });
  const sent = ({ body }: SeenRequest) => body.metadata['X-API-Key'];

  test('is sent live, named once, and appears nowhere, although the server echoes it', async () => {
    const echo: Handler = (request) =>
      request.index === 0
        ? { content: `your key is ${sent(request)}`, model: `m-${sent(request)}` }
        : error(400, `bad key ${sent(request)}`);
    const run = await setUp(echo, [madeUpRow('mcp', 1), madeUpRow('mcp', 2)]);
    const keyed = ['--extra-body', body(first)];
    const events = join(run.out, '../events.jsonl');
    const outputs = [];
    for (const more of [['--events', events, '--verbose'], ['--json'], ['--print-config'], ['--dry-run', '--json']]) {
      const { stdout, stderr } = await run.infer(...keyed, ...more);
      expect(stderr.match(/--extra-body: members named like keys .*: metadata\.X-API-Key$/gm)).toHaveLength(1);
      outputs.push(stdout, stderr);
    }
    const batch = join(run.out, '../batch');
    await run.infer(...keyed, '--fresh', '--batch-dir', batch, '--assume-params');
    expect(run.server.requests.map(sent)).toEqual(run.server.requests.map(() => first));
    expect(await readFile(join(batch, 'requests-0001.jsonl'), 'utf8')).toContain(
      '"top_k":5,"metadata":{"token_type_ids":[1]}',
    );
    const everything = [
      await everythingIn(run.out),
      await everythingIn(batch),
      await readFile(events, 'utf8'),
      ...outputs,
    ].join('\n');
    for (const form of [first, JSON.stringify(first).slice(1, -1), 'Ab/C']) expect(everything).not.toContain(form);
  });

  test('may change in a run that was started without one', async () => {
    const run = await setUp(({ index, ...request }) => (index < 3 ? error(400, 'no') : fine({ index, ...request })));
    for (const key of [undefined, first, 'made-up-second']) {
      const { stderr } = await run.infer(
        ...(key === undefined ? [] : ['--extra-body', JSON.stringify({ api_key: key })]),
      );
      expect(stderr).not.toContain('different settings');
    }
    expect((await run.manifest()).counts.ok).toBe(6);
  });

  test('is not shown if the body is not JSON', async () => {
    const run = await setUp(fine);
    const { code, stderr } = await run.infer('--extra-body', '{"api_key": made-up-key}');
    expect([code, stderr]).toEqual([2, 'awb: --extra-body: expected a JSON object such as {"top_k": 20}\n']);
  });
});

describe('what is printed over the recorded rows', () => {
  async function hold(name: string, script: Handler, at: (url: string) => string, model: string) {
    const server = await serve(script, { models: ['tiny-17d553682c66e914', '6f1c2e4ab79d4d0c8f11', 'step-30s'] });
    const out = await temporaryFolder();
    const words = ['--data-dir', 'fixtures/recorded', '--limit', '1', '--output-dir', out, '--model-name', model];
    const { code, stdout, stderr } = await awb(['infer', ...words, '--model-base-url', at(server.url)]);
    // How far it got by then differs from run to run.
    const told = stderr.replace(/^infer \d.*\n/gm, '');
    const text = `${stdout}--- stderr\n${told}--- exit ${code}\n`.replace(/\d+\.\d s$/m, '<time>');
    await holdText(name, text, { [out]: '<out>', [`127.0.0.1:${server.port}`]: '<host>' });
    return { server, out };
  }

  test('when the base URL ends with the path of a call', async () => {
    const script: Handler = (request) =>
      /^\/v1\/chat\/completions(\?|$)/.test(request.path) ? fine(request) : { status: 404, body: 'page not found' };
    await hold('infer-url-of-a-call', script, (url) => `${url}/chat/completions?a=b`, 'wm');
  });

  test('when a server names its models', async () => {
    const script: Handler = ({ body }) =>
      error(404, `model not found: "${body.model}" is not served; this server has 'tiny-17d553682c66e914'`);
    await hold('infer-unknown-model', script, (url) => url, 'tiny-17d553682c66e915');
  });
});
