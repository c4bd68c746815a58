import { describe, expect, test } from 'vitest';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';

describe.skipIf(noBrowser)('the list of runs', () => {
  const { openDocuments } = useBrowser();

  test('opens from a file and asks for nothing else', async () => {
    const index = { tool: 'awb 0', isLive: false, scoresOnly: false, runs: [], unread: [] };
    const { page, requests, complaints } = await openDocuments({ index }, '/runs');
    await page.waitForSelector('main p');
    expect(complaints).toEqual([]);
    expect(requests).toHaveLength(1);
    await expectAccessible(page);
  });
});
