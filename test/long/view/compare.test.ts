// Comparisons and verdicts in a browser: what they show first, and what they refuse to show.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { readRun } from '../../../src/results/find.js';
import { compareDocument, verdictDocument } from '../../../src/view/compare-document.js';
import type { CompareDocument } from '../../../src/view/documents.js';
import { expectAccessible, INDEX, noBrowser, textOf, useBrowser } from '../../support/app.js';
import { awb, temporaryFolder } from '../../support/cli.js';
import { advisedPage, HOSTILE, hostilePage } from '../../support/gate-pages.js';
import { ioIn } from '../../support/io.js';
import { around, type JudgedRun, judgedRun } from '../../support/judged-runs.js';

let dir: string;
const made = async (name: string, run: JudgedRun) => {
  await judgedRun(join(dir, name), { label: name, rows: 40, ...run });
  return readRun(name, { db: [], quiet: true }, ioIn(dir));
};
const documents: Record<string, CompareDocument> = {};

beforeAll(async () => {
  dir = await temporaryFolder();
  const base = await made('base', { rating: around(3) });
  const better = await made('better', { rating: around(3.2, 1) });
  const worse = await made('worse', { rating: around(2.5, 2) });
  const otherwise = await made('otherwise', { rating: around(3.2, 1), identity: { judge: 'another' } });
  const elsewhere = await made('elsewhere', { rating: around(3), prefix: 'x' });
  documents.better = compareDocument(base, better);
  documents.worse = compareDocument(base, worse);
  documents.otherwise = compareDocument(base, otherwise);
  documents.elsewhere = compareDocument(base, elsewhere);
  documents.same = compareDocument(base, base);
});

