// The pages of a scenario run and of episodes: their figures and samples, and that hostile texts do nothing.

import { describe, expect, test } from 'vitest';
import { stepKey, twinKey } from '../../../src/core/scenario-row.js';
import { madeWith } from '../../../src/run/made-with.js';
import type { Page } from '../../../src/view/documents.js';
import { scenarioSample, withScenarios } from '../../../src/view/scenario-document.js';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';
import { documentOf, HOSTILE, indexOf, listedRun, measuredRow } from '../../support/run-documents.js';

const followed = { value: 70, rows: 40, clusters: 20, se: 7.25, df: 18.5, low: 53.5, high: 82.5 };
const leaked = { value: 10, rows: 40, clusters: 20, se: 3, df: 18, low: 5, high: 19 };
const counts = { samples: 40, trajectories: 20, failures: { refused: 2 } };
const part = { ...counts, followed, leaked, undisturbed: null, twin_false_positives: null };

const STEP = {
  ...{ action: 'click("a")', prediction: 'POWER CUT\nall dark', twin: 'all well' },
  verdicts: [
    { verifier: 'contains', met: true, why: 'it says "POWER CUT"' },
    { verifier: 'never', met: true, why: 'it gives nothing away' },
  ],
};
const SAMPLE = {
  ...{ scenario: 'power-cut', domain: 'mcp', id: '17', instruction: 'The power fails.', failure: '' },
  steps: [STEP] as readonly (Omit<typeof STEP, 'prediction'> & { readonly prediction?: string })[],
  measures: { followed: 100, leaked: 0, undisturbed: 50, twin_false_positives: 0 } as Record<string, number>,
};

/** A sample as it is made of its lines; a step without a prediction has failed. */
function sampleOf(change: Partial<typeof SAMPLE> = {}) {
  const { scenario, domain, id, instruction, steps, measures, failure } = { ...SAMPLE, ...change };
  const [key, count] = [`k:${scenario}`, steps.length];
  const line = (gen: string | undefined, fields = {}) => ({
    ...fields,
    ...(gen === undefined ? { awb: { status: 'failed' } } : { gen, awb: { status: 'ok' } }),
  });
  const verdicts = steps.map((step) => step.verdicts);
  const lines = steps.flatMap(({ action, prediction, twin }, step) => [
    [stepKey(key, step, count), line(prediction, { action })] as const,
    [stepKey(twinKey(key, count), step, count), line(twin)] as const,
  ]);
  const row = { ...measuredRow(0, measures), key, domain, turnIdx: 2 + count };
  const failed = failure === '' ? row : { ...row, failure: { class: 'refused' as const, reason: failure } };
  return scenarioSample(failed, { scenario, id, instruction, verdicts, steps: count }, new Map(lines));
}

function pageWith(samples: readonly ReturnType<typeof sampleOf>[], scenario = 'power-cut', leftOut = 0): Page {
  const domains = { mcp: part };
  const scenarios = { [scenario]: { ...part, domains: {} } };
  const figures = { schema: 'awb.scenarios/1' as const, overall: part, domains, scenarios };
  return withScenarios({ ...judged.page, warnings: ['INCOMPLETE: half of it.'] }, figures, 'macro of 1', {
    taken: samples,
    leftOut,
  });
}

const rows = [0, 1].map((at) => measuredRow(at, { followed: 100 }));
const judged = documentOf(rows, {}, { made: { ...madeWith(undefined), mode: 'scenarios' } });

