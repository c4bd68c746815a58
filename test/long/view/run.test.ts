// The page of a run: what it shows, where its links lead, and that hostile texts do nothing.

import { describe, expect, test } from 'vitest';
import type { ReadRun } from '../../../src/results/read-run.js';
import type { RunDocument } from '../../../src/view/documents.js';
import { runDocument } from '../../../src/view/run-document.js';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';
import { steppedRow } from '../../support/rollouts.js';
import {
  COSTS,
  documentOf,
  HOSTILE,
  indexOf,
  listedRun,
  measuredRow,
  realisticRows,
  rowOf,
  runWith,
} from '../../support/run-documents.js';

describe.skipIf(noBrowser)('the page of a run', () => {
  const { openDocuments } = useBrowser();
  const open = async (run: RunDocument, look?: Parameters<typeof openDocuments>[2]) => {
    const documents = { index: indexOf(listedRun('r1', 50, { mode: run.mode })), 'run/r1': run };
    const opened = await openDocuments(documents, '/run/r1', look);
    await opened.page.waitForSelector('h1');
    return opened;
  };
  const textOf = async (run: RunDocument) => {
    const { page } = await open(run);
    return (await page.textContent('main'))?.replace(/\s+/g, ' ');
  };

  test('leads with the figure of awb score, with the official figure below it', async () => {
    const failed = { failed: 1, total: 0, failure: { class: 'refused', reason: 'no' } } as const;
    const { page } = await open(documentOf([rowOf(0), rowOf(1), rowOf(2, failed)]));
    const first = page.locator('dl.key > div').first();
    expect(await first.locator('dt').textContent()).toBe('Score (macro of 1)');
    expect(await first.locator('dd').allTextContents()).toEqual(['33.3', 'no interval', 'official: 50.0']);
    expect(await textOf(documentOf([rowOf(0), rowOf(1)]))).not.toContain('official:');
  });

  test('shows a run without errors or requests, and is accessible, also on a phone and in dark mode', async () => {
    const made = documentOf(realisticRows(), COSTS, { trust: 'uncalibrated' });
    const run = { ...made, page: { ...made.page, warnings: ['INCOMPLETE: some.'] } };
    for (const look of [{}, { width: 390 }, { dark: true }]) {
      const { page, requests, complaints } = await open(run, look);
      await expectAccessible(page);
      expect([complaints, requests.length]).toEqual([[], 1]);
      expect(await page.locator('html').evaluate((root) => root.scrollWidth <= root.clientWidth)).toBe(true);
    }
  });

  test('says every figure of a chart as text next to it', async () => {
    const run = documentOf(realisticRows());
    const { page } = await open(run);
    const rows = page.locator('table.chart').first().locator('tbody tr');
    const drawings = run.page.blocks[0]?.tables?.[0]?.drawings;
    const [mcp] = drawings && 'figures' in drawings ? drawings.figures : [];
    const cells = await rows.first().locator('th, td:not(.t)').allTextContents();
    const { value = 0, low, high, rows: all } = mcp ?? {};
    expect(cells).toEqual(['MCP', value.toFixed(1), `${low?.toFixed(1)} to ${high?.toFixed(1)}`, String(all)]);
    expect(await rows.last().locator('th').textContent()).toBe('Overall');
    for (const svg of await page.locator('main svg').all()) {
      expect(await svg.evaluate((drawing) => drawing.closest('[aria-hidden=true], [role=img]') !== null)).toBe(true);
    }
  });

  test('has the interval of every figure by dimension below it', async () => {
    const run = documentOf(realisticRows());
    const { page } = await open(run);
    const cell = page.locator('section', { hasText: 'Dimensions' }).locator('tbody tr').first().locator('td').nth(1);
    const { tables } = run.page.blocks.find(({ title }) => title === 'Dimensions') ?? {};
    const text = await cell.locator('.under').textContent();
    expect(text).toMatch(/^\d+\.\d to \d+\.\d$/);
    expect(tables?.[0]?.groups[0]?.[0]?.[2]).toMatchObject({ under: [text] });
  });

  test('links domains, failures and flags to their samples, and to what went wrong', async () => {
    const { page } = await open(documentOf([...realisticRows(), rowOf(0, { flags: [HOSTILE] })]));
    const to = (name: string) => page.getByRole('link', { name, exact: true }).first().getAttribute('href');
    expect(await to('MCP')).toBe('#/run/r1/samples?domain=mcp');
    expect(await to('empty')).toBe('#/run/r1/samples?failure=empty');
    expect(await to('truncated')).toBe('#/run/r1/samples?flag=truncated');
    expect(await to('What went wrong')).toBe('#/run/r1/problems');
    expect(await to('Samples')).toBe('#/run/r1/samples');
    const links = await page.locator('main a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    expect(links).toContain(`#/run/r1/samples?${new URLSearchParams({ flag: HOSTILE })}`);
  });

  test('counts ratings and tokens, and contains the manifest', async () => {
    const manifest = { kind: 'judge' } as ReadRun['manifest'];
    const run = documentOf([rowOf(0), rowOf(1)], COSTS, { manifest });
    const { page } = await open(run);
    const text = await textOf(run);
    expect(text).toContain('Format100 %000025.00');
    expect(text).toContain('Tokens38.6 kworld model ≥ $12.35, judge unknown');
    await page.getByText('how this run was made').click();
    expect(await page.locator('details pre').textContent()).toBe('{\n  "kind": "judge"\n}');
  });

  test('of measures shows measures on their own scale, and no ratings', async () => {
    const { page } = await open(
      documentOf([0.5, 1.25, 3.5].map((bits, at) => measuredRow(at, { bits_per_byte: bits }))),
    );
    const text = await page.textContent('main');
    expect(text).toContain('bits_per_byte by domain');
    expect(text).not.toMatch(/Ratings|scale of 0 to 100/);
    expect(await page.locator('dl.key dd').first().textContent()).toBe('1.75');
    expect(await page.locator('svg.axis').first().locator('text').allTextContents()).toEqual([
      '0',
      '0.5',
      '1',
      '1.5',
      '2',
    ]);
  });

  test('of a rollout draws a curve with its band for all rows and each domain, and gives the figures', async () => {
    const rows = (isTrue: boolean) =>
      (['mcp', 'web'] as const).flatMap((domain) =>
        Array.from({ length: 36 }, (_, at) =>
          steppedRow({
            domain,
            trajectory: at % 12,
            step: 1 + Math.floor(at / 12),
            rating: 4 - (isTrue ? 0 : at / 24),
            isTrue,
          }),
        ),
      );
    const forced = runWith(rows(true), { name: 'true one' });
    const run = runDocument(runWith(rows(false)), 'r1', { forced });
    const { page, complaints } = await open(run);
    expect(await page.locator('figcaption').allTextContents()).toEqual(['All rows', 'MCP', 'Web']);
    expect(await page.locator('svg.curve').first().getAttribute('aria-label')).toMatch(
      /^All rows, 1: \d+\.\d \(\d+\.\d to/,
    );
    const text = await page.textContent('main');
    expect(text).toContain('Dashed: the same rows predicted with true histories (true one).');
    expect(text).toContain('Per step: how many points');
    expect(complaints).toEqual([]);
    await expectAccessible(page);
  });

  test('shows texts of a model, a file or a user as text, and in full', async () => {
    const row = rowOf(0, { domain: HOSTILE, flags: [HOSTILE] });
    const failure = { class: `judge-${HOSTILE}` as 'judge-fatal', reason: HOSTILE };
    const manifest = { evil: HOSTILE } as unknown as ReadRun['manifest'];
    const made = documentOf([row, rowOf(1, { failed: 1, total: 0, failure })], {}, { name: HOSTILE, manifest });
    const { page, complaints } = await open({
      ...made,
      page: { ...made.page, facts: [[HOSTILE, HOSTILE]], warnings: [HOSTILE], lines: [HOSTILE] },
    });
    expect(complaints).toEqual([]);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.locator('h1').textContent()).toContain('U+202E');
    expect(await page.textContent('main')).not.toContain('\u202e');
  });

  test('says why a run cannot be shown', async () => {
    const { page } = await openDocuments({ index: indexOf() }, '/run/gone');
    expect(await page.getByRole('alert').textContent()).toContain('This page does not contain that');
  });
});