describe.skipIf(noBrowser)('a comparison', () => {
  const { openDocuments, open } = useBrowser();

  async function shown(...candidates: string[]) {
    const named = candidates.map((name) => [`compare/base/${name}`, documents[name]] as const);
    const path = `/compare/base/${candidates.join('/')}`;
    const found = await openDocuments({ index: INDEX, ...Object.fromEntries(named) }, path);
    await found.page.waitForSelector('article');
    return { ...found, text: await textOf(found.page) };
  }

  test('shows the verdict first, in words and with a sign, then its reasons and figures', async () => {
    const { page, text, requests, complaints } = await shown('worse');
    expect(text).toMatch(
      /^worse against base ✗ NO-GO: 8 of 8 rules broken worse is worse than base: -12\.50 points \(95 % interval/,
    );
    expect(text).toContain('Overall changed by -12.50 points');
    expect(text).toContain('Overall, difference −12.5 95 %: −12.8 to −12.2');
    expect(text).toContain('Candidate 49.8 base 62.3');
    expect(text).toContain('Rows won 0 280 lost, 0 tied');
    expect(text).toContain('Rows compared 280 of 280, 100 %');
    expect(requests).toHaveLength(1);
    expect(complaints).toEqual([]);
    await expectAccessible(page);
  });

  test('has the paired difference of each domain and dimension with interval, wins and p next to its drawing', async () => {
    const { text, page } = await shown('better');
    expect(text).toContain('✓ GO: none of 8 rules broken');
    expect(text).toContain('Terminal 40 62.25 67.25 +5.00 +4.40 to +5.60 <0.0001* 40/0/0 0.85');
    expect(text).toContain('Overall 280 62.25 67.25 +5.00 +4.79 to +5.21 <0.0001 280/0/0 0.31');
    expect(text).toContain('Factuality 280 62.25 67.25 +5.00 +4.79 to +5.21');
    expect(await page.locator('.chart').count()).toBe(2);
  });

  test('links to the rows that differ, and shows the rules on a click', async () => {
    const { page } = await shown('better');
    expect(await page.getByText('Rows that differ, worst first').getAttribute('href')).toBe(
      '#/compare/base/better/samples?sort=drop',
    );
    await page.getByText('Rules', { exact: true }).click();
    expect(await page.locator('details tbody tr').first().innerText()).toMatch(/overall.*≥ -2\.00\s+✓ holds/s);
  });

  test('with several candidates, compares each with the first run', async () => {
    const { page } = await shown('better', 'worse');
    await page.waitForFunction('document.querySelectorAll("h1").length === 2');
    expect(await page.locator('h1').allInnerTexts()).toEqual(['better against base', 'worse against base']);
    expect(await page.locator('.outcome').allInnerTexts()).toEqual([
      '✓ GO: none of 8 rules broken',
      '✗ NO-GO: 8 of 8 rules broken',
    ]);
  });

  test.each([
    ['otherwise', 'The runs differ in their judge, so their scores cannot be compared.'],
    ['elsewhere', 'base'],
    ['same', 'Both are the same run; choose two.'],
  ])('with a run that cannot be compared (%s) says why, and shows no figures', async (name, why) => {
    const { page, text } = await shown(name);
    expect(text).toContain(why);
    expect(await page.locator('.chart, .key, table').count()).toBe(0);
    expect(text).not.toContain('Rows that differ');
  });

  test('without a candidate asks for two runs', async () => {
    const { page } = await openDocuments({ index: INDEX }, '/compare/base');
    expect(await page.innerText('[role=alert]')).toContain('A comparison needs two runs');
  });

  test('is what awb gate --html writes, with its policy', async () => {
    await awb(['gate', 'base', 'worse', '--max-drop', '20', '--max-domain-drop', '30', '--html', 'gate.html'], {
      cwd: dir,
    });
    const { page, requests } = await open(pathToFileURL(join(dir, 'gate.html')).href);
    await page.waitForSelector('article');
    expect(await textOf(page)).toContain('worse against base ✓ GO');
    expect(await page.getByText('Rows that differ').count()).toBe(0);
    expect(requests).toHaveLength(1);
  });

  test.each([
    [['gate', 'worse', '--min-overall', '55'], 'worse ✗ NO-GO', 'Overall'],
    [['gate', '--base', 'published:GPT-5.4', 'worse'], 'worse against published GPT-5.4 i ', 'Advice only'],
  ])('of a floor or a published row shows what was decided: %s', async (words, start, said) => {
    const { stderr } = await awb([...words, '--html', 'floor.html'], { cwd: dir });
    const { page } = await open(pathToFileURL(join(dir, 'floor.html')).href);
    await page.waitForSelector('article');
    const text = await textOf(page);
    expect(text, stderr).toContain(start);
    expect(text).toContain(said);
    expect(await page.locator('details[open] tbody tr').count()).toBeGreaterThan(0);
    expect(await page.locator('.chart').count()).toBe(0);
    await expectAccessible(page);
  });

  test('of advice says that nothing is decided', async () => {
    const { page } = await openDocuments({ index: INDEX, gate: verdictDocument(advisedPage()) }, '/gate');
    expect(await page.innerText('.outcome')).toBe('i ADVICE: would be NO-GO (1 of 2 rules broken)');
  });

  test('of hostile texts opens no element, runs nothing, and hides nothing', async () => {
    for (const text of HOSTILE) {
      const { page, complaints } = await openDocuments(
        { index: INDEX, gate: verdictDocument(hostilePage(text)) },
        '/gate',
      );
      await page.waitForSelector('article');
      expect(await page.locator('main script, main a, main failure').count()).toBe(0);
      expect(await page.innerText('main')).not.toMatch(/[\u202a-\u202e\u2066-\u2069\x1b\x07]/);
      expect(complaints).toEqual([]);
      await page.close();
    }
  });
});

test('awb gate does not let its page replace a judged file', async () => {
  const { code, stderr } = await awb(['gate', 'base', 'worse', '--html', 'base/judged.jsonl'], { cwd: dir });
  expect(stderr).toContain('--html base/judged.jsonl: a page would replace that file');
  expect(code).toBe(2);
});
