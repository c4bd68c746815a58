// Request files that were never submitted are rewritten if the run now asks for something else; submitted ones stay.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { answersTo, requestsIn, resultLines, writeResults } from '../support/batch-answers.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb, temporaryFolder } from '../support/cli.js';
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

/** A command with batch files, and what answers them. */
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
    (await requestsIn(batch, files.length === 0 ? undefined : files)).map(({ custom_id }) => custom_id);
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

/** A judging of predictions whose text a test can change. */
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

/** Ids that a batch server received, file by file. */
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

/** Ids in the batches that were created, batch by batch. */
const batchedBy = (api: Awaited<ReturnType<typeof batchApi>>) => {
  const sent = sentTo(api);
  const inputs = api.files.filter(({ purpose }) => purpose === 'batch');
  return api.batches.map(({ input_file_id }) => sent[inputs.findIndex(({ id }) => id === input_file_id)]);
};

const rows = (...numbers: number[]) => numbers.map((number) => `row-${number}_0_abc`);

describe('files that were never submitted', () => {
  test('are left unchanged if nothing has changed', async () => {
    const { byBatch, idsOf, batch } = await inferring();
    await byBatch();
    const before = await idsOf();
    expect(await byBatch()).toMatchObject({ said: { batch: { written: 0, awaited: ROWS } } });
    expect(await idsOf()).toEqual(before);
    expect((await readdir(batch)).sort()).toEqual(['batch.json', 'requests-0001.jsonl']);
  });

  test('replace requests about a prediction that has since changed, and are submitted that way', async () => {
    const { byBatch, idsOf, submit, change, batch } = await judging();
    await byBatch();
    const before = await idsOf();
    await change([1, 4]);
    expect(await byBatch()).toMatchObject({ said: { batch: { written: ROWS, awaited: ROWS } } });
    expect((await readdir(batch)).sort()).toEqual(['batch.json', 'requests-0001.jsonl']);
    const now = await idsOf();
    expect(now.filter((id) => before.includes(id))).toEqual(before.filter((_, place) => place !== 1 && place !== 4));
    const api = await batchApi();
    await submit(api.url);
    expect(sentTo(api)).toEqual([now]);
  });

  test('contain nothing about a prediction that is empty now, and are deleted if none is left', async () => {
    const { byBatch, idsOf, submit, change, batch } = await judging();
    await byBatch();
    const before = await idsOf();
    await change([1], () => '');
    expect(await byBatch()).toMatchObject({ said: { counts: { failed: 1 }, batch: { awaited: ROWS - 1 } } });
    expect(await idsOf()).toEqual(before.filter((_, place) => place !== 1));
    await change([0, 1, 2, 3, 4, 5], () => '');
    expect(await byBatch()).toMatchObject({ code: EXIT.done, said: { counts: { failed: ROWS } } });
    expect(await readdir(batch)).toEqual(['batch.json']);
    const api = await batchApi();
    expect(await submit(api.url)).toMatchObject({ code: EXIT.done });
    expect(sentTo(api)).toEqual([]);
  });

  test('are withdrawn by --finish-online before the first row is asked live, however it ends', async () => {
    const { server, asked, byBatch, idsOf, submit, batch, out } = await inferring();
    await byBatch();
    const before = await idsOf();
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
    expect(sentTo(api)).toEqual([before.filter((id) => !done.some((row) => id.startsWith(row.slice(0, 24))))]);
    expect(server.count).toBe(0);
  });

  test('contain the rows that are chosen now', async () => {
    const { byBatch, idsOf } = await inferring();
    await byBatch();
    const all = await idsOf();
    expect(await byBatch('--limit', '2')).toMatchObject({ said: { batch: { awaited: 2 } } });
    expect(await idsOf()).toHaveLength(2);
    expect(await byBatch()).toMatchObject({ said: { batch: { awaited: ROWS } } });
    expect((await idsOf()).sort()).toEqual(all.sort());
  });

  test('still match the results of an engine that received them before', async () => {
    const { server, byBatch, batch } = await inferring();
    await byBatch();
    const given = await requestsIn(batch);
    await byBatch('--limit', '2');
    await writeResults(batch, 'late.jsonl', resultLines(await answersTo(given, server.url), 'openai'));
    const { code, said } = await byBatch();
    expect(code).toBe(EXIT.done);
    expect(said.batch.notes).toEqual([]);
    expect(server.count).toBe(ROWS);
  });

  test('are submitted in the form that the run last wrote, even while the command waiting for room', async () => {
    const dir = await batchFolder([3, 3, 3]);
    let looks = 0;
    const api = await batchApi({
      enqueued: { tokens: 200, toldAt: 'creation' },
      looks: 1000,
      trouble({ method, path }) {
        if (method === 'GET' && path.startsWith('/batches/') && ++looks === 2) {
          // Before the answer that reports room.
          const batch = JSON.parse(readFileSync(join(dir, 'batch.json'), 'utf8'));
          writeFileSync(join(dir, 'batch.json'), JSON.stringify({ ...batch, parts: batch.parts.slice(0, 2) }));
          rmSync(join(dir, 'requests-0003.jsonl'));
        }
        if (looks >= 2) api.finish();
        return undefined;
      },
    });
    expect((await awb(['batch', 'submit', dir, '--base-url', api.url, '--poll', '0.01', '--wait'])).code).toBe(
      EXIT.done,
    );
    expect(batchedBy(api)).toEqual([rows(1, 2, 3), rows(4, 5, 6)]);
  });
});

