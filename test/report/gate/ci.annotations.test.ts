// A gate's annotations: no more than are shown, and no text that acts as a command.

import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/report/gate.js';
import { advisedPage, gatePage, HOSTILE, hostilePage, rule } from '../../support/gate-pages.js';

describe('annotations', () => {
  it('are sorted by impact, at most ten of a kind', () => {
    const rules = Array.from({ length: 25 }, (_, impact) =>
      rule({ domain: `d${impact}`, verdict: 'NO-GO', impact, sentence: `fell by ${impact}` }),
    );
    const lines = annotations(gatePage(rules)).trimEnd().split('\n');
    expect(lines).toHaveLength(10);
    expect(lines.slice(0, 2).map((line) => line.split('::')[2])).toEqual(['fell by 24', 'fell by 23']);
  });

  it('of a GO are a notice, and what holds or does not count is no error', () => {
    const rules = [rule(), rule({ tier: 'supporting', counts: false, verdict: 'INCONCLUSIVE' })];
    expect(annotations(gatePage(rules, { verdict: 'GO', summary: 'GO: it holds.' }))).toBe(
      '::notice title=awb gate%3A GO::GO: it holds.\n',
    );
  });

  it('of advice are never errors, whatever the rules found', () => {
    expect(annotations(advisedPage())).toBe(
      '::notice title=awb gate%3A ADVICE::ADVICE: would be NO-GO (1 of 2 rules broken)\n' +
        '::notice title=awb gate%3A ADVICE%2C overall against published::Behind.\n',
    );
  });
});

describe.each(HOSTILE)('hostile text %j', (text) => {
  const hostile = hostilePage(text);

  it('adds no annotation to the three that contain it', () => {
    const lines = annotations(hostile).split('\n');
    expect(lines.map((line) => /^::(error|warning|notice) title=[^:,]*::/.exec(line)?.[1])).toEqual([
      'error',
      'warning',
      'notice',
      undefined,
    ]);
    expect(lines.at(-1)).toBe('');
    expect(lines.join('')).not.toMatch(/%0A|##\[|[\r\x1b]/);
  });
});
