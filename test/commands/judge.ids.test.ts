// awb judge --ids: single rows judged, for the first time or again, without the rest.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED } from '../support/cli.js';
import { inferred, jsonOf, rowsOf, verdict, writeRows } from '../support/judging.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';

let server: LoopbackServer;
let answer: Handler;
let dir = '';
let predictions = '';
let keys: string[] = [];
beforeEach(async () => {
  answer = () => ({ content: verdict(4) });
  server = await startLoopbackServer((request) => answer(request));
  ({ dir, predictions } = await inferred(['--domains', 'os,web', '--limit', '2', '--repeats', '2']));
  keys = [...new Set((await rowsOf(predictions)).map((row) => row.awb.key))];
});
afterEach(() => server.close());

const asking = () => ['--judge-base-url', server.url, '--judge-model', 'j', '--concurrency', '1'];

/** Judges into a folder below the predictions' own, and returns what is then in it. */
async function judge(folder: string, ...options: readonly string[]) {
  const before = server.requests.length;
  const to = join(dir, folder);
  const result = await awb(['judge', predictions, '--output-dir', to, ...asking(), ...options]);
  const rows = await rowsOf(join(to, 'judged.jsonl')).catch(() => []);
  const manifest = await jsonOf(join(to, 'judged.manifest.json')).catch(() => ({}));
  const named = rows.map(({ awb }) => `${keys.indexOf(awb.key)}.${awb.repeat}.${awb.judge.index ?? 0}`);
  return { ...result, asked: server.requests.length - before, rows, named, manifest };
}

describe('rows by key or id', () => {
  test('are judged alone, in each of their repeats, and form a complete run', async () => {
    const [key = '', second = ''] = [keys[1], keys[2]];
    const one = await judge('one', '--ids', key);
    expect(one).toMatchObject({ code: EXIT.done, asked: 2, named: ['1.0.0', '1.1.0'] });
    expect(one.manifest).toMatchObject({
      state: 'complete',
      chosen: { os: 2 },
      counts: { chosen: 2, ok: 2, absent: 0 },
    });
    const both = await judge('one', '--ids', second);
    expect(both).toMatchObject({ asked: 2, named: ['1.0.0', '1.1.0', '2.0.0', '2.1.0'] });
    const all = await judge('one');
    expect(all).toMatchObject({ asked: 4, manifest: { chosen: { os: 4, web: 4 }, counts: { chosen: 8, ok: 8 } } });
  });

  test('are judged again in a new folder, and not in the folder where they are judged already', async () => {
    const all = await judge('.');
    expect(await judge('.', '--ids', keys[0] ?? '')).toMatchObject({ asked: 0, rows: all.rows });
    answer = () => ({ content: verdict(2) });
    const again = await judge('again', '--ids', keys[0] ?? '');
    expect(again).toMatchObject({ asked: 2, rows: [{ total_score: 2 }, { total_score: 2 }] });
    expect(await rowsOf(join(dir, 'judged.jsonl'))).toEqual(all.rows);
    const fresh = await judge('.', '--ids', keys[0] ?? '', '--fresh');
    expect(fresh).toMatchObject({ asked: 2, named: ['0.0.0', '0.1.0'] });
  });

  test('are asked again if their judgements failed, and other failures stay failures', async () => {
    answer = () => ({ content: 'no verdict' });
    await judge('.', '--max-retries', '1');
    answer = () => ({ content: verdict(4) });
    const one = await judge('.', '--max-retries', '1', '--ids', keys[3] ?? '');
    expect(one).toMatchObject({ code: EXIT.incomplete, asked: 2 });
    expect(one.manifest).toMatchObject({ state: 'incomplete', counts: { chosen: 8, ok: 2, failed: 6, notDone: 0 } });
  });

  test('are judged several times without the rest, and keep their further judgements', async () => {
    await judge('.', '--ids', keys[0] ?? '');
    const more = await judge('.', '--ids', keys[1] ?? '', '--judge-repeats', '2');
    expect(more).toMatchObject({ asked: 4, named: ['0.0.0', '0.1.0', '1.0.0', '1.0.1', '1.1.0', '1.1.1'] });
    const third = await judge('.', '--ids', keys[2] ?? '');
    expect(third).toMatchObject({ code: EXIT.done, asked: 2, manifest: { counts: { chosen: 8, ok: 8 } } });
  });

  test('ignore rows that infer could not predict, until the complete file is judged', async () => {
    const rows = await rowsOf(predictions);
    await writeRows(predictions, rows.slice(1));
    const one = await judge('.', '--ids', keys[1] ?? '');
    expect(one.manifest).toMatchObject({ state: 'complete', counts: { chosen: 2, absent: 0 } });
    expect((await judge('.')).manifest).toMatchObject({ state: 'incomplete', counts: { chosen: 8, absent: 1 } });
    const none = await judge('.', '--ids', keys[1] ?? '');
    expect(none).toMatchObject({ asked: 0, manifest: { state: 'incomplete', counts: { chosen: 8, absent: 1 } } });
  });

  test('in lean predictions are identified by the ids of the data, and all rows with an id are taken', async () => {
    const lean = await inferred(['--domains', 'os,web', '--limit', '2', '--lean']);
    const { id, task } = (await rowsOf(lean.predictions))[0] ?? {};
    predictions = lean.predictions;
    const found = await judge('lean', '--ids', String(id), '--data-dir', RECORDED);
    expect(found.code).toBe(EXIT.done);
    expect(found.rows.map((row) => row.id)).toContain(id);
    expect(found.rows.every((row) => String(row.id) === String(id))).toBe(true);
    expect(found.rows.map((row) => row.task)).toContain(task);
  });
});

test.each([
  [['--ids', 'nobody'], /^awb: --ids: no chosen row has id or key nobody/],
  [['--ids', 'nobody', '--recheck', '2'], /^awb: --recheck draws its own rows, .* choose a new --output-dir/],
])('%j is refused before anything is asked or written', async (options, message) => {
  const refused = await judge('none', ...options);
  expect(refused).toMatchObject({ code: EXIT.usage, asked: 0, stderr: expect.stringMatching(message) });
  expect(await readdir(dir)).not.toContain('none');
});
