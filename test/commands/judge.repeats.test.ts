// awb judge --judge-repeats: one prediction judged several times.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { awb, type CliResult } from '../support/cli.js';
import { changeRows, inferred, jsonOf, type Row, rowsOf, verdict, writeRows } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';

let server: LoopbackServer;
afterEach(() => server.close());

interface Folder {
  readonly dir: string;
  readonly predictions: string;
}

/** A folder of two predictions, and a judge. */
async function begin(answer: (request: SeenRequest) => string = () => verdict(4)): Promise<Folder> {
  server = await startLoopbackServer((request) => ({ content: answer(request) }));
  return inferred(['--domains', 'os,web']);
}

function judge(
  folder: Folder,
  count: number,
  options: readonly string[] = [],
  stop = new AbortController().signal,
): Promise<CliResult> {
  const repeats = count === 1 ? [] : ['--judge-repeats', String(count)];
  const where = ['--predictions', folder.predictions, '--output-dir', folder.dir];
  const how = ['--judge-base-url', server.url, '--judge-model', 'j', '--concurrency', '1', '--seed', '11'];
  return awb(['judge', ...where, ...how, ...repeats, ...options], { stop });
}

const judgedIn = ({ dir }: Folder) => rowsOf(join(dir, 'judged.jsonl'));
const manifestIn = ({ dir }: Folder) => jsonOf(join(dir, 'judged.manifest.json'));
const indexesOf = (rows: readonly Row[]) => rows.map((row) => row.awb.judge.index);
const seedsOf = (asked: readonly SeenRequest[]) => asked.map(({ body }) => body.seed);

describe('what score says about the variance', () => {
  const row = (id: number, repeat: number, index: number) => {
    const total = 1 + ((id * 7 + repeat * 3 + index * 5) % 5);
    const key = `k${id}`;
    const judgedBy = index === 0 ? { status: 'ok' } : { index, status: 'ok' };
    const awb = { key, trajectory: `t${id}`, repeat, judge: judgedBy };
    const ratings = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, total]));
    return { task: 'web', id, turn_idx: 1, gen: 'g', total_score: total, ...ratings, failed: 0, awb };
  };
  const design = (repeats: number, judgements: number) =>
    Array.from({ length: 12 * repeats * judgements }, (_, at) =>
      row(Math.floor(at / repeats / judgements), Math.floor(at / judgements) % repeats, at % judgements),
    );

  it.each([
    [2, 2, /^variance: rows \d+ %, generation \d+ %, judge \d+ %$/m, []],
    [1, 2, /^variance: rows \d+ %, generation not separable, judge \d+ %$/m, ['generation from row']],
    [2, 1, /^variance: rows \d+ %, generation \d+ %, judge not separable$/m, ['judge from generation']],
    [1, 1, undefined, ['generation from row', 'judge from row']],
  ])(
    'with %s repeats and %s judgements names what is not separable',
    async (repeats, judgements, line, inseparable) => {
      const folder = await begin();
      const file = join(folder.dir, 'design.jsonl');
      await writeRows(file, design(repeats, judgements));
      const score = (options: readonly string[]) =>
        awb(['score', file, '--db', join(folder.dir, 'x.sqlite'), ...options]);
      const { stdout } = await score([]);
      if (line === undefined) expect(stdout).not.toContain('variance:');
      else expect(stdout).toMatch(line);
      const document = JSON.parse((await score(['--json'])).stdout);
      expect(document.variance.not_separable).toEqual(inseparable);
      expect(document.domains.web.variance).toEqual(document.variance);
      const compared = JSON.parse((await awb(['compare', file, file, '--json'])).stdout);
      expect(compared.overall.total.variance.not_separable).toEqual(inseparable);
    },
  );
});

