// awb rate: the page that people rate on, driven in a real browser; what it keeps, saves and hides; and runs that cannot be rated.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { DIMENSIONS } from '../../src/core/types.js';
import { type Browser, noChromium, type Page, startChromium } from '../support/chromium.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { judgedFile, keyOf, type MadeRow, predictionOf, sha256Of, trajectoryOf } from '../support/people.js';
import { EVIL } from '../support/reports.js';

const ROWS: MadeRow[] = Array.from({ length: 8 }, (_, at) => ({
  name: `k${at}`,
  domain: at < 4 ? 'mcp' : 'os',
  rating: 2,
  weakness: 'SECRET-WEAKNESS',
}));
const OTHERS: MadeRow[] = ROWS.map((row) => ({ ...row, rating: 5, prediction: `truth of ${row.name}\nother line` }));

let root: string;
let judged: string;
let other: string;
beforeAll(async () => {
  root = await temporaryFolder();
  judged = await judgedFile(join(root, 'step-100'), ROWS);
  other = await judgedFile(join(root, 'step-200'), OTHERS);
});

let outputs = 0;
async function rate(...args: readonly string[]) {
  const output = `rate-${++outputs}.html`;
  const result = await awb(['rate', ...args, '-o', output], { cwd: root });
  return { ...result, output: join(root, output) };
}
async function written(...args: readonly string[]): Promise<string> {
  const { code, stderr, output } = await rate(...args);
  if (code !== 0) throw new Error(stderr);
  return output;
}
const dataIn = (html: string) => JSON.parse(/id="data">(.*?)<\/script>/s.exec(html)?.[1] as string);

describe('the page', () => {
  it('is written and says what to do with it', async () => {
    const { code, stdout, stderr } = await rate(judged);
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: '' });
    expect(stdout).toMatch(
      /^written: rate-\d+\.html \(8 samples, 0\.\d MB\)\nnext: open file:\/\/\/\S+\/rate-\d+\.html, rate, save/,
    );
    expect(stdout).toContain('agree --ratings FILE --predictions step-100/judged.jsonl\n');
  });

  it('is told of as JSON', async () => {
    const { stdout } = await rate(judged, other, '--blind', '--samples', '6', '--seed', '7', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ schema: 'awb.rate/1', samples: 6, shared: 0, blind: true, seed: 7 },
      runs: [judged, other],
      url: expect.stringMatching(/^file:.*\/rate-\d+\.html$/),
    });
  });

  it('is the same for the same seed', async () => {
    const [first, second, third] = [
      await written(judged, '--samples', '3'),
      await written(judged, '--samples', '3'),
      await written(judged, '--samples', '3', '--seed', '2'),
    ];
    expect(await readFile(second, 'utf8')).toBe(await readFile(first, 'utf8'));
    expect(await readFile(third, 'utf8')).not.toBe(await readFile(first, 'utf8'));
  });

  it('holds what the judge says in no form that its source shows', async () => {
    const html = await readFile(await written(judged), 'utf8');
    expect(html).not.toContain('SECRET-WEAKNESS');
    const { samples } = dataIn(html);
    expect(JSON.parse(Buffer.from(samples[0].judge, 'base64').toString())).toEqual({
      ratings: [2, 2, 2, 2, 2],
      strengths: [],
      weaknesses: ['SECRET-WEAKNESS'],
    });
  });

  it('of two runs names neither, and tells which run a prediction is of by the hash alone', async () => {
    const html = await readFile(await written(judged, other, '--blind'), 'utf8');
    expect(html).not.toMatch(/step-[12]00/);
    const data = dataIn(html);
    expect(data.run).toBeNull();
    const hashes = [...ROWS, ...OTHERS].map((row) => sha256Of(predictionOf(row)));
    expect(data.samples.map(({ sha256 }: { sha256: string }) => sha256).sort()).toEqual(hashes.sort());
  });

  it('shows a prediction once that both runs made in the same words', async () => {
    const same = await judgedFile(join(root, 'same'), [ROWS[0] as MadeRow, ...OTHERS.slice(1)]);
    const { stdout } = await rate(judged, same, '--blind');
    expect(stdout).toContain('(15 samples');
    expect(stdout).toContain('1 prediction is the same in both runs, and shown once\n');
  });

  it('opens no element for hostile texts, and its policy allows its own script and style alone', async () => {
    const evil = ROWS.map((row) => ({ ...row, prediction: `${EVIL} ${row.name}`, weakness: EVIL }));
    const html = await readFile(await written(await judgedFile(join(root, 'evil'), evil)), 'utf8');
    expect(html).not.toMatch(/<img|<!--/);
    expect(html.replace(/<script[\s\S]*?<\/script>/g, '')).not.toMatch(/ style=| on[a-z]+=/);
    expect(html.match(/<script/g)).toHaveLength(3);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)?.[1];
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});

