import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { answersTo, requestsIn, resultLines, writeResults } from '../support/batch-answers.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { madeUpRows, readRows, writeDataset } from '../support/run-folder.js';

const ROWS = 12;
const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const fine: Handler = ({ body }) => ({
  content: `<predicted_observation>\n${JSON.stringify(body.messages).length}\n</predicted_observation>`,
});

/** A folder of data, a server, and `awb infer` for both with the given flags. */
async function setUp(script: Handler = fine, rows = ROWS) {
  const server = await startLoopbackServer(script);
  servers.push(server);
  const root = await temporaryFolder();
  const data = await writeDataset(join(root, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', rows) });
  const [out, batch] = [join(root, 'out'), join(root, 'batch')];
  const plain = ['infer', '--data-dir', data, '--output-dir', out, '--model-name', 'wm', '--json', '--quiet'];
  const live = [...plain, '--model-base-url', server.url];
  const infer = async (flags: readonly string[], of = live) => {
    const { code, stdout, stderr } = await awb([...of, ...flags]);
    return { code, stderr, said: stdout === '' ? undefined : JSON.parse(stdout) };
  };
  const byBatch = (...flags: string[]) => infer(['--batch-dir', batch, ...flags]);
  const answer = async (name: string, from = 0, to = Number.POSITIVE_INFINITY) => {
    const requests = (await requestsIn(batch)).slice(from, to);
    await writeResults(batch, name, resultLines(await answersTo(requests, server.url), 'openai'));
  };
  return { server, root, data, out, batch, plain, infer, byBatch, answer };
}

/** The line of a request that was not answered, as OpenAI writes it to the file of errors. */
const unasked = (custom_id: string, code = 'batch_expired') =>
  JSON.stringify({ id: 'x', custom_id, response: null, error: { code, message: 'not in time' } });

describe('infer --batch-dir', () => {
  test('asks one row live, writes the others, and waits (75)', async () => {
    const { server, out, batch, byBatch } = await setUp();
    expect(await byBatch()).toMatchObject({
      code: EXIT.later,
      said: {
        state: 'awaiting',
        counts: { ok: 1, notDone: ROWS - 1 },
        batch: { awaited: ROWS - 1, written: ROWS - 1 },
      },
    });
    expect(server.count).toBe(1);
    const requests = await requestsIn(batch);
    expect(requests).toHaveLength(ROWS - 1);
    for (const { custom_id, method, url, body } of requests) {
      expect(custom_id).toMatch(/^[0-9a-f]{24}\.0_0_[0-9a-f]{10}$/);
      expect({ method, url }).toEqual({ method: 'POST', url: '/v1/chat/completions' });
      expect(body).not.toHaveProperty('stream');
      expect(body).not.toHaveProperty('stream_options');
    }
    const manifest = JSON.parse(await readFile(join(out, 'predictions.manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ state: 'awaiting', batch: { dir: batch } });
  });

  test('asks nothing under --assume-params, and needs no address', async () => {
    const { server, infer, plain, batch } = await setUp();
    expect(await infer(['--batch-dir', batch, '--assume-params'], plain)).toMatchObject({
      code: EXIT.later,
      said: { batch: { awaited: ROWS } },
    });
    expect(server.count).toBe(0);
  });

  test('uses the singular for one row', async () => {
    const { root } = await setUp(fine, 1);
    const words = ['--data-dir', 'data', '--output-dir', 'out', '--model-name', 'wm', '--batch-dir', 'batch'];
    const { stdout } = await awb(['infer', ...words, '--assume-params', '--quiet'], { cwd: root });
    await holdText('batch-one-row', stdout.replace(/[\d.]+ s$/m, 'N s'));
  });

  test('writes nothing twice while it is awaited', async () => {
    const { server, batch, byBatch, answer } = await setUp();
    await byBatch();
    const before = await readdir(batch);
    const text = await readFile(join(batch, 'requests-0001.jsonl'), 'utf8');
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { awaited: ROWS - 1, written: 0 } } });
    await answer('some.jsonl', 0, 4);
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { awaited: ROWS - 5, written: 0 } } });
    expect((await readdir(batch)).filter((name) => name !== 'some.jsonl')).toEqual(before);
    expect(await readFile(join(batch, 'requests-0001.jsonl'), 'utf8')).toBe(text);
    expect(server.count).toBe(1 + 4);
  });

  test('without the folder, stops while results are awaited, and asks nothing', async () => {
    const { server, infer, byBatch, out, batch } = await setUp();
    await byBatch();
    const manifest = await readFile(join(out, 'predictions.manifest.json'), 'utf8');
    const stopped = await infer([]);
    expect(stopped.code).toBe(EXIT.later);
    expect(stopped.stderr).toContain(`--batch-dir ${batch}`);
    expect(stopped.stderr).toContain('--finish-online');
    const elsewhere = await infer(['--batch-dir', `${batch}-2`]);
    expect(elsewhere).toMatchObject({ code: EXIT.later, stderr: expect.stringContaining(batch) });
    expect(server.count).toBe(1);
    expect(await readFile(join(out, 'predictions.manifest.json'), 'utf8')).toBe(manifest);
  });

  test('binds a run to its batch before any row has a record', async () => {
    const { infer, plain, batch, server } = await setUp();
    await infer(['--batch-dir', batch, '--assume-params'], plain);
    expect(await infer([])).toMatchObject({ code: EXIT.later });
    expect(await infer(['--batch-dir', batch, '--temperature', '0.1'])).toMatchObject({ code: EXIT.identityDiffers });
    expect(server.count).toBe(0);
  });

  test('says that a file was cut off in its last line, and reads it once it has grown', async () => {
    const { batch, byBatch, answer } = await setUp();
    await byBatch();
    await answer('outputs.jsonl');
    const whole = await readFile(join(batch, 'outputs.jsonl'));
    await truncate(join(batch, 'outputs.jsonl'), whole.length - 10);
    const cut = await byBatch();
    expect(cut).toMatchObject({ code: EXIT.later, said: { batch: { awaited: 1, written: 0 } } });
    expect(cut.said.batch.notes).toEqual([expect.stringContaining(`outputs.jsonl:${ROWS - 1}`)]);
    await writeFile(join(batch, 'outputs.jsonl'), whole.subarray(0, -1));
    expect(await byBatch()).toMatchObject({ code: EXIT.done, said: { state: 'complete', batch: { notes: [] } } });
  });

  test('lists results of unknown ids and ignores them, along with anything that is not a result', async () => {
    const { batch, byBatch, answer } = await setUp();
    await byBatch();
    await answer('outputs.jsonl');
    const strangers = Array.from({ length: 9 }, (_, at) => ({ id: `stranger-${at}\u001b[31m`, status: 200, body: {} }));
    const others = ['garbage', '[1]', '{"custom_id":7}', '{"key":"a prediction"}'];
    await writeResults(batch, 'a.jsonl', [...resultLines(strangers, 'openai'), ...others]);
    const { code, said } = await byBatch();
    expect(code).toBe(EXIT.done);
    const [unknown, odd] = said.batch.notes;
    expect(unknown).toMatch(/9 results .*stranger-0.*stranger-4.*, \.\.\./);
    expect(unknown).not.toContain('\u001b');
    expect(unknown).not.toContain('stranger-5');
    expect(odd).toMatch(/4 lines .*a\.jsonl:10/);
  });

  test('names incomplete result lines, and does not count them as answers', async () => {
    const { batch, byBatch, answer } = await setUp();
    await byBatch();
    await answer('outputs.jsonl', 4);
    const [torn, empty, list, deep] = (await requestsIn(batch)).map(({ custom_id }) => custom_id);
    const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    await writeResults(batch, 'odd.jsonl', [
      `{"id":"x","custom_id":"${torn}","response":{"sta`,
      JSON.stringify({ custom_id: empty, response: null, error: null }),
      JSON.stringify({ custom_id: list, response: [{ choices: [] }] }),
      `{"custom_id":"${deep}","response":{"status_code":500,"body":${nested}}}`,
    ]);
    const found = await byBatch();
    expect(found).toMatchObject({ code: EXIT.later, said: { batch: { awaited: 4, written: 0 } } });
    expect(found.said.batch.parts).toMatchObject([{ answered: ROWS - 5, awaited: 4 }]);
    expect(found.said.batch.notes).toEqual([
      expect.stringMatching(
        /since they are not results: 4 lines \(odd\.jsonl:1, odd\.jsonl:2, odd\.jsonl:3, odd\.jsonl:4\)/,
      ),
    ]);
  });

  test('names a folder among the results that must be moved away', async () => {
    const { batch, byBatch } = await setUp();
    await byBatch();
    await mkdir(join(batch, 'old.jsonl'));
    expect(await byBatch()).toMatchObject({
      code: EXIT.badData,
      stderr: expect.stringMatching(/old\.jsonl is not a regular file.*move it away/),
    });
  });

  test('asks expired requests again, without counting a try', async () => {
    const { batch, byBatch, answer } = await setUp();
    await byBatch('--max-attempts', '1');
    const requests = await requestsIn(batch);
    await answer('outputs.jsonl', 2);
    const [first, second] = requests.map(({ custom_id }) => custom_id);
    await writeResults(batch, 'errors.jsonl', [unasked(first), unasked(second, 'batch_cancelled')]);
    expect(await byBatch('--max-attempts', '1')).toMatchObject({
      code: EXIT.later,
      said: { counts: { failed: 0 }, batch: { awaited: 2, written: 2 } },
    });
    const again = await requestsIn(batch, ['requests-0002.jsonl']);
    expect(again.map(({ custom_id }) => custom_id)).toEqual([first, second].map((id) => id.replace('_0_', '_1_')));
    expect(again.map(({ body }) => body)).toEqual(requests.slice(0, 2).map(({ body }) => body));
    await answer('late.jsonl', ROWS - 1);
    expect(await byBatch('--max-attempts', '1')).toMatchObject({ code: EXIT.done });
  });

  test('retries transient failures as often as live, and then reports the row as failed', async () => {
    const broken = { status: 500, body: { error: { message: 'broken', type: 'server_error' } } };
    const { batch, byBatch, answer, out } = await setUp(
      ({ index, body }) => (index === 0 ? fine({ body } as never) : broken),
      2,
    );
    await byBatch('--max-attempts', '3', '--seed', '1');
    for (const [round, written] of [1, 1, 0].entries()) {
      await answer(`outputs-${round}.jsonl`, round);
      expect(await byBatch('--max-attempts', '3', '--seed', '1')).toMatchObject({ said: { batch: { written } } });
    }
    const seeds = (await requestsIn(batch)).map(({ body }) => body.seed);
    expect(new Set(seeds).size).toBe(3);
    const failed = (await readRows(join(out, 'predictions.journal.jsonl'))).filter(
      ({ row }) => row.awb.status === 'failed',
    );
    expect(failed).toMatchObject([{ log: { attempts: 3, batched: 3 } }]);
  });

  test('asks failed rows again only once nothing is awaited, and then with new ids', async () => {
    const refused = { content: '', finishReason: 'content_filter' };
    const { batch, byBatch, answer } = await setUp(
      ({ index, body }) => (index === 0 ? fine({ body } as never) : refused),
      4,
    );
    await byBatch();
    await answer('a.jsonl', 0, 2);
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { counts: { failed: 2 } } });
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { asked: 0, batch: { written: 0 } } });
    await answer('b.jsonl', 2);
    expect(await byBatch()).toMatchObject({
      code: EXIT.incomplete,
      said: { counts: { failed: 3 }, batch: { awaited: 0 } },
    });
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { written: 3, awaited: 3 } } });
    const ids = (await requestsIn(batch)).map(({ custom_id }) => custom_id);
    expect(ids.slice(3)).toEqual(ids.slice(0, 3).map((id) => id.replace('_0_', '_1_')));
  });

  test('reads results of failed rows that were asked again as soon as they exist, and asks none live meanwhile', async () => {
    const refused = { content: '', finishReason: 'content_filter' };
    const { server, batch, byBatch, infer, answer } = await setUp(
      ({ index, body }) => (index === 0 || index > 4 ? fine({ body } as never) : refused),
      4,
    );
    await byBatch();
    await answer('a.jsonl');
    expect(await byBatch()).toMatchObject({ code: EXIT.incomplete, said: { counts: { failed: 3 } } });
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { written: 3, awaited: 3 } } });
    for (let round = 0; round < 2; round++) {
      expect(await byBatch()).toMatchObject({
        code: EXIT.later,
        said: { asked: 0, batch: { written: 0, awaited: 3 } },
      });
    }
    expect(await infer([])).toMatchObject({ code: EXIT.later });
    expect(server.count).toBe(4);
    const again = (await requestsIn(batch)).slice(3);
    await writeResults(batch, 'b.jsonl', resultLines(await answersTo(again.slice(0, 1), server.url), 'openai'));
    expect(await byBatch()).toMatchObject({
      code: EXIT.later,
      said: { counts: { failed: 3 }, batch: { written: 0, awaited: 2 } },
    });
    await writeResults(batch, 'c.jsonl', resultLines(await answersTo(again.slice(1), server.url), 'openai'));
    expect(await byBatch()).toMatchObject({ code: EXIT.incomplete, said: { counts: { ok: 3, failed: 1 } } });
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { written: 1, awaited: 1 } } });
    expect(await infer(['--finish-online'])).toMatchObject({ code: EXIT.done, said: { counts: { ok: 4 } } });
  });

  test('ignores earlier results for a row that has failed live since', async () => {
    const refused = { content: '', finishReason: 'content_filter' };
    const { batch, byBatch, infer, answer } = await setUp(
      ({ index, body }) => (index === 0 ? fine({ body } as never) : refused),
      2,
    );
    await byBatch();
    await answer('a.jsonl');
    expect(await byBatch()).toMatchObject({ code: EXIT.incomplete, said: { counts: { failed: 1 } } });
    expect(await infer([])).toMatchObject({ code: EXIT.incomplete, said: { asked: 1, counts: { failed: 1 } } });
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { asked: 0, batch: { written: 1 } } });
    const ids = (await requestsIn(batch)).map(({ custom_id }) => custom_id);
    expect(ids[1]).toBe(ids[0].replace('_0_', '_1_'));
  });

  test('counts the cost of a reply once, however often it is read', async () => {
    const { byBatch, answer } = await setUp(
      ({ index, body }) =>
        index === 1
          ? { content: 'x', finishReason: 'abort', usage: { prompt_tokens: 1000, completion_tokens: 100 } }
          : { ...(fine({ body } as never) as object), usage: { prompt_tokens: 1000, completion_tokens: 100 } },
      3,
    );
    await byBatch();
    await answer('a.jsonl');
    const spent = [];
    for (let round = 0; round < 3; round++) spent.push((await byBatch()).said.spent.tokens);
    // The live row, and two replies, one of which was no answer.
    expect(spent).toEqual([3300, 3300, 3300]);
    await answer('b.jsonl', 2);
    await byBatch();
    const { said } = await byBatch();
    expect(said).toMatchObject({ counts: { ok: 3 }, spent: { tokens: 4400 } });
  });
});