describe('several judgements of a prediction', () => {
  it('follow each other in the file, each with what the judge said then', async () => {
    const folder = await begin(({ index }) => verdict((index % 5) + 1));
    const { code, stdout } = await judge(folder, 3);
    expect(code).toBe(0);
    expect(stdout).toContain('judgements: 6 of 6 done; 6 in this session');
    expect(stdout).toContain('these are judgements of 2 predictions');
    const rows = await judgedIn(folder);
    expect(indexesOf(rows)).toEqual([undefined, 1, 2, undefined, 1, 2]);
    expect(new Set(rows.map((row) => row.awb.key)).size).toBe(2);
    const ids = (await rowsOf(join(folder.dir, 'judged.journal.jsonl'))).map(({ id }) => id.replace(/^[^#]+/, ''));
    expect(ids).toEqual(['#0', '#0#1', '#0#2', '#0', '#0#1', '#0#2']);
  });

  it('are asked with the same prompt, one after the other, and with their own seeds', async () => {
    const folder = await begin();
    await judge(folder, 3);
    const prompts = server.requests.map(({ body }) => body.messages[1].content);
    expect(prompts.map((prompt) => prompts.indexOf(prompt))).toEqual([0, 0, 0, 3, 3, 3]);
    expect(new Set(seedsOf(server.requests.slice(0, 3))).size).toBe(3);
    expect(server.requests[0]?.body.seed).toBe(11);
  });

  it('have the same first judgement as without the others, byte for byte', async () => {
    const folder = await begin();
    await judge(folder, 1);
    const once = await readFile(join(folder.dir, 'judged.jsonl'), 'utf8');
    await judge(folder, 3, ['--fresh']);
    const lines = (await readFile(join(folder.dir, 'judged.jsonl'), 'utf8')).split('\n');
    expect(`${lines[0]}\n${lines[3]}\n`).toBe(once);
  });

  it('count as one prediction for coverage, and individually in the counts', async () => {
    const folder = await begin(({ index }) => (index === 1 ? 'nothing' : verdict(3)));
    const { code, stdout } = await judge(folder, 2, ['--max-retries', '1', '--json']);
    expect(code).toBe(3);
    const { chosen, counts } = await manifestIn(folder);
    expect(chosen).toEqual({ os: 1, web: 1 });
    expect(counts).toMatchObject({ chosen: 4, ok: 3, failed: 1, notDone: 0, absent: 0, failures: { unreadable: 1 } });
    expect(JSON.parse(stdout)).toMatchObject({ chosen, counts, asked: 4 });
    const scored = await awb(['score', '--predictions', join(folder.dir, 'judged.jsonl'), '--json'], {
      cwd: folder.dir,
    });
    expect(scored.code).toBe(0);
    expect(JSON.parse(scored.stdout)).toMatchObject({ coverage: 1, valid: 2 });
  });
});

it('an interrupted judging continues to the same bytes', async () => {
  const folder = await begin(({ body }) => verdict((body.seed % 5) + 1));
  await judge(folder, 3);
  const whole = await readFile(join(folder.dir, 'judged.jsonl'), 'utf8');
  const again = { ...folder, dir: join(folder.dir, 'again') };
  const stop = new AbortController();
  const before = server.count;
  await server.close();
  server = await startLoopbackServer(({ index, body }) => {
    if (index === 3) stop.abort('SIGINT');
    return { content: verdict((body.seed % 5) + 1) };
  });
  expect((await judge(again, 3, [], stop.signal)).code).toBe(130);
  expect((await judge(again, 3)).code).toBe(0);
  expect(server.count).toBe(before);
  expect(await readFile(join(again.dir, 'judged.jsonl'), 'utf8')).toBe(whole);
});

describe('another count', () => {
  it('that is larger asks only for the additional judgements', async () => {
    const folder = await begin();
    await judge(folder, 1);
    expect((await judge(folder, 3)).stdout).toContain('4 in this session');
    expect(server.count).toBe(6);
    expect(indexesOf(await judgedIn(folder))).toEqual([undefined, 1, 2, undefined, 1, 2]);
    const seeds = seedsOf(server.requests);
    expect(new Set([seeds[0], seeds[2], seeds[3]]).size).toBe(3);
  });

  it('that is smaller keeps existing judgements', async () => {
    const folder = await begin();
    await judge(folder, 3);
    const before = await readFile(join(folder.dir, 'judged.jsonl'), 'utf8');
    expect(await judge(folder, 1)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('6 of 6 done; 0 in this'),
    });
    expect(await readFile(join(folder.dir, 'judged.jsonl'), 'utf8')).toBe(before);
  });

  it('that is smaller ignores failed further judgements', async () => {
    const folder = await begin(({ index }) => (index === 1 ? 'nothing' : verdict(3)));
    expect((await judge(folder, 2, ['--max-retries', '1'])).code).toBe(3);
    expect(await judge(folder, 1)).toMatchObject({ code: 0, stdout: expect.stringContaining('3 of 3 done') });
    expect(server.count).toBe(4);
  });

  it('that is smaller drops the further judgements of a changed prediction', async () => {
    const folder = await begin();
    await judge(folder, 2);
    await changeRows(folder.predictions, (row, index) => {
      if (index === 0) row.gen = 'changed';
    });
    expect((await judge(folder, 1)).code).toBe(0);
    expect(server.count).toBe(5);
    expect(indexesOf(await judgedIn(folder))).toEqual([undefined, undefined, 1]);
  });

  it('belongs to the same judging', async () => {
    const folder = await begin();
    await judge(folder, 1);
    const { fingerprint } = await manifestIn(folder);
    await judge(folder, 2);
    expect((await manifestIn(folder)).fingerprint).toBe(fingerprint);
  });
});

it('a missing prediction gets one record, however often the others are judged', async () => {
  const folder = await begin();
  await changeRows(folder.predictions, (row, index) => {
    if (index === 0) row.gen = '';
  });
  expect((await judge(folder, 3)).code).toBe(0);
  const rows = await judgedIn(folder);
  expect(rows.map((row) => row.awb.judge.class)).toEqual(['empty', undefined, undefined, undefined]);
  expect((await manifestIn(folder)).counts).toMatchObject({ chosen: 4, ok: 3, failed: 1 });
});

it('predictions without a line count as missing once each', async () => {
  const folder = await begin();
  const [first] = await rowsOf(folder.predictions);
  await writeRows(folder.predictions, [first as Row]);
  const { code, stdout } = await judge(folder, 2);
  expect(code).toBe(3);
  expect(stdout).toContain('judgements: 2 of 3 done, 1 without a prediction');
  await holdText('judge-one-row-lacks', stdout.replace(/[\d.]+ s$/m, 'N s'), { [folder.dir]: '<dir>' });
  const { chosen } = await manifestIn(folder);
  expect(Object.values(chosen as Record<string, number>)).toEqual([1, 1]);
});

it('a recheck judges once more, and compares with the first judgements', async () => {
  const folder = await begin(({ index }) => verdict([5, 1, 5, 1, 4, 4][index] ?? 3));
  await judge(folder, 2);
  const { code, stdout } = await judge(folder, 2, ['--recheck', '2', '--json']);
  expect(code).toBe(0);
  expect(server.count).toBe(6);
  expect(JSON.parse(stdout)).toMatchObject({ counts: { chosen: 2, ok: 2 }, shift: { value: -25, rows: 2 } });
});

it('a judged file with several judgements can be judged again itself', async () => {
  const folder = await begin();
  await judge(folder, 2);
  const again = { dir: join(folder.dir, 'again'), predictions: join(folder.dir, 'judged.jsonl') };
  expect((await judge(again, 1)).code).toBe(0);
  expect(indexesOf(await judgedIn(again))).toEqual([undefined, undefined]);
});

it('measures are not taken several times', async () => {
  const folder = await begin();
  const { code, stderr } = await judge(folder, 2, ['--mode', 'metrics']);
  expect(code).toBe(2);
  expect(stderr).toContain('--mode metrics asks none');
  expect((await judge(folder, 1, ['--mode', 'metrics'])).code).toBe(0);
});

it('a judge that is likely to repeat itself causes a warning', async () => {
  const folder = await begin();
  const said = 'likely to repeat itself';
  expect((await judge(folder, 2)).stdout).not.toContain(said);
  expect((await judge(folder, 2, ['--temperature', '0', '--fresh'])).stdout).toContain(said);
});
