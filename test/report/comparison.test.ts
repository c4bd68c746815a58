// A comparison as text: what stands in the table, and what does in each format.

import { describe, expect, it } from 'vitest';
import type { Difference } from '../../src/comparison.js';
import { signed } from '../../src/figures.js';
import { COMPARISON_FORMATS, type ComparisonPage, differenceTable, openingOf } from '../../src/report/comparison.js';
import { DOMAINS } from '../../src/types.js';

function difference(value: number, more: Partial<Difference> = {}): Difference {
  return {
    difference: { value, rows: 20, clusters: 10, se: 1, df: 9, low: value - 2, high: value + 2 },
    base: 60,
    candidate: 60 + value,
    wins: 5,
    ties: 6,
    losses: 9,
    p: 0.01,
    adjustedP: 0.07,
    smallestEffect: 3.1,
    ...more,
  };
}

/** As Overall has it, which is one figure and not one of several. */
function unadjusted({ adjustedP: _, ...rest }: Difference): Difference {
  return rest;
}

function page(domains: readonly string[] = DOMAINS, more: Partial<ComparisonPage> = {}): ComparisonPage {
  return {
    base: { name: 'old', source: '/old', judge: 'j', rubricPack: 'bundled' },
    candidate: { name: 'new', source: '/new', judge: 'j', rubricPack: 'bundled' },
    comparison: {
      status: 'ok',
      domains: domains.map((domain) => ({
        domain,
        rows: 22,
        compared: 20,
        coverage: 20 / 22,
        missing: { base: 1, candidate: 1 },
        figures: { total: difference(-1.5) },
      })),
      overall: { total: unadjusted(difference(-1.5)) },
      macroOf: domains.length,
      rows: 22 * domains.length,
      compared: 20 * domains.length,
      coverage: 20 / 22,
      moved: [{ key: 'k1', domain: 'web', turnIdx: 3, base: 100, candidate: 25, difference: -75 }],
    },
    shared: { judge: 'equal' },
    weaknesses: new Map([['k1', 'now: it made up a price']]),
    notes: ['A note.'],
    dimensions: false,
    ...more,
  };
}

const look = { columns: 80, color: false };

describe('the table', () => {
  it('has a row per domain and Overall, with the p that belongs to the interval and a mark where it holds among all domains', () => {
    const { groups } = differenceTable(page().comparison, 'none');
    expect(groups.map((rows) => rows.length)).toEqual([7, 1]);
    expect(groups[0]?.[0]).toEqual([
      'MCP',
      '20/22',
      '60.00',
      '58.50',
      '-1.50',
      '-3.50 to +0.50',
      '0.0100',
      '5/6/9',
      '3.10',
    ]);
    expect(groups[1]?.[0]?.slice(0, 2)).toEqual(['Overall', '140/154']);
    expect(groups[1]?.[0]?.[6]).toBe('0.0100');
    const shown = page(['web']).comparison;
    const holding = {
      ...shown,
      domains: shown.domains.map((each) => ({ ...each, figures: { total: difference(-3, { adjustedP: 0.04 }) } })),
    };
    expect(differenceTable(holding, 'none').groups[0]?.[0]?.[6]).toBe('0.0100*');
  });

  it('says what of it is adjusted, in text and in JSON', () => {
    expect(differenceTable(page().comparison, 'none').footnotes[1]).toContain('Both are of each line taken alone; *');
    expect(JSON.parse(COMPARISON_FORMATS.json(page())).adjusted).toMatchObject({ interval: 'none', p: 'none' });
  });

  it('says why a line has no interval, and only where one has none', () => {
    const note = expect.stringContaining('No interval: fewer than 5 trajectories');
    const { comparison } = page();
    const { low: _low, high: _high, ...bare } = difference(1).difference;
    expect(differenceTable(comparison, 'none').footnotes).not.toContainEqual(note);
    const overall = { total: difference(1, { difference: bare }) };
    expect(differenceTable({ ...comparison, overall }, 'none').footnotes).toContainEqual(note);
  });

  it('answers the second question where repeats allow it: about these very rows', () => {
    const fixed = { value: -1.5, rows: 20, clusters: 10, se: 0.5, df: 40, low: -2.5, high: -0.5 };
    const { comparison } = page();
    const repeated = { ...comparison, overall: { total: difference(-1.5, { onTheseRows: fixed }) } };
    expect(differenceTable(repeated, 'none').footnotes).toContain(
      'On this very benchmark, where the rows are fixed and sampling alone varies: Overall -1.50, 95 % -2.50 to -0.50.',
    );
    const json = JSON.parse(COMPARISON_FORMATS.json(page(DOMAINS, { comparison: repeated })));
    expect(json.overall.total.on_these_rows).toEqual({ low: -2.5, high: -0.5, se: 0.5, df: 40 });
    expect(json.domains.mcp.total.on_these_rows).toBeNull();
  });

  it('has no Overall of fewer domains, nor of seven others', () => {
    const nameOf = (domains: readonly string[]) =>
      differenceTable(page(domains).comparison, 'none').groups[1]?.[0]?.[0];
    expect(nameOf(['web', 'os'])).toBe('macro of 2');
    expect(nameOf([...DOMAINS.slice(1), 'other'])).toBe('macro of 7');
  });

  it('leaves a figure that nobody has empty, and adds dimensions where they are asked for', () => {
    const { groups } = differenceTable(page(['web']).comparison, 'all');
    expect(groups.map((rows) => rows.length)).toEqual([1, 1, 5, 1, 1, 1, 1, 1]);
    expect(groups[2]?.[0]).toEqual(['format', '20/22', '-', '-', '-', '-', '-', '-', '-']);
  });

  it.each([
    [0, '0.00'],
    [-0.001, '0.00'],
    [0.001, '0.00'],
    [1, '+1.00'],
    [-1.239, '-1.24'],
  ])('%d is written %s', (value, text) => {
    expect(signed(value)).toBe(text);
  });

  it('a p that is all but 0 is a bound', () => {
    const overall = { total: unadjusted(difference(1, { p: 0.00001 })) };
    expect(differenceTable({ ...page().comparison, overall }, 'none').groups[1]?.[0]?.[6]).toBe('<0.0001');
  });
});