describe('what a server rejects', () => {
  const rejects =
    (name: string): Handler =>
    (request) =>
      name in request.body
        ? {
            status: 400,
            body: { error: { message: `Unsupported parameter: ${name}`, param: name, code: 'unsupported_parameter' } },
          }
        : fine(request);

  test('is found out by one live row before anything is written', async () => {
    const { batch, byBatch } = await setUp(rejects('top_k'));
    expect(await byBatch('--top-k', '20')).toMatchObject({ code: EXIT.usage });
    expect(await readdir(batch)).toEqual([]);
    expect(await byBatch('--top-k', '20', '--allow-param-drop')).toMatchObject({ code: EXIT.later });
    for (const { body } of await requestsIn(batch)) expect(body).not.toHaveProperty('top_k');
    expect(JSON.parse(await readFile(join(batch, 'batch.json'), 'utf8'))).toMatchObject({ dropped: ['top_k'] });
  });

  test('is sent under its new name from the first file on', async () => {
    const { batch, byBatch, answer } = await setUp(rejects('max_tokens'));
    await byBatch();
    for (const { body } of await requestsIn(batch)) {
      expect(body).toMatchObject({ max_completion_tokens: 32_768 });
      expect(body).not.toHaveProperty('max_tokens');
    }
    await answer('outputs.jsonl');
    expect(await byBatch()).toMatchObject({ code: EXIT.done });
  });

  test('stops the run if a result says so, with the way to start afresh', async () => {
    const { batch, infer, plain, answer } = await setUp(rejects('top_k'));
    const flags = ['--batch-dir', batch, '--assume-params', '--top-k', '20'];
    await infer(flags, plain);
    await answer('a.jsonl');
    const stopped = await infer(flags, plain);
    expect(stopped).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('a.jsonl') });
    expect(stopped.stderr).toContain('--fresh');
  });
});

