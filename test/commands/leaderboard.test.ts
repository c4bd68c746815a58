// `awb leaderboard` end to end: SQLite files in, tables out.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { DIMENSIONS, DOMAINS } from '../../src/core/types.js';
import { openSqlite } from '../../src/disk/sqlite.js';
import { SCHEMA_VERSION } from '../../src/store/schema.js';
import { noBrowser, useBrowser } from '../support/app.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import { holdMessage } from '../support/messages.js';

const OFFICIAL = {
  mode: 'rubric',
  judge: 'gpt-5.2',
  snapshot: 'gpt-5.2-2025-12-11',
  rubrics: { name: 'official', fingerprint: 'abcdef0123' },
  verdicts: 'official',
  sampling: { temperature: 0.6 },
};

let runs = 0;

interface Given {
  readonly label?: string;
  /** The rating of a row, by its position in its domain. */
  readonly rating: (row: number) => number | undefined;
  /** Whether rows without a rating are failures of the judge; otherwise of the model. */
  readonly lost?: boolean;
  /** Text measures instead of ratings. */
  readonly measure?: (row: number) => number;
  readonly rows?: number;
  readonly prefix?: string;
  readonly identity?: object;
  readonly db: string;
}

/** Scores a run with `rows` rows in each domain, two per trajectory. */
async function scored({
  label,
  rating,
  measure,
  lost = false,
  rows = 20,
  prefix = '',
  identity = {},
  db,
}: Given): Promise<void> {
  const dir = await temporaryFolder();
  const lines = DOMAINS.flatMap((domain) =>
    Array.from({ length: rows }, (_, row) => {
      const value = rating(row);
      const ids = { key: `${prefix}${domain}${row}`, trajectory: `${domain}-${row >> 1}`, repeat: 0, flags: [] };
      if (measure !== undefined) {
        const measured = { ...ids, judge: { status: 'ok' }, measures: { chrf: measure(row) } };
        return JSON.stringify({ task: domain, turn_idx: 1, awb: measured });
      }
      if (value === undefined) {
        const judge = { status: 'failed', class: lost ? 'judge-timeout' : 'refused', reason: 'nothing came' };
        return JSON.stringify({ task: domain, turn_idx: 1, total_score: 0, failed: 1, awb: { ...ids, judge } });
      }
      const ratings = Object.fromEntries([...DIMENSIONS, 'total_score'].map((name) => [name, value]));
      return JSON.stringify({
        task: domain,
        turn_idx: 1,
        ...ratings,
        failed: 0,
        awb: { ...ids, judge: { status: 'ok' } },
      });
    }),
  );
  const startedAt = new Date(Date.UTC(2026, 0, 1, 0, 0, ++runs)).toISOString();
  const manifest = {
    schema: 'awb.manifest/1',
    kind: 'judge',
    meta: {},
    identity: { ...OFFICIAL, ...identity },
    startedAt,
    endedAt: startedAt,
    chosen: Object.fromEntries(DOMAINS.map((domain) => [domain, rows])),
    predictions: { label, meta: {}, identity: { model: 'my-model', protocol: 'history' }, startedAt },
  };
  await writeFile(join(dir, 'judged.jsonl'), `${lines.join('\n')}\n`);
  await writeFile(join(dir, 'judged.manifest.json'), JSON.stringify(manifest));
  const { code, stderr } = await awb(['score', '--predictions', join(dir, 'judged.jsonl'), '--db', db]);
  if (code !== 0 && !lost) throw new Error(stderr);
}

const steady = (low: number, high: number) => (row: number) => (row % 3 === 0 ? low : high);

let db: string;
beforeAll(async () => {
  db = join(await temporaryFolder(), 'runs.sqlite');
  await scored({ db, label: 'good', rating: steady(3, 4) });
  // Better in some trajectories and worse in others, with the same mean.
  await scored({ db, label: 'alike', rating: (row) => steady(3, 4)(row) + (row % 4 === 0 ? 0.2 : -0.1) });
  await scored({ db, label: 'worse', rating: steady(2, 3) });
  await scored({
    db,
    label: 'judged otherwise',
    rating: steady(4, 5),
    identity: { judge: 'local', snapshot: undefined },
  });
});

let dir: string;
beforeEach(async () => {
  dir = await temporaryFolder();
});

const board = async (args: readonly string[]) => JSON.parse((await awb(['leaderboard', '--json', ...args])).stdout);