// Said once where no Chromium is installed: the browser's tests below are skipped there.
if (noChromium !== undefined) it.skip(`rating in a browser: ${noChromium}`, () => {});

describe.skipIf(noChromium !== undefined)('a rater', () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await startChromium();
    page = await browser.newPage();
  });
  afterAll(() => browser.close());
  let path: string;
  beforeEach(async () => {
    path = await written(judged);
    await page.open(pathToFileURL(path).href);
    await page.evaluate('localStorage.clear()');
    await page.open(pathToFileURL(path).href);
    page.forget();
  });

  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.press(key);
  };
  const begin = (name = 'Ann') =>
    page.evaluate(
      `document.querySelector('#rater').value = ${JSON.stringify(name)}; document.querySelector('#begin').requestSubmit()`,
    );
  const text = (selector: string): Promise<string> =>
    page.evaluate(`document.querySelector(${JSON.stringify(selector)}).innerText`);
  /** The ratings as the panel shows them. */
  const given = (): Promise<string[]> =>
    page.evaluate(
      `[...document.querySelectorAll('.rate > div')].map((e) => e.querySelector('[aria-pressed=true]')?.innerText ?? '-')`,
    );
  const place = (): Promise<string> => text('#sample .path .soft');
  /** Presses the key that saves, and reads the file. */
  async function save(folder: string): Promise<{ name: string; lines: Record<string, unknown>[] }> {
    await page.saveInto(folder);
    await press('s');
    await expect.poll(async () => (await readdir(folder)).filter((name) => name.endsWith('.jsonl'))).toHaveLength(1);
    const [name] = (await readdir(folder)) as [string];
    const found = (await readFile(join(folder, name), 'utf8')).trim().split('\n');
    return { name, lines: found.map((line) => JSON.parse(line)) };
  }

  it('rates from the keyboard, is shown what the judge says when done, and saves a file that awb agree reads', async () => {
    await begin();
    expect(await page.evaluate('document.body.innerText')).not.toContain('SECRET-WEAKNESS');
    await press('1', '2', '3', '4');
    expect(await given()).toEqual(['1', '2', '3', '4', '-']);
    await press('Enter');
    expect(await text('#ask')).toBe('Rate all five dimensions first.');
    expect(await page.evaluate('document.documentElement.outerHTML.includes("What the judge says</h3>")')).toBe(false);
    await press('5', 'Enter');
    expect(await text('#verdict')).toMatch(/What the judge says\s+Format\s+2\s*you 1[\s\S]*SECRET-WEAKNESS/);
    expect(await text('#progress')).toBe('Ann · 1 of 8 rated');
    await press('Enter');
    expect(await place()).toBe('sample 2 of 8');
    expect(await text('#verdict')).toBe('');
    await press('3', '3', '3', '3', '3', 'Enter');
    const folder = await temporaryFolder();
    const { name, lines } = await save(folder);
    expect(name).toBe('ratings-step-100-judged-jsonl-Ann.jsonl');
    const row = ROWS.find((each) => keyOf(each) === lines[0]?.key) as MadeRow;
    expect(lines).toHaveLength(2);
    expect(lines[0]).toEqual({
      ...{ schema: 'awb.person-rating/1', key: keyOf(row), repeat: 0, trajectory: trajectoryOf(row), domain: 'mcp' },
      ...{ run: 'step-100/judged.jsonl', rater: 'Ann' },
      ...{ format: 1, factuality: 2, consistency: 3, realism: 4, quality: 5 },
      ...{ prediction_sha256: sha256Of(predictionOf(row)), revised: false },
      rated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    const agreed = await awb(['agree', '--ratings', join(folder, name), '--predictions', judged, '--json']);
    expect(agreed.stderr).toBe('');
    expect(JSON.parse(agreed.stdout)).toMatchObject({ predictions: 2, raters: { Ann: 2 }, left_out: [] });
    expect([page.complaints, page.requests.filter((url) => !url.startsWith('blob:'))]).toEqual([[], []]);
  });

  it('moves between dimensions and samples, and takes ratings back wherever they were given', async () => {
    await begin();
    await press('ArrowDown', 'ArrowDown', '4', 'ArrowUp', 'ArrowUp', '2');
    expect(await given()).toEqual(['-', '-', '4', '-', '-'].with(1, '2'));
    await press('ArrowRight', '5');
    expect([await place(), await given()]).toEqual(['sample 2 of 8', ['5', '-', '-', '-', '-']]);
    await press('u');
    expect(await given()).toEqual(['-', '-', '-', '-', '-']);
    await press('u');
    expect([await place(), await given()]).toEqual(['sample 1 of 8', ['-', '-', '4', '-', '-']]);
    await press('u', 'u');
    expect([await given(), await text('#ask')]).toEqual([Array(5).fill('-'), 'There is nothing to undo.']);
    await press('j', 'j', 'k');
    expect(await place()).toBe('sample 2 of 8');
    await press('ArrowLeft', 'ArrowLeft');
    expect([await place(), await text('#ask')]).toEqual(['sample 1 of 8', 'This is the first sample.']);
  });

  it('finds everything again when the page was closed in the middle of a sample', async () => {
    await begin();
    await press('1', '1', '1', '1', '1', 'Enter', 'Enter', '4', '5');
    // A crash gives the page no time for anything.
    await page.evaluate('void 0');
    await page.open(pathToFileURL(path).href);
    expect(await place()).toBe('sample 2 of 8');
    expect(await given()).toEqual(['4', '5', '-', '-', '-']);
    expect(await text('#progress')).toBe('Ann · 1 of 8 rated');
    // Another page of the same run has the ratings of the samples that it shares.
    await page.open(pathToFileURL(await written(judged, '--samples', '5', '--seed', '9')).href);
    expect(await text('#progress')).toMatch(/^Ann · [01] of 5 rated$/);
  });

  it('keeps ratings apart from those of another on the same machine', async () => {
    await begin('Ann');
    await press('1', '1', '1', '1', '1', 'Enter');
    await press('Escape');
    expect(await text('#kept')).toBe('Ann has rated 1 of 8; the page has kept it.');
    await begin('__proto__');
    expect([await text('#progress'), await given()]).toEqual(['__proto__ · 0 of 8 rated', Array(5).fill('-')]);
    expect(await text('#verdict')).toBe('');
    await press('2', 'Escape');
    await begin('Ann');
    expect([await text('#progress'), await place()]).toEqual(['Ann · 1 of 8 rated', 'sample 2 of 8']);
  });

  it('who changes a rating after the judge was shown is told, and the file says so', async () => {
    await begin();
    await press('3', '3', '3', '3', '3', 'Enter', '2');
    expect(await text('#ask')).toBe('Changed after the judge was shown: awb agree leaves this sample out.');
    await press('u', 'ArrowRight', '4', '4', '4', '4', '4', 'Enter', '5');
    const { lines } = await save(await temporaryFolder());
    expect(lines.map(({ quality, revised }) => [quality, revised])).toEqual([
      [3, false],
      [5, true],
    ]);
  });

  it('writes a comment without rating by it', async () => {
    await begin();
    await press('c', '4', 'u', 's', 'Escape', '3', '3', '3', '3', '3', 'Enter');
    const { lines } = await save(await temporaryFolder());
    expect(lines).toMatchObject([{ comment: '4us', format: 3 }]);
  });

  it('can rate with the mouse, too, and is not kept from the keys by it', async () => {
    await begin();
    for (const name of DIMENSIONS) await page.evaluate(`document.querySelectorAll('#rate-${name} button')[2].click()`);
    expect(await given()).toEqual(['3', '3', '3', '3', '3']);
    await page.evaluate(`document.querySelector('#done').click()`);
    expect(await text('#verdict')).toContain('SECRET-WEAKNESS');
    await page.evaluate(`document.querySelector('#next').click()`);
    expect(await place()).toBe('sample 2 of 8');
  });

  it('starts anew where what was kept is damaged', async () => {
    const [row] = ROWS as [MadeRow];
    const id = `${keyOf(row)}#0:${sha256Of(predictionOf(row))}`;
    for (const damage of [
      JSON.stringify({ rater: 'Ann', at: 0, ratings: [['Ann', [[id, { ratings: [9, 'x'], shown: 3, comment: {} }]]]] }),
      '{',
      '7',
      '{"ratings":[1]}',
      '{"rater":"Ann","at":99,"ratings":[["Ann",[["x",{"ratings":1}]]]]}',
    ]) {
      await page.evaluate(`localStorage.setItem('awb rate: step-100/judged.jsonl', ${JSON.stringify(damage)})`);
      await page.open(pathToFileURL(path).href);
      await begin();
      expect(await place()).toMatch(/^sample \d of 8$/);
    }
    expect(page.complaints).toEqual([]);
  });

  it('of hostile predictions sees them as text', async () => {
    const evil = ROWS.map((row) => ({ ...row, prediction: `${EVIL} ${row.name}`, weakness: EVIL }));
    await page.open(pathToFileURL(await written(await judgedFile(join(root, 'hostile'), evil))).href);
    await begin(EVIL);
    await press('1', '1', '1', '1', '1', 'Enter');
    expect(await text('#verdict')).toContain('<img src=x onerror=alert(1)>');
    expect(await page.evaluate('document.querySelectorAll("main img, main script").length')).toBe(0);
    expect(page.complaints).toEqual([]);
  });

  it('of two runs reads no name, and the saved file has none', async () => {
    await page.open(pathToFileURL(await written(judged, other, '--blind', '--samples', '4')).href);
    await begin();
    for (let sample = 0; sample < 4; sample++) await press('2', '2', '2', '2', '2', 'Enter', 'Enter');
    expect(await page.evaluate('document.documentElement.innerText + Object.keys(localStorage)')).not.toMatch(
      /step-[12]00/,
    );
    const folder = await temporaryFolder();
    const { name, lines } = await save(folder);
    expect(name).toBe('ratings-blind-Ann.jsonl');
    expect(lines.map(({ run }) => run)).toEqual([null, null, null, null]);
    const { stdout } = await awb([
      'agree',
      '--ratings',
      join(folder, name),
      '--predictions',
      `${judged},${other}`,
      '--json',
    ]);
    // The judge gave 2 to one run and 5 to the other; the file knows which is which.
    expect(JSON.parse(stdout)).toMatchObject({ predictions: 4, total: { bias: { value: (2 * 75) / 4 } } });
  });

  it.each([1280, 400])('scrolls nothing sideways at %i pixels', async (width) => {
    await page.look(width, 800);
    await page.open(pathToFileURL(path).href);
    const isWide = () => page.evaluate('document.documentElement.scrollWidth > innerWidth');
    expect(await isWide()).toBe(false);
    await begin();
    await press('1', '1', '1', '1', '1', 'Enter');
    expect(await isWide()).toBe(false);
  });
});

