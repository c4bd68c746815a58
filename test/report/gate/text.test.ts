// A gate's decision in a terminal.

import { describe, expect, it } from 'vitest';
import { gateText } from '../../../src/report/gate.js';
import { advisedPage, condition, gatePage, rule } from '../../support/gate-pages.js';

describe('in a terminal', () => {
  const long = `It fell by much: ${'everywhere and anywhere '.repeat(9)}.`;
  const rules = [
    rule({
      verdict: 'NO-GO',
      shown: { change: '-3.00', interval: '-4.00 to -2.50', bound: '-2.00' },
      sentence: long,
    }),
    rule({
      domain: 'os',
      name: 'OS',
      tier: 'supporting',
      counts: false,
      verdict: 'INCONCLUSIVE',
      shown: { change: '-1.00' },
      sentence: 'Open.',
    }),
    condition({ domain: 'web', sentence: 'All of it.' }),
  ];
  const shown = (columns: number, color = false) =>
    gateText(gatePage(rules, { summary: `NO-GO: ${long}`, notes: ['A note.'] }), { columns, color });

  it('a headline, a table and the reasons: each sentence once, broken between words, within the width', () => {
    for (const columns of [60, 80, 120]) {
      const text = shown(columns);
      expect(text).toMatch(/^NO-GO: 1 of 2 rules broken\n\n/);
      expect(text).toMatch(/^Overall drop +-3\.00 +-4\.00 to -2\.50 +≥ -2\.00 +broken$/m);
      expect(text).toMatch(/^OS +-1\.00 .* \(open\)$/m);
      expect(text.match(/It fell by much/g)).toHaveLength(1);
      expect(text).not.toContain('Open.');
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
      const words = new Set(long.split(' '));
      const last = text.split('\n').filter((line) => /where/.test(line));
      expect(
        last.flatMap((line) => line.trim().replace(/^- /, '').split(' ')).filter((word) => !words.has(word)),
      ).toEqual([]);
    }
  });

  it('only the headline is coloured by the verdict', () => {
    expect(shown(80, true)).toMatch(/^\x1b\[1;31mNO-GO: 1 of 2 rules broken\x1b\[0m\n/);
  });

  it('advice is not a verdict', () => {
    expect(gateText(advisedPage(), { columns: 80, color: false })).toMatch(
      /^ADVICE: would be NO-GO \(1 of 2 rules broken\)\n/,
    );
  });
});