describe.skipIf(noBrowser)('the page of a run on scenarios', () => {
  const { openDocuments } = useBrowser();
  const open = async (shown: Page, look?: Parameters<typeof openDocuments>[2]) => {
    const index = indexOf(listedRun('r1', 70, { mode: 'scenarios' }));
    const opened = await openDocuments({ index, 'run/r1': { ...judged, page: shown } }, '/run/r1', look);
    await opened.page.waitForSelector('h1');
    return opened;
  };
  type Shown = Awaited<ReturnType<typeof open>>['page'];
  const folds = (page: Shown) => page.locator('main summary');
  /** Opens folds, one after the other, each once the one before is drawn. */
  const unfold = async (page: Shown, ...places: readonly number[]) => {
    for (const at of places) {
      await folds(page).nth(at).click();
      await folds(page).nth(at).locator('xpath=following-sibling::*').first().waitFor();
    }
  };

  test('leads with what was followed and leaked, each with its interval, and with what failed', async () => {
    const { page, complaints } = await open(pageWith([sampleOf()]));
    const keys = await page.locator('dl.key > div').allTextContents();
    expect(keys).toEqual([
      'Followed70.095 %: 53.5 to 82.5',
      'Leaked10.095 %: 5.0 to 19.0',
      'Undisturbed–no interval',
      'Twin–no interval',
      'Rows4020 trajectories, 1 domainfailed: refused 2',
    ]);
    const text = await page.textContent('main');
    expect(text).toContain('INCOMPLETE: half of it.');
    expect(text).toMatch(/power-cut4070\.0/);
    expect(await page.locator('table.chart').count()).toBe(4);
    expect(await page.getByRole('link', { name: 'Samples' }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("shows a sample's instruction, action, verdicts, and both predictions side by side", async () => {
    const { page } = await open(pageWith([sampleOf()]));
    await unfold(page, 0);
    expect(await folds(page).nth(1).textContent()).toMatch(/^MCP 17, turn 3\s*followedundisturbed 50 %$/);
    await unfold(page, 1);
    const sample = page.locator('details details');
    expect(await sample.locator('h3, pre').allTextContents()).toEqual([
      ...['Instruction', 'The power fails.', 'Action', 'click("a")'],
      ...['Without the instruction', 'all well', 'With the instruction', 'POWER CUT\nall dark'],
    ]);
    expect(await sample.locator('li').allTextContents()).toEqual([
      'contains met: it says "POWER CUT"',
      'nothing leaked: it gives nothing away',
    ]);
    await expectAccessible(page);
  });

  test('puts samples that were not followed or leaked first, and says how many do not fit', async () => {
    const wrong = sampleOf({ id: 'wrong', measures: { followed: 0, leaked: 100, twin_false_positives: 100 } });
    const { page } = await open(pageWith([sampleOf({ id: 'right' }), wrong], 'power-cut', 12));
    expect(await folds(page).nth(0).textContent()).toMatch(/2 rows, 1 not followed or leaked$/);
    await unfold(page, 0);
    expect(await folds(page).nth(1).textContent()).toMatch(
      /wrong.*not followedleakedits twin would count as following$/,
    );
    expect(await folds(page).nth(2).textContent()).toContain('right');
    expect(await page.textContent('main')).toContain('12 more do not fit (--inline-limit).');
  });

  test('names every step of several, and why a step has no prediction', async () => {
    const second = { action: 'look', twin: '', verdicts: [] };
    const sample = sampleOf({ steps: [STEP, second], failure: 'the model said no' });
    const { page } = await open(pageWith([sample]));
    await unfold(page, 0, 1);
    const text = await page.locator('details details').textContent();
    expect(text).toContain('refused: the model said no');
    expect(text).toContain('Step 2: ActionlookWithout the instructionemptyWith the instructionunknown');
  });

  test('cuts a text that is very long', async () => {
    const steps = [{ ...STEP, prediction: `${'x'.repeat(100_000)}END` }];
    const { page } = await open(pageWith([sampleOf({ steps })]));
    await unfold(page, 0, 1);
    const text = await page.locator('details pre').last().textContent();
    expect(text).toContain('and 3 more characters');
    expect(text).not.toContain('END');
  });

  test('opens no element for a text of a model, a suite or a user', async () => {
    const verdicts = [{ verifier: HOSTILE, met: false, why: HOSTILE }];
    const sample = sampleOf({
      ...{ scenario: HOSTILE, domain: HOSTILE, id: HOSTILE, instruction: HOSTILE, failure: HOSTILE },
      steps: [{ action: HOSTILE, prediction: `a\n${HOSTILE}`, twin: HOSTILE, verdicts }],
    });
    const { page, complaints } = await open(pageWith([sample], HOSTILE));
    await unfold(page, 0, 1);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.textContent('main')).not.toContain('\u202e');
    expect(complaints).toEqual([]);
  });

  const world = { action: 'ls', observation: 'a b' };
  const EPISODES: Page = {
    title: 'agents',
    blocks: [
      {
        notes: ['3 more do not fit.'],
        folds: [
          {
            title: '1: Count the files.',
            about: ['terminal, 2 turns, gave up'],
            blocks: [world, { action: HOSTILE, observation: HOSTILE }].map(({ action, observation }, at) => ({
              pair: [
                { title: `Turn ${at + 1}: action`, text: action },
                { title: 'Observation', text: observation },
              ],
            })),
          },
        ],
      },
    ],
  };

  test.each([{}, { width: 390, dark: true }])('shows episodes as transcripts: %o', async (look) => {
    const { page, complaints } = await openDocuments(
      { index: indexOf(), 'episodes/e1': { page: EPISODES } },
      '/episodes/e1',
      look,
    );
    await page.waitForSelector('h1');
    expect(await folds(page).textContent()).toMatch(/^1: Count the files\.\s*terminal, 2 turns, gave up$/);
    await unfold(page, 0);
    expect(await page.locator('details h3').allTextContents()).toEqual([
      ...['Turn 1: action', 'Observation', 'Turn 2: action', 'Observation'],
    ]);
    expect(await page.locator('details pre').nth(1).textContent()).toBe('a b');
    expect(await page.textContent('main')).toContain('3 more do not fit');
    expect(await page.locator('main img, main script').count()).toBe(0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
