// Requests that have become void since they were written are neither submitted nor answered, and nothing else is left out.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/errors.js';
import { answersTo, requestsIn, resultLines, writeResults } from '../support/batch-answers.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { type Handler, startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const ROWS = 6;
const SCORES = { format: 3, factuality: 3, consistency: 3, realism: 3, quality: 3 };
const VERDICT = JSON.stringify({ scores: SCORES, strengths: ['s'], weaknesses: ['w'] });
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
  const change = (places: readonly number[]) => {
    const lines = before.trimEnd().split('\n');
    const changed = lines.map((line, place) => {
      const row = JSON.parse(line);
      return places.includes(place) ? JSON.stringify({ ...row, gen: `otherwise ${place}` }) : line;
    });
    return writeFile(path, `${changed.join('\n')}\n`);
  };
  const set = await setUp(['judge', '--predictions', path, '--judge-model', 'j'], () => ({ content: VERDICT }));
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
});
