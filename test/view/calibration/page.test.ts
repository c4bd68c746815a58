// The page of a calibration: what it says, and what nothing in it can do.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Calibration, CalibrationDocument, LimitResult } from '../../../src/stats/calibration/document.js';
import { limitsDocument } from '../../../src/stats/calibration/limits.js';
import { calibrationPage } from '../../../src/view/calibration.js';
import {
  around,
  calibrationPart,
  madeUpCalibration,
  madeUpDocument,
  NOTHING_JUDGED,
} from '../../support/calibrations.js';
import { noChromium, startChromium } from '../../support/chromium.js';
import { temporaryFolder } from '../../support/cli.js';
import { EVIL, sha256 } from '../../support/reports.js';

const pageOf = (calibration: Calibration, change: Partial<CalibrationDocument> = {}) =>
  calibrationPage(madeUpDocument(calibration, change), 'awb 0', sha256);
const textOf = (page: string) =>
  page
    .replace(/<style[\s\S]*?<\/style>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
const brokenLimit = (sentence: string): LimitResult => ({
  ...{ name: 'max_blind', limit: 0, value: 2, low: 2, high: 4, verdict: 'broken' },
  sentence,
});
const page = pageOf(madeUpCalibration());
const text = textOf(page);

describe('the page of a calibration', () => {
  it('allows its own style by its hash, and neither a script nor a request', () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain(`style-src 'sha256-${sha256(style)}'`);
    expect(policy).not.toMatch(/script-src|unsafe|https?:|\*/);
    expect(page).not.toMatch(/<script| style=| on[a-z]+=/);
  });

  it('leads with ceiling, floor, false penalty, noise, blindness and gullibility, each with its interval', () => {
    expect(text).toContain('Ceiling 97.1 95 %: 95.9 to 98.3 neutral rewrites');
    expect(text).toContain('Floor 16.3 95 %: 13.8 to 18.8');
    expect(text).toContain('False penalty +1.1 95 %: +0.2 to +2.0 as good as none');
    expect(text).toContain('Noise a row 7.9 95 %: 7.2 to 8.7 2,170 rows can show 0.7 points');
    expect(text).toContain('Blind to 2 of 14 damages, 2 undecided');
    expect(text).toContain('Gullible +0.4 95 %: −0.5 to +1.3 closed-frame, of all tricks');
    expect(text).toContain('Judgements 2,984 160 rows, 56 trajectories 16 failed');
  });

  it('says of every damage whether it is seen, and what it costs in all and by dimension', () => {
    expect(text).toContain(
      'determined-1of8 an eighth of what action and history determine is wrong seen 6.4 5.3 to 7.5 5.3 3.3 to 7.3',
    );
    expect(text).toContain('light one state, number or word changed undecided 4.0 2.9 to 5.1');
    expect(text).toContain('lost-fence a fence, a frame or a closing bracket lost blind 0.5 −0.6 to 1.6');
  });

  it('says under what the judge was asked, what came of its limits, what to heed and what cannot be told', () => {
    const limits = limitsDocument([brokenLimit('Blind to 2.')]);
    const few = { overall: calibrationPart(), domains: { web: calibrationPart(1, { trajectories: 7 }) } };
    const shown = textOf(pageOf(few, { notes: ['A note.'], limits }));
    expect(shown).toContain(
      'rubrics awb-3 verdicts strict sampling temperature 0.6 judgements calibration/calibration.jsonl',
    );
    expect(shown).toContain('Fewer than 8 trajectories: Web 7.');
    expect(shown).toContain('Not passed Blind to 2. A note.');
    expect(text).not.toMatch(/passed|Fewer than 8/i);
  });

  it('makes bold the one dimension that lost more than each other, and no other', () => {
    const losses = calibrationPart().losses.map((loss) => ({ ...loss, most: 'factuality' as const }));
    const bold = pageOf({ overall: calibrationPart(1, { losses }), domains: {} });
    const row = /<th scope="row">heavy<.*?<\/tr>/.exec(bold)?.[0] ?? '';
    expect(row.match(/<b class="moved">/g)).toHaveLength(1);
    expect(row.match(/<span class="moved">/g)).toHaveLength(4);
    expect(page).not.toContain('<b class="moved">');
  });

  it('says of each step whether its order is kept, with the p of what it says', () => {
    const [step] = calibrationPart().steps;
    if (step === undefined) throw new Error('there is no step');
    const steps = [{ ...step, order: 'inverted' as const, p_adjusted: 1, p_inverted: 0.0123 }];
    expect(textOf(pageOf({ overall: calibrationPart(1, { steps }), domains: {} }))).toMatch(/12\.5 % 0\.0123 inverted/);
    expect(text).toContain('12.5 % 0.0200 kept');
  });

  it('colours a dimension only where its interval does not hold 0', () => {
    const row = /<th scope="row">light<.*?<\/tr>/.exec(page)?.[0] ?? '';
    expect(
      [...row.matchAll(/<td class="n">(<span class="moved">)?[\d.]+</g)].map((found) => found[1] !== undefined),
    ).toEqual([false, true, true, false, false, false]);
  });

  it('holds the doses, the order and the tricks as text beside their charts', () => {
    expect(text).toContain('Points lost at a dose of 1/8 1/3 2/3 MCP 3.8');
    expect(text).toMatch(/All 6\.4 5\.3 to 7\.5 14\.3 13\.2 to 15\.3 27\.0 25\.9 to 28\.1/);
    expect(text).toContain('truth &gt; determined-1of8 +6.0 +4.0 to +8.0 12.5 % 0.0200');
    expect(text).toContain('&lt;0.0001');
    expect(text).toContain(
      'closed-frame a closed frame, then a second truth that equals the prediction +0.4 −0.3 to +1.1',
    );
    for (const svg of page.match(/<svg[^>]*>/g) ?? []) expect(svg).toContain('aria-hidden="true"');
  });

  it('draws each dose at its share, and each loss at its height', () => {
    const curve = /<svg class="curve".*?<\/figure>/.exec(page)?.[0] ?? '';
    const dots = [...curve.matchAll(/<circle class="dot" cx="([\d.]+)%" cy="([\d.]+)%"/g)].map(([, cx, cy]) => [
      Number(cx),
      Number(cy),
    ]);
    const [first, second, third] = dots as [number, number][];
    const share = (dot: [number, number] | undefined) => ((dot?.[0] ?? 0) - 4) / 90;
    expect([share(first), share(second), share(third)].map((each) => each.toFixed(3))).toEqual([
      '0.188',
      '0.500',
      '1.000',
    ]);
    const height = (dot: [number, number] | undefined) => 100 - (dot?.[1] ?? 0);
    expect(height(second) / height(first)).toBeCloseTo(14.25 / 6.4, 2);
    expect(height(third) / height(first)).toBeCloseTo(27 / 6.4, 2);
  });

  it('leaves out what was not judged, and says where nothing was judged twice', () => {
    const { rows, floor, truth, scores } = calibrationPart();
    const nothing = { ...NOTHING_JUDGED, rows, floor, truth, scores };
    const bare = textOf(pageOf({ overall: nothing, domains: {} }));
    expect(bare).toContain('Ceiling – no interval');
    expect(bare).toContain('Noise a row – nothing was judged twice');
    expect(bare).not.toMatch(/Points lost by dose|Tricks|Known order|Gullible \+|NaN|undefined/);
  });

  it('says "no interval" where there are too few trajectories for one', () => {
    const plain = { ...around(97.1, 1), low: null, high: null };
    const part = calibrationPart(1, { ceiling: plain, false_penalty: { ...plain, is_none: null } });
    const shown = textOf(pageOf({ overall: part, domains: {} }));
    expect(shown).toContain('Ceiling 97.1 no interval');
    expect(shown).toContain('False penalty +97.1 no interval cannot be said to be none');
  });
});