describe('awb leaderboard', () => {
  it('shows blocks of runs judged in the same way, and marks what is tied with the best', async () => {
    const { code, stdout, stderr } = await awb(['leaderboard', '--db', db]);
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: '' });
    const [official, other] = stdout.split('\nJudge local');
    expect(official).toMatch(/^As published: Judge gpt-5\.2 \(gpt-5\.2-2025-12-11\), rubric pack official abcdef01,\n/);
    expect(official).toMatch(/^good +66\.25\*/m);
    expect(official).toMatch(/^alike +65\.62\*/m);
    expect(official).toMatch(/^worse +41\.25 /m);
    expect(official).not.toContain('judged otherwise');
    expect(other).toMatch(/^judged otherwise/m);
    expect(other).not.toContain('*:');
  });

  it('keeps the notes for nine runs short', async () => {
    const own = join(dir, 'own.sqlite');
    for (let place = 0; place < 9; place++) {
      const rating = (row: number) => (place === 8 && row === 0 ? undefined : 3 + (row % 4) * 0.3 - place * 0.05);
      await scored({ db: own, label: `step-${place}00`, rating, ...(place === 5 ? { rows: 12 } : {}) });
    }
    const cwd = dir;
    await holdMessage('leaderboard', ['leaderboard', '--db', 'own.sqlite'], {}, { cwd });
    await holdMessage('leaderboard-published', ['leaderboard', '--db', 'own.sqlite', '--with-published'], {}, { cwd });
    const columns = ['--columns', 'overall,official,rows,coverage', '--run', '1,9'];
    await holdMessage(
      'leaderboard-md',
      ['leaderboard', '--db', 'own.sqlite', ...columns, '--format', 'md'],
      {},
      { cwd },
    );
    const csv = ['leaderboard', '--db', 'own.sqlite', ...columns, '--format', 'csv'];
    await holdMessage('leaderboard-csv', csv, { [own]: '<db>' }, { cwd });
  });

  it('tests ties on paired rows, whatever the intervals of the two runs', async () => {
    const own = join(dir, 'own.sqlite');
    await scored({ db: own, label: 'base', rating: (row) => 1 + (row % 5) });
    await scored({ db: own, label: 'a little worse', rating: (row) => Math.max(1, 0.96 + (row % 5)) });
    const [block] = (await board(['--db', own])).blocks;
    const [base, worse] = block.rows.map((row: { figures: { overall: unknown } }) => row.figures.overall);
    expect(base.low).toBeLessThan(worse.value);
    expect([base.best, worse.best]).toEqual([true, false]);
  });

  it('rows of few trajectories with equal differences prove nothing: neither run is marked as better', async () => {
    const own = join(dir, 'own.sqlite');
    await scored({ db: own, label: 'best', rating: (row) => 3 + (row % 2) / 2, rows: 12 });
    await scored({ db: own, label: 'behind', rating: (row) => 2.9 + (row % 2) / 2, rows: 12 });
    const [block] = (await board(['--db', own])).blocks;
    expect(block.rows.map((row: { figures: { mcp: { best: boolean } } }) => row.figures.mcp.best)).toEqual([
      false,
      false,
    ]);
  });

  it('the more runs the best is chosen from, the larger its lead must be', async () => {
    const own = join(dir, 'own.sqlite');
    const base = (row: number) => 3 + (row % 3) * 0.5;
    await scored({ db: own, label: 'best', rating: base });
    // 2.5 standard errors behind, over 10 trajectories: worse than one run, but not worse than the best of ten.
    await scored({ db: own, label: 'near', rating: (row) => base(row) - 0.1 + ((row >> 1) % 2 === 0 ? 0.12 : -0.12) });
    const nearIsMarked = async () => {
      const [block] = (await board(['--db', own])).blocks;
      const near = block.rows.find((row: { name: string }) => row.name === 'near');
      return near.figures.mcp.best;
    };
    expect(await nearIsMarked()).toBe(false);
    for (let place = 0; place < 8; place++) {
      await scored({ db: own, label: `behind ${place}`, rating: (row) => base(row) - 1 - ((row + place) % 4) * 0.1 });
    }
    expect(await nearIsMarked()).toBe(true);
  });

  it('a run that refuses its hardest rows comes after the honest one, and is not marked', async () => {
    const own = join(dir, 'own.sqlite');
    const honest = (row: number) => 1 + (row % 5);
    await scored({ db: own, label: 'honest', rating: honest });
    // The official counting omits its refusals: 4 of 5 rows, with a mean of 3.5 against 3 for the honest run.
    await scored({ db: own, label: 'refuser', rating: (row) => (row % 5 === 0 ? undefined : honest(row) - 0.01) });
    const { blocks } = await board(['--db', own]);
    const [first, second] = blocks[0].rows;
    expect([first.name, second.name]).toEqual(['honest', 'refuser']);
    expect(first.figures.overall).toMatchObject({ value: 50, official: 50, best: true });
    expect(second.figures.overall.value).toBeCloseTo(49.8, 9);
    expect(second.figures.overall.official).toBeCloseTo(62.25, 9);
    expect(second.figures.official.best).toBe(false);
    const text = (await awb(['leaderboard', '--db', own, '--columns', 'overall,official'])).stdout;
    expect(text).toMatch(/^honest +50\.00\* +50\.00$/m);
    expect(text).toMatch(/^refuser +49\.80\*? +62\.25$/m);
  });

  it('runs without a common row are not tested', async () => {
    const own = join(dir, 'own.sqlite');
    await scored({ db: own, label: 'a', rating: steady(3, 4) });
    await scored({ db: own, label: 'b', rating: steady(3, 4), prefix: 'other-' });
    const [block] = (await board(['--db', own])).blocks;
    expect(block.rows.map((row: { figures: { mcp: { best: boolean } } }) => row.figures.mcp.best)).toEqual([
      false,
      false,
    ]);
    expect(block.notes.join()).toContain('not tested: b');
  });

  it('no run is marked if domains have too few trajectories for any test, and no interval is shown', async () => {
    const own = join(dir, 'own.sqlite');
    for (const baseline of ['oracle', 'persistence', 'empty']) {
      const folder = join(dir, baseline);
      const data = ['--data-dir', RECORDED, '--domains', 'web,os', '--baseline', baseline, '--output-dir', folder];
      await awb(['infer', ...data]);
      await awb([
        'judge',
        '--predictions',
        join(folder, 'predictions.jsonl'),
        '--mode',
        'metrics',
        '--output-dir',
        folder,
      ]);
      await awb(['score', '--predictions', join(folder, 'judged.jsonl'), '--db', own]);
    }
    const [block, ...more] = (await board(['--db', own])).blocks;
    expect(more).toEqual([]);
    expect(block).toMatchObject({ measure: 'chrf', official: false, columns: ['web', 'os', 'macro'] });
    expect(block.rows[0]).toMatchObject({ name: 'baseline oracle', figures: { macro: { value: 100, best: false } } });
    for (const { figures } of block.rows) {
      for (const figure of Object.values(figures)) expect(figure).toMatchObject({ best: false, low: null, high: null });
    }
    expect(block.notes.join()).toContain('Fewer than 5 trajectories');
    expect((await awb(['leaderboard', '--db', own])).stdout).not.toContain('95 %');
  });

  it('measured runs are compared by their measure', async () => {
    const own = join(dir, 'own.sqlite');
    const identity = { mode: 'metrics', judge: undefined, snapshot: undefined, rubrics: undefined };
    await scored({ db: own, label: 'near', identity, rating: () => 1, measure: (row) => 50 + (row % 7) });
    await scored({ db: own, label: 'far', identity, rating: () => 5, measure: (row) => 30 + (row % 5) });
    const [block] = (await board(['--db', own])).blocks;
    expect(
      block.rows.map((row: { name: string; figures: { web: { best: boolean } } }) => [row.name, row.figures.web.best]),
    ).toEqual([
      ['near', true],
      ['far', false],
    ]);
  });

  it('reads several files, and lists a run that is in two of them once', async () => {
    const [first, second] = [join(dir, 'a.sqlite'), join(dir, 'b.sqlite')];
    await scored({ db: first, label: 'only here', rating: steady(3, 4) });
    await scored({ db: second, label: 'only there', rating: steady(3, 4) });
    const copy = openSqlite(db);
    copy.exec(`VACUUM INTO '${join(dir, 'copy.sqlite')}'`);
    copy.close();
    const { blocks } = await board(['--db', `${first},${second}`, '--db', `${db},${join(dir, 'copy.sqlite')}`]);
    expect(blocks.map((block: { rows: unknown[] }) => block.rows.length)).toEqual([5, 1]);
  });

  it('accepts runs by label or number', async () => {
    const labels = async (choice: string) =>
      (await board(['--db', db, '--run', choice])).blocks.map((block: { rows: { label: string }[] }) =>
        block.rows.map((row) => row.label),
      );
    expect(await labels('worse,good')).toEqual([['good', 'worse']]);
    expect(await labels('4')).toEqual([['judged otherwise']]);
  });

  it('writes a file in the format of its extension', async () => {
    const output = join(dir, 'board.html');
    const { code, stdout, stderr } = await awb(['leaderboard', '--db', db, '--output', output]);
    const told = `written: ${output}\nopen: ${pathToFileURL(output).href}\n`;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: told });
    expect(await readFile(output, 'utf8')).toMatch(/^<!doctype html>/);
  });

  it('adds the published rows to the official block', async () => {
    const { blocks } = await board(['--db', db, '--with-published']);
    expect(blocks.map((block: { rows: unknown[] }) => block.rows.length)).toEqual([17, 1]);
  });
});

