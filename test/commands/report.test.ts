// awb report: the page it writes, opened in a real browser; runs named in every way; and what it says if it cannot write one.

import { createHash } from 'node:crypto';
import { cp, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { METHODS } from '../../src/report/methods.js';
import { expectAccessible, noBrowser, textOf, useBrowser } from '../support/app.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { changeRows, inferred, jsonOf, type Row, rowsOf, verdict, writeRows } from '../support/judging.js';
import { startLoopbackServer } from '../support/loopback-server.js';
import { holdMessage } from '../support/messages.js';
import { documentsIn } from '../support/static-pages.js';

const OFFICIAL = join(ROOT, 'fixtures/judged/official.jsonl');
const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'];

/** A baseline over recorded rows, judged with ratings that depend on the text, and scored into `db`. */
async function judgedRun(db: string, label: string, options: readonly string[], lift: number): Promise<string> {
  const judge = await startLoopbackServer((request) => {
    const bytes = createHash('sha256').update(JSON.stringify(request.body.messages)).digest();
    const rate = (index: number) => Math.min(5, 1 + lift + Math.floor((bytes[index] as number) / 80));
    return {
      content: verdict(Object.fromEntries(DIMENSIONS.map((name, index) => [name, rate(index)]))),
      model: 'judge-2026-01',
    };
  });
  try {
    const { dir, predictions } = await inferred([...options, '--label', label]);
    const asked = ['--judge-base-url', judge.url, '--judge-model', 'j', '--output-dir', dir];
    const lean = options.includes('--lean') ? ['--data-dir', RECORDED] : [];
    for (const args of [
      ['judge', '--predictions', predictions, ...asked, ...lean],
      ['score', '--predictions', join(dir, 'judged.jsonl'), '--db', db],
    ]) {
      const { code, stderr } = await awb(args);
      if (code !== 0) throw new Error(stderr);
    }
    return join(dir, 'judged.jsonl');
  } finally {
    await judge.close();
  }
}

let root: string;
let db: string;
let base: string;
let candidate: string;
beforeAll(async () => {
  root = await temporaryFolder();
  db = join(root, 'runs.sqlite');
  base = await judgedRun(db, 'step-100', ['--baseline', 'shuffled', '--limit', '4'], 0);
  candidate = await judgedRun(db, 'step-200', ['--baseline', 'persistence', '--limit', '4'], 1);
});

let outputs = 0;
/** Runs `awb report` into a new file. */
async function report(...args: readonly string[]) {
  const output = join(root, `report-${++outputs}.html`);
  const result = await awb(['report', ...args, '-o', output], { cwd: root });
  return { ...result, output };
}

/** The page of a report that must succeed. */
async function written(...args: readonly string[]): Promise<string> {
  const { code, stderr, output } = await report(...args);
  if (code !== 0) throw new Error(stderr);
  return output;
}

describe('a run', () => {
  it.each([
    ['its label', () => ['--db', db, '--run', 'step-200']],
    ['its id', () => ['--db', db, '--run', '2']],
    ['the path of its judged file', () => ['--run', candidate]],
  ])('can be named by %s', async (_name, args) => {
    const { code, stdout, stderr, output } = await report(...args());
    expect(stderr).toBe('');
    expect(code).toBe(EXIT.done);
    const [written, open] = stdout.split('\n');
    expect(written).toMatch(/^written: report-\d+\.html \(28 samples, \d\.\d MB\)$/);
    expect(open).toBe(`open: ${pathToFileURL(output).href}`);
    const { index, samples } = await documentsIn(output);
    expect(index?.runs).toMatchObject([{ name: 'step-200' }]);
    expect(samples).toMatchObject({ name: 'step-200', samples: { length: 28 } });
  });

  it('among several with one label is the one that was judged last', async () => {
    const twice = join(root, 'twice.sqlite');
    for (const predictions of [candidate, base])
      await awb(['score', '--predictions', predictions, '--db', twice, '--label', 'x']);
    const { stdout } = await report('--db', twice, '--run', 'x', '--json');
    const { output, url } = JSON.parse(stdout);
    expect(fileURLToPath(url)).toBe(output);
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'awb.report/1',
      samples: 28,
      run: { name: 'x', source: candidate },
    });
  });

  it('among several with one label is one with ratings', async () => {
    const both = join(root, 'both.sqlite');
    const metrics = await temporaryFolder();
    const predictions = join(dirname(candidate), 'predictions.jsonl');
    await awb(['judge', '--predictions', predictions, '--mode', 'metrics', '--output-dir', metrics]);
    for (const judged of [candidate, metrics]) await awb(['score', judged, '--db', both, '--label', 'tiny random']);
    const { stdout } = await report('--db', both, '--run', 'tiny random', '--json');
    expect(JSON.parse(stdout).run.source).toBe(candidate);
  });

  it('of the official script is shown like one of ours', async () => {
    const { code, output } = await report('--run', OFFICIAL);
    expect(code).toBe(EXIT.done);
    expect((await documentsIn(output)).samples).toMatchObject({
      name: 'judged/official.jsonl',
      samples: { length: 60 },
    });
  });

  it('contains what its file says, row by row', async () => {
    const { output } = await report('--run', candidate);
    const {
      samples: { samples },
      texts,
    } = await documentsIn(output);
    const judged = new Map((await rowsOf(candidate)).map((row) => [row.awb.key, row]));
    expect(samples).toHaveLength(judged.size);
    for (const sample of samples) {
      const row = judged.get(sample.k) as Row;
      const { truth, judgeReply, history } = texts[`${sample.k}#0`];
      const marker = '**Environment Observation:**';
      expect(sample).toMatchObject({ t: row.turn_idx, f: DIMENSIONS.map((name) => row[name]), n: row.weaknesses[0] });
      expect(sample.v).toBeCloseTo(((row.total_score - 1) / 4) * 100, 9);
      expect(truth).toBe(row.response[row.turn_idx - 1].replace(marker, '').trim());
      expect(judgeReply).toBe(row.judge_raw_output);
      expect(history).toHaveLength(2 * (row.turn_idx - 1));
    }
  });

  it('whose rows were repeated shows each repeat', async () => {
    const { predictions, dir } = await inferred(['--repeats', '2']);
    await awb(['judge', '--predictions', predictions, '--mode', 'metrics', '--output-dir', dir]);
    const { output } = await report('--run', join(dir, 'judged.jsonl'));
    const {
      samples: { samples, figures },
    } = await documentsIn(output);
    expect(samples.map(({ r = 0 }: Row) => r)).toEqual(Array.from({ length: 14 }, (_, index) => index % 2));
    expect(figures).toContainEqual(['chrf', 100]);
  });

  it('that is lean takes its texts from the data that its manifest names, or from --data-dir', async () => {
    const lean = await judgedRun(join(root, 'lean.sqlite'), 'lean', ['--lean'], 0);
    const named = await written('--run', lean);
    const output = await written('--run', lean, '--data-dir', RECORDED);
    expect((await documentsIn(named)).texts).toEqual((await documentsIn(output)).texts);
    expect(Object.keys((await documentsIn(output)).texts)).toHaveLength(7);
  });
});

