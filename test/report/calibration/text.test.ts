// A calibration in a terminal.

import { describe, expect, test } from 'vitest';
import { widthOf } from '../../../src/core/printable.js';
import { DOMAINS } from '../../../src/core/types.js';
import { calibrationText } from '../../../src/report/calibration.js';
import type { Calibration, CalibrationDocument } from '../../../src/stats/calibration/document.js';
import { limitResults, limitsDocument } from '../../../src/stats/calibration/limits.js';
import { calibrationPart, madeUpCalibration, madeUpDocument, NOTHING_JUDGED } from '../../support/calibrations.js';

const LOOK = { columns: 80, color: false };
/** All seven domains, from a judge that sees little to one that sees much. */
const seven: Calibration = {
  overall: calibrationPart(),
  domains: Object.fromEntries(DOMAINS.map((domain, place) => [domain, calibrationPart(0.3 + place / 4)])),
};
const textOf = (calibration = seven, change: Partial<CalibrationDocument> = {}, look = LOOK) =>
  calibrationText(madeUpDocument(calibration, change), look);
const lineOf = (text: string, start: string) => text.split('\n').find((line) => line.startsWith(start));
/** Changes one of the losses of Overall. */
const withLoss = (name: string, change: object): Calibration => {
  const part = calibrationPart();
  const losses = part.losses.map((loss) => (loss.variant === name ? { ...loss, ...change } : loss));
  return { overall: { ...part, losses }, domains: {} };
};

