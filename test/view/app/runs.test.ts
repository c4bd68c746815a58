import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Index, ListedRun } from '../../../src/view/documents.js';
import { openLibrary } from '../../../src/view/library.js';
import { startViewer } from '../../../src/view/server.js';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';
import { awb, startAwb, temporaryFolder } from '../../support/cli.js';
import { ioIn } from '../../support/io.js';
import { around, judgedRun } from '../../support/judged-runs.js';
import { startLoopbackServer } from '../../support/loopback-server.js';
import { HOSTILE } from '../../support/run-documents.js';
import { madeUpRows, writeDataset } from '../../support/run-folder.js';

function listed(at: number, change: Partial<ListedRun> = {}): ListedRun {
  return {
    ref: `run${at}`,
    name: `step-${at}`,
    mode: 'rubric',
    worldModel: 'wm',
    protocol: 'history',
    judge: 'gpt',
    rubricPack: 'awb-3',
    lead: { name: 'Overall', decimals: 1, from: 0, to: 100, better: 'larger' },
    overall: { value: 40 + at, rows: 100, clusters: 30, low: 38 + at, high: 42 + at },
    domains: [],
    coverage: 1,
    state: 'complete',
    usd: at,
    date: `2026-01-0${at}T00:00:00Z`,
    trust: 'uncalibrated',
    series: 's',
    step: at,
    judgedAlike: 'a',
    ...change,
  };
}

function indexOf(...runs: readonly ListedRun[]): { index: Index } {
  return { index: { tool: 'awb 0', isLive: false, scoresOnly: false, runs, episodes: [], work: [], unread: [] } };
}

describe.skipIf(noBrowser)('the list of runs', () => {
  const { open, openDocuments } = useBrowser();

  test.each([
    [390, false],
    [1024, true],
    [1600, false],
  ])('shows what each run leads with, at %i px', async (width, dark) => {
    const { page, requests, complaints } = await openDocuments(
      indexOf(listed(2), listed(1, { name: HOSTILE, state: 'incomplete', coverage: 0.5 })),
      '/runs',
      { width, dark },
    );
    await page.waitForSelector('.board');
    const text = await page.innerText('main');
    expect(text).toContain('42.0');
    expect(text).toContain('40.0 to 44.0');
    expect(text).toContain('incomplete');
    expect(await page.locator('img, main script').count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(complaints).toEqual([]);
    expect(requests).toHaveLength(1);
    await expectAccessible(page);
  });

  test('can be sorted, searched and chosen from, and a link shows the same', async () => {
    const runs = [listed(3), listed(2, { judge: 'other', judgedAlike: 'b' }), listed(1)];
    const { page } = await openDocuments(indexOf(...runs), '/runs');
    const names = () => page.locator('.board tbody th a').allInnerTexts();
    expect(await names()).toEqual(['step-3', 'step-2', 'step-1']);
    await page.getByLabel('Order').selectOption('name');
    expect(await names()).toEqual(['step-1', 'step-2', 'step-3']);
    await page.getByLabel('Name, model or judge').fill('gpt');
    expect(await names()).toEqual(['step-1', 'step-3']);
    await page.getByLabel('Choose step-1').check();
    await page.getByLabel('Choose step-3').check();
    expect(await page.getByRole('link', { name: 'Compare' }).getAttribute('href')).toBe('#/compare/run1/run3');
    await page.reload();
    expect(await names()).toEqual(['step-1', 'step-3']);
    expect(await page.getByText('2 runs chosen').count()).toBe(1);
    await page.getByLabel('Name, model or judge').fill('');
    await page.getByLabel('Choose step-2').check();
    expect(await page.innerText('form')).toContain('not judged in the same way');
  });

  test('says what to do if there is no run yet', async () => {
    const { page } = await openDocuments(indexOf(), '/runs');
    expect(await page.innerText('main')).toContain('awb score RUN');
  });

  test('follows a run at work, and runs that come and go', async () => {
    const folder = await temporaryFolder();
    const data = await writeDataset(join(folder, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 6) });
    let release = () => {};
    const released = new Promise<void>((done) => {
      release = done;
    });
    const endpoint = await startLoopbackServer(async ({ index }) => {
      if (index >= 2) await released;
      return { content: 'fine', usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } };
    });
    onTestFinished(() => endpoint.close());
    const args = ['--data-dir', data, '--output-dir', join(folder, 'at-work'), '--concurrency', '1'];
    const asking = startAwb(['infer', ...args, '--model-base-url', endpoint.url, '--model-name', 'wm']);
    onTestFinished(() => void asking.child.kill('SIGKILL'));
    const library = openLibrary([folder], { io: ioIn(folder), tool: 'awb 0' });
    const viewer = await startViewer(library, { host: '127.0.0.1', port: 0, onError: () => undefined });
    onTestFinished(() => viewer.close());
    const { page, complaints } = await open(viewer.url);
    await page.getByText('2 of 6 rows').waitFor();
    const path = await judgedRun(join(folder, 'step-1'), { label: 'step-1', rating: around(3) });
    await page.getByRole('link', { name: 'step-1' }).waitFor();
    await awb(['score', path], { cwd: folder });
    release();
    await asking.ended;
    await page.getByText('At work').waitFor({ state: 'detached' });
    await page.getByText('uncalibrated').waitFor();
    await awb(['runs', 'remove', 'step-1', '--yes'], { cwd: folder });
    // The judged file is still there, and is read in its place.
    await page.getByRole('link', { name: 'step-1' }).waitFor();
    await viewer.close();
    await page.getByText('does not answer').waitFor();
    expect(complaints.filter((text) => !text.includes('ERR_CONNECTION_REFUSED'))).toEqual([]);
  });
});
