// Requests that have become void since they were written are neither submitted nor answered, and nothing else is left out.

import { readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/errors.js';
import { answersTo, requestsIn, resultLines, writeResults } from '../support/batch-answers.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { marked } from '../support/judging.js';
import { type Handler, startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, readRows, writeDataset } from '../support/run-folder.js';

const ROWS = 6;
const SCORES = { format: 3, factuality: 3, consistency: 3, realism: 3, quality: 3 };
const VERDICT = `<final_evaluation>${JSON.stringify({ scores: SCORES, strengths: ['s'], weaknesses: ['w'] })}</final_evaluation>`;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const fine: Handler = () => ({ content: '<predicted_observation>\nseen\n</predicted_observation>' });
/** Takes no `top_k`. */
const picky: Handler = (request) =>
  'top_k' in request.body
    ? { status: 400, body: { error: { message: 'Unsupported parameter: top_k', param: 'top_k', code: 'x' } } }
    : fine(request);

async function serve(script: Handler) {
  const server = await startLoopbackServer(script);
  closers.push(server.close);
  return server;
}

async function batchApi(options: Parameters<typeof startBatchServer>[0] = {}) {
  const api = await startBatchServer(options);
  closers.push(api.close);
  return api;
}

/** A command by batch files, and what answers them. */
async function setUp(words: readonly string[], script: Handler) {
  const server = await serve(script);
  const out = await temporaryFolder();
  const batch = join(out, 'batch');
  const asked = [...words, '--output-dir', out, '--json', '--quiet'];
  const byBatch = async (...flags: string[]) => {
    const { code, stdout } = await awb([...asked, '--batch-dir', batch, '--assume-params', ...flags]);
    return { code, said: stdout === '' ? undefined : JSON.parse(stdout) };
  };
  const idsOf = async (...files: string[]): Promise<string[]> =>
    (await requestsIn(batch, files)).map(({ custom_id }) => custom_id);
  const answer = async (name: string, which: (id: string, place: number) => boolean) => {
    const requests = (await requestsIn(batch)).filter(({ custom_id }, place) => which(custom_id, place));
    await writeResults(batch, name, resultLines(await answersTo(requests, server.url), 'openai'));
  };
  const submit = async (url: string, ...flags: string[]) => {
    const { code, stdout, stderr } = await awb([
      'batch',
      'submit',
      batch,
      '--base-url',
      url,
      '--poll',
      '0.01',
      ...flags,
    ]);
    return { code, stdout, stderr };
  };
  return { server, out, batch, asked, byBatch, idsOf, answer, submit };
}

async function inferring(script: Handler = fine, ...flags: string[]) {
  const root = await temporaryFolder();
  const data = await writeDataset(root, { 'mcp_test.jsonl': madeUpRows('mcp', ROWS) });
  return setUp(['infer', '--data-dir', data, '--model-name', 'wm', ...flags], script);
}

/** A judging of predictions, the text of which a test can change. */
async function judging() {
  const root = await temporaryFolder();
  const data = await writeDataset(root, { 'mcp_test.jsonl': madeUpRows('mcp', ROWS) });
  await awb(['infer', '--data-dir', data, '--output-dir', root, '--baseline', 'oracle', '--quiet']);
  const path = join(root, 'predictions.jsonl');
  const before = await readFile(path, 'utf8');
  const change = (places: readonly number[], textOf = (place: number) => `otherwise ${place}`) => {
    const lines = before.trimEnd().split('\n');
    const changed = lines.map((line, place) => {
      const row = JSON.parse(line);
      return places.includes(place) ? JSON.stringify({ ...row, gen: textOf(place) }) : line;
    });
    return writeFile(path, `${changed.join('\n')}\n`);
  };
  const set = await setUp(['judge', '--predictions', path, '--judge-model', 'j'], (request) => ({
    content: marked(VERDICT, request),
  }));
  return { ...set, change };
}

/** Ids that a server of batches was sent, file by file. */
const sentTo = ({ files }: Awaited<ReturnType<typeof batchApi>>) =>
  files
    .filter(({ purpose }) => purpose === 'batch')
    .map(({ content }) =>
      content
        .toString()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).custom_id),
    );

/** Ids of which batches were made, batch by batch. */
const batchedBy = (api: Awaited<ReturnType<typeof batchApi>>) => {
  const sent = sentTo(api);
  const inputs = api.files.filter(({ purpose }) => purpose === 'batch');
  return api.batches.map(({ input_file_id }) => sent[inputs.findIndex(({ id }) => id === input_file_id)]);
};

