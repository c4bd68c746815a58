// `awb runs list` end to end: SQLite files in, a line per run out.

import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { widthOf } from '../../src/core/printable.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import { openStore } from '../../src/store/store.js';
import { askedRuns } from '../support/asked-runs.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { holdMessage, holdText } from '../support/messages.js';

/** A file with two rated runs and a measured one. */
let three: string;
beforeAll(async () => {
  const made = await temporaryFolder();
  await askedRuns(made);
  three = join(made, 'runs.sqlite');
});

let dir: string;
beforeEach(async () => {
  dir = await temporaryFolder();
});

const run = (...words: string[]) => awb(['runs', 'list', ...words], { cwd: dir });
const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout);
const stored = (name: string, given: Partial<Parameters<typeof judgedRun>[1]> = {}) =>
  judgedRun(join(dir, name), { label: name, rating: around(3), rows: 6, ...given }, join(dir, 'awb.sqlite'));

/** The cells of the table lines that begin with a number. */
const lines = (stdout: string) =>
  stdout
    .split('\n')
    .filter((line) => /^ *\d+ /.test(line))
    .map((line) => line.trim().split(/ {1,}/));

describe('the table', () => {
  test('has a line per run by number, with the figures of the leaderboard', async () => {
    await stored('step-1', { rating: (_, row) => (row === 0 ? undefined : 3) });
    await stored('step-2', { rating: around(3.5), refuses: (_, row) => row === 1 });
    const { code, stdout, stderr } = await run();
    expect([code, stderr]).toEqual([0, '']);
    const board = JSON.parse((await awb(['leaderboard', '--json', '--min-coverage', '0'], { cwd: dir })).stdout);
    const rows: { label: string; figures: { overall: { value: number } } }[] = board.blocks[0].rows;
    const overall = (label: string) => rows.find((row) => row.label === label)?.figures.overall.value.toFixed(2);
    expect(lines(stdout).map((cells) => [...cells.slice(0, 2), ...cells.slice(4, 8)])).toEqual([
      ['1', 'step-1', '35/42', overall('step-1'), '83.3', '%'],
      ['2', 'step-2', '35/42', overall('step-2'), '100', '%'],
    ]);
    expect(stdout).toMatch(/^awb\.sqlite: 2 runs, \d+ kB\n\n/);
  });

  test('fits 80 columns whatever the names are, and shows nothing that controls a terminal', async () => {
    const long = 'organisation/a-very-long-model-name-for-a-world-model-of-35B-parameters-and-more';
    const identity = { judge: '\u65e5\u672c\u8a9e'.repeat(30), rubrics: { name: 'x', fingerprint: 'f' } };
    await stored('a', { label: `x\u001b[31m\u202e${'y'.repeat(200)}`, identity, predictions: { model: long } });
    await stored('b', { predictions: { model: `${long}-b` } });
    const { stdout } = await run();
    for (const line of stdout.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80);
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(stdout).toMatch(/ 1 xy+…/);
    expect(stdout).not.toContain('organisation/');
  });

  test('distinguishes runs with one label, and says which of them it means', async () => {
    await stored('a', { label: 'same' });
    await stored('b', { label: 'same' });
    const { stdout } = await run();
    expect(lines(stdout).map(([id, label]) => [id, label])).toEqual([
      ['1', 'same'],
      ['2', 'same'],
    ]);
    await holdText('label-shared-list', stdout.slice(stdout.indexOf('same is the label')));
    const shown = await awb(['runs', 'show', 'same', '--json'], { cwd: dir });
    await holdText('label-shared-show', shown.stderr);
    expect(JSON.parse(shown.stdout).id).toBe(2);
  });

  test('says which runs do not cover exactly the seven published domains', async () => {
    await stored('a');
    await stored('b', { domains: ['mcp', 'web'] });
    expect((await run()).stdout).toContain('Not over the seven published domains: 2.');
    for (const label of ['c', 'd']) await stored(label, { domains: ['mcp', 'web'] });
    expect((await run()).stdout).toContain('Not over the seven published domains: 2, 3, 4.');
  });
});

