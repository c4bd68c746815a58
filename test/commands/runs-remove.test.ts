// `awb runs remove` end to end: nothing is removed without --yes, only what was named is removed, and it can be stored again.

import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { queryIn } from '../support/stored-runs.js';

let dir: string;
let db: string;
beforeEach(async () => {
  dir = await temporaryFolder();
  db = join(dir, 'awb.sqlite');
  for (const name of ['step-1', 'step-2', 'step-3']) await stored(name);
});

const line = (...words: string[]) => awb(words, { cwd: dir });
const remove = (...words: string[]) => line('runs', 'remove', ...words);
const labels = () => queryIn(db, 'SELECT label FROM runs ORDER BY id').map(({ label }) => label);
const stored = (name: string, label = name) => judgedRun(join(dir, name), { label, rating: around(3), rows: 60 }, db);

describe('without --yes', () => {
  test('nothing is removed, and what would be is listed', async () => {
    const before = readFileSync(db);
    const { code, stdout, stderr } = await remove('1', 'step-3');
    expect([code, stderr]).toEqual([2, 'awb: nothing was removed; add --yes to remove 2 runs\n']);
    expect(stdout.match(/^ \d .*/gm)?.map((text) => text.split(/ +/).slice(1, 3))).toEqual([
      ['1', 'step-1'],
      ['3', 'step-3'],
    ]);
    expect(stdout).toMatch(/\nabout \d+ kB; judged files and journals stay\n$/);
    expect(readFileSync(db).equals(before)).toBe(true);
    const document = JSON.parse((await remove('1', '--json')).stdout);
    expect(document).toMatchObject({
      schema: 'awb.runs-removed/1',
      removed: false,
      runs: [{ id: 1 }],
      bytes_after: null,
    });
    expect(labels()).toHaveLength(3);
  });
});

describe('with --yes', () => {
  test('the named runs are removed, each once, and the others stay unchanged', async () => {
    const other = () => queryIn(db, 'SELECT * FROM judgements WHERE run_id = 2 ORDER BY key');
    const [before, bytes] = [other(), statSync(db).size];
    const { code, stdout } = await remove('1', 'step-3', 'step-3/judged.jsonl', '3', '--yes');
    expect(code).toBe(0);
    expect(stdout).toContain('removed: run 1 (step-1), run 3 (step-3)\n');
    expect(labels()).toEqual(['step-2']);
    expect(other()).toEqual(before);
    // Two of three are gone; tables without rows take some space, too.
    expect(statSync(db).size).toBeLessThan(bytes * 0.6);
    const room = /space: (\d+) kB freed, awb\.sqlite has (\d+) kB/.exec(stdout);
    expect(Number(room?.[2])).toBe(Math.ceil(statSync(db).size / 1000));
    expect(Number(room?.[1]) + Number(room?.[2])).toBeGreaterThanOrEqual(Math.floor(bytes / 1000));
  });

  test('the judged files and journals stay', async () => {
    await remove('1', '2', '3', '--yes');
    expect(labels()).toEqual([]);
    for (const name of ['step-1', 'step-2', 'step-3']) expect(existsSync(join(dir, name, 'judged.jsonl'))).toBe(true);
    expect((await line('runs', 'list')).stdout).toMatch(/^awb\.sqlite: no runs, /);
  });

  test('a run whose judged file is gone is named', async () => {
    rmSync(join(dir, 'step-2'), { recursive: true });
    for (const words of [['2'], ['2', '--yes']]) {
      const { stderr } = await remove(...words);
      expect(stderr).toContain('warning: step-2/judged.jsonl no longer exists');
    }
    expect(labels()).toEqual(['step-1', 'step-3']);
  });

  test('the document says what was removed, and the space', async () => {
    const bytes = statSync(db).size;
    const document = JSON.parse((await remove('2', '--yes', '--json')).stdout);
    expect(document).toMatchObject({ removed: true, db, runs: [{ id: 2, label: 'step-2' }], bytes_before: bytes });
    expect(document.bytes_after).toBe(statSync(db).size);
  });

  test('a label may contain commas', async () => {
    await stored('step-4', 'step-1,step-2');
    expect((await remove('step-1,step-2', '--yes')).code).toBe(0);
    expect(labels()).toEqual(['step-1', 'step-2', 'step-3']);
  });
});

describe('a name', () => {
  test.each([
    ['of no run', ['1', 'nosuch'], 'there is no run "nosuch"; awb score adds one. The runs are\n  1: step-1'],
    ['of several runs', ['1', 'same'], '"same" can mean any of these runs'],
    ['of one run that is the number of another', ['1', '2'], '"2" can mean any of these runs'],
  ])('%s removes nothing', async (_, names, message) => {
    await stored('step-4', 'same');
    await stored('step-5', 'same');
    await stored('step-6', '2');
    const { code, stderr } = await remove(...names, '--yes');
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(labels()).toHaveLength(6);
  });

  test('of a run in a file without runs is answered with how to add one', async () => {
    await remove('1', '2', '3', '--yes');
    expect(await remove('1', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no run "1", and the SQLite file has no runs; awb score RUN adds one\n'),
    });
  });

  test('that is missing: the line is refused with an example', async () => {
    expect(await remove('--yes')).toMatchObject({ code: 2, stderr: expect.stringContaining('awb runs remove 3 4') });
    expect(labels()).toHaveLength(3);
  });
});