describe('--finish-online', () => {
  test('asks the rest live, and later results of those rows are ignored', async () => {
    const { server, infer, byBatch, answer, out, batch } = await setUp();
    await byBatch();
    await answer('a.jsonl', 0, 4);
    const before = server.count;
    expect(await infer(['--finish-online'])).toMatchObject({ code: EXIT.done, said: { counts: { ok: ROWS } } });
    expect(server.count - before).toBe(ROWS - 5);
    const predictions = await readFile(join(out, 'predictions.jsonl'), 'utf8');
    const late = (await requestsIn(batch)).slice(4).map(({ custom_id: id }) => ({
      id,
      status: 200,
      body: { choices: [{ index: 0, message: { role: 'assistant', content: 'late' }, finish_reason: 'stop' }] },
    }));
    await writeResults(batch, 'late.jsonl', resultLines(late, 'openai'));
    expect(await byBatch()).toMatchObject({ code: EXIT.done });
    expect(await infer([])).toMatchObject({ code: EXIT.done });
    expect(await readFile(join(out, 'predictions.jsonl'), 'utf8')).toBe(predictions);
  });

  test('counts the cost of results that caused a retry, and uses no later result of theirs', async () => {
    const usage = { prompt_tokens: 1000, completion_tokens: 100 };
    const outcomes = [
      { content: 'live', usage },
      { content: 'cut', finishReason: 'abort', usage },
      { content: '', finishReason: 'content_filter', usage },
    ];
    const { infer, byBatch, answer, out, batch } = await setUp(
      ({ index }) => outcomes[index] ?? { content: 'more' },
      2,
    );
    await byBatch();
    await answer('a.jsonl');
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { written: 1 } } });
    const ended = await infer(['--finish-online']);
    expect(ended).toMatchObject({ code: EXIT.incomplete, said: { spent: { tokens: 3300 } } });
    const records = await readRows(join(out, 'predictions.journal.jsonl'));
    expect(records.at(-1)?.log).toMatchObject({
      ...{ attempts: 2, tries: 2, batched: 2 },
      usage: { promptTokens: 2000, completionTokens: 200 },
    });
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { spent: { tokens: 3300 } } });
    const ids = (await requestsIn(batch)).map(({ custom_id }) => custom_id);
    // The file that was never submitted was withdrawn when its row was asked live.
    expect(ids.map((id) => id.split('_')[1])).toEqual(['0', '2']);
  });

  test('is refused if no run has started, and reports that a run without a batch has none to end', async () => {
    const { server, infer, batch } = await setUp();
    const refusal = { code: EXIT.usage, stderr: expect.stringContaining('--finish-online ends a batch') };
    expect(await infer(['--finish-online'])).toMatchObject(refusal);
    expect(await infer(['--finish-online', '--batch-dir', batch])).toMatchObject(refusal);
    expect(server.count).toBe(0);
    await infer(['--limit', '2']);
    const { code, said } = await infer(['--finish-online']);
    expect(code).toBe(EXIT.done);
    expect(said.notices).toEqual([expect.stringContaining('found no batch to end')]);
  });

  test('ends a batch whose folder is gone', async () => {
    const { infer, byBatch, batch } = await setUp();
    await byBatch();
    await rm(batch, { recursive: true });
    const lost = await byBatch();
    expect(lost).toMatchObject({
      code: EXIT.later,
      stderr: expect.stringContaining('batch.json is gone'),
    });
    expect(await infer(['--finish-online'])).toMatchObject({ code: EXIT.done, said: { counts: { ok: ROWS } } });
  });
});

