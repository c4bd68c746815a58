// awb report: the page it writes, opened in a real browser; runs named in every way; and what it says where it cannot.

import { createHash } from 'node:crypto';
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { type Browser, noChromium, type Page, startChromium } from '../support/chromium.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { changeRows, inferred, jsonOf, type Row, rowsOf, verdict, writeRows } from '../support/judging.js';
import { startLoopbackServer } from '../support/loopback-server.js';

const OFFICIAL = join(ROOT, 'fixtures/judged/official.jsonl');
const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'];

/** A baseline over recorded rows, judged with ratings that depend on what is judged, and scored into `db`. */
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

/** The page of a report that has to come out well. */
async function written(...args: readonly string[]): Promise<string> {
  const { code, stderr, output } = await report(...args);
  if (code !== 0) throw new Error(stderr);
  return output;
}

/** The JSON that a page holds under an id. */
async function dataIn(path: string, id = 'data'): Promise<Row> {
  const page = await readFile(path, 'utf8');
  const json = new RegExp(`<script type="application/json" id="${id}">(.*?)</script>`, 's').exec(page)?.[1];
  return JSON.parse(json as string);
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
    expect(await dataIn(output)).toMatchObject({ run: 'step-200', other: null, samples: { length: 28 } });
  });

  it('of several under one label is the one that was judged last', async () => {
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

  it('of several under one label is one with ratings', async () => {
    const both = join(root, 'both.sqlite');
    const metrics = await temporaryFolder();
    const predictions = join(dirname(candidate), 'predictions.jsonl');
    await awb(['judge', '--predictions', predictions, '--mode', 'metrics', '--output-dir', metrics]);
    for (const judged of [candidate, metrics]) await awb(['score', judged, '--db', both, '--label', 'tiny random']);
    const { stdout } = await report('--db', both, '--run', 'tiny random', '--json');
    expect(JSON.parse(stdout).run.source).toBe(candidate);
  });

  it('of the official script is shown as one of ours', async () => {
    const { code, output } = await report('--run', OFFICIAL);
    expect(code).toBe(EXIT.done);
    expect(await dataIn(output)).toMatchObject({ run: 'judged/official.jsonl', samples: { length: 60 } });
  });

  it('holds what its file says, row by row', async () => {
    const { output } = await report('--run', candidate);
    const { samples } = await dataIn(output);
    const { strings, rows } = await dataIn(output, 'texts');
    const judged = new Map((await rowsOf(candidate)).map((row) => [row.awb.key, row]));
    expect(samples).toHaveLength(judged.size);
    for (const [index, sample] of samples.entries()) {
      const row = judged.get(sample.k) as Row;
      const texts = rows[index];
      const marker = '**Environment Observation:**';
      expect(sample).toMatchObject({ t: row.turn_idx, f: DIMENSIONS.map((name) => row[name]), n: row.weaknesses[0] });
      expect(sample.v).toBeCloseTo(((row.total_score - 1) / 4) * 100, 9);
      expect(strings[texts.truth]).toBe(row.response[row.turn_idx - 1].replace(marker, '').trim());
      expect(strings[texts.reply]).toBe(row.judge_raw_output);
      expect(texts.history).toHaveLength(2 * (row.turn_idx - 1));
    }
  });

  it('whose rows were repeated shows each repeat', async () => {
    const { predictions, dir } = await inferred(['--repeats', '2']);
    await awb(['judge', '--predictions', predictions, '--mode', 'metrics', '--output-dir', dir]);
    const { output } = await report('--run', join(dir, 'judged.jsonl'));
    const { samples, repeats, figures } = await dataIn(output);
    expect(samples.map((sample: Row) => sample.r)).toEqual(Array.from({ length: 14 }, (_, index) => index % 2));
    expect(repeats).toBe(true);
    expect(figures).toContainEqual(['chrf', 100]);
  });

  it('that is lean needs its data', async () => {
    const lean = await judgedRun(join(root, 'lean.sqlite'), 'lean', ['--lean'], 0);
    const refused = await report('--run', lean);
    expect(refused).toMatchObject({ code: EXIT.badData, stderr: expect.stringContaining('--data-dir') });
    const { code, output } = await report('--run', lean, '--data-dir', RECORDED);
    expect(code).toBe(EXIT.done);
    expect((await dataIn(output, 'texts')).rows).toHaveLength(7);
  });
});

