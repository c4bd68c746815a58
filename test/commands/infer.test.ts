// `awb infer` from outside: what the server gets, what is written, and how a run continues.

import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, type CliResult, RECORDED, temporaryFolder } from '../support/cli.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { madeUpRow, madeUpRows, readRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];

async function serve(...script: Parameters<typeof startLoopbackServer>): Promise<LoopbackServer> {
  const server = await startLoopbackServer(...script);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

interface Setting {
  readonly server: LoopbackServer;
  readonly data: string;
  readonly out: string;
  readonly predictions: string;
  /** Runs `awb infer` on it with these additional arguments. */
  infer(...args: (string | Parameters<typeof awb>[1])[]): Promise<CliResult>;
}

async function setUp(files: Parameters<typeof writeDataset>[1], script?: Handler): Promise<Setting> {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), files);
  const server = await serve(script);
  const out = join(folder, 'out');
  const own = ['--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', '--output-dir', out];
  return {
    server,
    data,
    out,
    predictions: join(out, 'predictions.jsonl'),
    infer: (...args) => {
      const flags = args.filter((arg) => typeof arg === 'string');
      const options = args.find((arg) => typeof arg === 'object');
      return awb(['infer', ...own, ...flags], options);
    },
  };
}

const MCP = { 'mcp_test.jsonl': madeUpRows('mcp', 6) };
const TWO_DOMAINS = { 'a_test.jsonl': madeUpRows('mcp', 6), 'b_test.jsonl': madeUpRows('terminal', 9) };

async function manifestOf(out: string) {
  return JSON.parse(await readFile(join(out, 'predictions.manifest.json'), 'utf8'));
}

/** The official script's messages, rebuilt here from its description. */
function officialMessages(row: { prompt: string[]; response: string[]; system_str?: string | null; turn_idx: number }) {
  const history = row.prompt.slice(0, row.turn_idx - 1).flatMap((prompt, index) => [
    { role: 'user', content: prompt },
    { role: 'assistant', content: row.response[index] },
  ]);
  const system = row.system_str ? [{ role: 'system', content: row.system_str }] : [];
  return [...system, ...history, { role: 'user', content: row.prompt[row.turn_idx - 1] }];
}

function recordedRows() {
  const names = ['android', 'mcp', 'os', 'search', 'swe', 'terminal', 'web'];
  return names.flatMap((name) =>
    readFileSync(join(RECORDED, `${name}_test.jsonl`), 'utf8')
      .split('\n')
      .filter((line) => line !== ''),
  );
}