describe.skipIf(noBrowser)('the page in a browser', () => {
  const { open } = useBrowser();
  let file: string;
  beforeAll(async () => {
    const own = join(await temporaryFolder(), 'own.sqlite');
    const honest = (row: number) => 1 + (row % 5);
    const long = 'qwen-agentworld-35b-a3b-finetuned-on-terminal-and-swe-trajectories-second-try';
    await scored({ db: own, label: long, rating: honest });
    await scored({ db: own, label: 'refuser', rating: (row) => (row % 5 === 0 ? undefined : honest(row)) });
    file = join(await temporaryFolder(), 'board.html');
    await awb(['leaderboard', '--db', own, '--with-published', '--output', file]);
  });

  it.each([1280, 390])('at %d pixels nothing is cut off, and nothing is requested or blocked', async (width) => {
    const { page, requests, complaints } = await open(pathToFileURL(file).href, { width });
    await page.waitForSelector('.board');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    const cut = `[...document.querySelectorAll('.scroll, .board td, .board th')].filter((e) => e.scrollWidth > e.clientWidth)`;
    expect(await page.evaluate(`${cut}.map((e) => e.outerHTML.slice(0, 80))`)).toEqual([]);
    expect(await page.locator('.board tbody tr').count()).toBe(17);
    expect(requests).toEqual([pathToFileURL(file).href]);
    expect(complaints).toEqual([]);
  });
});