describe('the opening sentence', () => {
  const about = (total: Difference, domains: readonly string[] = DOMAINS) => {
    const shown = page(domains);
    return openingOf({ ...shown, comparison: { ...shown.comparison, overall: { total } } });
  };
  const bare = ({
    difference: { value, rows, clusters },
    smallestEffect: _,
    p: _p,
    ...rest
  }: Difference): Difference => ({
    ...rest,
    difference: { value, rows, clusters },
  });

  it.each<[string, Difference, string]>([
    ['better', difference(8.9), 'new is better than old by 8.90 points (95 % interval 6.90 to 10.90; 140/154 rows).'],
    ['worse', difference(-8.9), 'new is worse than old by 8.90 points (95 % interval 6.90 to 10.90; 140/154 rows).'],
    [
      'open',
      difference(1.5),
      'new and old cannot be told apart: +1.50 points (95 % interval -0.50 to +3.50; 140/154 rows); a true 3.10 would have shown, with 80 % power.',
    ],
    [
      'of too few trajectories',
      bare(difference(9.34)),
      'new scores 9.34 points more than old (140/154 rows); whether by more than chance, so few trajectories cannot say.',
    ],
    ['the same', difference(0, { wins: 0, losses: 0 }), 'new and old score alike on every row (140/154 rows).'],
  ])('says %s', (_what, total, sentence) => {
    expect(about(total)).toBe(sentence);
  });

  it('says of how many domains it is where that is not Overall', () => {
    expect(about(difference(8.9), ['web', 'os'])).toContain('(95 % interval 6.90 to 10.90; macro of 2; 40/44 rows)');
  });

  it('opens each form, broken between words at the width', () => {
    const name = 'a-checkpoint-of-a-long-name-in-which-nothing-may-be-broken';
    const text = COMPARISON_FORMATS.terminal(page(DOMAINS, { candidate: { name, source: '/' } }), {
      columns: 60,
      color: false,
    });
    expect(text.split('\n')[0]).toBe(name);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(COMPARISON_FORMATS.md(page())).toContain('**new and old cannot be told apart: ');
    expect(JSON.parse(COMPARISON_FORMATS.json(page())).summary).toMatch(/^new and old cannot be told apart/);
  });
});

describe('formats', () => {
  it('terminal says who against whom, the notes, and why rows moved', () => {
    const text = COMPARISON_FORMATS.terminal(page(), look);
    expect(text.replace(/\n/g, ' ')).toMatch(
      /^new and old cannot be told apart: -1\.50 points \(95 % interval -3\.50 to \+0\.50; 140\/154 rows\); a true 3\.10 would have shown, with 80 % power\. judge j, rubric pack bundled A note\. /,
    );
    expect(text).toContain('-75.00  100.00 -> 25.00  Web, turn 3, row k1\n          now: it made up a price\n');
  });

  it('CSV has a line for each figure there is, unrounded, and no formula', () => {
    const lines = COMPARISON_FORMATS.csv(page(['=evil()', 'web'])).split('\r\n');
    expect(lines[0]).toMatch(/^domain,figure,rows,compared,base,candidate,difference,low,high,se,df,p,p_adjusted,/);
    expect(lines[1]).toMatch(/^'=evil\(\),total,22,20,60,58.5,-1.5,-3.5,0.5,1,9,0.01,0.07,5,6,9,3.1$/);
    expect(lines.slice(2).map((line) => line.split(',')[0])).toEqual(['web', 'overall', '']);
  });

  it('JSON holds all of it', () => {
    const found = JSON.parse(COMPARISON_FORMATS.json(page()));
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
    const text = COMPARISON_FORMATS.md(
      page(DOMAINS, {
        candidate: { name: hostile, source: '/' },
        weaknesses: new Map([['k1', hostile]]),
        notes: [hostile],
      }),
    );
    expect(text.replace(/\\./g, '')).not.toMatch(/[<>]|\]\(/);
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toHaveLength(2);
  });
});