describe('against another run', () => {
  it('begins with what changed, and contains both runs with the earlier predictions and remarks', async () => {
    const { output } = await report('--db', db, '--run', 'step-200', '--compare', 'step-100');
    const { index, ...documents } = await documentsIn(output);
    const [run, other] = index.runs;
    expect([run.name, other.name]).toEqual(['step-200', 'step-100']);
    expect(await readFile(output, 'utf8')).toContain(`name="awb-start" content="/compare/${other.ref}/${run.ref}"`);
    const compared = JSON.parse((await awb(['compare', 'step-100', 'step-200', '--db', db, '--json'])).stdout);
    const { gate } = documents[`compare/${other.ref}/${run.ref}`] as Row;
    expect(gate.comparison.overall.total).toEqual(compared.overall.total);
    const before = new Map((await rowsOf(base)).map((row) => [row.awb.key, row]));
    for (const { k, v, g } of documents[`samples/${other.ref}`].samples) {
      const row = before.get(k) as Row;
      expect(v).toBeCloseTo(((row.total_score - 1) / 4) * 100, 9);
      const { strings, rows } = documents[`texts/${other.ref}/${g}`] as Row;
      expect(strings[rows[`${k}#0`].judgeReply]).toBe(row.judge_raw_output);
    }
  });

  it.each([
    [
      'another judge',
      (manifest: Row) => ({ ...manifest, identity: { ...manifest.identity, snapshot: 'other' } }),
      /differ in their judge/,
    ],
    [
      'another rubric pack',
      (manifest: Row) => ({
        ...manifest,
        identity: { ...manifest.identity, rubrics: { name: 'x', fingerprint: 'y' } },
      }),
      /differ in their rubric/,
    ],
  ])('with %s, the page says so', async (_name, change, warning) => {
    const dir = join(root, `copy-${++outputs}`);
    await cp(dirname(base), dir, { recursive: true });
    const path = join(dir, 'judged.manifest.json');
    await writeFile(path, JSON.stringify(change(await jsonOf(path))));
    const { output } = await report('--run', candidate, '--compare', join(dir, 'judged.jsonl'));
    expect(await readFile(output, 'utf8')).toMatch(warning);
  });

  it('without a row in common, the page says so and shows the run', async () => {
    const { index, run, ...documents } = await documentsIn(await written('--run', candidate, '--compare', OFFICIAL));
    const [{ ref }, other] = index.runs;
    expect(run.page.blocks[0].tables[0].groups[0]).toHaveLength(7);
    expect(documents[`compare/${other.ref}/${ref}`].page.said.join()).toContain('no row in common');
  });
});

