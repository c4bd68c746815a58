// The list of samples as the browser script draws it: what is better is what the measure says.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectTexts } from '../../../src/view/texts.js';
import { type Browser, noChromium, type Page, startChromium } from '../../support/chromium.js';
import { ROOT, temporaryFolder } from '../../support/cli.js';
import { pageOf, reportOf, reportOfMeasure, rowOf, TEXTS } from '../../support/reports.js';

if (noChromium !== undefined) it.skip(`the list in a browser: ${noChromium}`, () => {});

describe.skipIf(noChromium !== undefined)('a list', () => {
  let browser: Browser;
  let page: Page;
  let script: string;
  let dir: string;
  beforeAll(async () => {
    [browser, script, dir] = await Promise.all([
      startChromium(),
      readFile(join(ROOT, 'dist/view/browser.js'), 'utf8'),
      temporaryFolder(),
    ]);
    page = await browser.newPage();
  });
  afterAll(() => browser.close());

  /** Opens the list of samples of a measure, in the order of their indexes unless asked for another. */
  async function list(
    measure: string,
    values: readonly number[],
    before: readonly number[],
    filters = '',
  ): Promise<void> {
    const path = join(dir, `${measure}.html`);
    await writeFile(path, pageOf(reportOfMeasure(measure, values, before), collectTexts(), script));
    await page.open(`${pathToFileURL(path)}#samples${filters}`);
    expect(page.complaints).toEqual([]);
  }
  const cells = (selector: string) =>
    page.evaluate(
      `[...document.querySelectorAll('#rows ${selector}')].map((e) => e.className + ' ' + e.innerText.trim())`,
    );

  it('of a measure that is better when smaller', async () => {
    await list('bits_a_byte', [0.5, 1.25, 123.456], [1, 1, 123.456]);
    expect(await cells('td:nth-child(3) span')).toEqual(['good −0.50', 'bad +0.25', 'soft ±0.00']);
    expect(await cells('td:nth-child(2)')).toEqual(['n 0.50', 'n 1.25', 'n 123.46']);
    expect(await cells('.pip')).toEqual([
      expect.stringMatching(/^pip b0 .*0\.5$/s),
      expect.stringMatching(/^pip b0 .*1\.25$/s),
      expect.stringMatching(/^pip b0 .*123$/s),
    ]);
    await list('bits_a_byte', [0.5, 1.25, 3], [1, 1, 3], '?change=worse');
    expect(await cells('td:nth-child(2)')).toEqual(['n 1.25']);
    await list('bits_a_byte', [3, 1.25, 0.5], [3, 1, 1], '?sort=best');
    expect(await cells('td:nth-child(2)')).toEqual(['n 0.50', 'n 3.00', 'n 1.25']);
  });

  it('of a measure that is best at 50', async () => {
    await list('taken_for_real', [60, 20, 50], [50, 30, 90]);
    expect(await cells('td:nth-child(3) span')).toEqual(['bad +10.0', 'bad −10.0', 'good −40.0']);
  });

  it('of a measure of which neither way is better', async () => {
    await list('length', [3, 4], [2, 6], '?change=better');
    expect(await cells('td')).toEqual([]);
    await list('length', [3, 4], [2, 6]);
    expect(await cells('td:nth-child(3) span')).toEqual(['soft +1.00', 'soft −2.00']);
  });

  it('of a measure that is read as scores are', async () => {
    await list('chrf', [60, 20], [50, 30]);
    expect(await cells('td:nth-child(3) span')).toEqual(['good +10.0', 'bad −10.0']);
    expect(await cells('.pip')).toEqual([expect.stringMatching(/^pip b4 /), expect.stringMatching(/^pip b2 /)]);
  });

  it('tells the judgements of one prediction apart, and a link opens each', async () => {
    const texts = collectTexts();
    for (const _ of [0, 1]) texts.add(TEXTS);
    const path = join(dir, 'judgements.html');
    await writeFile(path, pageOf(reportOf([rowOf(0), rowOf(0, { index: 1 })]), texts, script));
    await page.open(`${pathToFileURL(path)}#samples`);
    expect(await cells('a')).toEqual([' MCP · trajectory 1 · turn 1', ' MCP · trajectory 1 · turn 1 · judgement 2']);
    await page.open(`${pathToFileURL(path)}#row=k0&judgement=2`);
    expect(await page.evaluate(`document.querySelector('#sample h2').innerText`)).toMatch(/judgement 2$/);
    expect(await page.evaluate(`document.querySelector('#sample .note a').hash`)).toBe('#row=k0&judgement=2');
    await page.open(`${pathToFileURL(path)}#row=k0`);
    expect(await page.evaluate(`document.querySelector('#sample h2').innerText`)).toMatch(/turn 1$/);
    expect(page.complaints).toEqual([]);
  });
});
