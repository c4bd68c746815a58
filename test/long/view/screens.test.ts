// Screens in a real Chromium: truth next to prediction for every domain with screens, with differences marked by more than hue.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { beforeAll, describe, expect, test } from 'vitest';
import { withoutMarker } from '../../../src/core/reply.js';
import { groundTruthOf } from '../../../src/core/turn.js';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';
import { ROOT } from '../../support/cli.js';
import { folderOf } from '../../support/folder.js';
import { RECORDED } from '../../support/subjects.js';

/** The component alone, and a function of the page that draws it. */
const ENTRY = `
  import { h, render } from 'preact';
  import { Screens } from './src/view/app/screens.tsx';
  import './src/view/app/style.css';
  window.draw = (props) => render(h('main', { class: 'wrap' }, h('h1', {}, 'Screens'), h(Screens, props)), document.body);
`;
const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Screens</title><link rel="stylesheet" href="app.css">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src file:; style-src file:"><body><script src="app.js"></script>`;

/** The first recorded observation of a domain. */
function recorded(domain: string): string {
  const sample = RECORDED.find((each) => each.domain === domain);
  if (sample === undefined) throw new Error(`no recorded row of ${domain}`);
  return withoutMarker(groundTruthOf(sample));
}

/** An observation and a prediction that changes one place of it, and invents a line. */
const CHANGED: Readonly<Record<string, readonly [truth: string, prediction: string]>> = {
  android: [
    recorded('android'),
    `${recorded('android').replace('48%', '51%')}\n[99] Button "New" bounds=[0,2340][200,2400]`,
  ],
  os: [recorded('os'), `${recorded('os').replace('File', 'Menu')}\npush-button\tNew\t\t\t(0, 0)\t(50, 20)`],
  terminal: [recorded('terminal'), `${recorded('terminal').replace('omitting', 'skipping')}\n\x1b[1;31mnew\x1b[m`],
  mcp: ['{"name":"Kestrel","n":1}', '{"name":"Merlin","n":1,"new":[true]}'],
};

describe.skipIf(noBrowser !== undefined)('screens', () => {
  const { open } = useBrowser();
  let address: string;
  beforeAll(async () => {
    const [outDir, entry] = [await folderOf({}), join(ROOT, 'entry.js')];
    await build({
      configFile: false,
      logLevel: 'error',
      root: ROOT,
      plugins: [
        { name: 'entry', resolveId: (id) => (id === entry ? id : null), load: (id) => (id === entry ? ENTRY : null) },
      ],
      build: {
        outDir,
        minify: false,
        lib: { entry, formats: ['iife'], name: 'page', fileName: () => 'app.js', cssFileName: 'app' },
      },
    });
    await writeFile(join(outDir, 'page.html'), PAGE);
    address = pathToFileURL(join(outDir, 'page.html')).href;
  });

  async function draw(domain: string, truth: string, prediction: string, look?: Parameters<typeof open>[1]) {
    const opened = await open(address, look);
    await opened.page.evaluate(
      (props) => {
        // The page's script sets it.
        (globalThis as unknown as { draw: (props: object) => void }).draw(props);
      },
      { domain, truth, prediction },
    );
    return opened;
  }

  test.each(Object.keys(CHANGED))('of %s are drawn, and mark what is missing and invented', async (domain) => {
    const [truth = '', prediction = ''] = CHANGED[domain] ?? [];
    for (const look of [{ dark: false }, { dark: true }, { width: 390 }]) {
      const { page, complaints } = await draw(domain, truth, prediction, look);
      const [left, right] = [page.locator('.pair > div').first(), page.locator('.pair > div').last()];
      expect(await left.locator('.missing [aria-label="missing"]').count()).toBe(1);
      expect(await left.locator('.invented').count()).toBe(0);
      expect(await right.locator('.invented [aria-label="invented"]').count()).toBeGreaterThanOrEqual(2);
      expect(await page.getByText('cannot be drawn').count()).toBe(0);
      expect(complaints).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      await expectAccessible(page);
      await page.close();
    }
  });

  test('of phones have a box with a title for each element, and describe their contents in words', async () => {
    const [truth = '', prediction = ''] = CHANGED.android ?? [];
    const { page } = await draw('android', truth, prediction);
    const labels = await page
      .locator('svg[role="img"]')
      .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    expect(labels).toEqual([
      'Truth: 23 elements on 1080 × 2400 pixels, 1 missing',
      'Prediction: 24 elements on 1080 × 2400 pixels, 2 invented',
    ]);
    expect(await page.locator('svg g > title').count()).toBe(23 + 24);
    expect(await page.locator('svg g.missing > title').textContent()).toBe('missing: TextView “48%”, at 63, 685');
    // A pattern and a dashed outline, for those who do not see the hue.
    expect(await page.locator('svg g.missing > rect').first().getAttribute('stroke-dasharray')).toBe('5 3');
    expect(await page.locator('svg g:is(.missing, .invented) pattern').count()).toBe(3);
    const box = await page.locator('svg g.missing > rect').first().boundingBox();
    const frame = await page.locator('svg').first().boundingBox();
    // Where the bounds say: 63 of 1080 from the left, 685 of 2400 from the top.
    expect(((box?.x ?? 0) - (frame?.x ?? 0)) / (frame?.width ?? 1)).toBeCloseTo(63 / 1080, 2);
    expect(((box?.y ?? 0) - (frame?.y ?? 0)) / (frame?.height ?? 1)).toBeCloseTo(685 / 2400, 2);
  });

  test('show the text of what cannot be drawn, and say so', async () => {
    const { page } = await draw('android', recorded('android'), 'Sorry, I cannot.');
    expect(await page.locator('.pair > div').first().locator('svg').count()).toBe(1);
    const right = page.locator('.pair > div').last();
    expect(await right.textContent()).toContain(
      'This cannot be drawn: no line is an element with bounds. Its text:Sorry, I cannot.',
    );
    expect(await page.locator('.missing, .invented').count()).toBe(0);
  });

  test('run nothing that a model writes, and let nothing hide or reorder', async () => {
    const evil = '<img src=x onerror=alert(1)>\u202egnp.\u200b</title><script>alert(2)</script>';
    const predictions = [
      ['android', `[0] A "${evil}" constructor __proto__ bounds=[0,0][300,300]`],
      ['terminal', `${evil}\x1b]0;x\x07\x1b[31m${evil}`],
      ['web', `[1] link '${evil}', ${evil}`],
      ['mcp', JSON.stringify({ [evil]: evil, __proto__: 1 })],
      ['constructor', evil],
    ] as const;
    for (const [domain, prediction] of predictions) {
      const { page, complaints, requests } = await draw(domain, prediction, '');
      const shown = await page.locator('main').innerHTML();
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(shown.replace(/<title>.*?<\/title>/gs, '')).not.toMatch(/[\u202e\u200b]/);
      expect(shown).toContain('onerror=alert(1)');
      expect(complaints).toEqual([]);
      expect(requests.filter((url) => !url.startsWith(address.replace('page.html', '')))).toEqual([]);
      await page.close();
    }
  });
});
