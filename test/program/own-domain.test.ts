// A user's own domain next to the seven: every stage accepts it, tables show it after them, and Overall still covers only the seven.

import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAINS } from '../../src/core/types.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import { awb, RECORDED, ROOT } from '../support/cli.js';
import { folderOf } from '../support/folder.js';
import { jsonOf, type Row, rowsOf, verdict, writeRows } from '../support/judging.js';
import { deterministicAnswer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { documentsIn } from '../support/static-pages.js';

const PROMPT = 'You are a kitchen, seen through its sensors.';

/** The benchmark with a domain `kitchen`, a pack that rates it, and a prompt for it. */
async function setUp(): Promise<string> {
  const folder = await folderOf({ 'prompts/kitchen.txt': `${PROMPT}\n` });
  await cp(RECORDED, join(folder, 'data'), { recursive: true });
  const rows = await rowsOf(join(RECORDED, 'terminal_test.jsonl'));
  await writeRows(
    join(folder, 'data/kitchen_test.jsonl'),
    rows.map((row) => ({ ...row, task: 'mine/kitchen' })),
  );
  await cp(join(ROOT, 'rubrics/awb-3'), join(folder, 'pack'), { recursive: true });
  const pack = await jsonOf(join(folder, 'pack/pack.json'));
  const domains = { ...pack.domains, kitchen: 'kitchen.txt' };
  await writeFile(join(folder, 'pack/pack.json'), JSON.stringify({ ...pack, name: 'eight', domains }));
  await writeFile(join(folder, 'pack/kitchen.txt'), 'In a kitchen what is hot stays hot for a while.');
  return folder;
}

/** Ratings that depend on the text; always 2 for the kitchen. */
const rating = (messages: readonly Row[]) =>
  messages[0]?.content.includes('what is hot stays hot') ? 2 : 1 + ((messages[1]?.content.length ?? 0) % 5);

describe('a domain next to the seven', () => {
  let world: LoopbackServer;
  let judge: LoopbackServer;
  let folder: string;
  const at = (...path: string[]) => join(folder, ...path);

  async function done(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await awb(args, { cwd: folder });
    expect(code, stderr).toBe(0);
    return stdout;
  }
  const json = async (...args: readonly string[]): Promise<Row> => JSON.parse(await done(...args, '--json'));

  async function run(name: string, ...own: string[]): Promise<Row> {
    const model = ['--model-base-url', world.url, '--model-name', name, '--label', name];
    const prompts = ['--system-prompt', 'bundled+row', '--domain-prompts', 'prompts'];
    await done('infer', '--output-dir', name, ...model, ...prompts, ...own);
    const asking = ['--judge-base-url', judge.url, '--judge-model', 'j', '--rubrics', 'pack'];
    await done('judge', '--predictions', `${name}/predictions.jsonl`, '--output-dir', name, ...asking);
    return json('score', name, '--db', 'runs.sqlite');
  }

  let eight: Row;
  let seven: Row;

  beforeAll(async () => {
    world = await startLoopbackServer((request) => ({
      content: deterministicAnswer([request.body.model === 'eight' ? 0 : request.body.model, request.body.messages]),
    }));
    judge = await startLoopbackServer((request) => ({ content: verdict(rating(request.body.messages)) }));
    folder = await setUp();
    eight = await run('eight');
    seven = await run('seven', '--domains', DOMAINS.join(','));
    await run('other');
  });
  afterAll(() => Promise.all([world.close(), judge.close()]));

  test("is asked with the folder's prompt before the row's own, and the folder is in the run's identity", async () => {
    const kitchen = world.requests.find(({ body }) => body.messages[0].content.startsWith(`${PROMPT}\n\n`));
    const [row] = await rowsOf(at('data/kitchen_test.jsonl'));
    expect(kitchen?.body.messages[0].content).toBe(`${PROMPT}\n\n${row?.system_str}`);
    const { identity } = await jsonOf(at('eight/predictions.manifest.json'));
    expect(identity.system_prompt).toMatch(/^bundled\+row [0-9a-f]{64}$/);
    await writeFile(at('prompts/kitchen.txt'), `${PROMPT} Changed.`);
    const model = ['--model-base-url', world.url, '--model-name', 'eight', '--label', 'eight'];
    const prompts = ['--system-prompt', 'bundled+row', '--domain-prompts', 'prompts'];
    const changed = await awb(['infer', '--output-dir', 'eight', ...model, ...prompts], { cwd: folder });
    await writeFile(at('prompts/kitchen.txt'), PROMPT);
    expect(changed.code).not.toBe(0);
    expect(changed.stderr).toContain('system_prompt: "bundled+row ');
  });

  test('is scored next to the seven, and every mean equals that of the run without it', () => {
    expect(Object.keys(eight.domains)).toEqual([...DOMAINS, 'kitchen']);
    expect(eight.domains.kitchen.total_score).toBe(25);
    for (const figure of ['overall', 'overall_with_failures', 'macro_of']) {
      expect(eight[figure]).toEqual(seven[figure]);
    }
    expect(eight.macro_of).toBe(7);
    expect(eight.chosen - seven.chosen).toBe(16);
  });

  test('has its own line in the table of scores, which says that Overall does not include it', async () => {
    const text = await done('score', 'eight', '--db', 'runs.sqlite');
    expect(text).toMatch(/^kitchen +16\/16 /m);
    expect(text).toMatch(new RegExp(`^Overall +${seven.valid}/${seven.chosen} `, 'm'));
    expect(text.replace(/\s+/g, ' ')).toContain('Not among the seven, so not in the mean: kitchen.');
  });

  test('is in SQLite under its name, with the mean of the seven as the mean', () => {
    const db = openSqlite(at('runs.sqlite'), { readonly: true });
    const official = `kind = 'official' AND dimension = 'total'`;
    const domains = db.prepare(
      `SELECT domain, value FROM domain_scores JOIN runs ON runs.id = run_id WHERE label = 'eight' AND domain_scores.${official}`,
    );
    const values = new Map(domains.all().map((row) => [(row as Row).domain, (row as Row).value]));
    expect(values.get('kitchen')).toBe(25);
    values.delete('kitchen');
    const overall = db
      .prepare(
        `SELECT value, macro_of FROM overall_scores JOIN runs ON runs.id = run_id WHERE label = 'eight' AND overall_scores.${official}`,
      )
      .get() as Row;
    db.close();
    const mean = [...values.values()].reduce((sum, value) => sum + value, 0) / 7;
    expect(overall.value).toBeCloseTo(mean, 10);
    expect(overall.macro_of).toBe(7);
  });

  test('is compared, and the difference in Overall is that of the seven', async () => {
    const { overall, domains, macro_of } = await json('compare', 'other/judged.jsonl', 'eight/judged.jsonl');
    const without = await json('compare', 'other/judged.jsonl', 'seven/judged.jsonl');
    expect(domains.kitchen).toMatchObject({ rows: 16, compared: 16 });
    expect(macro_of).toBe(7);
    expect(overall).toEqual(without.overall);
    expect(await done('compare', 'other/judged.jsonl', 'eight/judged.jsonl')).toMatch(/^Overall /m);
  });

  test('can have its own floor in a gate, whose Overall is that of the seven', async () => {
    const gate = ['gate', '--candidate', 'eight/judged.jsonl', '--json'];
    const floor = async (...own: string[]) => JSON.parse((await awb([...gate, ...own], { cwd: folder })).stdout);
    const { rules } = await floor('--min', 'kitchen=90', '--min-overall', '1');
    const sentences = rules.map((rule: Row) => rule.sentence);
    expect(sentences).toContainEqual(expect.stringMatching(/^kitchen scores 25\.00 points .* it has to reach 90\.00/));
    expect(sentences).toContainEqual(expect.stringMatching(/^Overall scores \d/));
    expect(sentences).toContain('kitchen: 16 of 16 predictions have a rating (100 %); 99 % are needed.');
  });

  test('has a column in a leaderboard, which ranks runs with and without it by the same Overall', async () => {
    const text = await done('leaderboard', '--db', 'runs.sqlite', '--explain');
    const heading = text.split('\n').find((line) => line.includes('MCP') && line.includes('OS')) ?? '';
    expect(heading).toMatch(/ OS +│? *kitchen +│? *Over/);
    expect(text).toContain('Overall: mean of the seven domains; other domains have their own columns');
    expect(text).not.toContain('macro of');
    const csv = await done('leaderboard', '--db', 'runs.sqlite', '--format', 'csv');
    expect(csv.split('\n')[0]).toContain('kitchen');
  });

  test('is in the report of a run, and in that of its change', async () => {
    await done('report', '--run', 'eight/judged.jsonl', '--compare', 'other/judged.jsonl', '-o', 'page.html');
    const { run, index } = await documentsIn(at('page.html'));
    const [domains, mean] = run.page.blocks[0].tables[0].groups;
    expect(domains.map((line: Row) => line[0].text)).toContain('kitchen');
    expect([mean[0][0], index.runs[1].lead.name]).toEqual(['Overall', 'Overall']);
  });

  test('is calibrated with its pack, measured, and covered by data check and stats', async () => {
    const asking = ['--judge-base-url', judge.url, '--judge-model', 'j'];
    const calibration = await awb(
      [
        'calibrate',
        '--data-dir',
        'data',
        '--domains',
        'kitchen',
        '--rubrics',
        'pack',
        ...asking,
        '--max-calls',
        '60',
        '--output-dir',
        'cal',
        '--json',
      ],
      { cwd: folder },
    );
    expect(Object.keys(JSON.parse(calibration.stdout).domains)).toEqual(['kitchen']);
    await done('judge', '--mode', 'metrics', '--predictions', 'eight/predictions.jsonl', '--output-dir', 'measured');
    const measured = await json('score', 'measured', '--db', 'runs.sqlite');
    expect(measured.domains.kitchen.measures.chrf.value).toBeGreaterThan(0);
    expect(measured.macro_of).toBe(7);
    const checked = await awb(['data', 'check', '--data-dir', 'data', '--json'], { cwd: folder });
    expect(checked.stdout).toContain('kitchen');
    expect(await done('data', 'stats', '--data-dir', 'data')).toMatch(/^kitchen +16 /m);
  });
});
