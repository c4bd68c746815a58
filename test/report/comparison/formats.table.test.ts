// The table of differences between two runs.

import { describe, expect, it } from 'vitest';
import { signed } from '../../../src/core/printable.js';
import { partsOf } from '../../../src/core/table.js';
import { DOMAINS } from '../../../src/core/types.js';
import { COMPARISON_FORMATS, differenceTable } from '../../../src/report/comparison.js';
import { comparisonView, difference, unadjusted } from '../../support/comparison-views.js';

describe('the table', () => {
  it('has a row per domain and Overall, with the p of the interval and a mark if the difference holds among all domains', () => {
    const { groups } = differenceTable(comparisonView().comparison);
    expect(groups.map((rows) => rows.length)).toEqual([7, 1, 5]);
    expect(groups[0]?.[0]?.map((cell) => partsOf(cell).text)).toEqual([
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
    const shown = comparisonView(['web']).comparison;
    const holding = {
      ...shown,
      domains: shown.domains.map((each) => ({ ...each, figures: { total: difference(-3, { pAdjusted: 0.04 }) } })),
    };
    expect(differenceTable(holding).groups[0]?.[0]?.[6]).toBe('0.0100*');
  });

  it('says which figures are adjusted, in text and in JSON', () => {
    expect(differenceTable(comparisonView().comparison).legend?.[1]).toContain('Both apply to each line on its own; *');
    expect(JSON.parse(COMPARISON_FORMATS.json.print(comparisonView())).adjusted).toMatchObject({
      interval: 'none',
      p: 'none',
    });
  });

  it('says why a line may have no interval', () => {
    const { legend } = differenceTable(comparisonView().comparison);
    expect(legend).toContainEqual(expect.stringContaining('No interval: fewer than 5 trajectories'));
  });

  it('answers the second question, about these very rows, if there are repeats', () => {
    const fixed = { value: -1.5, rows: 20, clusters: 10, se: 0.5, df: 40, low: -2.5, high: -0.5 };
    const { comparison } = comparisonView();
    const repeated = { ...comparison, overall: { total: difference(-1.5, { onTheseRows: fixed }) } };
    expect(differenceTable(repeated).footnotes).toContain(
      'On exactly these rows, where only sampling varies: Overall -1.50, 95 % -2.50 to -0.50.',
    );
    const json = JSON.parse(COMPARISON_FORMATS.json.print(comparisonView(DOMAINS, { comparison: repeated })));
    expect(json.overall.total.on_these_rows).toEqual({ low: -2.5, high: -0.5, se: 0.5, df: 40 });
    expect(json.domains.mcp.total.on_these_rows).toBeNull();
  });

  it('has no Overall of fewer domains, nor of seven others', () => {
    const nameOf = (domains: readonly string[]) =>
      differenceTable(comparisonView(domains).comparison).groups[1]?.[0]?.[0];
    expect(nameOf(['web', 'os'])).toBe('macro of 2');
    expect(nameOf([...DOMAINS.slice(1), 'other'])).toBe('macro of 7');
  });

  it('leaves an unknown figure empty, and adds dimensions on request', () => {
    const { groups } = differenceTable(comparisonView(['web']).comparison, true);
    expect(groups.map((rows) => rows.length)).toEqual([1, 1, 5, 1, 1, 1, 1, 1]);
    expect(groups[2]?.[0]).toEqual(['format', '0/22', '-', '-', '-', '-', '-', '-', '-']);
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

  it('a p of almost 0 is shown as a bound', () => {
    const overall = { total: unadjusted(difference(1, { p: 0.00001 })) };
    expect(differenceTable({ ...comparisonView().comparison, overall }).groups[1]?.[0]?.[6]).toBe('<0.0001');
  });
});