describe('batch submit leaves out', () => {
  test('what was written with a parameter that was dropped since', async () => {
    const { byBatch, idsOf, answer, submit } = await inferring(picky, '--top-k', '20', '--allow-param-drop');
    await byBatch();
    await answer('a.jsonl', (_, place) => place === 0);
    expect(await byBatch()).toMatchObject({ said: { batch: { written: ROWS } } });
    const api = await batchApi();
    expect(await submit(api.url)).toMatchObject({ code: EXIT.later });
    expect(sentTo(api)).toEqual([await idsOf('requests-0002.jsonl')]);
  });

  test('what judges a prediction that has changed since', async () => {
    const { byBatch, idsOf, submit, change } = await judging();
    await byBatch();
    await change([1, 4]);
    expect(await byBatch()).toMatchObject({ said: { batch: { written: 2, awaited: ROWS } } });
    const api = await batchApi();
    await submit(api.url);
    const first = await idsOf('requests-0001.jsonl');
    expect(sentTo(api)).toEqual([
      first.filter((_, place) => place !== 1 && place !== 4),
      await idsOf('requests-0002.jsonl'),
    ]);
  });

  test('what judges a prediction that is empty now, about which nobody is asked', async () => {
    const { byBatch, idsOf, answer, submit, change } = await judging();
    const nothing = () => '';
    await byBatch();
    await change([1], nothing);
    expect(await byBatch()).toMatchObject({ said: { counts: { failed: 1 }, batch: { awaited: ROWS - 1 } } });
    const api = await batchApi();
    await submit(api.url);
    const ids = await idsOf('requests-0001.jsonl');
    expect(sentTo(api)).toEqual([ids.filter((_, place) => place !== 1)]);
    await answer('a.jsonl', (_, place) => place > 1);
    await change([0, 1], nothing);
    expect(await byBatch()).toMatchObject({
      code: EXIT.done,
      said: { counts: { ok: ROWS - 2, failed: 2 }, batch: { awaited: 0, parts: [{ void: 2 }] } },
    });
    await change([1], nothing);
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { written: 0, awaited: 1 } } });
  });

  test('what judges predictions of which none is left that anybody is asked about', async () => {
    const { byBatch, submit, change } = await judging();
    await byBatch();
    const places = Array.from({ length: ROWS }, (_, place) => place);
    await change(places, () => '');
    expect(await byBatch()).toMatchObject({ code: EXIT.done, said: { counts: { failed: ROWS } } });
    const api = await batchApi();
    expect(await submit(api.url)).toMatchObject({ code: EXIT.done });
    expect(sentTo(api)).toEqual([]);
  });

  test('what was asked live to end the waiting', async () => {
    const { server, asked, byBatch, answer, submit, batch } = await inferring();
    await byBatch();
    await answer('a.jsonl', (_, place) => place === 0);
    const live = [...asked, '--batch-dir', batch, '--model-base-url', server.url, '--finish-online'];
    expect((await awb(live)).code).toBe(EXIT.done);
    const api = await batchApi();
    expect(await submit(api.url)).toMatchObject({ code: EXIT.done });
    expect(sentTo(api)).toEqual([]);
  });

  test('what was asked live before the waiting was ended half-way, and none of the rest once that is awaited again', async () => {
    const { server, asked, byBatch, idsOf, submit, batch, out } = await inferring();
    await byBatch();
    const stop = new AbortController();
    const slow = await serve((request) => {
      if (request.index === 1) stop.abort('SIGINT');
      return fine(request);
    });
    const live = [...asked, '--batch-dir', batch, '--finish-online', '--concurrency', '1'];
    const ended = await awb([...live, '--model-base-url', slow.url], { stop: stop.signal });
    expect(ended.code).toBe(EXIT.interrupted);
    const done = (await readRows(join(out, 'predictions.journal.jsonl'))).map(({ id }) => String(id));
    expect(done).toHaveLength(2);
    const api = await batchApi();
    await submit(api.url);
    expect(sentTo(api)).toEqual([]);
    expect(await byBatch()).toMatchObject({ code: EXIT.later, said: { batch: { awaited: ROWS - 2 } } });
    await submit(api.url);
    const rest = (await idsOf('requests-0001.jsonl')).filter(
      (id) => !done.some((row) => id.startsWith(row.slice(0, 24))),
    );
    expect(sentTo(api)).toEqual([rest]);
    expect(server.count).toBe(0);
  });

  test('no row that is only not chosen now', async () => {
    const { byBatch, idsOf, submit } = await inferring();
    await byBatch();
    expect(await byBatch('--limit', '2')).toMatchObject({ said: { batch: { awaited: 2 } } });
    const api = await batchApi();
    await submit(api.url);
    expect(sentTo(api)).toEqual([await idsOf('requests-0001.jsonl')]);
  });

  test('no request of a prediction that is as it was again, and what replaced it instead', async () => {
    const { byBatch, idsOf, submit, change } = await judging();
    await byBatch();
    await change([1, 4]);
    await byBatch();
    await change([4]);
    expect(await byBatch()).toMatchObject({ said: { batch: { written: 0, awaited: ROWS } } });
    const api = await batchApi();
    await submit(api.url);
    const [first, second] = [await idsOf('requests-0001.jsonl'), await idsOf('requests-0002.jsonl')];
    expect(sentTo(api)).toEqual([first.filter((_, place) => place !== 4), second.slice(1)]);
  });

  test('nothing of what is at the server already: it says how many are void there', async () => {
    const { byBatch, submit, change, batch } = await judging();
    await byBatch();
    const api = await batchApi({ looks: 1000 });
    await submit(api.url);
    await change([1]);
    await byBatch();
    const { stdout, code } = await submit(api.url);
    expect(code).toBe(EXIT.later);
    expect(stdout).toMatch(/requests-0001\.jsonl: 1 request became void after this was submitted, and its\s+result/);
    expect(sentTo(api).map((ids) => ids.length)).toEqual([ROWS, 1]);
    expect(api.batches.map(({ status }) => status)).not.toContain('cancelling');
    const status = JSON.parse((await awb(['batch', 'status', batch, '--json'])).stdout);
    expect(status.parts).toMatchObject([
      { sent_requests: ROWS, void: 0, void_asked: 1 },
      { sent_requests: 1, void: 0, void_asked: 0 },
    ]);
  });
});

