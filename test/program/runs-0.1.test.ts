// What version 0.1 left on the disk (fixtures/runs-0.1: two judged runs, a measured baseline, a killed run, and their SQLite
// file) is read and continued by today's commands.

import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { verdict } from '../support/judging.js';
import { startLoopbackServer } from '../support/loopback-server.js';
import { readRows } from '../support/run-folder.js';

let dir: string;
const run = (...args: string[]) => awb(args, { cwd: dir });

/** The mean total of a run on the scale of 0-100; its two domains have four rows each. */
async function meanPoints(name: string): Promise<number> {
  const totals = (await readRows(join(dir, name, 'judged.jsonl'))).map((row) => row.total_score as number);
  return totals.reduce((sum, total) => sum + 25 * (total - 1), 0) / totals.length;
}

beforeAll(async () => {
  dir = await temporaryFolder();
  await cp(join(ROOT, 'fixtures/runs-0.1'), dir, { recursive: true });
});

test('a killed infer run goes on where it stopped', async () => {
  const server = await startLoopbackServer(() => ({
    content: '<predicted_observation>asked today</predicted_observation>',
  }));
  try {
    const before = await readRows(join(dir, 'unfinished/predictions.journal.jsonl'));
    const model = ['--model-base-url', server.url, '--model-name', 'wm-step-300', '--label', 'step-300'];
    const { code, stderr } = await run('infer', '--data-dir', 'data', '--output-dir', 'unfinished', ...model);
    expect(stderr).not.toMatch(/awb:/);
    expect(code).toBe(0);
    expect(server.requests.length).toBe(8 - before.length);
    const rows = await readRows(join(dir, 'unfinished/predictions.jsonl'));
    expect(rows).toHaveLength(8);
    for (const { id, row } of before) {
      expect(rows.find(({ awb }) => `${awb.key}#${awb.repeat}` === id)).toMatchObject({ gen: row.gen });
    }
  } finally {
    await server.close();
  }
});

test('a finished run is left as it is, and not asked again', async () => {
  const file = join(dir, 'step-100/predictions.jsonl');
  const before = await readFile(file, 'utf8');
  const model = ['--model-base-url', 'http://127.0.0.1:9/v1', '--model-name', 'wm-step-100'];
  const { code, stdout } = await run('infer', '--data-dir', 'data', '--output-dir', 'step-100', ...model);
  expect(stdout).toContain('8 of 8 done');
  expect(code).toBe(0);
  expect(await readFile(file, 'utf8')).toBe(before);
});

test('a judging is not continued by a version that frames and reads otherwise, and says what differs', async () => {
  const judge = (...more: string[]) =>
    run(
      ...['judge', '--predictions', 'step-100/predictions.jsonl', '--output-dir', 'begun', '--judge-model', 'judge'],
      ...['--judge-base-url', server.url, ...more],
    );
  const server = await startLoopbackServer(() => ({ content: verdict(3), model: 'judge-2026-01-01' }));
  try {
    // What a kill leaves behind: half of the journal, and a manifest that says that it runs.
    await cp(join(dir, 'step-100'), join(dir, 'begun'), { recursive: true });
    const journal = await readFile(join(dir, 'begun/judged.journal.jsonl'), 'utf8');
    await writeFile(join(dir, 'begun/judged.journal.jsonl'), `${journal.split('\n').slice(0, 4).join('\n')}\n`);
    const { output: _, ...manifest } = JSON.parse(await readFile(join(dir, 'begun/judged.manifest.json'), 'utf8'));
    const predictions = { ...manifest.identity.predictions, file: '../step-100/predictions.jsonl' };
    const rubrics = { ...manifest.identity.rubrics, name: 'awb-3' };
    const identity = { ...manifest.identity, predictions, rubrics };
    await writeFile(
      join(dir, 'begun/judged.manifest.json'),
      JSON.stringify({ ...manifest, identity, state: 'running' }),
    );
    await rm(join(dir, 'begun/judged.jsonl'));

    const { code, stderr } = await judge();
    expect(code).toBe(78);
    expect(stderr).toContain('was begun by an earlier version');
    expect(stderr).toContain('reading: absent before, 3 now');
    expect(stderr).toContain('rubrics.frame: absent before, 4 now');
    expect(server.count).toBe(0);
    expect((await judge('--fresh')).code).toBe(0);
    expect(server.count).toBe(8);
    expect((await run('score', '--predictions', 'begun/judged.jsonl')).code).toBe(0);
  } finally {
    await server.close();
  }
});

test('a judged run is scored as it was', async () => {
  const { code, stdout } = await run('score', '--predictions', 'step-100/judged.jsonl', '--db', 'new.sqlite', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout).overall.total_score).toBeCloseTo(await meanPoints('step-100'), 10);
  expect(JSON.parse(stdout).run).toMatchObject({ label: 'step-100', world_model: 'wm-step-100', rubric_pack: 'awb-1' });
});

test('a measured run is scored as it was', async () => {
  const { code, stdout } = await run(
    'score',
    '--predictions',
    'persistence/judged.jsonl',
    '--db',
    'new.sqlite',
    '--json',
  );
  expect(code).toBe(0);
  expect(JSON.parse(stdout).overall_measures.chrf.value).toBeGreaterThan(0);
});

test.each(['step-100', 'step-200', 'persistence'])('scored again, %s takes the place that it had', async (name) => {
  await cp(join(dir, 'runs.sqlite'), join(dir, 'again.sqlite'));
  const { stdout } = await run('score', name, '--db', 'again.sqlite', '--json');
  expect(JSON.parse(stdout).run.replaced).toBe(true);
});

test('the runs of its SQLite file are compared', async () => {
  const { code, stdout } = await run('compare', 'step-100', 'step-200', '--db', 'runs.sqlite', '--json');
  expect(code).toBe(0);
  const { overall, rows } = JSON.parse(stdout);
  expect(rows).toBe(8);
  expect(overall.total.base).toBeCloseTo(await meanPoints('step-100'), 10);
  expect(overall.total.candidate).toBeCloseTo(await meanPoints('step-200'), 10);
});

test('the runs of its SQLite file are decided about', async () => {
  const { code, stdout } = await run('gate', 'step-100', 'step-200', '--db', 'runs.sqlite', '--json');
  expect([0, 4, 5]).toContain(code);
  expect(JSON.parse(stdout)).toMatchObject({ schema: 'awb.gate/1', exit_code: code });
});

test('the runs of its SQLite file are listed', async () => {
  const { code, stdout } = await run('leaderboard', '--db', 'runs.sqlite');
  expect(code).toBe(0);
  for (const name of ['step-100', 'step-200', 'persistence']) expect(stdout).toContain(name);
});

test('a report shows every sample of it', async () => {
  const files = ['--run', 'step-200/judged.jsonl', '--compare', 'step-100/judged.jsonl'];
  const { code, stdout } = await run('report', ...files, '--output', 'report.html', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ samples: 8, output: join(dir, 'report.html') });
});
