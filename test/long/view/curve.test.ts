// The learning curve: which runs form a series, how it is drawn, and how two steps are chosen.

import { describe, expect, test } from 'vitest';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';
import { HOSTILE, indexOf, listedRun } from '../../support/run-documents.js';

const checkpoint = (step: number, overall: number, series = 's') => listedRun(`c${step}`, overall, { series, step });
const SERIES = [checkpoint(1000, 61), checkpoint(100, 40), checkpoint(400, 52)];

describe.skipIf(noBrowser)('the learning curve', () => {
  const { openDocuments } = useBrowser();
  const open = async (
    index: ReturnType<typeof indexOf>,
    start = '/curve',
    look?: Parameters<typeof openDocuments>[2],
  ) => {
    const opened = await openDocuments({ index }, start, look);
    await opened.page.waitForSelector('h1');
    return opened;
  };

  test('draws the runs of a series by the value of their step, over all and by domain', async () => {
    const { page, complaints } = await open(indexOf(...SERIES, listedRun('other', 99)));
    expect(await page.locator('figcaption').allTextContents()).toEqual(['Overall', 'MCP', 'Web']);
    const curve = page.locator('svg.curve').first();
    expect(await curve.getAttribute('aria-label')).toBe(
      'Overall, 100: 40.0 (37.0 to 43.0); 400: 52.0 (49.0 to 55.0); 1,000: 61.0 (58.0 to 64.0)',
    );
    const places = await curve
      .locator('circle')
      .evaluateAll((all) => all.map((dot) => Number.parseFloat(dot.getAttribute('cx') ?? '')));
    const [first = 0, second = 0, third = 0] = places;
    expect((second - first) / (third - first)).toBeCloseTo(1 / 3);
    expect(await page.locator('table tbody tr').allTextContents()).toEqual([
      'Step 100c10040.037.0 to 43.099.9 %',
      'Step 400c40052.049.0 to 55.099.9 %',
      'Step 1,000c100061.058.0 to 64.099.9 %',
    ]);
    expect(await page.textContent('main')).toContain('data and --meta, except for step');
    expect(complaints).toEqual([]);
  });

  test('links to the comparison of two ticked steps, the later with the earlier; the ticks are in the address', async () => {
    const { page } = await open(indexOf(...SERIES));
    const status = page.getByRole('status');
    expect(await status.textContent()).toBe('Tick two steps to compare them.');
    await page.getByLabel('Step 1,000').check();
    await page.getByLabel('Step 100', { exact: true }).check();
    expect(new URL(page.url()).hash).toBe('#/curve?steps=c1000%2Cc100');
    const link = status.getByRole('link');
    expect([await link.textContent(), await link.getAttribute('href')]).toEqual([
      'Compare step 1,000 with step 100',
      '#/compare/c100/c1000',
    ]);
    expect(await page.locator('svg.curve').first().locator('.chosen').count()).toBe(2);
    await page.getByLabel('Step 400').check();
    await status.getByText('Tick two steps').waitFor();
    expect(await status.getByRole('link').count()).toBe(0);
    await page.reload();
    await page.waitForSelector('h1');
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(3);
  });

  test('keeps series apart, the longest first, and leaves out a lone step', async () => {
    const other = [checkpoint(1, 30, 'b'), checkpoint(2, 31, 'b')].map((run) => ({ ...run, worldModel: HOSTILE }));
    const { page } = await open(indexOf(...other, ...SERIES, checkpoint(7, 3, 'alone')));
    const titles = await page.locator('h2').allTextContents();
    expect(titles).toHaveLength(2);
    expect(titles[0]).toBe('my-world-model');
    expect(titles[1]).toContain('U+202E');
    expect(await page.locator('main img').count()).toBe(0);
  });

  test('without a series says how to get one', async () => {
    const { page } = await open(indexOf(listedRun('one', 50)));
    const text = await page.textContent('.empty');
    expect(text).toContain('--meta step=100');
    expect(text).toContain('A series consists of runs with the same world model');
    await expectAccessible(page);
  });

  test.each([{}, { width: 390 }, { dark: true }])('is accessible and fits: %o', async (look) => {
    const { page } = await open(indexOf(...SERIES), '/curve?steps=c100,c400', look);
    await expectAccessible(page);
    expect(await page.locator('html').evaluate((root) => root.scrollWidth <= root.clientWidth)).toBe(true);
  });
});