it('a partly judged run does not replace a complete one', async () => {
  const own = join(dir, 'own.sqlite');
  await scored({ db: own, label: 'whole', rating: steady(3, 4), rows: 10 });
  await scored({ db: own, label: 'whole', rating: (row) => (row > 0 ? undefined : 5), rows: 10, lost: true });
  await holdMessage('leaderboard-half-judged', ['leaderboard', '--db', 'own.sqlite'], {}, { cwd: dir });
});

describe('bad input', () => {
  const refused = async (args: readonly string[], cwd = dir) => {
    const { code, stdout, stderr } = await awb(['leaderboard', ...args], { cwd });
    expect(stdout).toBe('');
    return { code, stderr };
  };

  it('an unknown run is answered with the known ones', async () => {
    const { code, stderr } = await refused(['--db', db, '--run', 'nobody']);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain('there is no run "nobody"; awb score adds one. The runs are\n  1: good (');
    expect(stderr).toContain('4: judged otherwise');
  });

  it('a missing SQLite file is answered with the command that makes one', async () => {
    const { code, stderr } = await refused([]);
    expect(code).toBe(EXIT.inputMissing);
    expect(stderr).toContain(
      'there is no SQLite file awb.sqlite; create it with awb score RUN, or name another with --db or AWB_DB',
    );
  });

  it('a SQLite file without runs says so, and shows the published rows on request', async () => {
    await writeFile(join(dir, 'empty.sqlite'), '');
    const { code, stderr } = await refused(['--db', 'empty.sqlite']);
    expect({ code, stderr }).toEqual({
      code: EXIT.inputMissing,
      stderr: 'awb: empty.sqlite: no runs there; awb score RUN adds one\n',
    });
    const published = await awb(['leaderboard', '--db', 'empty.sqlite', '--with-published'], { cwd: dir });
    expect(published.code).toBe(EXIT.done);
    expect(published.stdout).toContain('GPT-5.4');
  });

  it('a file of a later version is refused', async () => {
    const later = join(dir, 'later.sqlite');
    await scored({ db: later, label: 'a', rating: steady(3, 4) });
    const database = openSqlite(later);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);
    database.close();
    const { code, stderr } = await refused(['--db', later]);
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain('a later awb wrote it');
  });

  it.each([
    [['--columns', 'overal'], 'did you mean "overall"?'],
    [['--sort', 'overal'], 'did you mean "overall"?'],
    [['--format', 'hf'], 'choose one with --run'],
    [['--format', 'csv', '--json'], 'cannot be combined'],
  ])('%j is refused with advice', async (args, advice) => {
    const { code, stderr } = await refused(['--db', db, ...args]);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain(advice);
  });

  it('a file that cannot be written is named', async () => {
    const { code, stderr } = await refused(['--db', db, '--output', 'none/board.md']);
    expect(code).toBe(EXIT.cannotWrite);
    expect(stderr).toContain('cannot write none/board.md: its folder does not exist');
  });
});