describe('a submitted file', () => {
  test('is left unchanged, and changes go into the next file', async () => {
    const { byBatch, submit, change, idsOf } = await judging();
    await byBatch();
    const api = await batchApi({ looks: 1000 });
    await submit(api.url);
    const first = await idsOf();
    await change([1]);
    expect(await byBatch()).toMatchObject({ said: { batch: { written: 1, awaited: ROWS } } });
    expect((await submit(api.url)).code).toBe(EXIT.later);
    expect(sentTo(api)).toEqual([first, await idsOf('requests-0002.jsonl')]);
  });

  test('blocks nothing: once all results are there, failed rows may be asked live', async () => {
    const { server, asked, byBatch, batch, submit } = await inferring();
    await byBatch();
    let replies = 0;
    const finish_reason = () => (replies++ === 0 ? 'content_filter' : 'stop');
    const message = { role: 'assistant', content: 'seen' };
    const api = await batchApi({
      answer: () => ({ status: 200, body: { choices: [{ message, finish_reason: finish_reason() }] } }),
    });
    await submit(api.url, '--wait');
    expect((await awb(['batch', 'fetch', batch])).code).toBe(EXIT.done);
    expect(await byBatch()).toMatchObject({ code: EXIT.incomplete, said: { counts: { failed: 1 } } });
    const before = server.count;
    expect((await awb([...asked, '--model-base-url', server.url])).code).toBe(EXIT.done);
    expect(server.count - before).toBe(1);
  });

  test('is batched without the requests that got a result since it was uploaded', async () => {
    const dir = await batchFolder([3, 3, 3]);
    const api = await batchApi({ enqueued: { tokens: 200, toldAt: 'creation' }, looks: 1000 });
    const submitted = () => awb(['batch', 'submit', dir, '--base-url', api.url, '--poll', '0.01']);
    await submitted();
    const { server } = await inferring();
    const later = (await requestsIn(dir)).filter((_, place) => place === 4 || place > 5);
    await writeResults(dir, 'elsewhere.jsonl', resultLines(await answersTo(later, server.url), 'openai'));
    api.finish();
    await submitted();
    expect(sentTo(api)).toEqual([rows(1, 2, 3), rows(4, 5, 6), rows(4, 6)]);
    expect(batchedBy(api)).toEqual([rows(1, 2, 3), rows(4, 6)]);
    expect(new Set(api.files.map(({ filename }) => filename)).size).toBe(api.files.length);
  });
});
