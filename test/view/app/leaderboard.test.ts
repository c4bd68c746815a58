// The leaderboard in a browser.

import { describe, expect, test } from 'vitest';
import { leaderboard } from '../../../src/report/leaderboard/leaderboard.js';
import type { BoardRun } from '../../../src/report/leaderboard/runs.js';
import { boardDocument } from '../../../src/view/result-documents.js';
import { expectAccessible, INDEX, noBrowser, useBrowser } from '../../support/app.js';
import { DEFAULTS, HOSTILE, hostileRuns, run } from '../../support/boards.js';

describe.skipIf(noBrowser)('the leaderboard', () => {
  const { openDocuments } = useBrowser();

  async function shown(runs: readonly BoardRun[], width?: number) {
    const board = leaderboard(runs, { ...DEFAULTS, withPublished: true }, () => true);
    const found = await openDocuments({ index: INDEX, leaderboard: boardDocument(board) }, '/leaderboard', { width });
    await found.page.waitForSelector('.board');
    return found;
  }

  test('shows each interval once, own runs above published ones, and official figures below their own', async () => {
    const { page, requests, complaints } = await shown([run('a', 60, { withFailures: 45 }), run('b', 30)]);
    const text = await page.innerText('main');
    expect(text.match(/41\.00–49\.00/g)).toHaveLength(8);
    expect(text.match(/official 60\.00/g)).toHaveLength(8);
    const names = await page.locator('.board tbody th').allInnerTexts();
    expect(names.slice(0, 4)).toEqual([
      'a',
      'b',
      'Published: official figures, judge gpt-5.2-2025-12-11',
      'Qwen-AgentWorld-397B-A17B',
    ]);
    expect(await page.locator('.board tbody tr').first().locator('strong').allInnerTexts()).toContain('45.00');
    expect(text).toContain('Marked (bold, green or *): the best of a column');
    expect(requests).toHaveLength(1);
    expect(complaints).toEqual([]);
    await expectAccessible(page);
  });

  test('says for each block how far its judge can be trusted', async () => {
    const { page } = await shown([run('a', 60, { trust: 'uncalibrated' })]);
    expect(await page.innerText('.block .note')).toBe('judge: uncalibrated');
  });

  test.each([390, 1280])(
    'is as wide as a screen of %d pixels, where cards take the place of a wide table',
    async (width) => {
      const { page } = await shown([run('a', 60), run('b', 30)], width);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(await page.locator('.board thead').first().isVisible()).toBe(width > 700);
    },
  );

  test('of hostile names opens no element, runs nothing, and shows what hides or reorders', async () => {
    const { page, requests, complaints } = await shown(hostileRuns);
    expect(await page.locator('main script, main img, main a').count()).toBe(0);
    const names = await page.locator('.board tbody th').allInnerTexts();
    expect(names.join()).toContain('<script>alert(1)</script><img src=x onerror=alert(1)>');
    expect(await page.innerText('main')).not.toMatch(/[\u202a-\u202e\u2066-\u2069\x1b]/);
    expect(HOSTILE.length).toBeLessThanOrEqual(names.length);
    expect(requests).toHaveLength(1);
    expect(complaints).toEqual([]);
  });
});