describe('a run whose other requests are void', () => {
  test('awaits nothing once the rest has come: what has failed may be asked live then', async () => {
    const flags = ['--top-k', '20', '--allow-param-drop'];
    const { server, asked, byBatch, answer, batch, submit } = await inferring(picky, ...flags);
    await byBatch();
    await answer('a.jsonl', (_, place) => place === 0);
    const { said } = await byBatch();
    expect(said.batch.parts).toMatchObject([
      { answered: 1, awaited: 0, void: ROWS - 1 },
      { answered: 0, awaited: ROWS, void: 0 },
    ]);
    let replies = 0;
    const finish_reason = () => (replies++ === 0 ? 'content_filter' : 'stop');
    const reply = () => ({
      choices: [{ message: { role: 'assistant', content: 'seen' }, finish_reason: finish_reason() }],
    });
    const api = await batchApi({ answer: () => ({ status: 200, body: reply() }) });
    const waited = await submit(api.url, '--wait');
    expect(waited.stdout).toMatch(/requests-0001\.jsonl +6 +void/);
    expect(waited.stdout).toContain('requests-0001.jsonl: 5 requests are void and left out');
    expect((await awb(['batch', 'fetch', batch])).code).toBe(EXIT.done);
    expect(await byBatch()).toMatchObject({ code: EXIT.incomplete, said: { counts: { failed: 1 } } });
    expect((await awb([...asked, '--model-base-url', server.url])).code).toBe(EXIT.done);
    // The one whose result showed that the parameter is not taken, and the row that had failed.
    expect(server.count).toBe(2);
  });

  test('has them left out by batch run', async () => {
    const { server, byBatch, answer, batch } = await inferring(picky, '--top-k', '20', '--allow-param-drop');
    await byBatch();
    await answer('a.jsonl', (_, place) => place === 0);
    await byBatch();
    const run = (...flags: string[]) => awb(['batch', 'run', batch, '--model-base-url', server.url, ...flags]);
    const { code, stdout } = await run();
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain(`${ROWS + 1} of ${ROWS + 1} requests have results`);
    expect(stdout).toContain(`${ROWS - 1} more are void and left out`);
    expect(server.count).toBe(1 + ROWS);
    expect(JSON.parse((await run('--json')).stdout)).toMatchObject({ requests: ROWS + 1, void: ROWS - 1, missing: 0 });
    expect(await byBatch()).toMatchObject({ code: EXIT.done });
  });
});