describe('the document', () => {
  test('has everything that names a run, and whether its judged file exists', async () => {
    const source = await stored('step-1', { meta: { step: '1' } });
    await stored('step-2');
    rmSync(join(dir, 'step-2'), { recursive: true });
    const { schema, databases, runs } = await json();
    expect(schema).toBe('awb.runs/1');
    const db = join(dir, 'awb.sqlite');
    expect(databases).toEqual([{ db, bytes: readFileSync(db).length, runs: 2 }]);
    expect(runs).toHaveLength(2);
    expect(runs[0]).toMatchObject({
      db,
      id: 1,
      label: 'step-1',
      label_given: false,
      kind: 'rubric',
      world_model: 'wm',
      judge_model: 'judge-model',
      rubric_pack: 'bundled',
      protocol: 'history',
      meta: { step: '1' },
      source,
      source_exists: true,
      chosen: 42,
      valid: 42,
      coverage: 1,
      macro_of: 7,
    });
    expect(runs[1].source_exists).toBe(false);
  });

  test('has the runs of several files, each with its file', async () => {
    await stored('step-1');
    copyFileSync(three, join(dir, 'old.sqlite'));
    const { runs } = await json('--db', 'awb.sqlite,old.sqlite,./awb.sqlite');
    expect(runs.map(({ db, id }: { db: string; id: number }) => [db, id])).toEqual([
      [join(dir, 'awb.sqlite'), 1],
      ...[1, 2, 3].map((id) => [join(dir, 'old.sqlite'), id]),
    ]);
  });
});

describe('a file', () => {
  test('is read unchanged, with the figures that its runs are shown with', async () => {
    copyFileSync(three, join(dir, 'awb.sqlite'));
    const before = readFileSync(join(dir, 'awb.sqlite'));
    const { runs } = await json();
    expect(readFileSync(join(dir, 'awb.sqlite')).equals(before)).toBe(true);
    for (const { id, overall } of runs.slice(0, 2)) {
      const shown = JSON.parse((await awb(['runs', 'show', String(id), '--json'], { cwd: dir })).stdout);
      expect(overall.value).toBe(shown.overall.total_score);
    }
  });

  test('without runs says so, and how to add one', async () => {
    openStore(join(dir, 'awb.sqlite')).close();
    const { code, stdout, stderr } = await run();
    expect([code, stderr]).toEqual([0, 'awb score RUN adds a run\n']);
    expect(stdout).toMatch(/^awb\.sqlite: no runs, \d+ kB\n$/);
    expect((await json()).runs).toEqual([]);
  });

  test('that does not exist is named, and AWB_DB names another', async () => {
    mkdirSync(join(dir, 'results'));
    copyFileSync(three, join(dir, 'results/awb.sqlite'));
    expect(await run()).toMatchObject({
      code: 66,
      stderr: expect.stringContaining(
        'there is no SQLite file awb.sqlite; create it with awb score RUN, or name another with --db or AWB_DB',
      ),
    });
    const env = { AWB_DB: 'results/awb.sqlite' };
    expect((await awb(['runs', 'list'], { cwd: dir, env })).stdout).toMatch(/^results\/awb\.sqlite: 3 runs, /);
  });

  test('with damaged manifests still lists its runs', async () => {
    copyFileSync(three, join(dir, 'awb.sqlite'));
    const database = openSqlite(join(dir, 'awb.sqlite'));
    database.exec(`UPDATE runs SET manifest = '{"schema":"awb.manifest/1"}'`);
    database.close();
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(lines(stdout).map(([id]) => id)).toEqual(['1', '2', '3']);
  });
});

test('a device is not accepted as a SQLite file, for reading or writing', async () => {
  await holdMessage('runs-list-device', ['runs', 'list', '--db', '/dev/zero']);
  const path = await judgedRun(join(dir, 'run'), { rating: around(3), rows: 6 });
  await holdMessage(
    'score-device',
    ['score', '--predictions', 'judged.jsonl', '--db', '/dev/zero'],
    {},
    { cwd: dirname(path) },
  );
});