describe('a batch folder', () => {
  test('of another run is refused with what differs', async () => {
    const { root, data, byBatch, batch, server } = await setUp();
    await byBatch();
    const other = (...flags: string[]) =>
      awb([
        ...['infer', '--data-dir', data, '--model-name', 'wm', '--model-base-url', server.url, '--quiet'],
        ...['--output-dir', join(root, 'other'), '--batch-dir', batch, ...flags],
      ]);
    expect(await other()).toMatchObject({ code: EXIT.identityDiffers, stderr: expect.stringContaining('output-dir:') });
    expect(await other('--temperature', '0.1')).toMatchObject({
      code: EXIT.identityDiffers,
      stderr: expect.stringContaining('sampling.temperature: 0.6 before, 0.1 now'),
    });
    expect(server.count).toBe(1);
  });

  test('is started by one of several parts that begin at once, and the others are told to choose another folder', async () => {
    const { root, data, batch, server } = await setUp();
    const parts = await Promise.all(
      [1, 2, 3].map((part) =>
        awb([
          ...['infer', '--data-dir', data, '--model-name', 'wm', '--model-base-url', server.url, '--quiet'],
          ...['--output-dir', join(root, `part-${part}`), '--shard', `${part}/3`, '--batch-dir', batch],
        ]),
      ),
    );
    // Timing decides which of them gets to the lock, and which to the folder of another run.
    const others = parts.filter(({ code }) => code !== EXIT.later);
    expect(others).toHaveLength(2);
    for (const { code, stderr } of others) {
      expect([EXIT.cannotCreate, EXIT.identityDiffers]).toContain(code);
      expect(stderr).toMatch(/--batch-dir/);
    }
    const { run, parts: written } = JSON.parse(await readFile(join(batch, 'batch.json'), 'utf8'));
    expect(run.dir).toBe(join(root, `part-${parts.findIndex(({ code }) => code === EXIT.later) + 1}`));
    expect(await requestsIn(batch)).toHaveLength(written[0].requests);
  });

  test('with all answers shows the command that reads it, ready to paste into any shell', async () => {
    const { root, server, out } = await setUp();
    const begin = ['infer', '--data-dir', 'data', '--output-dir', 'out', '--model-name', "it's wm", '--batch-dir', 'b'];
    const asked = [...begin, '--assume-params', '--extra-body', '{"a": "b c"}', '--model-api-key', 'sk-secret-0123'];
    expect(await awb([...asked, '--fresh'], { cwd: root })).toMatchObject({ code: EXIT.later });
    expect(await readFile(join(root, 'b', 'batch.json'), 'utf8')).not.toContain('sk-secret');
    const answered = await awb(['batch', 'run', join(root, 'b'), '--model-base-url', server.url]);
    const line = /^next: (.*)$/m.exec(answered.stdout)?.[1] ?? '';
    expect(line).toContain(`cd ${root} && awb infer`);
    const program = `awb() { '${process.execPath}' '${join(ROOT, 'dist/bin.js')}' "$@"; }`;
    const { stdout } = await promisify(execFile)('sh', ['-c', `${program}; ${line}`]);
    expect(stdout).toContain(`${ROWS} of ${ROWS} done`);
    expect(await readRows(join(out, 'predictions.jsonl'))).toHaveLength(ROWS);
  });

  test('may be moved with its run', async () => {
    const { root, data, byBatch, batch, out, server, answer } = await setUp();
    await byBatch();
    await answer('a.jsonl');
    await cp(out, join(root, 'moved'), { recursive: true });
    await rm(out, { recursive: true });
    const moved = await awb([
      ...['infer', '--data-dir', data, '--model-name', 'wm', '--model-base-url', server.url, '--quiet'],
      ...['--output-dir', join(root, 'moved'), '--batch-dir', batch],
    ]);
    expect(moved).toMatchObject({ code: EXIT.done });
  });

  test('may be moved with the run that contains it', async () => {
    const { root, plain, infer, server } = await setUp();
    const [before, moved] = [join(root, 'before'), join(root, 'moved')];
    const live = ['--model-base-url', server.url];
    await infer(['--output-dir', before, '--batch-dir', join(before, 'b'), ...live], plain);
    await rename(before, moved);
    const requests = await requestsIn(join(moved, 'b'));
    await writeResults(join(moved, 'b'), 'a.jsonl', resultLines(await answersTo(requests, server.url), 'openai'));
    expect(await infer(['--output-dir', moved, ...live], plain)).toMatchObject({
      code: EXIT.later,
      stderr: expect.stringContaining('its old or its new location'),
    });
    expect(await infer(['--output-dir', moved, '--batch-dir', join(moved, 'b'), ...live], plain)).toMatchObject({
      code: EXIT.done,
      said: { state: 'complete' },
    });
    expect(server.count).toBe(ROWS);
  });

  test("that contains other files of lines, is the run's own, or is a file is refused before anything is asked", async () => {
    const { server, infer, data, out } = await setUp();
    expect(await infer(['--batch-dir', data])).toMatchObject({ code: EXIT.cannotCreate });
    expect(await infer(['--batch-dir', out])).toMatchObject({ code: EXIT.usage });
    expect(await infer(['--batch-dir', join(data, 'mcp_test.jsonl')])).toMatchObject({ code: EXIT.inputMissing });
    expect(server.count).toBe(0);
  });

  test('whose requests were changed or are gone is not read', async () => {
    const { byBatch, batch } = await setUp();
    await byBatch();
    const path = join(batch, 'requests-0001.jsonl');
    const text = await readFile(path, 'utf8');
    await writeFile(path, `${text}\n`);
    expect(await byBatch()).toMatchObject({ code: EXIT.badData, stderr: expect.stringContaining(path) });
    await rm(path);
    expect(await byBatch()).toMatchObject({ code: EXIT.inputMissing, stderr: expect.stringContaining(path) });
    await writeFile(path, text);
    expect(await byBatch()).toMatchObject({ code: EXIT.later });
  });

  test('is started afresh under --fresh, and its old contents are kept aside', async () => {
    const { byBatch, batch, answer } = await setUp();
    await byBatch();
    await answer('a.jsonl');
    expect(await byBatch('--fresh')).toMatchObject({ code: EXIT.later, said: { batch: { awaited: ROWS - 1 } } });
    const [aside = ''] = (await readdir(batch)).filter((name) => name.startsWith('before-'));
    expect((await readdir(join(batch, aside))).sort()).toEqual(['a.jsonl', 'batch.json', 'requests-0001.jsonl']);
  });
});