describe('a calibration as text', () => {
  test('says first whether the judge is usable, then how far it can be trusted, who judged under which settings, and how much', () => {
    const text = textOf();
    expect(text).toMatch(
      /^A good judge: all is proven\.\n\njudge: ceiling 97\.1, noise 7\.9 per row, blind to 2 of 14 corruptions \(2\nundecided\), attack gain/,
    );
    expect(text).toContain('\ngpt-5.2, rubrics awb-3, strict verdicts, temperature 0.6,');
    expect(text).toContain('2984 judgements of 160 rows in 56 trajectories; 16 without a rating (unreadable');
  });

  test('stays within 80 columns, with and without colours', () => {
    const limits = limitsDocument(limitResults(seven, { minCeiling: 95, maxNoise: 8, maxBlind: 1, maxAttackGain: 5 }));
    const change = { limits, notes: ['Left out: 3 rows that the context cannot hold. '.repeat(4)] };
    for (const color of [false, true]) {
      const plain = textOf(seven, change, { columns: 80, color }).replace(/\x1b\[[\d;]*m/g, '');
      expect(Math.max(...plain.split('\n').map(widthOf))).toBeLessThanOrEqual(80);
    }
  });

  test('has a line for each domain and one for Overall', () => {
    const text = textOf();
    for (const name of ['MCP', 'Search', 'Terminal', 'SWE', 'Android', 'Web', 'OS']) {
      expect(lineOf(text, name)).toMatch(/160\s+56\s+97\.1 95\.9–98\.3\s+16\.3\s+\+1\.1 =\s+7\.9/);
    }
    expect(lineOf(text, 'All 7 domains')).toContain(' 2+2?/14 ');
  });

  test('marks a false penalty that is absent, present or undecided', () => {
    const penalty = (isNone: boolean | null) => {
      const { false_penalty: cost } = calibrationPart();
      return lineOf(
        textOf(madeUpCalibration({ false_penalty: cost && { ...cost, is_none: isNone } })),
        'All 2 domains',
      );
    };
    expect(penalty(true)).toContain('+1.1 =');
    expect(penalty(false)).toContain('+1.1 !');
    expect(penalty(null)).toContain('+1.1 ?');
  });

  test('shows for each corruption in each domain whether it is seen, blind or undecided', () => {
    expect(lineOf(textOf(), 'light')?.trim().split(/\s+/)).toEqual([
      'light',
      'blind',
      'blind',
      '(3.2)',
      '4.2',
      '5.2',
      '6.2',
      '7.2',
      '(4.0)',
    ]);
    expect(
      lineOf(textOf(), 'lost-fence')
        ?.split(/\s+/)
        .filter((cell) => cell === 'blind'),
    ).toHaveLength(8);
  });

  test('highlights dimensions with a proven loss, and the one that lost most', () => {
    const text = textOf(withLoss('heavy', { most: 'factuality' }));
    const line = text.split('\n').find((one) => one.startsWith('heavy') && one.includes('160'));
    expect(line?.split(/\s+/)).toEqual(['heavy', '160', '31.5', '30.4–32.6', '26.3', '21.0*', '15.8', '10.5', '5.3']);
    expect(text.split('\n').find((one) => one.startsWith('lost-fence  160') || /^lost-fence +160/.test(one))).toMatch(
      /\(0\.4\)\s+\(0\.3\)\s+\(0\.3\)\s+\(0\.2\)\s+\(0\.1\)/,
    );
  });

  test('says for every step whether its order is kept, and names inversions by domain', () => {
    expect(lineOf(textOf(), 'truth > determined-1of8')).toMatch(/\+6\.0\s+4\.0–8\.0\s+12\.5 %\s+0\.020 kept$/);
    expect(textOf()).not.toContain('Inverted in a domain');
    const web = calibrationPart(0.3);
    const steps = web.steps.map((step, place) => (place === 0 ? { ...step, order: 'inverted' as const } : step));
    expect(textOf({ ...seven, domains: { ...seven.domains, web: { ...web, steps } } })).toContain(
      'Inverted in a domain: Web truth > determined-1of8.',
    );
  });

  test('lists what each attack gains, and the one that gains most', () => {
    expect(lineOf(textOf(), 'closed-frame')).toMatch(/\+0\.4\s+-0\.3–1\.1\s+a closed frame/);
    expect(textOf().replaceAll('\n', ' ')).toContain(
      'closed-frame gains most; interval valid for all attacks at once: -0.5–1.3.',
    );
  });

  test('names no attack as the most effective one if that has no interval', () => {
    const part = calibrationPart(1);
    const attack_gain = part.attack_gain && { ...part.attack_gain, se: null, df: null, low: null, high: null };
    expect(textOf({ overall: { ...part, attack_gain }, domains: {} })).not.toContain('gains most');
  });

  test('says by how much two runs must differ given the noise, and that this covers only the noise', () => {
    const flat = textOf().replaceAll('\n', ' ');
    expect(flat).toContain('an SD of 7.9 points (7.2 to 8.7; 640 judgements of 320 predictions)');
    expect(flat).toContain('must differ by 0.67 points of Overall');
    expect(flat).toContain("only the judge's noise");
  });

  test('says what cannot be known with too few trajectories, no rewrite or no repeat', () => {
    const part = calibrationPart(1, { trajectories: 3, ceiling: null, false_penalty: null, noise: null });
    const flat = textOf({ overall: part, domains: { os: part } }).replace(/\s+/g, ' ');
    expect(flat).toContain('Fewer than 8 trajectories: OS 3.');
    expect(flat).toContain('No neutral rewrite was judged');
    expect(flat).toContain('Nothing was judged twice');
    expect(textOf()).not.toContain('Fewer than 8');
  });

  test('ends with the limits that the judge was checked against', () => {
    const verdict = (minCeiling: number) =>
      textOf(seven, { limits: limitsDocument(limitResults(seven, { minCeiling })) });
    expect(verdict(95)).toContain('\nPASSED: 1 limit for the judge\n- The ceiling has to be at least 95; it is 97.10');
    expect(verdict(97)).toContain('\nUNDECIDED: 1 limit');
    expect(verdict(99)).toContain('\nNOT PASSED: 1 limit');
  });

  test('of a calibration without judgements is a few lines', () => {
    const text = textOf({ overall: NOTHING_JUDGED, domains: {} });
    expect(text).toContain('no corruption judged');
    expect(text.split('\n').length).toBeLessThan(20);
  });

  test('passes no hostile text to the terminal', () => {
    const evil = 'x\x1b]52;c;aGk=\x07\x1b[31my\u202e\n::error::z';
    const text = textOf(madeUpCalibration({ failures: { [evil]: 1 } }), {
      judge_model: evil,
      rubric_pack: evil,
      sampling: evil,
      source: evil,
      notes: [evil],
    });
    expect(text).not.toMatch(/[\x1b\x07\u202e]/);
  });
});
