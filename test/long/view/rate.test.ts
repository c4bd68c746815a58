// The rating page, driven in a real browser: what it stores, saves and hides, and how it looks.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../../src/core/types.js';
import { expectAccessible, noBrowser, type Opened, useBrowser } from '../../support/app.js';
import { awb, temporaryFolder } from '../../support/cli.js';
import { judgedFile, keyOf, type MadeRow, predictionOf, sha256Of, trajectoryOf } from '../../support/people.js';
import { HOSTILE } from '../../support/run-documents.js';

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
/** The page of the first run. */
let url: string;
let outputs = 0;
async function written(...args: readonly string[]): Promise<string> {
  const output = `rate-${++outputs}.html`;
  const { code, stderr } = await awb(['rate', ...args, '-o', output], { cwd: root });
  if (code !== 0) throw new Error(stderr);
  return pathToFileURL(join(root, output)).href;
}
beforeAll(async () => {
  root = await temporaryFolder();
  judged = await judgedFile(join(root, 'step-100'), ROWS);
  other = await judgedFile(join(root, 'step-200'), OTHERS);
  url = await written(judged);
});

// Reported once if no Chromium is installed: the tests below are then skipped.
if (noBrowser !== undefined) it.skip(`rating in a browser: ${noBrowser}`, () => {});