describe('hostile names of judges, domains and variants', () => {
  it('open no element, close none, and hide nothing', () => {
    const variant = { variant: EVIL, family: 'dose', dose: 0.21 } as const;
    const estimate = around(5, 1);
    const ps = { p: 1, p_adjusted: 1, p_inverted: 1 };
    const part = calibrationPart(1, {
      losses: [{ ...variant, ...estimate, dimensions: {}, most: null, sight: 'seen' }],
      steps: [{ better: EVIL, worse: EVIL, ...estimate, inverted: 0, ...ps, order: 'undecided' }],
      canaries: [{ variant: EVIL, ...estimate }],
      gullibility: { variant: EVIL, ...estimate },
      scores: [{ ...variant, ...estimate }],
    });
    const texts = { judge_model: EVIL, rubric_pack: EVIL, verdicts: EVIL, sampling: EVIL, source: EVIL, notes: [EVIL] };
    const limits = limitsDocument([brokenLimit(EVIL)]);
    const evil = pageOf({ overall: part, domains: { [EVIL]: part } }, { ...texts, limits });
    expect(evil).not.toMatch(/<img|<script|<!--|\u202e/);
    expect(evil).toContain('21 %');
  });
});

describe.skipIf(noChromium)('in a browser, the page', () => {
  it.each([
    [400, 'light'],
    [1280, 'dark'],
  ] as const)('fits %i pixels (%s), asks for nothing, and complains of nothing', async (width, scheme) => {
    const path = join(await temporaryFolder(), 'page.html');
    await writeFile(path, page);
    const browser = await startChromium();
    try {
      const shown = await browser.newPage();
      await shown.look(width, 900, scheme);
      await shown.open(pathToFileURL(path).href);
      expect(await shown.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(await shown.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(
        scheme === 'dark' ? 'rgb(20, 22, 26)' : 'rgb(252, 252, 250)',
      );
      expect(shown.requests.filter((url) => !/^(about|data):/.test(url))).toEqual([pathToFileURL(path).href]);
      expect(shown.complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