describe('what cannot be rated', () => {
  it.each([
    ['two runs in the open', () => [judged, other], EXIT.usage, '--blind mixes two runs'],
    ['one run blind', () => [judged, '--blind'], EXIT.usage, '--blind mixes two runs'],
    ['a run with itself', () => [judged, judged, '--blind'], EXIT.usage, 'name two that differ'],
    ['a run that is not there', () => ['none.jsonl'], EXIT.inputMissing, 'none.jsonl'],
    ['no run', () => [], EXIT.usage, '--run'],
    ['no samples', () => [judged, '--samples', '0'], EXIT.usage, '--samples'],
  ])('%s is refused', async (_name, args, code, message) => {
    const result = await rate(...args());
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(message);
  });

  it('is a run that no judge could rate, and two over different rows', async () => {
    const failed = await judgedFile(
      join(root, 'failed'),
      ROWS.map((row) => ({ ...row, rating: null })),
    );
    expect(await rate(failed)).toMatchObject({
      code: EXIT.badData,
      stderr: expect.stringContaining('run awb judge first'),
    });
    const apart = await judgedFile(
      join(root, 'apart'),
      ROWS.map((row) => ({ ...row, name: `x${row.name}` })),
    );
    const { code, stderr } = await rate(judged, apart, '--blind');
    expect(code).toBe(EXIT.badData);
    expect(stderr).toContain('name two runs over the same rows');
  });

  it("is nothing of the official script's: its judged file has a page, too", async () => {
    expect((await rate(join(ROOT, 'fixtures/judged/official.jsonl'), '--samples', '5')).stdout).toContain('(5 samples');
  });
});
