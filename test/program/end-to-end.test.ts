// The whole pipeline: infer, judge, score and SQLite, from this checkout and from the packed package elsewhere.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { type Row, rowsOf, verdict } from '../support/judging.js';
import { deterministicAnswer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';

/** Read by SQLite's own shell, so none of our code is between the file and its reader. */
function sqlite(db: string, sql: string): Row[] {
  const printed = execFileSync('sqlite3', ['-readonly', '-json', db, sql], { encoding: 'utf8' });
  return printed === '' ? [] : JSON.parse(printed);
}

function hasSqliteShell(): boolean {
  try {
    execFileSync('sqlite3', ['--version']);
    return true;
  } catch {
    return false;
  }
}

const WHOLE = { form: 'whole', infer: [] as string[], judge: [] as string[] };
const LEAN = { form: 'lean', infer: ['--lean'], judge: ['--data-dir', RECORDED] };

describe.each([WHOLE, LEAN])('infer, judge and score over $form predictions', (form) => {
  let world: LoopbackServer;
  let judge: LoopbackServer;
  let document: Row;
  const out = { dir: '' };
  const ROWS = 14;

  beforeAll(async () => {
    // Four of 28 replies are empty; the others depend on the seed, so the two repeats of a row differ.
    world = await startLoopbackServer((request) => ({
      content: request.index % 7 === 6 ? '' : deterministicAnswer([request.body.seed, request.body.messages]),
    }));
    // Ratings of 2 or 4, depending on the text; the very first reply is unreadable.
    judge = await startLoopbackServer((request) => ({
      content:
        request.index === 0 ? 'let me think' : verdict(request.body.messages[1].content.length % 2 === 0 ? 2 : 4),
      model: 'judge-2026-01',
    }));
    out.dir = await temporaryFolder();
    const folder = ['--output-dir', out.dir, '--concurrency', '1', '--seed', '1'];
    const model = ['--model-base-url', world.url, '--model-name', 'world', '--label', 'step-7', '--meta', 'step=7'];
    const data = ['--data-dir', RECORDED, '--limit', '2', '--repeats', '2'];
    const steps = [
      ['infer', ...data, ...model, ...folder, ...form.infer],
      [
        'judge',
        '--predictions',
        join(out.dir, 'predictions.jsonl'),
        '--judge-base-url',
        judge.url,
        '--judge-model',
        'j',
        ...folder,
        ...form.judge,
      ],
      ['score', out.dir, '--db', join(out.dir, 'awb.sqlite'), '--json'],
    ];
    for (const step of steps) {
      const { code, stdout, stderr } = await awb(step);
      expect(code, stderr).toBe(0);
      if (step[0] === 'score') document = JSON.parse(stdout);
    }
  });
  afterAll(() => Promise.all([world.close(), judge.close()]));

  it('asks every row for each repeat, and judges each prediction once', () => {
    expect(world.count).toBe(2 * ROWS);
    expect(judge.count).toBe(2 * ROWS - 4 + 1);
  });

  it('gives the scores that follow by hand from the judged rows', async () => {
    const rows = await rowsOf(join(out.dir, 'judged.jsonl'));
    expect(rows).toHaveLength(2 * ROWS);
    type Repeats = { readonly domain: string; readonly totals: number[] };
    const byKey = new Map<string, Repeats>();
    for (const row of rows) {
      const repeats: Repeats = byKey.get(row.awb.key) ?? { domain: row.task.split('/').at(-1), totals: [] };
      byKey.set(row.awb.key, repeats);
      if (row.failed === 0) repeats.totals.push(row.total_score);
    }
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const domains = new Map<string, number[]>();
    for (const { domain, totals } of byKey.values()) {
      if (totals.length > 0) domains.set(domain, [...(domains.get(domain) ?? []), mean(totals)]);
    }
    const scores = [...domains].map(([domain, totals]) => [domain, ((mean(totals) - 1) / 4) * 100] as const);
    expect(scores).toHaveLength(7);
    for (const [domain, score] of scores) expect(document.domains[domain].total_score).toBeCloseTo(score, 9);
    expect(document.overall.total_score).toBeCloseTo(mean(scores.map(([, score]) => score)), 9);
    expect(document).toMatchObject({ chosen: 2 * ROWS, valid: 2 * ROWS - 4, failed: 4, coverage: 1, macro_of: 7 });
    expect(document.overall_with_failures.total_score).toBeLessThan(document.overall.total_score);
  });

  it.runIf(hasSqliteShell())('leaves everything in a file that the sqlite3 command line reads', () => {
    const [run, ...others] = sqlite(document.db, 'SELECT * FROM runs');
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      label: 'step-7',
      kind: 'rubric',
      world_model: 'world',
      judge_model: 'j',
      rubric_pack: 'awb-3',
      protocol: 'history',
      chosen: 2 * ROWS,
    });
    expect(JSON.parse(run?.meta)).toEqual({ step: '7' });
    expect(JSON.parse(run?.manifest)).toMatchObject({ kind: 'judge', predictions: { kind: 'infer', label: 'step-7' } });
    const classes = 'SELECT repeat, failure_class, count(*) AS rows FROM judgements GROUP BY 1, 2 ORDER BY 1, 2';
    const counted = sqlite(document.db, classes);
    expect(counted.reduce((sum, { rows }) => sum + rows, 0)).toBe(2 * ROWS);
    expect(
      counted.filter(({ failure_class }) => failure_class === 'empty').reduce((sum, { rows }) => sum + rows, 0),
    ).toBe(4);
    const attempts = 'SELECT attempts, count(*) AS rows FROM judgements WHERE attempts > 1 GROUP BY 1';
    expect(sqlite(document.db, attempts)).toEqual([{ attempts: 2, rows: 1 }]);
    const overall = "SELECT dimension, value FROM overall_scores WHERE kind = 'official'";
    const stored = Object.fromEntries(sqlite(document.db, overall).map(({ dimension, value }) => [dimension, value]));
    for (const dimension of DIMENSIONS) expect(stored[dimension]).toBeCloseTo(document.overall[dimension], 9);
  });
});