describe('against another run', () => {
  it('each sample says how far it moved, and what was predicted and said before', async () => {
    const { output } = await report('--db', db, '--run', 'step-200', '--compare', 'step-100');
    const { samples, other } = await dataIn(output);
    const { strings, rows } = await dataIn(output, 'texts');
    const before = new Map((await rowsOf(base)).map((row) => [row.awb.key, row]));
    expect(other).toBe('step-100');
    for (const [index, sample] of samples.entries()) {
      const row = before.get(sample.k) as Row;
      expect(sample.c).toBeCloseTo(sample.v - ((row.total_score - 1) / 4) * 100, 9);
      expect(strings[rows[index].other.reply]).toBe(row.judge_raw_output);
    }
  });

  it.each([
    [
      'another judge',
      (manifest: Row) => ({ ...manifest, identity: { ...manifest.identity, snapshot: 'other' } }),
      /NOT THE SAME: the runs differ in their judge/,
    ],
    [
      'another rubric pack',
      (manifest: Row) => ({
        ...manifest,
        identity: { ...manifest.identity, rubrics: { name: 'x', fingerprint: 'y' } },
      }),
      /NOT THE SAME: the runs differ in their rubric/,
    ],
  ])('of %s the page says so', async (_name, change, warning) => {
    const dir = join(root, `copy-${++outputs}`);
    await cp(dirname(base), dir, { recursive: true });
    const path = join(dir, 'judged.manifest.json');
    await writeFile(path, JSON.stringify(change(await jsonOf(path))));
    const { output } = await report('--run', candidate, '--compare', join(dir, 'judged.jsonl'));
    expect(await readFile(output, 'utf8')).toMatch(warning);
  });

  it('without a row in common the page says so, and shows the run', async () => {
    const { code, output } = await report('--run', candidate, '--compare', OFFICIAL);
    expect(code).toBe(EXIT.done);
    expect(await readFile(output, 'utf8')).toContain('No row is rated in both runs');
  });
});

