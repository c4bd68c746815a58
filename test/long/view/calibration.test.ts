// The page of a calibration in a browser: its contents, and that hostile texts do nothing.

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Calibration, CalibrationDocument, LimitResult } from '../../../src/stats/calibration/document.js';
import { limitsDocument } from '../../../src/stats/calibration/limits.js';
import { shownCalibration } from '../../../src/view/result-documents.js';
import { expectAccessible, INDEX, noBrowser, textOf, useBrowser } from '../../support/app.js';
import {
  around,
  calibrationPart,
  madeUpCalibration,
  madeUpDocument,
  NOTHING_JUDGED,
} from '../../support/calibrations.js';
import { HOSTILE } from '../../support/run-documents.js';

const brokenLimit = (sentence: string): LimitResult => ({
  ...{ name: 'max_blind', limit: 0, value: 2, low: 2, high: 4, verdict: 'broken' },
  sentence,
});

describe.skipIf(noBrowser)('the page of a calibration', () => {
  const { openDocuments } = useBrowser();

  async function shown(
    calibration: Calibration = madeUpCalibration(),
    change: Partial<CalibrationDocument> = {},
    look?: Parameters<typeof openDocuments>[2],
  ) {
    const document = shownCalibration(madeUpDocument(calibration, change));
    const found = await openDocuments({ index: INDEX, 'calibration/x': document }, '/calibration/x', look);
    await found.page.waitForSelector('h1');
    return { ...found, text: await textOf(found.page) };
  }
  let plain: Awaited<ReturnType<typeof shown>>;
  beforeAll(async () => {
    plain = await shown();
  });
  const rowOf = (page: Page, name: string) =>
    page.getByLabel('Corruption', { exact: true }).locator('tr', { hasText: name }).first();

  test('leads with the verdict, ceiling, floor, false penalty, noise, blindness and attack gain, each with its interval', async () => {
    const { text, page, requests, complaints } = plain;
    expect(text).toMatch(/Calibration of a judge A good judge: all is proven\. Ceiling/);
    expect(text).toContain('Ceiling 97.1 95 %: 95.9 to 98.3 neutral rewrites');
    expect(text).toContain('Floor 16.3 95 %: 13.8 to 18.8');
    expect(text).toContain('False penalty +1.1 95 %: +0.2 to +2.0 negligible');
    expect(text).toContain('Noise per row 7.9 95 %: 7.2 to 8.7 detectable over 2,170 rows: 0.7 points');
    expect(text).toContain('Blind to 2 of 14 corruptions, 2 undecided');
    expect(text).toContain('Attack gain +0.4 95 %: −0.5 to +1.3 closed-frame, the strongest attack');
    expect(text).toContain('Judgements 2,984 160 rows, 56 trajectories 16 failed');
    expect(text).not.toMatch(/passed|Fewer than 8/i);
    expect(requests).toHaveLength(1);
    expect(complaints).toEqual([]);
    await expectAccessible(page);
  });

  test('says for every corruption whether it is seen, and its cost in total and by dimension', async () => {
    const { text } = plain;
    expect(text).toContain(
      'determined-1of8 an eighth of what action and history determine is wrong 160 6.4 seen 5.3–7.5 5.3 3.3–7.3',
    );
    expect(text).toContain('light one state, number or word changed 160 4.0 undecided 2.9–5.1');
    expect(text).toContain('lost-fence a fence, a frame or a closing bracket lost 160 0.5 blind -0.6–1.6');
  });

  test('says how the judge was asked, the result of its limits, its notes, and what is unknown', async () => {
    const limits = limitsDocument([brokenLimit('Blind to 2.')]);
    const few = { overall: calibrationPart(), domains: { web: calibrationPart(1, { trajectories: 7 }) } };
    const { text, page } = await shown(few, { notes: ['A note.'], limits });
    expect(text).toContain(
      'rubrics awb-3 verdicts strict sampling temperature 0.6 judgements calibration/calibration.jsonl',
    );
    const notes = await page.locator('header ul').last().innerText();
    expect(notes).toContain('Fewer than 8 trajectories: Web 7.');
    expect(notes).toContain('A note.');
    expect(text).toContain('✗ Not passed Blind to 2.');
  });

  test('colours a dimension if its interval excludes 0, and makes the one that lost more than all others bold', async () => {
    const losses = calibrationPart().losses.map((loss) => ({ ...loss, most: 'factuality' as const }));
    const { page } = await shown({ overall: calibrationPart(1, { losses }), domains: {} });
    expect(await rowOf(page, 'heavy').locator('strong.moved').count()).toBe(1);
    expect(await rowOf(page, 'heavy').locator('span.moved').count()).toBe(4);
    expect(await plain.page.locator('strong.moved').count()).toBe(0);
    expect(await rowOf(plain.page, 'light').locator('span.moved').allInnerTexts()).toEqual(['3.3', '2.7']);
  });

  test('says of each step whether its order is kept, with the p of what it says', async () => {
    const [step] = calibrationPart().steps;
    if (step === undefined) throw new Error('there is no step');
    const steps = [{ ...step, order: 'inverted' as const, p_adjusted: 1, p_inverted: 0.0123 }];
    expect((await shown({ overall: calibrationPart(1, { steps }), domains: {} })).text).toMatch(
      /12\.5 % 0\.012 inverted/,
    );
    expect(plain.text).toContain('truth > determined-1of8 160 +6.0 4.0–8.0 12.5 % 0.020 kept');
  });

  test('has the doses, the order and the attacks as text next to their charts', async () => {
    const { text, page } = plain;
    expect(text).toContain('Points lost at a dose of 1/8 1/3 2/3 MCP 3.8');
    expect(text).toMatch(/All 6\.4 5\.3–7\.5 14\.3 13\.2–15\.3 27\.0 25\.9–28\.1/);
    expect(text).toContain('<0.001');
    expect(text).toContain(
      'closed-frame 160 +0.4 -0.3–1.1 a closed frame, then a second truth that equals the prediction',
    );
    const silent = await page.locator('svg:not([aria-hidden]):not([aria-label]):not(svg svg)').count();
    expect(silent).toBe(0);
  });

  test('draws each dose at its share, and each loss at its height', async () => {
    const { page } = plain;
    const dots = await page
      .locator('.curves figure')
      .first()
      .locator('circle')
      .evaluateAll((found) =>
        found.map((dot) => ['cx', 'cy'].map((name) => Number.parseFloat(dot.getAttribute(name) ?? ''))),
      );
    expect(dots.map(([x = 0]) => ((x - 4) / 90).toFixed(3))).toEqual(['0.188', '0.500', '1.000']);
    const [first = 0, second = 0, third = 0] = dots.map(([, y = 0]) => 100 - y);
    expect(second / first).toBeCloseTo(14.25 / 6.4, 2);
    expect(third / first).toBeCloseTo(27 / 6.4, 2);
  });

  test('leaves out what was not judged, and says if nothing was judged twice', async () => {
    const { rows, floor, truth, scores } = calibrationPart();
    const { text } = await shown({ overall: { ...NOTHING_JUDGED, rows, floor, truth, scores }, domains: {} });
    expect(text).toContain('Ceiling – no interval');
    expect(text).toContain('Noise per row – nothing was judged twice');
    expect(text).not.toMatch(/Points lost by dose|Attacks|Known order|Attack gain \+|NaN|undefined/);
  });

  test('says "no interval" if there are too few trajectories', async () => {
    const plain = { ...around(97.1, 1), low: null, high: null };
    const part = calibrationPart(1, { ceiling: plain, false_penalty: { ...plain, is_none: null } });
    const { text } = await shown({ overall: part, domains: {} });
    expect(text).toContain('Ceiling 97.1 no interval');
    expect(text).toContain('False penalty +97.1 no interval undecided');
  });

  test('shows corruptions, order and attacks of a domain in its fold', async () => {
    const { page } = plain;
    await page.locator('summary', { hasText: 'MCP' }).click();
    // A fold draws its content when it is first opened, a moment after the click.
    await page.waitForSelector('details[open] h3');
    expect(await page.locator('details[open] h3').allInnerTexts()).toEqual(['Corruptions', 'Known order', 'Attacks']);
  });

  test('of hostile names opens no element, runs nothing, and hides nothing', async () => {
    const variant = { variant: HOSTILE, family: 'dose', dose: 0.21 } as const;
    const estimate = around(5, 1);
    const ps = { p: 1, p_adjusted: 1, p_inverted: 1 };
    const part = calibrationPart(1, {
      losses: [{ ...variant, ...estimate, dimensions: {}, most: null, sight: 'seen' }],
      steps: [{ better: HOSTILE, worse: HOSTILE, ...estimate, inverted: 0, ...ps, order: 'undecided' }],
      attacks: [{ variant: HOSTILE, ...estimate }],
      attack_gain: { variant: HOSTILE, ...estimate },
      scores: [{ ...variant, ...estimate }],
    });
    const texts = {
      judge_model: HOSTILE,
      rubric_pack: HOSTILE,
      verdicts: HOSTILE,
      sampling: HOSTILE,
      source: HOSTILE,
      notes: [HOSTILE],
    };
    const limits = limitsDocument([brokenLimit(HOSTILE)]);
    const { page, text, complaints } = await shown(
      { overall: part, domains: { [HOSTILE]: part } },
      { ...texts, limits },
    );
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(text).not.toContain('\u202e');
    expect(text).toContain('<script>alert(2)</script>');
    expect(text).toContain('21 %');
    expect(complaints).toEqual([]);
  });

  test.each([
    [400, false],
    [1280, true],
  ])('fits %i pixels (dark: %s)', async (width, dark) => {
    const { page } = await shown(undefined, undefined, { width, dark });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });
});
