// Rows that are rated and measured: the recall of determined facts next to the ratings, wherever a run is shown.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { awb } from '../support/cli.js';
import { inferred, rowsOf } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { documentsIn } from '../support/static-pages.js';

const HOSTILE = 'a claim \u001b[31m</script><script>alert("facts")</script>';
let server: LoopbackServer;
let [old, now]: { dir: string }[] = [];
let db: string;

const recallsOf = async (dir: string) => {
  const recalls = (await rowsOf(join(dir, 'judged.jsonl'))).map(({ task, awb: own }) => ({
    domain: String(task).split('/').at(-1),
    recall: own.measures?.facts_recall as number | undefined,
  }));
  return recalls;
};

beforeAll(async () => {
  // The recall differs by row, and every fourth row has no determined fact.
  server = await startLoopbackServer(({ index, body }) => {
    const facts = Array.from({ length: index % 4 }, (_, at) => ({
      claim: HOSTILE,
      kind: 'determined',
      met: (index + at) % 3 > 0,
    }));
    const rating = body.model === 'judge' && index % 2 === 0 ? 3 : 4;
    const scores = Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, rating]));
    const told = { claim: 'the layout', kind: 'told', met: false };
    const verdict = { facts: [...facts, told], strengths: [], weaknesses: [], scores };
    return { content: `<final_evaluation>\n${JSON.stringify(verdict)}\n</final_evaluation>` };
  });
  const runs = [];
  for (const label of ['old', 'now']) {
    const run = await inferred(['--label', label, '--limit', '6']);
    const where = ['--predictions', run.predictions, '--output-dir', run.dir];
    const judge = ['--judge-base-url', server.url, '--judge-model', 'judge', '--concurrency', '1'];
    expect((await awb(['judge', ...where, ...judge])).code).toBe(0);
    runs.push(run);
  }
  [old, now] = runs;
  db = join(runs[0]?.dir ?? '', 'runs.sqlite');
  for (const { dir } of runs) expect((await awb(['score', dir, '--db', db])).code).toBe(0);
});
afterAll(() => server.close());

const dirOf = (run: { dir: string } | undefined) => run?.dir ?? '';

describe('the recall of determined facts', () => {
  it('appears in the score card next to the ratings: the mean over the rows that have it, then over domains', async () => {
    const { stdout } = await awb(['score', dirOf(old), '--db', db, '--json']);
    const card = JSON.parse(stdout);
    const rows = await recallsOf(dirOf(old));
    const means = Object.entries(
      card.domains as Record<string, { measures: { facts_recall: { value: number; rows: number } } }>,
    ).map(([domain, { measures }]) => {
      const own = rows.flatMap((row) => (row.domain === domain && row.recall !== undefined ? [row.recall] : []));
      const mean = own.reduce((sum, recall) => sum + recall, 0) / own.length;
      expect(measures.facts_recall.value).toBeCloseTo(mean, 10);
      expect(measures.facts_recall.rows).toBe(own.length);
      return mean;
    });
    expect(card.overall_measures.facts_recall.value).toBeCloseTo(
      means.reduce((sum, mean) => sum + mean, 0) / means.length,
      10,
    );
    expect(rows.some(({ recall }) => recall === undefined)).toBe(true);
    expect(card.overall.total_score).toBeGreaterThan(50);
    expect(card).toMatchObject({ coverage: 1, valid: rows.length });
  });

  it('has its own table in the terminal, which says that it is not a rating', async () => {
    const { stdout } = await awb(['score', dirOf(old), '--db', db, '--explain']);
    expect(stdout).toMatch(/\nDomain +Rows +facts_recall +95 % interval\n/);
    expect(stdout.replace(/\s+/g, ' ')).toContain('Measures are not ratings; 0-100 unless stated otherwise.');
    expect(stdout).toMatch(/\nOverall +\d+\/\d+ /);
    expect(stdout).toMatch(/\nfacts recall +\d+(?: +-){5} +\d+\.\d\d /);
  });

  it('is a column next to the mean of leaderboards, and changes no other', async () => {
    const board = async (...options: string[]) =>
      JSON.parse((await awb(['leaderboard', '--db', db, '--json', ...options])).stdout).blocks;
    const [plain, ...more] = await board();
    expect(more).toEqual([]);
    expect(plain.columns.indexOf('facts-recall')).toBe(plain.columns.indexOf('overall') + 1);
    const [asked] = await board('--columns', 'overall,facts-recall');
    const { stdout } = await awb(['score', dirOf(now), '--db', db, '--json']);
    const recall = JSON.parse(stdout).overall_measures.facts_recall.value;
    const row = asked.rows.find(({ label }: { label: string }) => label === 'now');
    expect(row.figures['facts-recall'].value).toBeCloseTo(recall, 10);
    expect(row.figures.overall).toEqual(
      plain.rows.find(({ label }: { label: string }) => label === 'now').figures.overall,
    );
  });

  it('does not affect compare and gate, which use the ratings', async () => {
    const { stdout } = await awb(['compare', 'old', 'now', '--db', db, '--json']);
    const [before, after] = await Promise.all(
      [old, now].map(async (run) => await rowsOf(join(dirOf(run), 'judged.jsonl'))),
    );
    expect(JSON.parse(stdout).rows).toBe(before?.length);
    expect(after?.length).toBe(before?.length);
    const gate = await awb(['gate', 'old', 'now', '--db', db, '--json']);
    expect([0, 4, 5]).toContain(gate.code);
    expect(gate.stdout).not.toContain('facts_recall');
  });

  it('appears in the report with every checklist, and no claim escapes from its text', async () => {
    const output = join(dirOf(old), 'report.html');
    expect((await awb(['report', '--run', dirOf(old), '--output', output])).code).toBe(0);
    const page = await readFile(output, 'utf8');
    expect(page).toContain('facts_recall');
    expect(page).toContain('"kind":"told"');
    expect(page).not.toContain('<script>alert');
    const row = (await rowsOf(join(dirOf(old), 'judged.jsonl'))).find(({ awb: own }) => own.judge.facts.length > 1);
    const { texts } = await documentsIn(output);
    expect(texts[`${row?.awb.key}#0`].facts).toEqual(row?.awb.judge.facts);
  });

  it('is in SQLite by row, if the row has one', async () => {
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(db, { readonly: true });
    try {
      const stored = database
        .prepare("SELECT value FROM measures WHERE name = 'facts_recall' ORDER BY value")
        .pluck()
        .all();
      const written = [...(await recallsOf(dirOf(old))), ...(await recallsOf(dirOf(now)))].flatMap(
        ({ recall }) => recall ?? [],
      );
      expect(stored).toEqual(written.sort((a, b) => a - b));
    } finally {
      database.close();
    }
  });
});