describe('what cannot be reported', () => {
  it.each([
    [
      'an unknown run, with the known ones',
      () => ['--db', db, '--run', 'step-300'],
      EXIT.usage,
      /no run .*"step-300"[\s\S]*1: step-100.*\n.*2: step-200/,
    ],
    ['a label without its SQLite file', () => ['--run', 'step-200'], EXIT.inputMissing, /--db/],
    [
      'a missing SQLite file',
      () => ['--db', join(root, 'none.sqlite'), '--run', '1'],
      EXIT.inputMissing,
      /none\.sqlite/,
    ],
    ['a missing judged file', () => ['--run', 'none.jsonl'], EXIT.inputMissing, /none\.jsonl: there is no such file/],
    [
      'predictions that were not judged',
      () => ['--run', candidate.replace('judged', 'predictions')],
      EXIT.badData,
      /run awb judge/,
    ],
  ])('is %s', async (_name, args, code, message) => {
    const outcome = await report(...args());
    expect(outcome.code).toBe(code);
    expect(outcome.stderr).toMatch(message);
    expect(await readdir(root)).not.toContain(outcome.output.split('/').at(-1));
  });

  it('includes a run whose file was moved, until its new place is named', async () => {
    const moved = join(root, 'moved.sqlite');
    const source = await judgedRun(moved, 'moved', ['--baseline', 'oracle'], 0);
    const place = join(root, 'elsewhere');
    await rename(dirname(source), place);
    const refused = await report('--db', moved, '--run', 'moved');
    expect(refused.code).toBe(EXIT.inputMissing);
    expect(refused.stderr).toContain('move it back, or score it where it is now');
    expect((await report('--run', join(place, 'judged.jsonl'))).code).toBe(EXIT.done);
  });

  it('includes a file that changed since it was scored, and says to score it again', async () => {
    const changed = join(root, 'changed.sqlite');
    const source = await judgedRun(changed, 'x', ['--baseline', 'oracle'], 0);
    await changeRows(source, (row) => Object.assign(row, { total_score: 5 }));
    const { code, stderr } = await report('--db', changed, '--run', 'x');
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain(`has changed since it was scored; run awb score ${source} again`);
    expect((await report('--run', source)).code).toBe(EXIT.done);
  });

  it('includes an interrupted report, which leaves no page and no part of one', async () => {
    const stop = new AbortController();
    stop.abort('SIGINT');
    const output = join(root, 'stopped.html');
    const args = ['report', '--run', candidate, '--output', output, '--inline-limit', '0'];
    expect((await awb(args, { stop: stop.signal })).code).toBe(EXIT.interrupted);
    expect((await readdir(root)).filter((name) => name.startsWith('stopped'))).toEqual([]);
  });

  it('includes a page that cannot be written', async () => {
    const { code, stderr } = await awb(['report', '--run', candidate, '--output', join(root, 'no/such/folder.html')]);
    expect(code).toBe(EXIT.cannotWrite);
    expect(stderr).toContain('its folder does not exist');
  });
});

describe('texts beyond the limit', () => {
  it('lose only their histories, and page and terminal say so', async () => {
    const run = (limit: string) => report('--run', candidate, '--inline-limit', limit);
    const [small, whole] = [await run('0.01'), await run('1')];
    const says = 'histories are left out: the texts exceed 0.01 MB (--inline-limit)';
    expect([small.stdout.includes(says), whole.stdout.includes(says)]).toEqual([true, false]);
    const [left, all] = [await documentsIn(small.output), await documentsIn(whole.output)];
    const shown = ({ texts }: Row) =>
      Object.values<Row>(texts).map(({ truth, prediction, judgeReply }) => [truth, prediction, judgeReply]);
    expect(shown(left)).toEqual(shown(all));
    expect(Object.values<Row>(left.texts).some((row) => 'history' in row)).toBe(false);
    expect(left.run.page.warnings.join()).toContain('Histories are left out: the texts exceed 0.01 MB');
    const [{ ref = '' } = {}] = left.index.runs;
    expect(left[`texts/${ref}/0`]?.missing).toBe('Histories are left out: this page has no room for them.');
  });
});

