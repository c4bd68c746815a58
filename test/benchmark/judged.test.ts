// Judged files of ours and of the official script, read into rows with exactly the numbers that stand there.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDataset } from '../../src/benchmark/dataset.js';
import { readJudged } from '../../src/benchmark/judged.js';
import { EXIT } from '../../src/core/errors.js';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'awb-judged-'));
});
afterAll(() => rm(dir, { recursive: true }));

const official = {
  task: 'terminal',
  id: 7,
  prompt: ['### Turn 1\nls', '### Turn 2\npwd'],
  response: ['a', '/'],
  current_prompt: '',
  system_str: 'shell',
  turn_idx: 2,
  total_turns: 2,
  gen: 'a',
  total_score: 4.2,
  format: 5,
  factuality: 4,
  consistency: 4,
  realism: 4,
  quality: 4,
  failed: 0.0,
};

const ours = (awb: object, rest: object = {}) => ({
  ...official,
  ...rest,
  awb: { key: 'k', trajectory: 't', repeat: 0, status: 'ok', flags: [], judge: { status: 'ok' }, ...awb },
});

async function file(content: string | Buffer): Promise<string> {
  const path = join(dir, `${createHash('sha256').update(content).digest('hex').slice(0, 8)}.jsonl`);
  await writeFile(path, content);
  return path;
}

async function read(...rows: readonly object[]) {
  return (await readJudged(await file(rows.map((row) => JSON.stringify(row)).join('\n')))).rows;
}

describe('a row of ours', () => {
  it('is read with its key, trajectory, repeat, flags and measures', async () => {
    const awb = {
      key: 'abc',
      trajectory: 'def',
      repeat: 3,
      flags: ['truncated'],
      measures: { chrf: 12.5, line_f1: null },
    };
    const [row] = await read(ours(awb, { task: 'x/mcp' }));
    expect(row).toEqual({
      key: 'abc',
      trajectory: 'def',
      repeat: 3,
      index: 0,
      domain: 'mcp',
      turnIdx: 2,
      failed: 0,
      total: 4.2,
      ratings: { format: 5, factuality: 4, consistency: 4, realism: 4, quality: 4 },
      measures: { chrf: 12.5 },
      flags: ['truncated'],
    });
  });

  it('is listed once for each judgement of its prediction', async () => {
    const judged = (judge: object) => ours({ judge: { status: 'ok', ...judge } });
    const rows = await read(judged({}), judged({ index: 1 }), judged({ index: 2 }));
    expect(rows.map(({ key, repeat, index }) => [key, repeat, index])).toEqual(
      [0, 1, 2].map((index) => ['k', 0, index]),
    );
    const twice = file([{ index: 1 }, {}, { index: 1 }].map((judge) => JSON.stringify(judged(judge))).join('\n'));
    await expect(twice.then((path) => readJudged(path))).rejects.toThrow(/:3: the same row as in line 1/);
  });

  it.each([
    [
      { class: 'judge-timeout', reason: 'slow' },
      { class: 'judge-timeout', reason: 'slow' },
    ],
    [
      { class: 'context-overflow', reason: 'long' },
      { class: 'context-overflow', reason: 'long' },
    ],
    [{ class: 'nonsense' }, { class: 'unreadable', reason: 'no reason was recorded' }],
  ])('that failed as %j keeps class and reason', async (judge, failure) => {
    const [row] = await read(ours({ judge: { status: 'failed', ...judge } }, { failed: 1, total_score: 0 }));
    expect(row?.failure).toEqual(failure);
  });

  it('that was only measured has no failure, though it has no ratings', async () => {
    const { failed: _, ...unrated } = ours({ judge: undefined, measures: { chrf: 0 } });
    const [row] = await read(unrated);
    expect(row).not.toHaveProperty('failed');
    expect(row).not.toHaveProperty('failure');
  });
});