describe.skipIf(noBrowser !== undefined)('a rater', () => {
  const { open } = useBrowser();
  let opened: Opened;
  let page: Page;
  beforeEach(async () => {
    await page?.close();
    opened = await open(url);
    page = opened.page;
  });

  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const begin = async (name = 'Ann') => {
    await page.fill('#rater', name);
    await page.press('#rater', 'Enter');
  };
  const text = (selector: string): Promise<string> => page.locator(selector).innerText();
  const verdicts = (): Promise<number> => page.locator('#verdict').count();
  /** The ratings as the panel shows them. */
  const given = (): Promise<string[]> =>
    page
      .locator('.panel fieldset')
      .evaluateAll((all) => all.map((each) => each.querySelector('[aria-pressed=true]')?.textContent ?? '-'));
  const place = (): Promise<string> => text('#sample .path .soft');
  /** Presses the key that saves, and reads the file. */
  async function save() {
    const [download] = await Promise.all([page.waitForEvent('download'), press('s')]);
    const [name, path] = [download.suggestedFilename(), join(await temporaryFolder(), 'saved.jsonl')];
    await download.saveAs(path);
    const found = (await readFile(path, 'utf8')).trim().split('\n');
    return { name, path, lines: found.map((line): Record<string, unknown> => JSON.parse(line)) };
  }

  it("rates from the keyboard, sees the judge's ratings when done, and saves a file that awb agree reads", async () => {
    await begin();
    expect(await text('body')).not.toContain('SECRET-WEAKNESS');
    await press('1', '2', '3', '4');
    expect(await given()).toEqual(['1', '2', '3', '4', '-']);
    await press('Enter');
    expect(await text('#ask')).toBe('Rate all five dimensions first.');
    expect(await page.locator('#app').innerHTML()).not.toContain("The judge's ratings<");
    await press('5', 'Enter');
    expect(await text('#verdict')).toMatch(/The judge's ratings\s+Format\s+2\s*you 1[\s\S]*SECRET-WEAKNESS/);
    expect(await text('#progress')).toBe('Ann · 1 of 8 rated');
    await press('Enter');
    expect([await place(), await verdicts()]).toEqual(['sample 2 of 8', 0]);
    await press('3', '3', '3', '3', '3', 'Enter');
    const { name, path, lines } = await save();
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
    expect(Object.keys(lines[0] ?? {}).join()).toBe(
      `schema,key,repeat,trajectory,domain,run,rater,${DIMENSIONS.join()},prediction_sha256,revised,rated_at`,
    );
    const agreed = await awb(['agree', '--ratings', path, '--predictions', judged, '--json']);
    expect(agreed.stderr).toBe('');
    expect(JSON.parse(agreed.stdout)).toMatchObject({ predictions: 2, raters: { Ann: 2 }, left_out: [] });
    const { complaints, requests } = opened;
    expect([complaints, requests.filter((each) => !each.startsWith('blob:'))]).toEqual([[], [url]]);
  });

  it('reads the sample: the texts before the turn, the action, and the prediction next to the truth', async () => {
    await begin();
    const key = await text('#sample > .note');
    const row = ROWS.find((each) => `key ${keyOf(each)}` === key) as MadeRow;
    expect(await text('#sample h2')).toBe('MCP · turn 2');
    expect(await text('#sample > pre')).toBe(`cat ${row.name}`);
    expect(await text('#sample table')).toContain(`truth of ${row.name}`);
    expect(await text('#sample table')).toContain(`prediction of ${row.name}`);
    await page.getByText('System prompt').click();
    await expect.poll(() => text('#sample .folds')).toContain('be a shell');
    await page.getByText('History').click();
    await page.getByText('Turn 1').click();
    await expect.poll(() => text('#sample .folds')).toMatch(new RegExp(`ls ${row.name}\\s+Observation\\s+a b`));
  });

  it('moves between dimensions and samples, and undoes ratings wherever they were given', async () => {
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

  it('starts at the top of each sample, where a screen reader reads its name', async () => {
    await begin();
    expect(await page.evaluate('document.activeElement.innerText')).toBe('MCP · turn 2');
    await page.evaluate('scrollTo(0, 100)');
    await page.click('#next');
    expect(await page.evaluate('[document.activeElement.tagName, scrollY]')).toEqual(['H2', 0]);
  });

  it('finds everything again after the page was closed in the middle of a sample', async () => {
    await begin();
    await press('1', '1', '1', '1', '1', 'Enter', 'Enter', '4', '5');
    await page.reload();
    expect(await place()).toBe('sample 2 of 8');
    expect(await given()).toEqual(['4', '5', '-', '-', '-']);
    expect(await text('#progress')).toBe('Ann · 1 of 8 rated');
    // Another page of the same run has the ratings of the samples that it shares.
    await page.goto(await written(judged, '--samples', '5', '--seed', '9'));
    expect(await text('#progress')).toMatch(/^Ann · [01] of 5 rated$/);
  });

  it('keeps ratings apart from those of another on the same machine', async () => {
    await begin('Ann');
    await press('1', '1', '1', '1', '1', 'Enter');
    await press('Escape');
    expect(await text('#kept')).toBe('Ann has rated 1 of 8; this browser has stored the ratings.');
    await begin('__proto__');
    expect([await text('#progress'), await given()]).toEqual(['__proto__ · 0 of 8 rated', Array(5).fill('-')]);
    expect(await verdicts()).toBe(0);
    await press('2', 'Escape');
    await begin('Ann');
    expect([await text('#progress'), await place()]).toEqual(['Ann · 1 of 8 rated', 'sample 2 of 8']);
  });

  it('is told to save the file if the browser stores nothing', async () => {
    await page.evaluate('Storage.prototype.setItem = () => { throw new Error("full") }');
    await begin();
    await press('3');
    expect(await text('#ask')).toMatch(/This browser does not store your progress: save the file before you leave\.$/);
    expect(opened.complaints).toEqual([]);
  });

  it('who changes a rating after the judge was shown is told, and the file says so', async () => {
    await begin();
    await press('3', '3', '3', '3', '3', 'Enter', '2');
    expect(await text('#ask')).toBe("Changed after seeing the judge's ratings: awb agree leaves this sample out.");
    await press('u', 'ArrowRight', '4', '4', '4', '4', '4', 'Enter', '5');
    const { lines } = await save();
    expect(lines.map(({ quality, revised }) => [quality, revised])).toEqual([
      [3, false],
      [5, true],
    ]);
  });

  it('writes a comment without rating by it', async () => {
    await begin();
    await press('c', '4', 'u', 's', 'Escape', '3', '3', '3', '3', '3', 'Enter');
    const { lines } = await save();
    expect(lines).toMatchObject([{ comment: '4us', format: 3 }]);
  });

  it('can also rate with the mouse, and keeps using the keys', async () => {
    await begin();
    for (const name of DIMENSIONS) await page.click(`#rate-${name} button:nth-of-type(3)`);
    expect(await given()).toEqual(['3', '3', '3', '3', '3']);
    await press('Enter');
    expect(await text('#verdict')).toContain('SECRET-WEAKNESS');
    await page.click('#done');
    expect(await place()).toBe('sample 2 of 8');
    await page.click('#next');
    expect(await place()).toBe('sample 3 of 8');
  });

  it('presses a button in focus with Enter, and leaves shortcuts of the browser alone', async () => {
    await begin();
    await page.focus('#who');
    await press('Enter');
    expect(await page.inputValue('#rater')).toBe('Ann');
    await begin();
    await press('Control+3', 'Alt+3');
    expect(await given()).toEqual(Array(5).fill('-'));
  });

  it('is told when there is nothing to save yet, and when everything is rated', async () => {
    await begin();
    await press('s');
    expect(await text('#ask')).toBe('Nothing to save yet: a sample counts once you are done with it.');
    for (let sample = 0; sample < 8; sample++) await press('2', '2', '2', '2', '2', 'Enter', 'Enter');
    expect(await text('#ask')).toBe('All samples are rated. Save the file and pass it to awb agree.');
    await save();
    expect(await text('#ask')).toBe('Saved 8 of 8 as ratings-step-100-judged-jsonl-Ann.jsonl.');
  });

  it('starts over if the stored ratings are damaged', async () => {
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
      await page.reload();
      if ((await page.locator('#rater').count()) === 0) await page.click('#who');
      await begin();
      expect(await place()).toMatch(/^sample \d of 8$/);
    }
    expect(opened.complaints).toEqual([]);
  });

  it('of hostile predictions sees them as text', async () => {
    const evil = ROWS.map((row) => ({ ...row, prediction: `${HOSTILE} ${row.name}`, weakness: HOSTILE }));
    await page.goto(await written(await judgedFile(join(root, 'hostile'), evil)));
    await begin(HOSTILE);
    await press('1', '1', '1', '1', '1', 'Enter');
    expect(await text('#verdict')).toContain('<img src=x onerror=alert(1)>');
    expect(await text('#sample table')).toContain('<img src=x onerror=alert(1)>');
    expect(await page.locator('#app img, #app script').count()).toBe(0);
    expect(opened.complaints).toEqual([]);
  });

  it('of two runs reads no name, and the saved file has none', async () => {
    await page.goto(await written(judged, other, '--blind', '--samples', '4'));
    await begin();
    for (let sample = 0; sample < 4; sample++) await press('2', '2', '2', '2', '2', 'Enter', 'Enter');
    expect(await page.evaluate('document.documentElement.innerText + Object.keys(localStorage)')).not.toMatch(
      /step-[12]00/,
    );
    const { name, path, lines } = await save();
    expect(name).toBe('ratings-blind-Ann.jsonl');
    expect(lines.map(({ run }) => run)).toEqual([null, null, null, null]);
    const { stdout } = await awb(['agree', '--ratings', path, '--predictions', `${judged},${other}`, '--json']);
    // The judge gave 2 to one run and 5 to the other; the file knows which is which.
    expect(JSON.parse(stdout)).toMatchObject({ predictions: 4, total: { bias: { value: (2 * 75) / 4 } } });
  });

  it.each([
    [1280, false],
    [390, true],
  ])('scrolls nothing sideways at %i pixels, and finds all of it accessible', async (width, dark) => {
    await page.close();
    opened = await open(url, { width, height: 800, dark });
    page = opened.page;
    const expectFit = async () => {
      expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
      await expectAccessible(page);
    };
    await expectFit();
    await begin();
    await press('1', '1', '1', '1', '1', 'Enter');
    await expectFit();
  });
});