describe('what the server gets', () => {
  test("the official script's flags send the official body and nothing else, row for row", async () => {
    const server = await serve();
    const out = await temporaryFolder();
    const official = ['--data-dir', RECORDED, '--model-base-url', server.url, '--model-name', 'wm'];
    const more = ['--model-api-key', 'EMPTY', '--max-tokens', '32768', '--temperature', '0.6', '--output-dir', out];
    const { code } = await awb(['infer', ...official, ...more, '--no-stream', '--order', 'file', '--concurrency', '1']);
    expect(code).toBe(0);
    const expected = recordedRows().map((line) => ({
      model: 'wm',
      messages: officialMessages(JSON.parse(line)),
      max_tokens: 32768,
      temperature: 0.6,
    }));
    // Rows of one trajectory are asked together, so the bodies are compared as sets.
    const sorted = (bodies: readonly unknown[]) => bodies.map((body) => JSON.stringify(body)).sort();
    expect(sorted(server.requests.map(({ body }) => body))).toEqual(sorted(expected));
    expect(new Set(server.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer EMPTY']));
    expect(new Set(server.requests.map(({ path }) => path))).toEqual(new Set(['/v1/chat/completions']));
  });

  test('streaming, the default, adds only stream and stream_options', async () => {
    const run = await setUp({ 'mcp_test.jsonl': [madeUpRow('mcp', 1, 2)] });
    await run.infer();
    const { messages, ...rest } = run.server.requests[0]?.body ?? {};
    expect(messages).toEqual(officialMessages(madeUpRow('mcp', 1, 2) as never));
    expect(rest).toEqual({
      model: 'wm',
      max_tokens: 32768,
      temperature: 0.6,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test.each<[string[], Record<string, unknown>, string[]]>([
    [['--temperature', 'default'], { max_tokens: 32768 }, ['temperature']],
    [['--preset', 'model-card'], { temperature: 0.6, top_p: 0.95, top_k: 20 }, ['min_p', 'seed']],
    [['--preset', 'model-card', '--top-k', '5'], { top_p: 0.95, top_k: 5 }, []],
    [['--min-p', '0.1', '--presence-penalty', '1'], { min_p: 0.1, presence_penalty: 1 }, ['top_p', 'top_k']],
    [['--reasoning-effort', 'low', '--max-tokens', '7'], { reasoning_effort: 'low', max_tokens: 7 }, []],
    [['--extra-body', '{"chat_template_kwargs":{"a":1}}'], { chat_template_kwargs: { a: 1 } }, []],
  ])('%j sends %j', async (args, sent, absent) => {
    const run = await setUp({ 'mcp_test.jsonl': [madeUpRow('mcp', 1)] });
    expect((await run.infer(...args)).code).toBe(0);
    const body = run.server.requests[0]?.body;
    expect(body).toMatchObject(sent);
    for (const name of absent) expect(body).not.toHaveProperty(name);
  });

  test.each([
    ['history-bare', ['step 1', 'result 1', 'step 2']],
    ['blind', ['step 2']],
  ])('--protocol %s sends %j', async (protocol, contents) => {
    const run = await setUp({ 'mcp_test.jsonl': [madeUpRow('mcp', 1, 2)] });
    await run.infer('--protocol', protocol);
    const messages = run.server.requests[0]?.body.messages.slice(1);
    expect(messages.map(({ content }: { content: string }) => /(?:step|result) \d/.exec(content)?.[0])).toEqual(
      contents,
    );
    expect(JSON.stringify(messages)).not.toContain('Please analyze');
  });

  test("a row without system_str is sent without one; --system-prompt bundled sends the domain's and says so", async () => {
    const rows = {
      'mcp_test.jsonl': [
        { ...madeUpRow('mcp', 1), system_str: '' },
        { ...madeUpRow('mcp', 2), system_str: null },
      ],
    };
    const bare = await setUp(rows);
    await bare.infer();
    expect(bare.server.requests.map(({ body }) => body.messages[0].role)).toEqual(['user', 'user']);
    const bundled = await setUp(rows);
    const { stderr } = await bundled.infer('--system-prompt', 'bundled');
    expect(bundled.server.requests.map(({ body }) => body.messages[0].role)).toEqual(['system', 'system']);
    expect(bundled.server.requests[0]?.body.messages[0].content.length).toBeGreaterThan(200);
    expect(stderr).toContain('--system-prompt bundled');
  });

  test('a key is sent as bearer token, and OPENAI_API_KEY is not sent to other hosts', async () => {
    const run = await setUp(MCP);
    const own = ['--data-dir', run.data, '--model-base-url', run.server.url, '--model-name', 'wm', '--limit', '1'];
    const ask = (out: string, ...args: string[]) =>
      awb(['infer', ...own, '--output-dir', join(run.out, out), ...args], {
        env: { OPENAI_API_KEY: 'sk-openai-secret', ...(out === 'c' ? { AWB_MODEL_API_KEY: 'sk-environment' } : {}) },
      });
    await ask('a');
    await ask('b', '--model-api-key', 'sk-own-key');
    await ask('c');
    expect(run.server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer EMPTY',
      'Bearer sk-own-key',
      'Bearer sk-environment',
    ]);
    expect(run.server.requests.some(({ headers }) => JSON.stringify(headers).includes('openai-secret'))).toBe(false);
  });

  test('with --seed, every repeat has its own seed, the same in every run', async () => {
    const seeds = async () => {
      const run = await setUp({ 'mcp_test.jsonl': madeUpRows('mcp', 2) });
      await run.infer('--seed', '7', '--repeats', '3', '--concurrency', '1');
      return run.server.requests.map(({ body }) => body.seed);
    };
    const first = await seeds();
    expect(first).toHaveLength(6);
    expect(new Set(first).size).toBe(3);
    expect(first[0]).toBe(7);
    expect(await seeds()).toEqual(first);
  });

  test('turns of a trajectory are asked one after the other, shortest prefix first', async () => {
    const run = await setUp({ 'mcp_test.jsonl': [...madeUpRows('mcp', 6)].reverse() });
    await run.infer('--concurrency', '1');
    const asked = run.server.requests.map(({ body }) => /step (\d) of mcp (\d)/.exec(body.messages.at(-1).content));
    expect(asked.map((match) => `${match?.[2]}/${match?.[1]}`)).toEqual(['1/1', '1/2', '1/3', '0/1', '0/2', '0/3']);
  });

  test('--concurrency is reached and never exceeded, per endpoint', async () => {
    const run = await setUp({ 'mcp_test.jsonl': Array.from({ length: 12 }, (_, id) => madeUpRow('mcp', id)) }, () => ({
      content: 'x',
      latencyMs: 30,
    }));
    const other = await serve(() => ({ content: 'x', latencyMs: 30 }));
    await run.infer('--model-base-url', other.url, '--concurrency', '3');
    expect([run.server.maxInFlight, other.maxInFlight]).toEqual([3, 3]);
    expect(run.server.count + other.count).toBe(12);
  });
});

/** Runs `awb infer` on these files; returns the result, the written rows and the requests. */
async function asked(files: Parameters<typeof writeDataset>[1], ...args: string[]) {
  const run = await setUp(files);
  const result = await run.infer(...args);
  const rows = result.code === 0 ? await readRows(run.predictions) : [];
  return {
    ...result,
    rows: rows.map(({ task, id, turn_idx }) => `${task}/${id}/${turn_idx}`),
    count: run.server.count,
  };
}

describe('which rows', () => {
  test.each<[string[], string[]]>([
    [
      ['--domains', 'terminal', '--limit', '2'],
      ['lwm/terminal/0/1', 'lwm/terminal/0/2'],
    ],
    [
      ['--limit', '1'],
      ['lwm/mcp/0/1', 'lwm/terminal/0/1'],
    ],
    [
      ['--ids', '1', '--domains', 'mcp'],
      ['lwm/mcp/1/1', 'lwm/mcp/1/2', 'lwm/mcp/1/3'],
    ],
  ])('%j asks only %j', async (args, rows) => {
    const result = await asked(TWO_DOMAINS, ...args);
    expect(result.rows).toEqual(rows);
    expect(result.count).toBe(rows.length);
  });

  test('--sample takes N rows of each domain, the same ones for the same seed', async () => {
    const first = await asked(TWO_DOMAINS, '--sample', '3', '--sample-seed', '5');
    const again = await asked(TWO_DOMAINS, '--sample', '3', '--sample-seed', '5');
    const other = await asked(TWO_DOMAINS, '--sample', '3', '--sample-seed', '6');
    expect(first.rows.filter((row) => row.includes('mcp'))).toHaveLength(3);
    expect(first.rows.filter((row) => row.includes('terminal'))).toHaveLength(3);
    expect(again.rows).toEqual(first.rows);
    expect(other.rows).not.toEqual(first.rows);
  });

  test('shards are disjoint, consist of complete trajectories, and together contain everything', async () => {
    const shards = await Promise.all(['1/3', '2/3', '3/3'].map((shard) => asked(TWO_DOMAINS, '--shard', shard)));
    const all = shards.flatMap(({ rows }) => rows);
    expect(all).toHaveLength(15);
    expect(new Set(all).size).toBe(15);
    for (const { rows } of shards) {
      const trajectories = new Set(rows.map((row) => row.slice(0, -2)));
      expect(rows).toHaveLength(trajectories.size * 3);
    }
  });

  test.each<[string[], RegExp]>([
    [['--domains', 'termnal'], /unknown domain "termnal"/],
    [['--ids', 'nobody'], /no chosen row has id or key nobody/],
    [['--shard', '4/3'], /I\/N/],
    [['--baseline', 'oracle'], /give one world model/],
  ])('%j is refused as misuse before any request', async (args, message) => {
    const result = await asked(TWO_DOMAINS, ...args);
    expect([result.code, result.count]).toEqual([2, 0]);
    expect(result.stderr).toMatch(message);
  });
});

describe('a domain outside the seven', () => {
  const CHESS = { 'a_test.jsonl': [madeUpRow('chess', 1), madeUpRow('mcp', 2)] };

  test('is asked, and chosen by name; for a mistyped one, the nearest name is suggested', async () => {
    const all = await asked(CHESS);
    expect([all.code, all.rows]).toEqual([0, ['lwm/chess/1/1', 'lwm/mcp/2/1']]);
    const one = await asked(CHESS, '--domains', 'chess');
    expect([one.code, one.rows]).toEqual([0, ['lwm/chess/1/1']]);
    const mistyped = await asked(CHESS, '--domains', 'ches');
    expect([mistyped.code, mistyped.count]).toEqual([2, 0]);
    expect(mistyped.stderr).toContain('did you mean "chess"?');
  });

  test('has no bundled system prompt, which is reported before any request', async () => {
    const { code, count, stderr } = await asked(CHESS, '--system-prompt', 'bundled');
    expect([code, count]).toEqual([65, 0]);
    expect(stderr).toMatch(/a_test\.jsonl:1: there is no bundled system prompt for the domain "chess"/);
  });

  test('is measured, and refused by a judge whose rubric pack does not know it', async () => {
    const run = await setUp(CHESS);
    expect((await run.infer()).code).toBe(0);
    const judge = ['judge', '--predictions', run.predictions, '--output-dir', run.out];
    const measured = await awb([...judge, '--mode', 'metrics']);
    expect([measured.code, measured.stdout]).toEqual([0, expect.stringContaining('2 of 2 done')]);
    const judged = await awb([...judge, '--judge-base-url', run.server.url, '--judge-model', 'j']);
    expect(judged.code).toBe(65);
    expect(judged.stderr).toMatch(/predictions\.jsonl:1: .*no prompt for the domain "chess"/);
  });
});

describe('an output that differs from what was written', () => {
  test('is reported by every reader, and rewritten by the same command', async () => {
    const run = await setUp({ 'a_test.jsonl': madeUpRows('mcp', 2) });
    await run.infer();
    const whole = await readFile(run.predictions, 'utf8');
    const measure = () =>
      awb(['judge', '--mode', 'metrics', '--predictions', run.predictions, '--output-dir', run.out]);
    expect((await measure()).stderr).not.toContain('edited or damaged');
    await writeFile(run.predictions, whole.replace(/"gen":"./, '"gen":"~'));
    expect((await measure()).stderr).toContain('predictions.jsonl was edited or damaged since awb infer wrote it');
    expect((await run.infer()).code).toBe(0);
    expect(await readFile(run.predictions, 'utf8')).toBe(whole);

    const judged = join(run.out, 'judged.jsonl');
    await measure();
    await writeFile(judged, (await readFile(judged, 'utf8')).replace(/"chrf":\d/, '"chrf":1'));
    const scored = await awb(['score', '--predictions', judged, '--db', join(run.out, 'db.sqlite')]);
    expect(scored.stderr).toContain('judged.jsonl was edited or damaged since awb judge wrote it');
  });

  test('whose manifest was changed is reported, whatever was changed in it', async () => {
    const run = await setUp({ 'a_test.jsonl': madeUpRows('mcp', 2) });
    await run.infer();
    const measure = ['judge', '--mode', 'metrics', '--predictions', run.predictions, '--output-dir', run.out];
    await awb(measure);
    const judged = join(run.out, 'judged.jsonl');
    const path = join(run.out, 'judged.manifest.json');
    const score = () => awb(['score', '--predictions', judged, '--db', join(run.out, 'db.sqlite')]);
    expect((await score()).stderr).not.toContain('edited or damaged');
    const whole = await readFile(path, 'utf8');
    for (const [from, to] of [
      ['"mcp": 2', '"mcp": 3'],
      ['"model": "', '"model": "~'],
      ['"ok": 2', '"ok": 1'],
    ] as const) {
      expect(whole).toContain(from);
      await writeFile(path, whole.replace(from, to));
      expect((await score()).stderr).toContain('the manifest of');
    }
    await awb(measure);
    expect((await score()).stderr).not.toContain('edited or damaged');
  });
});

describe('what is written', () => {
  test("each row keeps its own bytes, in input order, and gets gen and awb; the input's own gen and awb are replaced", async () => {
    const lines = [
      '{"task": "x/mcp","id":300000000000000123,  "prompt":["p\\u00e9"], "response":["r"], "turn_idx":1, "extra": 1.10 }',
      '',
      '{"gen":"old","task":"mcp","id":"s","prompt":["q"],"response":["r"],"turn_idx":1,"awb":{"key":"no"},"current_prompt":null}\r',
      '{"task":"mcp","id":"\u2028","prompt":["q\u2028"],"response":["r"],"turn_idx":1}',
    ];
    const run = await setUp({ 'z_test.jsonl': lines }, () => ({
      content: '<predicted_observation>é\u2028</predicted_observation>',
    }));
    expect((await run.infer()).code).toBe(0);
    const text = await readFile(run.predictions, 'utf8');
    const written = text.split('\n');
    const gen = JSON.stringify('<predicted_observation>é\u2028</predicted_observation>');
    expect(written[0]).toMatch(
      /^\{"task": "x\/mcp","id":300000000000000123, {2}"prompt":\["p\\u00e9"\], "response":\["r"\], "turn_idx":1, "extra": 1\.10, /,
    );
    expect(written[0]).toContain(`"gen":${gen}`);
    expect(written[1]).toMatch(/^\{"task":"mcp", ?"id":"s",.*"current_prompt":null, ?"gen":/);
    expect(written[1]).not.toContain('old');
    expect(written[2]).toContain('"id":"\u2028","prompt":["q\u2028"]');
    expect(written).toHaveLength(4);
    const rows = await readRows(run.predictions);
    for (const row of rows) {
      expect(Object.keys(row.awb)).toEqual(expect.arrayContaining(['key', 'trajectory', 'repeat', 'status', 'flags']));
      expect(row.awb).toMatchObject({ status: 'ok', repeat: 0, flags: [], finish_reason: 'stop' });
    }
    expect(new Set(rows.map(({ awb: { key } }) => key)).size).toBe(3);
  });

  test('gen is the unchanged content, with reasoning next to it', async () => {
    const content = '  <think>no</think>\n <predicted_observation> 1\ttab </predicted_observation>\n\n';
    const run = await setUp({ 'mcp_test.jsonl': [madeUpRow('mcp', 1)] }, () => ({ content, reasoning: 'because' }));
    await run.infer();
    const [row] = await readRows(run.predictions);
    expect(row.gen).toBe(content);
    expect(row.awb.reasoning).toBe('because');
  });

  test('--lean omits the trajectory text and nothing else', async () => {
    const run = await setUp(MCP);
    await run.infer('--lean');
    const lean = await readRows(run.predictions);
    expect(Object.keys(lean[0])).toEqual(['task', 'id', 'turn_idx', 'total_turns', 'gen', 'awb']);
    await run.infer();
    expect(run.server.count).toBe(6);
    const whole = await readRows(run.predictions);
    expect(whole.map(({ gen, awb }) => ({ gen, awb }))).toEqual(lean.map(({ gen, awb }) => ({ gen, awb })));
    expect(whole[2]).toMatchObject(madeUpRow('mcp', 0, 3));
  });

  const tag = (text: string) => `<predicted_observation>${text}</predicted_observation>`;
  test.each<[string, Parameters<typeof startLoopbackServer>[0], string[]]>([
    ['cut off by the budget', [{ content: '<predicted_observation>abc', finishReason: 'length' }], ['truncated']],
    ['without a tag', [{ content: 'plain' }], ['untagged']],
    ['without content', [{ content: null, reasoning: 'thought only' }], ['empty']],
    ['in a loop', [{ content: tag('again and again\n'.repeat(400)) }], ['repetitive']],
    ['with two tags', [{ content: `${tag('a')}${tag('b')}` }], ['several-tags']],
  ])('a reply %s is finished and flagged', async (_what, script, flags) => {
    const run = await setUp({ 'mcp_test.jsonl': [madeUpRow('mcp', 1)] }, script as unknown as Handler);
    const { code, stdout } = await run.infer();
    expect(code).toBe(0);
    const [row] = await readRows(run.predictions);
    expect(row.awb).toMatchObject({ status: 'ok', flags });
    expect(stdout).toContain(`flags: ${flags[0]} 1`);
    expect((await manifestOf(run.out)).counts.flags).toEqual({ [flags[0] as string]: 1 });
    if (flags[0] === 'empty') expect([row.gen, row.awb.reasoning]).toEqual(['', 'thought only']);
  });

  test('rows contain no times, attempts or usage; the journal does', async () => {
    const run = await setUp(MCP);
    await run.infer();
    const [row] = await readRows(run.predictions);
    expect(JSON.stringify(row.awb)).not.toMatch(/attempts|usage|"ms"|"at"|host/);
    const [record] = await readRows(join(run.out, 'predictions.journal.jsonl'));
    expect(record.log).toMatchObject({ attempts: 1, host: `127.0.0.1:${run.server.port}`, model: 'wm' });
    expect(record.log.usage.promptTokens).toBeGreaterThan(0);
  });

  test('the manifest says what made the run, and contains no path of the endpoint', async () => {
    const run = await setUp(TWO_DOMAINS, () => ({
      content: 'x',
      model: 'wm-2026-01-01',
      usage: {
        prompt_tokens: 10,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    }));
    await run.infer('--label', 'step-100', '--meta', 'step=100', '--meta', 'recipe=a=b');
    const manifest = await manifestOf(run.out);
    expect(manifest).toMatchObject({
      schema: 'awb.manifest/1',
      kind: 'infer',
      state: 'complete',
      label: 'step-100',
      meta: { step: '100', recipe: 'a=b' },
      endpoints: [`127.0.0.1:${run.server.port}`],
      servedModels: ['wm-2026-01-01'],
      identity: {
        model: 'wm',
        protocol: 'history',
        system_prompt: 'row',
        sampling: { maxTokens: 32768, temperature: 0.6 },
      },
      data: { rows: 15 },
      chosen: { mcp: 6, terminal: 9 },
      counts: { chosen: 15, ok: 15, failed: 0, notDone: 0, absent: 0 },
      tokens: { promptTokens: 150, cachedTokens: 45, completionTokens: 60, reasoningTokens: 30 },
    });
    expect(manifest.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(Date.parse(manifest.endedAt)).toBeGreaterThanOrEqual(Date.parse(manifest.startedAt));
  });

  test('--baseline needs no server and answers as its name says', async () => {
    const folder = await temporaryFolder();
    const data = await writeDataset(join(folder, 'data'), TWO_DOMAINS);
    const truth = (row: { response: string[] }) => row.response.at(-1);
    const gens = async (baseline: string) => {
      const out = join(folder, baseline);
      const { code } = await awb(['infer', '--data-dir', data, '--baseline', baseline, '--output-dir', out]);
      expect(code).toBe(0);
      return readRows(join(out, 'predictions.jsonl'));
    };
    for (const row of await gens('oracle')) expect(row.gen).toContain(truth(row));
    for (const row of await gens('empty')) expect([row.gen, row.awb.flags]).toEqual(['', ['empty']]);
    for (const row of await gens('persistence')) expect(row.gen).toContain(row.response.at(-2) ?? '');
    for (const row of await gens('shuffled')) {
      expect(row.gen).toContain(`of ${row.task.slice(4)} `);
      expect(row.gen).not.toContain(truth(row));
    }
  });
});

describe('continuing', () => {
  test('a smaller choice keeps what the folder contains, and says so', async () => {
    const folder = await temporaryFolder();
    const data = await writeDataset(join(folder, 'data'), TWO_DOMAINS);
    const flags = ['--data-dir', data, '--baseline', 'oracle', '--output-dir', join(folder, 'out')];
    const all = await awb(['infer', ...flags]);
    expect(all.stdout).not.toContain('this command chose');
    const { stdout } = await awb(['infer', ...flags, '--sample', '2']);
    expect(stdout).toContain('predictions: 15 of 15 done; 0 in this session');
    expect(stdout).toMatch(/^this command chose 4 rows; 11 more from earlier commands are in the same file/m);
    expect((await readRows(join(folder, 'out/predictions.jsonl'))).length).toBe(15);
  });

  test('one row is reported in the singular', async () => {
    const folder = await temporaryFolder();
    await writeDataset(join(folder, 'data'), { 'a_test.jsonl': madeUpRows('mcp', 2) });
    await writeDataset(join(folder, 'bad'), { 'a_test.jsonl': [{ task: 'mcp' } as never] });
    const infer = (...flags: string[]) =>
      awb(['infer', '--baseline', 'oracle', '--output-dir', 'out', ...flags], { cwd: folder });
    await infer('--data-dir', 'data', '--order', 'file');
    const { stdout } = await infer('--data-dir', 'data', '--limit', '1');
    const { stderr } = await infer('--data-dir', 'bad');
    const chose = stdout.split('\n').filter((line) => line.startsWith('this command'));
    await holdText('infer-one-row', `${chose.join('\n')}\n${stderr}`);
  });

  test('repeating a finished run asks nothing and leaves the file unchanged', async () => {
    const run = await setUp(TWO_DOMAINS);
    await run.infer();
    const before = await stat(run.predictions);
    const { code, stdout } = await run.infer();
    const after = await stat(run.predictions);
    expect(code).toBe(0);
    expect(run.server.count).toBe(15);
    expect([after.mtimeMs, after.ino]).toEqual([before.mtimeMs, before.ino]);
    expect(stdout).toContain('15 of 15 done; 0 in this session');
  });

  test('a deleted or shortened output file is rebuilt without asking', async () => {
    const run = await setUp(MCP);
    await run.infer();
    const before = await readFile(run.predictions, 'utf8');
    await rm(run.predictions);
    await run.infer();
    expect(await readFile(run.predictions, 'utf8')).toBe(before);
    await writeFile(run.predictions, before.slice(0, -10));
    await run.infer();
    expect(await readFile(run.predictions, 'utf8')).toBe(before);
    expect(run.server.count).toBe(6);
  });

  test('failed rows appear in the file with class and reason, and only they are asked again', async () => {
    let broken = true;
    const run = await setUp(MCP, ({ body }) =>
      broken && JSON.stringify(body).includes('mcp 1')
        ? { status: 400, body: { error: { message: 'no idea what this is' } } }
        : { content: 'fine' },
    );
    const first = await run.infer();
    expect(first.code).toBe(3);
    expect(first.stdout).toContain('3 of 6 done, 3 failed');
    expect(first.stdout).toContain(
      'fatal, for example: the server rejects the request (HTTP 400: no idea what this is)',
    );
    const rows = await readRows(run.predictions);
    expect(rows.map(({ gen, awb: { status, class: failure } }) => [gen, status, failure])).toEqual([
      ...Array.from({ length: 3 }, () => ['fine', 'ok', undefined]),
      ...Array.from({ length: 3 }, () => ['', 'failed', 'fatal']),
    ]);
    expect(rows[5].awb.reason).toBe('the server rejects the request (HTTP 400: no idea what this is)');
    expect((await manifestOf(run.out)).counts).toMatchObject({ ok: 3, failed: 3, failures: { fatal: 3 } });
    broken = false;
    const before = run.server.count;
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count - before).toBe(3);
    expect((await readRows(run.predictions)).map(({ gen }) => gen)).toEqual(Array(6).fill('fine'));
    expect((await manifestOf(run.out)).state).toBe('complete');
  });

  test('a larger choice asks what is missing; a smaller one keeps what was finished', async () => {
    const run = await setUp(TWO_DOMAINS);
    await run.infer('--limit', '2');
    expect(run.server.count).toBe(4);
    await run.infer('--domains', 'terminal');
    expect(run.server.count).toBe(4 + 7);
    await run.infer('--domains', 'mcp', '--limit', '1');
    expect(run.server.count).toBe(11);
    expect(await readRows(run.predictions)).toHaveLength(11);
    await run.infer();
    expect(run.server.count).toBe(15);
    const whole = await setUp(TWO_DOMAINS);
    await whole.infer();
    expect(await readFile(run.predictions, 'utf8')).toBe(await readFile(whole.predictions, 'utf8'));
  });

  test('--repeats k asks every row k times, and a larger k asks only the additional ones', async () => {
    const run = await setUp(MCP);
    await run.infer('--repeats', '2');
    expect(run.server.count).toBe(12);
    await run.infer('--repeats', '3');
    expect(run.server.count).toBe(18);
    const rows = await readRows(run.predictions);
    expect(rows.map(({ awb }) => awb.repeat)).toEqual(Array(6).fill([0, 1, 2]).flat());
    expect((await run.infer('--repeats', '1')).code).toBe(0);
    expect(await readRows(run.predictions)).toHaveLength(18);
  });

  test.each<[string, string[], string]>([
    ['another temperature', ['--temperature', '1'], 'sampling.temperature: 0.6 before, 1 now'],
    ['an additional parameter', ['--top-p', '0.9'], 'sampling.topP: absent before, 0.9 now'],
    ['another protocol', ['--protocol', 'blind'], 'protocol: "history" before, "blind" now'],
    ['other prompts', ['--system-prompt', 'bundled'], 'system_prompt: "row" before, "bundled'],
  ])('%s is refused with the difference, and nothing is asked', async (_what, args, difference) => {
    const run = await setUp(MCP);
    await run.infer('--limit', '1');
    const { code, stderr, stdout } = await run.infer(...args);
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toContain(difference);
    expect(stderr).toContain('--fresh');
    expect(run.server.count).toBe(1);
  });

  test('another model and other data are refused as well', async () => {
    const run = await setUp(MCP);
    await run.infer();
    const model = await awb([
      'infer',
      '--data-dir',
      run.data,
      '--model-base-url',
      run.server.url,
      '--model-name',
      'b',
      '--output-dir',
      run.out,
    ]);
    expect(model.code).toBe(78);
    expect(model.stderr).toContain('model: "wm" before, "b" now');
    await writeDataset(run.data, { 'mcp_test.jsonl': madeUpRows('mcp', 7) });
    const data = await run.infer();
    expect(data.code).toBe(78);
    expect(data.stderr).toMatch(/ {2}data: "[0-9a-f]{64}" before/);
    expect(run.server.count).toBe(6);
  });

  test('address, key, concurrency, order, clocks, retries, label and meta may change', async () => {
    const run = await setUp(MCP);
    await run.infer('--limit', '1', '--label', 'one', '--meta', 'step=1');
    const other = await serve();
    const args = ['--data-dir', run.data, '--model-base-url', other.url, '--model-name', 'wm', '--output-dir', run.out];
    const further = [
      '--model-api-key',
      'sk-another',
      '--concurrency',
      '2',
      '--order',
      'random',
      '--call-timeout',
      '9m',
    ];
    const { code } = await awb([
      'infer',
      ...args,
      ...further,
      '--no-stream',
      '--max-attempts',
      '2',
      '--meta',
      'seen=2',
    ]);
    expect(code).toBe(0);
    expect(other.count).toBe(5);
    expect(await manifestOf(run.out)).toMatchObject({ label: 'one', meta: { step: '1', seen: '2' } });
  });

  test('re-serialised data is the same data', async () => {
    const run = await setUp(MCP);
    await run.infer('--limit', '2');
    const spaced = MCP['mcp_test.jsonl'].map((row) => JSON.stringify(row, null, 1).replaceAll('\n', ' '));
    await writeDataset(run.data, { 'mcp_test.jsonl': spaced });
    expect((await run.infer()).code).toBe(0);
    expect(run.server.count).toBe(6);
  });

  test('--fresh starts over and keeps the old files aside', async () => {
    const run = await setUp(MCP);
    await run.infer();
    const before = await readFile(run.predictions, 'utf8');
    expect((await run.infer('--fresh', '--temperature', '1')).code).toBe(0);
    expect(run.server.count).toBe(12);
    const aside = (await readdir(run.out)).filter((name) => name.startsWith('before-'));
    expect(aside).toHaveLength(1);
    const kept = join(run.out, aside[0] as string);
    expect(await readFile(join(kept, 'predictions.jsonl'), 'utf8')).toBe(before);
    expect((await readdir(kept)).sort()).toEqual([
      'predictions.journal.jsonl',
      'predictions.jsonl',
      'predictions.manifest.json',
    ]);
    expect((await manifestOf(run.out)).identity.sampling.temperature).toBe(1);
  });

  test.each(['predictions.jsonl', 'predictions.journal.jsonl'])(
    'a %s that no run made here is not touched',
    async (name) => {
      const run = await setUp(MCP);
      await mkdir(run.out, { recursive: true });
      await writeFile(join(run.out, name), '{"mine": true}\n');
      const { code, stderr } = await run.infer();
      expect([code, run.server.count]).toEqual([73, 0]);
      expect(stderr).toContain(name);
      expect(await readFile(join(run.out, name), 'utf8')).toBe('{"mine": true}\n');
    },
  );
});

describe('what is shown', () => {
  test('--json prints one document on stdout and nothing else; progress goes to stderr', async () => {
    const run = await setUp(TWO_DOMAINS);
    const { stdout, stderr } = await run.infer('--json');
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'awb.infer/1',
      exit_code: 0,
      state: 'complete',
      output: run.predictions,
      counts: { ok: 15, failed: 0 },
      asked: 15,
      served_models: ['wm'],
    });
    expect(stderr).toMatch(/infer 15\/15 rows/);
  });

  test('--quiet leaves stderr empty and the summary on stdout', async () => {
    const run = await setUp(TWO_DOMAINS);
    const { stdout, stderr } = await run.infer('--quiet');
    expect(stderr).toBe('');
    expect(stdout).toContain('predictions: 15 of 15 done');
    expect(stdout).toMatch(/next: awb judge --predictions \S+predictions\.jsonl/);
  });

  test('--verbose says which row failed, and why', async () => {
    const run = await setUp(MCP, () => ({ status: 400, body: { error: { message: 'bad luck' } } }));
    const { stderr } = await run.infer('--verbose', '--limit', '1');
    expect(stderr).toMatch(/failed: mcp [0-9a-f]{24}#0 fatal the server rejects the request \(HTTP 400: bad luck\)/);
  });

  test('the suggested command to repeat does not include --fresh', async () => {
    const interrupt = new AbortController();
    const run = await setUp(MCP, () => {
      interrupt.abort('SIGINT');
      return { content: 'x' };
    });
    const { code, stdout } = await run.infer('--fresh', '--concurrency', '1', { stop: interrupt.signal });
    expect([code, run.server.count]).toEqual([130, 1]);
    expect(stdout).toContain('the same command without --fresh resumes the run');
  });

  test("a server's text cannot control the terminal", async () => {
    const run = await setUp(MCP, () => ({
      status: 400,
      body: { error: { message: 'a\u001b]52;c;aGk=\u0007b\rc\u202ed' } },
    }));
    const { stdout, stderr } = await run.infer('--verbose');
    expect(`${stdout}${stderr}`).not.toMatch(/[\u001b\u0007\r\u202e]/);
    expect(stdout).toContain('HTTP 400: ab cd');
  });
});

describe('a run without rows', () => {
  test('binds nothing: after a model that does not exist, the right one is asked without --fresh', async () => {
    const server = await startLoopbackServer((request) =>
      request.body.model === 'right'
        ? { content: 'fine' }
        : { status: 404, body: { error: { message: 'The model `wrong` does not exist', code: 'model_not_found' } } },
    );
    const dir = await temporaryFolder();
    const asked = (model: string) =>
      awb(
        ['infer', '--data-dir', RECORDED, '--output-dir', dir, '--limit', '1', '--quiet'].concat([
          '--model-base-url',
          server.url,
          '--model-name',
          model,
        ]),
      );
    expect((await asked('wrong')).code).toBe(EXIT.unavailable);
    expect((await asked('right')).code).toBe(EXIT.done);
    expect((await asked('wrong')).code).toBe(EXIT.identityDiffers);
    await server.close();
  });

  test('is refused if its folder cannot be created', async () => {
    const { code, stderr } = await awb([
      'infer',
      '--data-dir',
      RECORDED,
      '--output-dir',
      '/proc/none/x',
      '--baseline',
      'empty',
    ]);
    expect(code).toBe(EXIT.cannotCreate);
    expect(stderr).toContain('choose another --output-dir');
  });
});

test('how an extra body with a key is shown and kept', async () => {
  const run = await setUp(MCP);
  const body = '{"top_k":5,"api_key":"made-up-1234","metadata":{"Access-Token":"made-up-5678","token_type_ids":[1]}}';
  const flags = ['--extra-body', body, '--limit', '1', '--quiet'];
  const config = await run.infer('--extra-body', body, '--print-config');
  await run.infer(...flags);
  const batch = join(run.data, '../batch');
  await run.infer(...flags, '--output-dir', join(run.data, '../other'), '--batch-dir', batch, '--assume-params');
  const { settings, identity } = await manifestOf(run.out);
  const { command } = JSON.parse(await readFile(join(batch, 'batch.json'), 'utf8'));
  const [request] = await readRows(join(batch, 'requests-0001.jsonl'));
  const { messages: _, ...sent } = (request as { body: Record<string, unknown> }).body;
  const parts = [
    /^extra-body.*$/m.exec(config.stdout)?.[0],
    `stderr: ${config.stderr.trim()}`,
    `manifest: ${JSON.stringify(settings['extra-body'])}, identity ${JSON.stringify(identity.sampling)}`,
    `batch.json: ${command.words.slice(command.words.indexOf('--extra-body')).slice(0, 2).join(' ')}`,
    `in the batch: ${JSON.stringify(sent)}`,
  ];
  await holdText('infer-extra-body-key', `${parts.join('\n')}\n`);
});
