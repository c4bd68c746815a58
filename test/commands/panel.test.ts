// awb panel: the judgings of several judges combined in one judged file, and how other commands use it.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { PANEL } from '../../src/stats/agreement/panel.js';
import { awb } from '../support/cli.js';
import { changeRows, inferred, jsonOf, type Row, rowsOf, verdict, writeRows } from '../support/judging.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { documentsIn } from '../support/static-pages.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

interface Folder {
  readonly dir: string;
  readonly predictions: string;
}

/** The rating that a judge gives to the nth prediction of the file. */
type Rates = (row: number) => number | Readonly<Record<string, number>> | 'nothing';

/** Judges every prediction under a judge's name, into `judged.<name>.jsonl`. */
async function judged(folder: Folder, name: string, rates: Rates, options: readonly string[] = []): Promise<string> {
  const texts = (await rowsOf(folder.predictions)).map(({ gen }) => String(gen));
  const server = await startLoopbackServer(({ body }) => {
    const user: string = body.messages[1].content;
    // Each prediction is identified by the number in it.
    const at = Number(/row number (\d+)/.exec(user)?.[1] ?? texts.length);
    const given = rates(at);
    return { content: given === 'nothing' ? 'I cannot say.' : verdict(given) };
  });
  servers.push(server);
  const where = ['--predictions', folder.predictions, '--output-dir', folder.dir, '--label', name];
  await awb([
    ...['judge', ...where, '--judge-base-url', server.url, '--judge-model', name, '--max-retries', '1', ...options],
  ]);
  const files = [`judged.${name}.jsonl`, 'judged.jsonl'].map((file) => join(folder.dir, file));
  const manifests = await Promise.all(
    files.map((file) => jsonOf(file.replace(/\.jsonl$/, '.manifest.json')).catch(() => undefined)),
  );
  return files[manifests.findIndex((manifest) => manifest?.identity.judge === name)] ?? '';
}

async function folder(): Promise<Folder> {
  const made = await inferred(['--domains', 'os,web,terminal', '--limit', '3']);
  await changeRows(made.predictions, (row, index) => {
    row.gen = `<predicted_observation>row number ${index}</predicted_observation>`;
  });
  return made;
}

const panelOf = (where: Folder, files: readonly string[], options: readonly string[] = []) =>
  awb(['panel', ...files, '--output', join(where.dir, 'panel.jsonl'), ...options]);
const panelIn = ({ dir }: Folder) => rowsOf(join(dir, 'panel.jsonl'));
const ratingsOf = (row: Row) => DIMENSIONS.map((dimension) => row[dimension]);