describe('--methods', () => {
  const OLD = 'fixtures/runs-awb-2/step-100';

  it('prints the paragraph and writes no page', async () => {
    const { code } = await holdMessage('report-methods', ['report', '--run', OLD, '--methods']);
    expect(code).toBe(EXIT.done);
    expect(await readdir(ROOT)).not.toContain('report.html');
  });

  it('writes it escaped for LaTeX if the file ends in .tex, and for Markdown otherwise', async () => {
    const [tex, md] = [join(root, 'methods.tex'), join(root, 'methods.md')];
    for (const output of [tex, md]) await awb(['report', '--run', candidate, '--methods', '-o', output]);
    expect(await readFile(tex, 'utf8')).toContain('coverage 100 \\%');
    expect(await readFile(md, 'utf8')).toContain('coverage 100 %');
  });

  it('gives the facts as a document with --json', async () => {
    const { stdout } = await awb(['report', '--run', candidate, '--methods', '--json']);
    const document = JSON.parse(stdout);
    expect(METHODS.safeParse(document).error?.issues).toBeUndefined();
    expect(document).toMatchObject({
      schema: 'awb.methods/1',
      judging: { identity: { judge: 'j', snapshot: 'judge-2026-01' } },
    });
  });

  it('is refused for two runs, and refuses to replace a judged file', async () => {
    const both = await awb(['report', '--db', db, '--run', 'step-200', '--compare', 'step-100', '--methods']);
    expect(both).toMatchObject({ code: EXIT.usage, stderr: expect.stringContaining('leave out --compare') });
    expect((await awb(['report', '--run', candidate, '--methods', '-o', candidate])).code).toBe(EXIT.usage);
  });
});

// Reported once if no Chromium is installed; the browser's tests below are then skipped.
if (noBrowser !== undefined) it.skip(`the page in a browser: ${noBrowser}`, () => {});

describe.skipIf(noBrowser !== undefined)('in a browser', () => {
  const { open } = useBrowser();

  it('the page opens from a file, requests nothing else, and nothing is blocked or thrown', async () => {
    const url = pathToFileURL(await written('--db', db, '--run', 'step-200', '--compare', 'step-100')).href;
    const { index } = await documentsIn(fileURLToPath(url));
    const [{ ref: run }, { ref: other }] = index.runs;
    const { page, requests, complaints } = await open(url);
    await page.getByRole('heading', { name: 'step-200 against step-100' }).waitFor();
    await expectAccessible(page);
    for (const [hash, shown] of [
      [`#/run/${run}`, 'Scores by domain'],
      [`#/run/${other}/samples`, '28 samples'],
      [`#/compare/${other}/${run}/samples`, 'Last observation'],
      [`#/compare/${other}/${run}/samples?filter=%FF&domain=none`, '0 of 28 samples'],
      ['#/runs', 'step-200'],
      ['#/leaderboard', 'does not contain that'],
      ['#/run/%00<img src=x>', 'does not contain that'],
    ] as const) {
      await page.goto(`${url}${hash}`);
      await page.getByText(shown).first().waitFor();
      // Only the other run has no histories in the page, and its samples say so.
      const ownSamples = hash.startsWith(`#/run/${other}/`);
      expect((await page.getByText('Histories are left out').count()) > 0).toBe(ownSamples);
    }
    expect(requests.filter((asked) => !/^data:,/.test(asked) && !asked.startsWith(url))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('a sample shows what differs by line and by word, with visible white space', async () => {
    const path = join(await temporaryFolder(), 'judged.jsonl');
    const [row] = await rowsOf(candidate);
    const same = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n');
    const changed = structuredClone(row as Row);
    changed.gen = `<predicted_observation>total 20 \n\tx\n${same}\nend \u202e!</predicted_observation>`;
    changed.response[changed.turn_idx - 1] = `total 24\n    x\n${same}\nend !`;
    delete changed.awb;
    await writeRows(path, [changed]);
    const { page } = await open(pathToFileURL(await written('--run', path)).href);
    await page.getByRole('link', { name: 'Samples', exact: true }).click();
    await page.locator('.difference').waitFor();
    expect(await page.locator('.difference del').allTextContents()).toEqual(['24', '    ']);
    expect(await page.locator('.difference ins').allTextContents()).toEqual(['20 ', '\t', 'U+202E']);
    expect(await textOf(page)).toContain('24 equal lines');
  });
});