describe('what cannot be reported', () => {
  it.each([
    [
      'an unknown run, and which are known',
      () => ['--db', db, '--run', 'step-300'],
      EXIT.usage,
      /no run .*"step-300"[\s\S]*1: step-100.*\n.*2: step-200/,
    ],
    ['a label without its SQLite file', () => ['--run', 'step-200'], EXIT.inputMissing, /--db/],
    [
      'a SQLite file that is not there',
      () => ['--db', join(root, 'none.sqlite'), '--run', '1'],
      EXIT.inputMissing,
      /none\.sqlite/,
    ],
    [
      'a judged file that is not there',
      () => ['--run', 'none.jsonl'],
      EXIT.inputMissing,
      /none\.jsonl: there is no such file/,
    ],
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

  it('is a run whose file was moved, which its new place mends', async () => {
    const moved = join(root, 'moved.sqlite');
    const source = await judgedRun(moved, 'moved', ['--baseline', 'oracle'], 0);
    const place = join(root, 'elsewhere');
    await rename(dirname(source), place);
    const refused = await report('--db', moved, '--run', 'moved');
    expect(refused.code).toBe(EXIT.inputMissing);
    expect(refused.stderr).toContain('move it back, or name it where it is now: --run NEW/judged.jsonl');
    expect((await report('--run', join(place, 'judged.jsonl'))).code).toBe(EXIT.done);
  });

  it('is not a file that changed since it was scored: that is said', async () => {
    const changed = join(root, 'changed.sqlite');
    const source = await judgedRun(changed, 'x', ['--baseline', 'oracle'], 0);
    await changeRows(source, (row) => Object.assign(row, { total_score: 5 }));
    const { code, stderr } = await report('--db', changed, '--run', 'x');
    expect(code).toBe(EXIT.done);
    expect(stderr).toContain('has changed since it was scored');
  });

  it('is what was stopped: no page, and no half of one', async () => {
    const stop = new AbortController();
    stop.abort('SIGINT');
    const output = join(root, 'stopped.html');
    const args = ['report', '--run', candidate, '--output', output, '--inline-limit', '0'];
    expect((await awb(args, { stop: stop.signal })).code).toBe(EXIT.interrupted);
    expect((await readdir(root)).filter((name) => name.startsWith('stopped'))).toEqual([]);
  });

  it('is a page that cannot be written', async () => {
    const { code, stderr } = await awb(['report', '--run', candidate, '--output', join(root, 'no/such/folder.html')]);
    expect(code).toBe(EXIT.cannotWrite);
    expect(stderr).toContain('its folder does not exist');
  });
});

describe('texts beyond the limit', () => {
  it('lose their histories, which the page says, and nothing else', async () => {
    const run = (limit: string) => written('--run', candidate, '--inline-limit', limit);
    const [small, whole] = [await run('0.01'), await run('1')];
    expect(await readFile(small, 'utf8')).toContain('Histories are left out: all texts are more than 0.01 MB');
    expect(await readFile(whole, 'utf8')).not.toContain('Histories are left out');
    const [left, all] = [await dataIn(small, 'texts'), await dataIn(whole, 'texts')];
    const shown = ({ strings, rows }: Row) =>
      rows.map(({ truth, prediction, reply }: Row) => [truth, prediction, reply].map((place) => strings[place]));
    expect(shown(left)).toEqual(shown(all));
    expect(left.rows.some((row: Row) => 'history' in row)).toBe(false);
    expect((await readdir(root)).filter((name) => name.endsWith('.texts'))).toEqual([]);
  });
});

// Said once where no Chromium is installed: the browser's tests below are skipped there.
if (noChromium !== undefined) it.skip(`the page in a browser: ${noChromium}`, () => {});

describe.skipIf(noChromium !== undefined)('in a browser', () => {
  let browser: Browser;
  let page: Page;
  let compared: string;
  beforeAll(async () => {
    browser = await startChromium();
    page = await browser.newPage();
    compared = await written('--db', db, '--run', 'step-200', '--compare', 'step-100');
  });
  beforeEach(() => page.forget());
  afterAll(() => browser.close());

  const open = async (path: string, hash = '', look: Parameters<Page['look']> = [1280, 900]) => {
    await page.look(...look);
    await page.open(`${pathToFileURL(path)}${hash}`);
  };
  /** Lets the page answer to what was just done. */
  const settle = () => page.evaluate('new Promise((done) => setTimeout(done, 50))');
  const text = (selector: string) => page.evaluate(`document.querySelector('${selector}').innerText`);
  const count = (selector: string) => page.evaluate(`document.querySelectorAll('${selector}').length`);
  const choose = (filter: string, value: string) =>
    page.evaluate(`(() => {
      const field = document.getElementById('filter-${filter}');
      field.value = '${value}';
      field.dispatchEvent(new Event('change'));
    })()`);

  it('the page opens from a file, asks for nothing else, and nothing is refused or thrown', async () => {
    for (const hash of [
      '',
      '#samples',
      '#sample-1',
      '#sample-99',
      '#samples?domain=%FF&rating=x&page=-3&text=%FF',
      '#row=%FF<img src=x>&repeat=x',
    ]) {
      page.forget();
      await open(compared, hash);
      expect(page.requests.filter((url) => !/^(about:blank|data:,)/.test(url))).toEqual([`${pathToFileURL(compared)}`]);
      expect(page.complaints).toEqual([]);
    }
  });

  it('filters narrow the list, stand in the address, and are there again on the way back', async () => {
    await open(compared, '#samples');
    expect(await text('#found')).toBe('28 samples');
    await choose('domain', 'Web');
    expect(await text('#found')).toBe('4 of 28 samples');
    expect(
      await page.evaluate(`[...document.querySelectorAll('#rows a')].every((a) => a.innerText.startsWith('Web'))`),
    ).toBe(true);
    const { samples } = await dataIn(compared);
    await choose('domain', '');
    await choose('change', 'worse');
    const worse = samples.filter((sample: Row) => sample.c < 0).length;
    expect(await text('#found')).toBe(worse === 28 ? '28 samples' : `${worse} of 28 samples`);
    await choose('change', '');
    await choose('rating', 'good');
    const good = samples.filter((sample: Row) => sample.v >= 50 && sample.v < 75).length;
    expect(good).toBeGreaterThan(1);
    expect(await count('#rows tr')).toBe(good);
    expect(await page.evaluate('location.hash')).toBe('#samples?rating=good');
    await page.evaluate(`document.querySelector('#rows a').click()`);
    await settle();
    expect(await text('#sample .path')).toContain(`1 of ${good}`);
    await page.evaluate('history.back()');
    await settle();
    expect(await count('#rows tr')).toBe(good);
    expect(await page.evaluate(`document.getElementById('filter-rating').value`)).toBe('good');
  });

  /** Types into the search field, and waits until all texts were searched. */
  const lookFor = async (words: string) => {
    await page.evaluate(`(() => {
      const field = document.getElementById('filter-text');
      field.value = ${JSON.stringify(words)};
      field.dispatchEvent(new Event('input'));
    })()`);
    await page.evaluate(`new Promise((done) => {
      const look = () => (/samples$/.test(document.getElementById('found').innerText) ? done() : requestAnimationFrame(look));
      look();
    })`);
  };

  it('samples are found by key, and by what is predicted, true, done or said of them', async () => {
    const dir = await temporaryFolder();
    const path = join(dir, 'judged.jsonl');
    await cp(candidate, path);
    await changeRows(path, (row, index) => {
      if (index === 3) row.gen = '<predicted_observation>a Needle in the prediction</predicted_observation>';
      if (index === 5) row.judge_raw_output = 'the judge names the needle';
      if (index === 7) row.weaknesses = ['one', 'NEEDLE in the second weakness'];
    });
    const output = await written('--run', path);
    const { samples } = await dataIn(output);
    await open(output, '#samples');
    await lookFor('needle');
    const keys = (await rowsOf(path)).filter((_, index) => [3, 5, 7].includes(index)).map((row) => row.awb.key);
    const shown = await page.evaluate(
      `[...document.querySelectorAll('#rows a')].map((a) => Number(a.hash.slice(8)) - 1)`,
    );
    expect(shown.map((index: number) => samples[index].k).sort()).toEqual(keys.sort());
    expect(await page.evaluate('location.hash')).toBe('#samples?text=needle');
    await lookFor(samples[11].k);
    expect(await text('#found')).toBe('1 of 28 samples');
    expect(await page.evaluate(`document.querySelector('#rows a').hash`)).toBe('#sample-12');
    await open(output, '#samples?text=NEEDLE+in+the');
    await lookFor('NEEDLE in the');
    expect(await text('#found')).toBe('2 of 28 samples');
    const { strings, rows } = await dataIn(output, 'texts');
    const truth = strings[rows[20].truth].trim().split('\n').at(-1);
    await lookFor(truth);
    expect(await page.evaluate(`[...document.querySelectorAll('#rows a')].map((a) => a.hash)`)).toContain('#sample-21');
    await lookFor('nowhere at all');
    expect(await text('#found')).toBe('0 of 28 samples');
    expect(page.complaints).toEqual([]);
  });

  it('a link by key opens one sample, which names its trajectory and turn', async () => {
    const { samples } = await dataIn(compared);
    const sample = samples[17];
    await open(compared, `#row=${sample.k}`);
    expect(await text('#sample h2')).toMatch(new RegExp(`· trajectory ${sample.g} · turn ${sample.t}$`));
    expect(await text('#sample .note:not(.keys)')).toContain(sample.k);
    expect(await page.evaluate(`document.querySelector('#sample .note a').hash`)).toBe(`#row=${sample.k}`);
    expect(await page.evaluate('document.title')).toContain(`trajectory ${sample.g}`);
    await open(compared, '#row=nothing-of-the-kind');
    expect(await text('#sample')).toContain('This report has no sample of the key nothing-of-the-kind.');
    expect(page.complaints).toEqual([]);
  });

  it('keys lead from sample to sample and back to the list, and are left alone where something is typed', async () => {
    await open(compared, '#sample-5');
    const at = async (key: string) => {
      await page.press(key);
      await settle();
      return page.evaluate('location.hash');
    };
    expect(await text('#sample .keys')).toMatch(/next.*previous.*all samples/s);
    expect([await at('j'), await at('ArrowRight'), await at('k'), await at('ArrowLeft'), await at('k')]).toEqual([
      '#sample-6',
      '#sample-7',
      '#sample-6',
      '#sample-5',
      '#sample-4',
    ]);
    expect(await at('Escape')).toBe('#samples');
    expect(await text('#samples .keys')).toMatch(/next, previous.*open.*search/s);
    const focused = () => page.evaluate(`document.activeElement.hash ?? document.activeElement.id`);
    await page.press('j');
    await page.press('j');
    expect(await focused()).toBe('#sample-2');
    await page.press('k');
    expect(await focused()).toBe('#sample-1');
    await page.press('/');
    expect(await focused()).toBe('filter-text');
    await page.press('j');
    expect(await focused()).toBe('filter-text');
    expect(await page.evaluate(`document.getElementById('filter-text').value`)).toBe('j');
    expect(page.complaints).toEqual([]);
  });

  it('a flag in the overview leads to the samples that have it', async () => {
    const dir = await temporaryFolder();
    const path = join(dir, 'judged.jsonl');
    await cp(candidate, path);
    await changeRows(path, (row, index) => {
      if (index < 3) row.awb.flags = ['truncated'];
    });
    await open(await written('--run', path));
    await page.evaluate(
      `[...document.querySelectorAll('#overview a')].find((a) => a.innerText === 'truncated').click()`,
    );
    await settle();
    expect(await text('#found')).toBe('3 of 28 samples');
  });

  it('a sample shows what differs by line and by word, with white space to be seen', async () => {
    const dir = await temporaryFolder();
    const path = join(dir, 'judged.jsonl');
    const [row] = await rowsOf(candidate);
    const same = Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n');
    const change = (gen: string, truth: string) => {
      const changed = structuredClone(row as Row);
      changed.gen = `<predicted_observation>${gen}</predicted_observation>`;
      changed.response[changed.turn_idx - 1] = truth;
      delete changed.awb;
      return changed;
    };
    await writeRows(path, [change(`total 20 \n\tx\n${same}\nend \u202e!`, `total 24\n    x\n${same}\nend !`)]);
    await open(await written('--run', path), '#sample-1');
    expect(await page.evaluate(`[...document.querySelectorAll('.diff del')].map((e) => e.textContent)`)).toEqual([
      '24',
      '    ',
    ]);
    expect(await page.evaluate(`[...document.querySelectorAll('.diff ins')].map((e) => e.textContent)`)).toEqual([
      '20 ',
      '\t',
      'U+202E',
    ]);
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.diff .tab'), '::before').content`)).toContain(
      '→',
    );
    expect(await text('.diff .fold')).toContain('24 equal lines');
    expect(await count('.diff tr')).toBe(1 + 2 + 3 + 1 + 3 + 1);
    await page.evaluate(`document.querySelector('.diff .fold button').click()`);
    expect(await count('.diff tr')).toBe(1 + 2 + 30 + 1);
  });

  it('the judge’s reply, the action and the history are there on demand', async () => {
    await open(compared, '#sample-2');
    expect(await text('#sample')).toContain('too short');
    expect(await count('#sample pre')).toBe(0);
    const summaries = await page.evaluate(
      `[...document.querySelectorAll('#sample summary')].map((e) => e.innerText.replace(/\\d.*/, '').trim())`,
    );
    expect(summaries).toEqual([
      "The judge's whole reply",
      "The judge's whole reply",
      'Action',
      'History',
      'System prompt',
    ]);
    await page.evaluate(`for (const summary of document.querySelectorAll('#sample summary')) summary.click()`);
    await settle();
    expect(await text('#sample pre')).toContain('<final_evaluation>');
    const { samples } = await dataIn(compared);
    expect(
      await page.evaluate(
        `[...document.querySelectorAll('#sample summary')].filter((e) => /^Turn/.test(e.innerText)).length`,
      ),
    ).toBe(samples[1].t - 1);
  });

  it('both runs’ predictions can be held against the ground truth', async () => {
    await open(compared, '#sample-2');
    const { strings, rows } = await dataIn(compared, 'texts');
    const shown = async () => {
      await page.evaluate(
        `(() => { const fold = [...document.querySelectorAll('.tools input')].find((e) => e.parentElement.innerText === 'fold equal lines'); if (fold.checked) fold.click(); })()`,
      );
      return page.evaluate(
        `[...document.querySelectorAll('.diff tbody tr')].map((tr) => tr.cells[3]).filter((cell) => cell.className !== 'none').map((cell) => cell.textContent).join('\\n')`,
      );
    };
    expect(await shown()).toBe(strings[rows[1].prediction]);
    await page.evaluate(`document.querySelectorAll('.tools input[type=radio]')[1].click()`);
    expect(await shown()).toBe(strings[rows[1].other.prediction]);
    expect(await text('.diff thead')).toContain('step-100');
  });

  it('nothing runs, loads or leads away that a model, a judge or a file says', async () => {
    const evil = `</pre></script><script>window.hacked=1</script><img src="https://evil.invalid/x" onerror="window.hacked=2"><a href="javascript:window.hacked=3">x</a><style>*{display:none}</style><!-- {{constructor.constructor('window.hacked=4')()}} \u202e\u0000\u001b[2J`;
    const dir = join(root, 'evil');
    await cp(dirname(candidate), dir, { recursive: true });
    const path = join(dir, 'judged.jsonl');
    await changeRows(path, (row) => {
      row.gen = `<predicted_observation>${evil}</predicted_observation>`;
      row.strengths = [evil];
      row.weaknesses = [evil, { not: 'a text' }];
      row.judge_raw_output = evil;
      row.awb.flags = [evil];
      row.awb.judge = { ...row.awb.judge, reasoning: evil };
    });
    const manifest = await jsonOf(join(dir, 'judged.manifest.json'));
    manifest.predictions.label = evil;
    manifest.identity.judge = evil;
    await writeFile(join(dir, 'judged.manifest.json'), JSON.stringify(manifest));
    const output = await written('--run', path, '--compare', base);
    for (const hash of ['', '#samples', '#sample-1', '#sample-2']) {
      await open(output, hash);
      await page.evaluate(`for (const summary of document.querySelectorAll('summary')) summary.click()`);
      await settle();
      expect(await page.evaluate('window.hacked ?? null')).toBeNull();
      expect(await count('img, iframe, object, body style, a[href^=javascript]')).toBe(0);
      expect(page.requests.filter((url) => !/^(about:blank|data:,|file:)/.test(url))).toEqual([]);
      expect(page.complaints).toEqual([]);
    }
    expect(await text('#sample .judge')).toContain('window.hacked=1');
    expect(await text('.diff')).toContain('U+202E');
  });

  it('a keyboard is enough: to the samples, into one, and on', async () => {
    await open(compared);
    const tab = async (until: string) => {
      for (let presses = 0; presses < 40; presses++) {
        await page.press('Tab');
        if (await page.evaluate(`document.activeElement.matches('${until}')`)) return;
      }
      throw new Error(`${until} was never reached`);
    };
    await tab('nav a[href$="#samples"]');
    await page.press('Enter');
    await settle();
    await tab('#rows a');
    await page.press('Enter');
    await settle();
    expect(await page.evaluate('document.activeElement.tagName + document.activeElement.innerText')).toMatch(/^H2MCP/);
    await tab('summary');
    await page.press('Enter');
    await settle();
    expect(await count('details[open]')).toBe(1);
  });

  it('everything that can be set or followed has a name, and tables have heads', async () => {
    for (const hash of ['', '#samples', '#sample-1']) {
      await open(compared, hash);
      const nameless = await page.evaluate(`[...document.querySelectorAll('select, input, button, a, summary')]
        .filter((e) => !(e.labels?.length ? e.labels[0].textContent : e.textContent).trim()).length`);
      expect(nameless).toBe(0);
      expect(
        await page.evaluate(
          `[...document.querySelectorAll('table')].every((table) => table.querySelector('thead th[scope=col]'))`,
        ),
      ).toBe(true);
      expect(await count('nav[aria-label], main, html[lang=en]')).toBe(3);
      expect(await count('nav a[aria-current=page]')).toBe(1);
    }
  });

  it.each(['', '#samples', '#sample-3'])('a phone shows all of it without going sideways (%s)', async (hash) => {
    await open(compared, hash, [360, 740]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
  });

  it('it is dark where the reader wants it dark', async () => {
    const brightness = async (scheme: 'light' | 'dark') => {
      await open(compared, '', [1280, 900, scheme]);
      return page.evaluate(`Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])`);
    };
    expect(await brightness('light')).toBeGreaterThan(240);
    expect(await brightness('dark')).toBeLessThan(40);
  });

  it('thousands of long rows are listed by pages, and each is at hand', async () => {
    const row = (await rowsOf(candidate))[0] as Row;
    const dir = await temporaryFolder();
    const long = Array.from({ length: 40 }, (_, index) => `${index} ${'word '.repeat(9)}`).join('\n');
    const rows = Array.from({ length: 2170 }, (_, index) => ({
      ...row,
      awb: undefined,
      id: index,
      gen: `<predicted_observation>${index} ${long}</predicted_observation>`,
      response: [...row.response.slice(0, row.turn_idx - 1), `${long} ${index}`],
    }));
    await writeRows(join(dir, 'judged.jsonl'), rows);
    const output = await written('--run', join(dir, 'judged.jsonl'));
    await open(output, '#samples');
    expect(await text('#found')).toBe('2,170 samples');
    expect(await count('#rows tr')).toBe(100);
    expect(await text('.pages')).toContain('page 1 of 22');
    await page.evaluate(`document.querySelectorAll('.pages')[1].querySelectorAll('button')[1].click()`);
    expect(await page.evaluate(`document.querySelector('#rows a').hash`)).toBe('#sample-101');
    await open(output, '#sample-2170');
    expect(await text('#sample .path')).toContain('2,170 of 2,170');
    expect(await text('.diff ins')).toMatch(/^\d+ /);
  });
});

afterAll(() => rm(root, { recursive: true }));
