import { beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, noBrowser, type Opened, useBrowser } from '../../support/app.js';
import { HOSTILE, sampleDocuments } from '../../support/app-samples.js';

const RUN = '/run/run/samples';
const COMPARED = '/compare/base/run/samples';

describe.skipIf(noBrowser)('the samples of a run', () => {
  const { openDocuments } = useBrowser();
  let few: ReturnType<typeof sampleDocuments>;
  beforeAll(() => {
    few = sampleDocuments(60, 12);
  });

  /** Opens a page, and fails at the end where it asked for anything or complained. */
  async function shown(start: string, claims: (opened: Opened) => Promise<void>, look = {}, documents = few) {
    const opened = await openDocuments(documents, start, look);
    await claims(opened);
    expect(opened.complaints).toEqual([]);
    expect(opened.requests).toHaveLength(1);
    await opened.page.close();
  }
  const query = ({ page }: Opened) => new URLSearchParams(new URL(page.url()).hash.split('?')[1]);
  const names = ({ page }: Opened) => page.locator('.window li a > b').allInnerTexts();
  const title = ({ page }: Opened) => page.locator('.sample h2').first().innerText();

  test('lists 10,000 rows, worst first, and draws only the visible ones', async () => {
    const many = sampleDocuments(10_000, 1);
    await shown(
      RUN,
      async ({ page }) => {
        const rows = page.locator('.window li');
        await rows.first().waitFor();
        expect(await rows.count()).toBeLessThan(100);
        expect(await rows.first().getAttribute('aria-setsize')).toBe('10000');
        expect(await page.locator('.window .score').first().innerText()).toBe('0.0');
        await page.evaluate(`document.querySelector('.window').scrollTo(0, 1e9)`);
        await page.locator('.window li[aria-posinset="10000"]').waitFor();
        await page.keyboard.press('j');
        await page.locator('.window li[aria-posinset="2"] a[aria-current]').waitFor();
      },
      {},
      many,
    );
  });

  test('keeps filters in the address, and goes back over them', async () => {
    await shown(`${RUN}?domain=mcp`, async (opened) => {
      const { page } = opened;
      await page.locator('.window li').first().waitFor();
      expect((await names(opened)).every((name) => name.startsWith('MCP'))).toBe(true);
      await page.getByText('Filters and order').click();
      await page.getByLabel('Flag').selectOption('truncated');
      await expect.poll(() => query(opened).get('flag')).toBe('truncated');
      await expect.poll(() => page.getByRole('status').first().innerText()).toBe('4 of 60 samples');
      await page.goBack();
      await expect.poll(() => query(opened).get('flag')).toBeNull();
      await page.getByLabel('Search').fill('no such text');
      await expect.poll(() => query(opened).get('text')).toBe('no such text');
      await page.getByText('No samples match.').waitFor();
      await page.locator('.empty').getByText('Clear filters').click();
      await expect.poll(() => page.getByRole('status').first().innerText()).toBe('60 samples');
    });
  });

  test('searches the texts of all trajectories on demand', async () => {
    await shown(RUN, async (opened) => {
      const { page } = opened;
      await page.getByLabel('Search').fill('PLAIN');
      await page.getByText('No samples match.').waitFor();
      await page.keyboard.press('Enter');
      await page.getByText('searched 12 of 12 trajectories').waitFor();
      expect(await names(opened)).toEqual(['Terminal · trajectory 1 · turn 2']);
    });
  });

  test('is navigated by keyboard, except while a field has the focus', async () => {
    await shown(RUN, async (opened) => {
      const { page } = opened;
      await page.locator('.texts h3').first().waitFor();
      const [first, second] = await names(opened);
      await page.keyboard.press('j');
      expect(await title(opened)).toContain(second);
      await page.keyboard.press('k');
      expect(await title(opened)).toContain(first);
      await page.keyboard.press('n');
      expect(await title(opened)).toContain('trajectory 1 · turn 2');
      await page.keyboard.press('p');
      expect(await title(opened)).toContain('trajectory 1 · turn 1');
      await page.getByRole('slider').fill('3');
      expect(await title(opened)).toContain('turn 4');
      await expect.poll(() => query(opened).get('sample')).toBe('key3#0');
      await page.getByRole('slider').blur();
      await page.keyboard.press('?');
      await page.getByText('next turn of its trajectory').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      await page.keyboard.press('/');
      await page.keyboard.type('jkt');
      await expect.poll(() => query(opened).get('text')).toBe('jkt');
    });
  });

  test('shows a sample by its link: missing and invented parts, unmet facts first', async () => {
    await shown(`${RUN}?sample=key8%230`, async (opened) => {
      const { page } = opened;
      await page.locator('.difference').waitFor();
      expect(await title(opened)).toContain('MCP · trajectory 2 · turn 4');
      expect(await page.locator('td.missing:not(.line)').allInnerTexts()).toEqual(['exit code: 0', 'user root']);
      expect(await page.locator('td.line.missing').allInnerTexts()).toEqual(['− 32', '− 33']);
      expect(await page.locator('td.invented ins').allInnerTexts()).toEqual(['127']);
      expect(await page.locator('.difference th').allInnerTexts()).toEqual([
        'Ground truth − missing',
        'Prediction + invented',
      ]);
      await page.getByText('28 equal lines').click();
      expect(await page.getByText('28 equal lines').count()).toBe(0);
      expect(await page.locator('.claims li b').allInnerTexts()).toEqual(['✗ not met', '✓ met']);
      await page.getByText('rebuilt from its parts', { exact: false }).first().click();
      expect(await page.locator('.copied pre').nth(1).innerText()).toContain(
        "curl 'http://127.0.0.1:8000/v1/chat/completions'",
      );
      expect(await page.locator('.copied pre').nth(1).innerText()).toContain("it's \\u202e a request");
      expect(await page.locator('.context pre').allInnerTexts()).toEqual(['hello world\n', 'cat log # key8']);
    });
    await shown(`${RUN}?sample=nothing%230`, async ({ page }) => {
      await page.getByText('This run has no sample nothing#0.').waitFor();
    });
  });

  test('shows hostile texts as text, and a line of 2 MB around its change', async () => {
    await shown(`${RUN}?sample=key1%230`, async ({ page }) => {
      await page.locator('.difference').waitFor();
      expect(await page.locator('.difference td.invented').last().innerText()).toContain(
        '<script>document.title="owned"</script>',
      );
      expect(await page.locator('.difference .ctl').first().innerText()).toBe('U+202E');
      expect(await page.title()).toBe('A page');
      expect(HOSTILE).toContain('script');
    });
    await shown(`${RUN}?sample=key2%230`, async ({ page }) => {
      await page.locator('.difference').waitFor();
      const line = page.locator('.difference td.missing').last();
      expect((await line.innerText()).length).toBeLessThan(10_000);
      await line.getByRole('button').last().click();
      expect((await line.innerText()).length).toBeGreaterThan(40_000);
    });
  });

  test('compares one or both of two runs with the truth', async () => {
    await shown(`${COMPARED}?sample=key8%230`, async (opened) => {
      const { page } = opened;
      await page.locator('.difference').waitFor();
      const heads = () => page.locator('.difference th').allInnerTexts();
      expect((await heads())[1]).toContain('qwen3-8b tuned');
      await page.keyboard.press('t');
      expect((await heads())[1]).toContain('qwen3-8b base');
      await expect.poll(() => query(opened).get('shown')).toBe('other');
      await page.keyboard.press('t');
      expect(await heads()).toHaveLength(3);
      expect(await page.locator('article .score').first().innerText()).toMatch(/\+24\.0/);
      expect(await page.getByRole('heading', { name: /What the judge says of/ }).count()).toBe(2);
    });
  });

  test('says why there are no texts', async () => {
    const texts = { strings: [], rows: {}, missing: 'The judged file is gone.' };
    await shown(
      `${RUN}?sample=key8%230`,
      async ({ page }) => page.getByText('The judged file is gone.').waitFor(),
      {},
      { ...few, 'texts/run/1': texts },
    );
    await shown(
      `${RUN}?sample=key8%230`,
      async ({ page }) => page.getByText('contains only scores').waitFor(),
      {},
      { ...few, index: { ...few.index, scoresOnly: true } },
    );
  });

  test('groups what went wrong, and each group leads to its samples', async () => {
    await shown('/run/run/problems', async (opened) => {
      const { page } = opened;
      const row = page.getByRole('row', { name: /truncated/ });
      const count = await row.locator('td').innerText();
      await expectAccessible(page);
      await row.getByRole('link').click();
      await page.locator('.window li').first().waitFor();
      await expect.poll(() => page.getByRole('status').first().innerText()).toBe(`${count} of 60 samples`);
    });
  });

  test.each([390, 1024, 1600])('is accessible at %i px in both schemes', async (width) => {
    for (const dark of [false, true]) {
      // Where there is room, a sample stands next to the list.
      const list = width < 1024 ? [`${RUN}?domain=mcp`] : [];
      for (const start of [...list, `${RUN}?sample=key1%230`, `${COMPARED}?sample=key8%230&shown=both`]) {
        await shown(
          start,
          async ({ page }) => {
            await page.locator('.window li, .texts h3').filter({ visible: true }).first().waitFor();
            expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
            await expectAccessible(page);
          },
          { width, dark },
        );
      }
    }
  });

  test('gives way to the sample on a phone, and comes back', async () => {
    await shown(
      RUN,
      async (opened) => {
        const { page } = opened;
        await page.locator('.window li a').nth(3).click();
        await page.locator('.texts h3').first().waitFor();
        expect(await page.locator('.window').isVisible()).toBe(false);
        await page.keyboard.press('Escape');
        expect(await page.locator('.window a[aria-current]').isVisible()).toBe(true);
        await page.goBack();
        await expect.poll(() => query(opened).get('sample')).not.toBeNull();
      },
      { width: 390, height: 800 },
    );
  });
});