describe('a panel', () => {
  it('has the mean of its judges in every dimension, with equal weights, and the total is the mean of these', async () => {
    const where = await folder();
    const a = await judged(where, 'a', (row) => 1 + (row % 5));
    const b = await judged(where, 'b', () => ({ format: 5, factuality: 2, consistency: 3, realism: 4, quality: 4 }));
    // A judge with two judgements still counts once.
    const c = await judged(where, 'c', () => 2, ['--judge-repeats', '2']);
    const { code, stdout, stderr } = await panelOf(where, [a, b, c]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toContain('panel of 3 judges, mean of their ratings; each row needs all of them');
    const rows = await panelIn(where);
    expect(rows).toHaveLength((await rowsOf(where.predictions)).length);
    for (const [at, row] of rows.entries()) {
      const own = 1 + (at % 5);
      const expected = [5, 2, 3, 4, 4].map((other) => (own + other + 2) / 3);
      for (const [place, rating] of ratingsOf(row).entries()) expect(rating).toBeCloseTo(expected[place] ?? 0, 12);
      expect(row.total_score).toBeCloseTo(expected.reduce((sum, rating) => sum + rating, 0) / 5, 12);
      expect(row.awb.judge.panel.map(({ judge }: Row) => judge)).toEqual(['a', 'b', 'c']);
      expect(row.failed).toBe(0);
    }
    const widths = stdout.split('\n').map((line) => line.length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(80);
  });

  it('has the mean of the measures that its judges have for the row', async () => {
    const where = await folder();
    const files = [await judged(where, 'a', () => 3), await judged(where, 'b', () => 5)];
    for (const [at, file] of files.entries()) {
      await changeRows(file, (row, index) => {
        if (at === 0 || index > 0) row.awb.measures = { facts_recall: 40 + 20 * at };
      });
    }
    await panelOf(where, files);
    const recalls = (await panelIn(where)).map(({ awb: { measures } }) => measures.facts_recall);
    expect(recalls.slice(0, 2)).toEqual([40, 50]);
  });

  it('has the median on request', async () => {
    const where = await folder();
    const files = [
      await judged(where, 'a', () => 1),
      await judged(where, 'b', () => 4),
      await judged(where, 'c', () => 5),
    ];
    await panelOf(where, files, ['--combine', 'median']);
    expect(new Set((await panelIn(where)).map(({ total_score: total }) => total))).toEqual(new Set([4]));
  });

  it('leaves a row missing and counts it if a judge failed', async () => {
    const where = await folder();
    const a = await judged(where, 'a', (row) => (row === 1 ? 'nothing' : 3));
    const b = await judged(where, 'b', () => 5);
    const { code, stdout } = await panelOf(where, [a, b]);
    expect(code).toBe(3);
    expect(stdout).toMatch(/1\s+missing: a judge failed/);
    const row = (await panelIn(where))[1];
    expect(row?.failed).toBe(1);
    expect(row?.awb.judge).toMatchObject({
      status: 'failed',
      class: 'unreadable',
      reason: expect.stringMatching(/^1 of 2 judges rated it; a: /),
    });
    const scored = await awb(['score', join(where.dir, 'panel.jsonl'), '--db', join(where.dir, 'x.sqlite')]);
    expect(scored.stdout).toContain('failed: unreadable 1');
  });

  it("removes the judges' offsets under a quorum, so it does not matter which judge is missing", async () => {
    const where = await folder();
    // The mild judge gives one point more, and fails on rows 0 and 4.
    const severe = (row: number) => 1 + (row % 4);
    const a = await judged(where, 'a', severe);
    const b = await judged(where, 'b', (row) => (row % 4 === 0 ? 'nothing' : severe(row) + 1));
    const { code, stdout } = await panelOf(where, [a, b], ['--quorum', '1', '--json']);
    expect(code).toBe(0);
    const document = JSON.parse(stdout);
    expect(JSON.stringify(PANEL.parse(document))).toBe(JSON.stringify(document));
    const rows = await panelIn(where);
    const short = rows.filter((_, at) => at % 4 === 0);
    expect(document).toMatchObject({ schema: 'awb.panel/1', quorum: 1, by_fewer: short.length, missing: 0 });
    for (const [at, row] of rows.entries()) expect(row.total_score).toBeCloseTo(severe(at) + 0.5, 12);
    const { identity, panel } = await jsonOf(join(where.dir, 'panel.manifest.json'));
    expect(identity).toMatchObject({ combine: 'mean', quorum: 1, judge: 'panel of 2 (mean, quorum 1): a, b' });
    expect(identity.members.map(({ judge }: Row) => judge)).toEqual(['a', 'b']);
    expect(identity.offsets.web.judges[1].format).toBeCloseTo(0.5, 12);
    expect(rows[0]?.awb.judge.panel[0].offsets.format).toBeCloseTo(-0.5, 12);
    expect(panel.by_fewer).toBe(short.length);
    const scored = await awb(['score', join(where.dir, 'panel.jsonl'), '--db', join(where.dir, 'x.sqlite')]);
    expect(scored.stdout).toContain('panel of 2 (mean, quorum 1): a, b');
  });

  it('keeps results between 1 and 5', async () => {
    const where = await folder();
    const a = await judged(where, 'a', (row) => (row % 3 === 0 ? 1 : 2));
    const b = await judged(where, 'b', (row) => (row % 3 === 0 ? 'nothing' : 1));
    await panelOf(where, [a, b], ['--quorum', '1']);
    const totals = (await panelIn(where)).map(({ total_score: total }) => total);
    // The first judge rates half a point above the mean of both.
    expect(new Set(totals)).toEqual(new Set([1, 1.5]));
  });

  it('gives a prediction that failed because of its model the same failure, whoever judges', async () => {
    const where = await folder();
    await changeRows(where.predictions, (row, index) => {
      if (index === 0) row.gen = '';
    });
    const files = [await judged(where, 'a', () => 4), await judged(where, 'b', () => 5)];
    const { code } = await panelOf(where, files);
    expect(code).toBe(0);
    expect((await panelIn(where))[0]?.awb.judge).toMatchObject({ status: 'failed', class: 'empty' });
    const card = JSON.parse(
      (await awb(['score', join(where.dir, 'panel.jsonl'), '--db', join(where.dir, 'x.sqlite'), '--json'])).stdout,
    );
    expect(card.coverage).toBe(1);
    expect(card.overall_with_failures.total_score).toBeLessThan(card.overall.total_score);
  });
});

describe('what a panel refuses', () => {
  it('includes other predictions and other rubrics, field by field', async () => {
    const where = await folder();
    const other = await folder();
    await changeRows(other.predictions, (row) => {
      row.gen = 'another prediction';
    });
    const a = await judged(where, 'a', () => 4);
    const b = await judged(other, 'b', () => 4);
    const run = await panelOf(where, [a, b]);
    expect(run.code).toBe(78);
    expect(run.stderr).toContain('predictions.begun: ');
    await changeRows(where.predictions, (row, index) => {
      if (index === 2) row.gen = 'changed since';
    });
    const c = await judged(where, 'c', () => 4);
    const changed = await panelOf(where, [a, c]);
    expect(changed.code).toBe(78);
    expect(changed.stderr).toMatch(/the prediction of \S+:3 differs from that of \S+:3/);
    const manifest = a.replace(/\.jsonl$/, '.manifest.json');
    const text = await readFile(manifest, 'utf8');
    await writeRows(manifest, [
      { ...JSON.parse(text), identity: { ...JSON.parse(text).identity, rubrics: { name: 'mine', fingerprint: 'f' } } },
    ]);
    const packs = await panelOf(where, [a, c]);
    expect(packs.code).toBe(78);
    expect(packs.stderr).toContain('rubrics.name: "mine" in');
  });

  it('includes a duplicate judging, a single one, a panel, measures, and a file without a manifest', async () => {
    const where = await folder();
    const a = await judged(where, 'a', () => 4);
    const b = await judged(where, 'b', () => 3);
    expect((await panelOf(where, [a])).stderr).toContain('at least two judges');
    expect(await panelOf(where, [a, a])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('contain the same judging, which would count twice; leave one out'),
    });
    expect(await panelOf(where, [a, b], ['--quorum', '3'])).toMatchObject({ code: 2 });
    await panelOf(where, [a, b]);
    const nested = await awb(['panel', a, join(where.dir, 'panel.jsonl'), '--output', join(where.dir, 'p2.jsonl')]);
    expect(nested).toMatchObject({ code: 65, stderr: expect.stringContaining('not an ordinary judging by rubrics') });
    await awb([
      'judge',
      '--predictions',
      where.predictions,
      '--output-dir',
      where.dir,
      '--mode',
      'metrics',
      '--label',
      'm',
    ]);
    const measured = await awb([
      'panel',
      a,
      join(where.dir, 'judged.m.jsonl'),
      '--output',
      join(where.dir, 'p2.jsonl'),
    ]);
    expect(measured).toMatchObject({ code: 65, stderr: expect.stringContaining('(mode metrics)') });
    await writeRows(join(where.dir, 'bare.jsonl'), await rowsOf(a));
    expect((await awb(['panel', a, join(where.dir, 'bare.jsonl'), '--output', join(where.dir, 'p2.jsonl')])).code).toBe(
      66,
    );
  });

  it('includes overwriting another file, unless --fresh sets that aside; its own file is rewritten with the same bytes', async () => {
    const where = await folder();
    const files = [await judged(where, 'a', () => 4), await judged(where, 'b', () => 3)];
    await panelOf(where, files);
    const bytes = await readFile(join(where.dir, 'panel.jsonl'), 'utf8');
    expect((await panelOf(where, files)).code).toBe(0);
    expect(await readFile(join(where.dir, 'panel.jsonl'), 'utf8')).toBe(bytes);
    const other = await panelOf(where, files, ['--combine', 'median']);
    expect(other.code).toBe(78);
    expect(other.stderr).toContain('combine: "mean" before, "median" now');
    expect(await readFile(join(where.dir, 'panel.jsonl'), 'utf8')).toBe(bytes);
    expect((await panelOf(where, files, ['--combine', 'median', '--fresh'])).code).toBe(0);
    const nowhere = await awb(['panel', ...files, '--output', join(where.dir, 'no/such/panel.jsonl')]);
    expect(nowhere.stderr).toContain('fix that, or choose another file with --output');
    expect(nowhere.code).toBe(74);
    const over = await awb(['panel', ...files, '--output', files[0] ?? '', '--fresh']);
    expect(over).toMatchObject({ code: 2, stderr: expect.stringContaining("one of the panel's own judgings") });
    await writeRows(join(where.dir, 'stray.jsonl'), [{}]);
    expect((await awb(['panel', ...files, '--output', join(where.dir, 'stray.jsonl')])).code).toBe(73);
  });
});

it('does not include a journal next to the files of a judging, as a glob finds it', async () => {
  const where = await folder();
  for (const [name, rating] of Object.entries({ a: 3, b: 4 })) await judged(where, name, () => rating);
  const files = ['judged.b.jsonl', 'judged.journal.jsonl', 'judged.jsonl'].map((name) => join(where.dir, name));
  let text = '';
  for (const args of [
    ['panel', ...files, '--output', join(where.dir, 'panel.jsonl')],
    ['score', files[1] as string, '--db', join(where.dir, 'own.sqlite')],
    ['compare', ...files.slice(1)],
    ['judge', '--mode', 'metrics', '--predictions', where.predictions.replace('.jsonl', '.journal.jsonl')],
  ]) {
    const { code, stderr } = await awb(args, { cwd: where.dir });
    text += `$ awb ${args.join(' ')}\n--- stderr\n${stderr}--- exit ${code}\n`;
  }
  await holdText('journal-named', text, { [where.dir]: '<folder>' });
});

describe('how other commands use a panel', () => {
  it('is as with any judging: score, SQLite, compare, gate, leaderboard and report read its fractions', async () => {
    const where = await folder();
    const files = [
      await judged(where, 'a', (row) => 1 + (row % 5)),
      await judged(where, 'b', () => ({ format: 5, factuality: 2, consistency: 3, realism: 4, quality: 4 })),
    ];
    const later = join(where.dir, 'later.jsonl');
    await panelOf(where, files);
    await awb(['panel', ...files, '--output', later]);
    const db = join(where.dir, 'runs.sqlite');
    const panel = join(where.dir, 'panel.jsonl');
    const { stdout } = await awb(['score', panel, '--db', db, '--json']);
    const totals = (await panelIn(where)).map(({ total_score: total }) => total);
    const micro = totals.reduce((sum, total) => sum + total, 0) / totals.length;
    expect(JSON.parse(stdout).overall_micro.total_score).toBeCloseTo((micro - 1) * 25, 10);
    const base = new Database(db, { readonly: true });
    const stored = base.prepare('select total from judgements').pluck().all() as number[];
    base.close();
    expect(stored.sort()).toEqual(totals.sort());
    const compared = await awb(['compare', panel, later, '--db', db]);
    expect(compared.code).toBe(0);
    const gated = await awb(['gate', '--base', panel, '--candidate', later, '--db', db, '--json']);
    // So few rows decide nothing, but they are compared, as nothing prevents that.
    expect(
      JSON.parse(gated.stdout)
        .rules.map(({ value }: Row) => value)
        .filter(Number.isFinite).length,
    ).toBeGreaterThan(0);
    expect((await awb(['leaderboard', '--db', db])).stdout).toContain('panel of 2 (mean)');
    const page = join(where.dir, 'report.html');
    expect((await awb(['report', '--run', panel, '--db', db, '--output', page])).code).toBe(0);
    const { run, index, ...documents } = await documentsIn(page);
    expect(JSON.stringify(run.page.facts)).toContain('panel of 2 (mean)');
    const { ref } = index.runs[0];
    expect(run.page.lines).toContainEqual({ text: expect.any(String), link: `#/panel/${ref}` });
    expect(documents[`panel/${ref}`].page.blocks).not.toEqual([]);
  });

  it('includes how far its judges agree, as in the manifest and in --json', async () => {
    const where = await folder();
    const files = [await judged(where, 'a', (row) => 1 + (row % 5)), await judged(where, 'b', (row) => 1 + (row % 4))];
    const { stdout } = await panelOf(where, files, ['--json']);
    const { agreement } = JSON.parse(stdout);
    // Figures of the Python package krippendorff 0.9.0 for these ratings.
    expect(agreement.all.total_score).toMatchObject({ predictions: 9, ratings: 18 });
    expect(agreement.all.total_score.alpha).toBeCloseTo(0.0703125, 12);
    expect(agreement.all.format.alpha).toBeCloseTo(0.10899528472977893, 12);
    expect((await jsonOf(join(where.dir, 'panel.manifest.json'))).panel.agreement).toEqual(agreement);
    const text = (await panelOf(where, files)).stdout;
    expect(text).toContain("Krippendorff's alpha");
    expect(text).toMatch(/Format\s+ordinal\s+-?\d\.\d\d/);
    expect(text).toMatch(/Total\s+interval\s+-?\d\.\d\d/);
  });
});