describe('with --batch-dir', () => {
  test.each([
    ['--rollout', ['--rollout']],
    ['--scenarios', ['--scenarios', 'standard']],
  ])('%s is refused', async (name, flags) => {
    const { server, byBatch } = await setUp();
    expect(await byBatch(...flags)).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining(name) });
    expect(server.count).toBe(0);
  });

  test('a locally served model is refused, with the command that answers files with it', async () => {
    const { data, batch } = await setUp();
    const { code, stderr } = await awb(['infer', '--data-dir', data, '--local', 'x.gguf', '--batch-dir', batch]);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain(`awb batch run ${batch} --local x.gguf`);
  });

  test('--dry-run shows the bill and writes nothing', async () => {
    const { root, byBatch, server } = await setUp();
    expect(await byBatch('--dry-run')).toMatchObject({ code: EXIT.done });
    expect(await readdir(root)).toEqual(['data']);
    expect(server.count).toBe(0);
  });

  test('a budget is refused, since a batch cannot be stopped halfway', async () => {
    const { batch, byBatch, server } = await setUp();
    const refused = await byBatch('--budget-tokens', '100');
    expect(refused).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('--dry-run') });
    expect(server.count).toBe(0);
    expect(await readdir(batch).catch(() => [])).toEqual([]);
  });
});