/** Has batch.json say which lines of its parts are void. */
async function setVoid(dir: string, lines: readonly (string | undefined)[]): Promise<void> {
  const path = join(dir, 'batch.json');
  const batch = JSON.parse(await readFile(path, 'utf8'));
  const parts = batch.parts.map((part: object, place: number) => ({ ...part, void: lines[place] }));
  await writeFile(path, JSON.stringify({ ...batch, parts }));
}

describe('a part that is submitted in part, since the rest is void', () => {
  const submitted = (dir: string, url: string, ...flags: string[]) =>
    awb(['batch', 'submit', dir, '--base-url', url, '--poll', '0.01', ...flags]);
  const rows = (...numbers: number[]) => numbers.map((number) => `row-${number}_0_abc`);

  test('is noted with the requests and bytes that were sent', async () => {
    const dir = await batchFolder([4, 2]);
    await setVoid(dir, ['1,3-4', undefined]);
    const api = await batchApi();
    expect((await submitted(dir, api.url, '--wait')).code).toBe(EXIT.done);
    expect(sentTo(api)).toEqual([rows(2), rows(5, 6)]);
    const { sent } = JSON.parse(await readFile(join(dir, 'submission.json'), 'utf8'));
    expect(sent).toMatchObject([{ requests: 1, void: '1,3-4', bytes: api.files[0]?.bytes }, { requests: 2 }]);
    expect(sent[1]).not.toHaveProperty('void');
  });

  test('is uploaded anew where more is void by the time there is room for it', async () => {
    const dir = await batchFolder([3, 3, 3]);
    const api = await batchApi({ enqueued: { tokens: 200, toldAt: 'creation' }, looks: 1000 });
    await submitted(dir, api.url);
    expect(sentTo(api)).toEqual([rows(1, 2, 3), rows(4, 5, 6)]);
    await setVoid(dir, [undefined, '2-3', '1-3']);
    api.finish();
    expect((await submitted(dir, api.url)).stdout).toMatch(/requests-0003\.jsonl +3 +void/);
    const batches = api.batches.map(({ input_file_id }) => api.files.findIndex(({ id }) => id === input_file_id));
    const uploads = sentTo(api);
    expect(uploads).toEqual([rows(1, 2, 3), rows(4, 5, 6), rows(4)]);
    expect(api.files[batches.at(-1) ?? 0]?.content.toString()).toContain('row-4_0_abc');
    expect(api.files[batches.at(-1) ?? 0]?.content.toString()).not.toContain('row-5_0_abc');
  });

  test('is uploaded anew where others are void by the time there is room for it, and as many', async () => {
    const dir = await batchFolder([3, 3]);
    await setVoid(dir, [undefined, '1']);
    const api = await batchApi({ enqueued: { tokens: 200, toldAt: 'creation' }, looks: 1000 });
    await submitted(dir, api.url);
    await setVoid(dir, [undefined, '2']);
    api.finish();
    expect((await submitted(dir, api.url)).code).toBe(EXIT.later);
    expect(sentTo(api)).toEqual([rows(1, 2, 3), rows(5, 6), rows(4, 6)]);
    expect(batchedBy(api)).toEqual([rows(1, 2, 3), rows(4, 6)]);
    expect(new Set(api.files.map(({ filename }) => filename)).size).toBe(api.files.length);
  });

  test('is made a batch without what has got its result since it was uploaded', async () => {
    const dir = await batchFolder([3, 3, 3]);
    const api = await batchApi({ enqueued: { tokens: 200, toldAt: 'creation' }, looks: 1000 });
    await submitted(dir, api.url);
    const { server } = await inferring();
    const later = (await requestsIn(dir)).filter((_, place) => place === 4 || place > 5);
    await writeResults(dir, 'elsewhere.jsonl', resultLines(await answersTo(later, server.url), 'openai'));
    api.finish();
    await submitted(dir, api.url);
    expect(sentTo(api)).toEqual([rows(1, 2, 3), rows(4, 5, 6), rows(4, 6)]);
    expect(batchedBy(api)).toEqual([rows(1, 2, 3), rows(4, 6)]);
  });

  test('leaves out what becomes void while the command waits for room', async () => {
    const dir = await batchFolder([3, 3]);
    let looks = 0;
    const api = await batchApi({
      enqueued: { tokens: 200, toldAt: 'creation' },
      looks: 1000,
      trouble({ method, path }) {
        if (method === 'GET' && path.startsWith('/batches/') && ++looks === 2) {
          // Before the answer that says that there is room.
          const batch = JSON.parse(readFileSync(join(dir, 'batch.json'), 'utf8'));
          batch.parts[1].void = '1,3';
          writeFileSync(join(dir, 'batch.json'), JSON.stringify(batch));
          api.finish();
        }
        if (looks > 2) api.finish();
        return undefined;
      },
    });
    expect((await submitted(dir, api.url, '--wait')).code).toBe(EXIT.done);
    expect(sentTo(api)).toEqual([rows(1, 2, 3), rows(4, 5, 6), rows(5)]);
    expect(batchedBy(api)).toEqual([rows(1, 2, 3), rows(5)]);
  });

  test('counts what is void and at work by itself, where as many others were left out', async () => {
    const dir = await batchFolder([4]);
    await setVoid(dir, ['1-2']);
    const api = await batchApi({ looks: 1000 });
    await submitted(dir, api.url);
    await setVoid(dir, ['2-3']);
    const status = JSON.parse((await awb(['batch', 'status', dir, '--json'])).stdout);
    expect(status.parts).toMatchObject([{ sent_requests: 2, void: 1, void_asked: 1 }]);
  });

  test('waits for no room once all of it is void', async () => {
    const dir = await batchFolder([3, 3]);
    const api = await batchApi({ enqueued: { tokens: 200, toldAt: 'creation' }, looks: 1000 });
    await submitted(dir, api.url);
    await setVoid(dir, [undefined, '1-3']);
    api.finish();
    const { code, stdout } = await submitted(dir, api.url);
    expect(stdout).toMatch(/requests-0002\.jsonl +3 +void/);
    expect(code).toBe(EXIT.done);
    expect(api.batches).toHaveLength(1);
  });

  test('is said to lack results once its run waits for them after all, and --again sends them alone', async () => {
    const dir = await batchFolder([3]);
    await setVoid(dir, ['2']);
    const api = await batchApi();
    expect((await submitted(dir, api.url, '--wait')).code).toBe(EXIT.done);
    expect((await awb(['batch', 'fetch', dir])).code).toBe(EXIT.done);
    await setVoid(dir, [undefined]);
    const short = await submitted(dir, api.url);
    expect([short.code, /submit .* --again/.test(short.stdout)]).toEqual([EXIT.incomplete, true]);
    expect((await submitted(dir, api.url, '--again', '--wait')).code).toBe(EXIT.done);
    expect(sentTo(api)).toEqual([rows(1, 3), rows(2)]);
  });

  test('is submitted once, and what became void behind a kill is not, whenever it is killed', {
    timeout: 120_000,
  }, async () => {
    const before: number[] = [];
    for (const moment of ['reset', 'reset-after'] as const) {
      let wasKilled = true;
      for (let at = 0; wasKilled; at++) {
        let kill: (() => void) | undefined;
        const api = await batchApi({
          trouble({ index }) {
            if (index !== at || kill === undefined) return undefined;
            kill();
            return moment;
          },
        });
        const dir = await batchFolder([3, 2]);
        await setVoid(dir, ['2', undefined]);
        const { child, ended } = startAwb(['batch', 'submit', dir, '--base-url', api.url]);
        kill = () => child.kill('SIGKILL');
        wasKilled = (await ended).signal === 'SIGKILL';
        kill = undefined;
        const made = api.batches.length;
        before.push(made);
        await setVoid(dir, ['2', '1-2']);
        expect((await submitted(dir, api.url)).code).toBe(EXIT.later);
        const inputs = api.batches.map(({ input_file_id }) => api.files.find(({ id }) => id === input_file_id));
        const asked = inputs.map((file) => [...String(file?.content).matchAll(/row-\d_0_abc/g)].map(String));
        expect(asked).toEqual(made < 2 ? [rows(1, 3)] : [rows(1, 3), rows(4, 5)]);
      }
    }
    expect(new Set(before)).toEqual(new Set([0, 1, 2]));
  });

  test('is refused where batch.json names lines that the file does not have, or more than any file has', async () => {
    const dir = await batchFolder([3]);
    const api = await batchApi();
    for (const lines of ['4', '2-4', '0', '3,1', '1,2', 'all', '']) {
      await setVoid(dir, [lines]);
      expect((await submitted(dir, api.url)).code, lines).toBe(EXIT.badData);
    }
    await setVoid(dir, ['1']);
    const path = join(dir, 'batch.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"requests":3', '"requests":1000000000000000'));
    expect((await submitted(dir, api.url)).code).toBe(EXIT.badData);
    expect(api.requests).toEqual([]);
  });
});