describe('a row of the official script', () => {
  it('has the key and trajectory that the data gives it, each equal row one of its own', async () => {
    const line = JSON.stringify({ ...official, gen: undefined });
    const data = await mkdtemp(join(dir, 'data-'));
    await writeFile(join(data, 'terminal_test.jsonl'), `${line}\n${line}\n`);
    const dataset = await openDataset(data);
    const rows = await read(official, { ...official, gen: 'b' });
    expect(rows.map(({ key, trajectory }) => ({ key, trajectory }))).toEqual(
      [...dataset.rows].map(({ key, trajectory }) => ({ key, trajectory })),
    );
    await dataset.close();
  });

  it('without its input fields is known by its bytes, and is a trajectory of its own', async () => {
    const row = { task: 'mcp', failed: 0, total_score: 3 };
    const rows = await read(row, row, { ...row, total_score: 4 });
    expect(new Set(rows.map(({ key }) => key)).size).toBe(3);
    expect(rows.map(({ trajectory }) => trajectory)).toEqual(rows.map(({ key }) => key));
    expect(rows[0]?.turnIdx).toBe(1);
  });

  it.each([
    ['an empty gen', 'empty', { gen: '' }],
    ['no gen', 'empty', { gen: undefined }],
    ['a gen that could not be judged', 'unreadable', { gen: 'x' }],
    ['an overflow of ours', 'context-overflow', { gen: '', awb: { status: 'failed', class: 'context-overflow' } }],
    ['a time-out of ours', 'prediction', { gen: '', awb: { status: 'failed', class: 'timeout' } }],
  ])('that failed with %s is of class %s', async (_name, failureClass, fields) => {
    const [row] = await read({ ...official, failed: 1, error_message: 'why', ...fields });
    expect(row?.failure).toEqual({ class: failureClass, reason: 'why' });
  });

  it.each([
    [0, 0],
    [1, 1],
    [false, 0],
    [true, 1],
    ['0', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('with failed %j counts as %j', async (given, failed) => {
    const [row] = await read({ ...official, failed: given });
    expect(row?.failed).toBe(failed);
    expect(row?.failure === undefined).toBe(failed === 0);
  });

  it.each([
    [0, 0],
    [4.5, 4.5],
    [true, 1],
    ['4', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('with a rating of %j is read as %j', async (given, rating) => {
    const [row] = await read({ ...official, realism: given, total_score: given });
    expect(row?.ratings.realism).toBe(rating);
    expect(row?.total).toBe(rating ?? 0);
  });
});

it('lines end only at byte 0x0A, blank ones are skipped, and the fingerprint is that of the bytes', async () => {
  const [row, other] = ['a', 'b'].map((key) => JSON.stringify(ours({ key }, { gen: 'one\u2028two\u0085three' })));
  const text = `\ufeff${row}\r\n\r\n  \n${other}`;
  const path = await file(text);
  const judged = await readJudged(path);
  expect(judged.rows.map(({ key }) => key)).toEqual(['a', 'b']);
  expect(judged.sha256).toBe(
    createHash('sha256')
      .update(await readFile(path))
      .digest('hex'),
  );
});

describe('ratings that no judge can have meant', () => {
  it('are read as they stand, and named with file, line and value', async () => {
    const lines = [{}, { format: 100, total_score: 23.2 }, { failed: 1, format: 9 }, { realism: -1 }, { quality: 0 }];
    const path = await file(lines.map((line, id) => JSON.stringify({ ...official, id, ...line })).join('\n'));
    const { rows, warnings } = await readJudged(path);
    expect(rows[1]).toMatchObject({ total: 23.2, ratings: { format: 100 } });
    expect(warnings).toEqual([
      expect.stringContaining(
        `${path}:2: format 100, total_score 23.2: impossible (ratings are 1 to 5, or 0 if none was given) (and 1 more row with such ratings); the official figures count such ratings`,
      ),
    ]);
  });

  it('are none in a sound file', async () => {
    expect((await readJudged(await file(JSON.stringify(official)))).warnings).toEqual([]);
  });
});

describe('a file that cannot be scored', () => {
  const good = JSON.stringify(official);
  it.each([
    ['a line that is not JSON', `${good}\nhello\n`, /:2: not a JSON object/],
    ['a line that is a list', `${good}\n\n[]\n`, /:3: not a JSON object/],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), /:1: not valid UTF-8/],
    ['a torn last line', `${good}\n${good.slice(0, 50)}`, /:2: the last line is cut off; run awb judge again/],
    ['a row without task', '{"failed": 0}\n', /:1: the key "task" is missing/],
    ['a task without a name', '{"task": "eval/", "failed": 0}\n', /:1: the key "task" is missing/],
    ['a row that stands there twice', `${JSON.stringify(ours({}))}\n`.repeat(2), /:2: the same row as in line 1/],
    [
      'predictions that were not judged',
      '{"task": "mcp", "gen": "x"}\n',
      /has no judgements.*run awb judge --predictions/,
    ],
    ['no rows', '\n', /has no rows/],
  ])('because of %s says what, where and how to fix it', async (_name, content, message) => {
    const path = await file(content);
    const error = await readJudged(path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.badData });
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(path);
  });

  it.each([
    ['turn_idx', '1e20', /"turn_idx" cannot be 100000000000000000000; fix/],
    ['turn_idx', '1e999', /"turn_idx" cannot be Infinity/],
    ['format', '1e7', /"format" cannot be 10000000; fix the line or remove it/],
    ['realism', '-1e999', /"realism" cannot be -Infinity/],
    ['total_score', '1e400', /"total_score" cannot be Infinity/],
    ['failed', '-1e300', /"failed" cannot be -1e\+300/],
  ])('because of a %s of %s says which line and number', async (key, number, message) => {
    const line = JSON.stringify({ ...official, id: 8, [key]: 'HERE' }).replace('"HERE"', number);
    const path = await file(`${good}\n${line}\n`);
    const error = await readJudged(path).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.badData });
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(`${path}:2:`);
  });

  it.each([
    ['none.jsonl', /no such file/],
    ['.', /it is a folder/],
  ])('because %s is not a file is an input that is missing', async (name, message) => {
    const error = await readJudged(join(dir, name)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ exitCode: EXIT.inputMissing });
    expect((error as Error).message).toMatch(message);
  });
});

describe('a file that could hang or never end', () => {
  it.each([
    ['a FIFO', (path: string) => void execFileSync('mkfifo', [path])],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ])('as %s is not read', async (_name, make) => {
    const path = join(mkdtempSync(join(dir, 'odd-')), 'judged.jsonl');
    make(path);
    const refused = { exitCode: EXIT.inputMissing, message: expect.stringContaining('a special file') };
    await expect(readJudged(path)).rejects.toMatchObject(refused);
  });

  it('is left when the user stops it', async () => {
    const path = await file(`${JSON.stringify(official)}\n`);
    await expect(readJudged(path, AbortSignal.abort('SIGINT'))).rejects.toMatchObject({ exitCode: EXIT.interrupted });
    await expect(readJudged(path, AbortSignal.abort('SIGTERM'))).rejects.toMatchObject({ exitCode: EXIT.terminated });
  });
});
