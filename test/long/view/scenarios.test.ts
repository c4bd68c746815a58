// The pages of a run on scenarios and of episodes: what they say of figures and samples, and what nothing in them can do.

import { describe, expect, test } from 'vitest';
import { madeWith } from '../../../src/run/made-with.js';
import type { EpisodesDocument, ScenarioDocument, ScenarioSample } from '../../../src/view/documents.js';
import { scenarioPage } from '../../../src/view/scenario-document.js';
import { expectAccessible, noBrowser, useBrowser } from '../../support/app.js';
import { documentOf, HOSTILE, indexOf, listedRun, measuredRow } from '../../support/run-documents.js';

const followed = { value: 70, rows: 40, clusters: 20, se: 7.25, df: 18.5, low: 53.5, high: 82.5 };
const leaked = { value: 10, rows: 40, clusters: 20, se: 3, df: 18, low: 5, high: 19 };
const counts = { samples: 40, trajectories: 20, failures: { refused: 2 } };
const part = { ...counts, followed, leaked, undisturbed: null, twin_false_positives: null };

const sampleOf = (change: Partial<ScenarioSample> = {}): ScenarioSample => ({
  scenario: 'power-cut',
  domain: 'mcp',
  id: '17',
  turn: 3,
  instruction: 'The power fails.',
  steps: [
    {
      action: 'click("a")',
      prediction: 'POWER CUT\nall dark',
      twin: 'all well',
      verdicts: [
        { verifier: 'contains', met: true, why: 'it says "POWER CUT"' },
        { verifier: 'never', met: true, why: 'it gives nothing away' },
      ],
    },
  ],
  measures: { followed: 100, leaked: 0, undisturbed: 50, twin_false_positives: 0 },
  ...change,
});

function documentWith(samples: readonly ScenarioSample[], scenario = 'power-cut', leftOut = 0): ScenarioDocument {
  const figures: ScenarioDocument['figures'] = {
    schema: 'awb.scenarios/1',
    overall: part,
    domains: { mcp: part },
    scenarios: { [scenario]: { ...part, domains: {} } },
  };
  return { ref: 'r1', figures, page: scenarioPage(figures, 'macro of 1'), samples, leftOut };
}

const rows = [0, 1].map((at) => measuredRow(at, { followed: 100 }));
const judged = documentOf(rows, {}, { made: { ...madeWith(undefined), mode: 'scenarios' } });
const run = { ...judged, page: { ...judged.page, warnings: ['INCOMPLETE: half of it.'] } };

describe.skipIf(noBrowser)('the page of a run on scenarios', () => {
  const { openDocuments } = useBrowser();
  const open = async (scenarios: ScenarioDocument, look?: Parameters<typeof openDocuments>[2]) => {
    const index = indexOf(listedRun('r1', 70, { mode: 'scenarios' }));
    const opened = await openDocuments({ index, 'run/r1': run, 'scenarios/r1': scenarios }, '/run/r1', look);
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
    const { page, complaints } = await open(documentWith([sampleOf()]));
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

  test('shows of a sample the instruction, the action, the verdicts, and both predictions side by side', async () => {
    const { page } = await open(documentWith([sampleOf()]));
    await unfold(page, 0);
    expect(await folds(page).nth(1).textContent()).toMatch(/^MCP 17, turn 3\s*followedundisturbed 50 %$/);
    await unfold(page, 1);
    const sample = page.locator('details details');
    expect(await sample.locator('h4, pre').allTextContents()).toEqual([
      ...['Instruction', 'The power fails.', 'Action', 'click("a")'],
      ...['Without the instruction', 'all well', 'With the instruction', 'POWER CUT\nall dark'],
    ]);
    expect(await sample.locator('li').allTextContents()).toEqual([
      'contains met: it says "POWER CUT"',
      'nothing leaked: it gives nothing away',
    ]);
    await expectAccessible(page);
  });

  test('puts what was not followed, or leaked, before what was, and says how many it has no room for', async () => {
    const wrong = sampleOf({ id: 'wrong', measures: { followed: 0, leaked: 100, twin_false_positives: 100 } });
    const { page } = await open(documentWith([sampleOf({ id: 'right' }), wrong], 'power-cut', 12));
    expect(await folds(page).nth(0).textContent()).toMatch(/2 rows, 1 not followed or leaked$/);
    await unfold(page, 0);
    expect(await folds(page).nth(1).textContent()).toMatch(
      /wrong.*not followedleakedits twin would count as following$/,
    );
    expect(await folds(page).nth(2).textContent()).toContain('right');
    expect(await page.textContent('main')).toContain('For 12 more there is no room (--inline-limit).');
  });

  test('names every step of several, and why a step has no prediction', async () => {
    const second = { action: 'look', twin: '', verdicts: [] };
    const sample = sampleOf({ steps: [...sampleOf().steps, second], failure: 'refused: the model said no' });
    const { page } = await open(documentWith([sample]));
    await unfold(page, 0, 1);
    const text = await page.locator('details details').textContent();
    expect(text).toContain('refused: the model said no');
    expect(text).toContain('Step 2: ActionlookWithout the instructionemptyWith the instructionnot known');
  });

  test('cuts a text that is very long', async () => {
    const [step] = sampleOf().steps;
    const steps = step === undefined ? [] : [{ ...step, prediction: `${'x'.repeat(100_000)}END` }];
    const { page } = await open(documentWith([sampleOf({ steps })]));
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
    const { page, complaints } = await open(documentWith([sample], HOSTILE));
    await unfold(page, 0, 1);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.textContent('main')).not.toContain('\u202e');
    expect(complaints).toEqual([]);
  });

  const EPISODES: EpisodesDocument = {
    ref: 'e1',
    name: 'agents',
    facts: [['agent', 'my-agent']],
    episodes: [
      {
        ...{ number: 1, domain: 'terminal', task: 'Count the files.', end: 'gave-up', said: HOSTILE },
        turns: [
          { action: 'ls', observation: 'a b', isRecorded: true },
          { action: HOSTILE, observation: HOSTILE, isRecorded: false },
        ],
      },
    ],
    leftOut: 3,
  };

  test.each([{}, { width: 390, dark: true }])('shows episodes as transcripts: %o', async (look) => {
    const { page, complaints } = await openDocuments(
      { index: indexOf(), 'episodes/e1': EPISODES },
      '/episodes/e1',
      look,
    );
    await page.waitForSelector('h1');
    expect(await folds(page).textContent()).toMatch(/^1: Count the files\.\s*terminal, 2 turns, gave up$/);
    await unfold(page, 0);
    expect(await page.locator('details h4').allTextContents()).toEqual([
      ...['Task', 'Turn 1, recorded: action', 'Observation', 'Turn 2: action', 'Observation', 'End: gave up'],
    ]);
    expect(await page.locator('details pre').nth(2).textContent()).toBe('a b');
    expect(await page.textContent('main')).toContain('For 3 more there is no room');
    expect(await page.locator('main img, main script').count()).toBe(0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