describe('the packed package', () => {
  let installed: string;
  let work: string;

  beforeAll(async () => {
    const dir = await temporaryFolder();
    // The compiled code (from vitest's global set-up) is packed unchanged.
    const npm = (args: string[]) =>
      execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    npm(['pack', '--ignore-scripts', '--pack-destination', dir]);
    const [tarball] = await readdir(dir);
    execFileSync('tar', ['-xzf', tarball as string], { cwd: dir });
    installed = join(dir, 'node_modules', 'agentworldbench');
    await mkdir(join(dir, 'node_modules'));
    execFileSync('mv', [join(dir, 'package'), installed]);
    await symlink(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
    work = await temporaryFolder();
  });

  function run(args: readonly string[]): string {
    return execFileSync(process.execPath, [join(installed, 'dist/bin.js'), ...args], {
      cwd: work,
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  it('contains the program, its prompts, rubrics and recorded rows, and neither sources nor tests', async () => {
    expect((await readdir(installed)).sort()).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'dist',
        'docs',
        'fixtures',
        'package.json',
        'prompts',
        'rubrics',
      ]),
    );
    for (const absent of ['src', 'test', 'bench', '.ci']) expect(existsSync(join(installed, absent))).toBe(false);
    expect(await readdir(join(installed, 'fixtures'))).toEqual(['recorded', 'tiny-random.gguf']);
    expect(await readdir(join(installed, 'rubrics/awb-3'))).toEqual(await readdir(join(ROOT, 'rubrics/awb-3')));
    expect(await readdir(join(installed, 'prompts/world-model'))).toEqual(
      await readdir(join(ROOT, 'prompts/world-model')),
    );
  });

  it('runs infer, judge and score in another folder', async () => {
    run(['infer', '--data-dir', join(installed, 'fixtures/recorded'), '--baseline', 'persistence', '--limit', '1']);
    run(['judge', '--predictions', 'results/predictions.jsonl', '--mode', 'metrics']);
    const { coverage, overall_measures, db } = JSON.parse(
      run(['score', '--predictions', 'results/judged.jsonl', '--json']),
    );
    expect(coverage).toBe(1);
    expect(overall_measures.chrf.value).toBeGreaterThan(0);
    expect(db).toBe(join(work, 'awb.sqlite'));
  });

  it('finds its bundled prompts and rubrics', async () => {
    const servers = await Promise.all([startLoopbackServer(), startLoopbackServer([{ content: verdict(5) }])]);
    const [world, judge] = servers as [LoopbackServer, LoopbackServer];
    try {
      const start = (args: string[]) =>
        new Promise<number | null>((done, failed) => {
          const child = spawn(process.execPath, [join(installed, 'dist/bin.js'), ...args], {
            cwd: work,
            stdio: 'ignore',
          });
          child.on('error', failed).on('close', done);
        });
      const data = ['--data-dir', join(installed, 'fixtures/recorded'), '--limit', '1', '--output-dir', 'asked'];
      const model = ['--model-base-url', world.url, '--model-name', 'w', '--system-prompt', 'bundled'];
      expect(await start(['infer', ...data, ...model])).toBe(0);
      const how = ['--judge-base-url', judge.url, '--judge-model', 'j', '--output-dir', 'asked'];
      expect(await start(['judge', '--predictions', 'asked/predictions.jsonl', ...how])).toBe(0);
      expect(judge.count).toBe(7);
    } finally {
      await Promise.all(servers.map((server) => server.close()));
    }
  });
});
