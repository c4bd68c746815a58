// A comparison as text in each format.

import { describe, expect, it } from 'vitest';
import { DOMAINS } from '../../../src/core/types.js';
import { COMPARISON_FORMATS } from '../../../src/report/comparison.js';
import { comparisonView } from '../../support/comparison-views.js';

const look = { columns: 80, color: false };

describe('formats', () => {
  it('begin with the sentence, broken between words at the width', () => {
    const name = 'a-checkpoint-of-a-long-name-in-which-nothing-may-be-broken';
    const text = COMPARISON_FORMATS.terminal.print(comparisonView(DOMAINS, { candidate: { name, source: '/' } }), {
      columns: 60,
      color: false,
    });
    expect(text.split('\n')[0]).toBe(name);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(COMPARISON_FORMATS.md.print(comparisonView())).toContain('**new and old cannot be told apart: ');
    expect(JSON.parse(COMPARISON_FORMATS.json.print(comparisonView())).summary).toMatch(
      /^new and old cannot be told apart/,
    );
  });

  it('terminal says who is compared with whom, the notes, and why rows moved', () => {
    const text = COMPARISON_FORMATS.terminal.print(comparisonView(), look);
    expect(text.replace(/\n/g, ' ')).toMatch(
      /^new and old cannot be told apart: -1\.50 points \(95 % interval -3\.50 to \+0\.50; 140\/154 rows\); a true difference of 3\.10 would show with 80 % power\. judge j, rubric pack bundled A note\. /,
    );
    expect(text).toContain('-75.00  100.00 -> 25.00  Web, turn 3, row k1\n          now: it made up a price\n');
  });

  it('CSV has a line for each existing figure, unrounded, and no formula', () => {
    const lines = COMPARISON_FORMATS.csv.print(comparisonView(['=evil()', 'web'])).split('\r\n');
    expect(lines[0]).toMatch(/^domain,figure,rows,compared,base,candidate,difference,low,high,se,df,p,p_adjusted,/);
    expect(lines[1]).toMatch(/^'=evil\(\),total,22,20,60,58.5,-1.5,-3.5,0.5,1,9,0.01,0.07,5,6,9,3.1$/);
    expect(lines.slice(2).map((line) => line.split(',')[0])).toEqual(['web', 'overall', '']);
  });

  it('JSON has everything', () => {
    const found = JSON.parse(COMPARISON_FORMATS.json.print(comparisonView()));
    expect(found.domains.web).toMatchObject({
      coverage: 20 / 22,
      total: { difference: -1.5, p_adjusted: 0.07 },
      format: null,
    });
    expect(found.moved).toEqual([
      {
        key: 'k1',
        domain: 'web',
        turn_idx: 3,
        base: 100,
        candidate: 25,
        difference: -75,
        why: 'now: it made up a price',
      },
    ]);
  });

  it('Markdown keeps hostile names and weaknesses inside their cells', () => {
    const hostile = '</td>|<img src=x onerror=alert(1)>\n## head [a](javascript:x)';
    const text = COMPARISON_FORMATS.md.print(
      comparisonView(DOMAINS, {
        candidate: { name: hostile, source: '/' },
        weaknesses: new Map([['k1', hostile]]),
        notes: [hostile],
      }),
    );
    expect(text.replace(/\\./g, '')).not.toMatch(/[<>]|\]\(/);
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toHaveLength(2);
  });
});
