// Tables of score cards.

import { describe, expect, it } from 'vitest';
import type { CellTable } from '../../src/core/table.js';
import { terminal } from '../../src/core/terminal.js';
import { DOMAINS } from '../../src/core/types.js';
import { measureTable, overallName, scoreTable } from '../../src/report/score-table.js';
import { measureOf } from '../support/measures.js';
import { domainScore, estimate, scoreCard } from '../support/score-cards.js';

const published = DOMAINS.map((name, index) => domainScore(name, 40 + index));
const plain = (table: CellTable | undefined, columns = 80) => terminal(table as CellTable, { columns, color: false });
const lineOf = (text: string, start: string) => text.split('\n').find((line) => line.startsWith(start));

describe('the name of the mean over domains', () => {
  it.each([
    ['Overall', 'the seven published domains', published],
    ['macro of 6', 'six of them', published.slice(1)],
    ['Overall', 'the seven and another beside them', [...published, domainScore('robotics', 50)]],
    ['macro of 7', 'six and another', [...published.slice(1), domainScore('robotics', 50)]],
    ['macro of 6', 'seven of which one has no score', [...published.slice(1), domainScore('mcp', undefined)]],
  ])('is %s for %s', (name, _of, domains) => {
    expect(overallName(scoreCard(domains))).toBe(name);
  });
});

describe('the table of ratings', () => {
  it('has a row per domain, the mean over domains and the mean over samples', () => {
    const names = scoreTable(scoreCard(published))?.groups.map((rows) => rows.map((row) => row[0]));
    expect(names).toEqual([
      ['MCP', 'Search', 'Terminal', 'SWE', 'Android', 'Web', 'OS'],
      ['Overall', 'micro'],
    ]);
  });

  it.each([
    [40.625, '40.62'],
    [65.625, '65.62'],
    [34.375, '34.38'],
    [21.875, '21.88'],
    [0.125, '0.12'],
    [2.675, '2.67'],
    [100, '100.00'],
    [55.00000000000001, '55.00'],
    [-25, '-25.00'],
    [-0.125, '-0.12'],
  ])('prints %d as the official script does: %s', (value, text) => {
    expect(lineOf(plain(scoreTable(scoreCard([domainScore('mcp', value)]))), 'MCP')).toContain(` ${text} `);
  });

  it('shows a missing figure as missing, never as 0', () => {
    const text = plain(scoreTable(scoreCard([domainScore('mcp', undefined), domainScore('swe', 50)])));
    expect(lineOf(text, 'MCP')?.split(/\s+/)).toEqual(['MCP', '470/472', ...Array(8).fill('-')]);
  });

  it('is shown for rows that all failed, and not for rows that were only measured', () => {
    expect(scoreTable(scoreCard([domainScore('mcp', undefined)]))).toBeDefined();
    expect(scoreTable(scoreCard([domainScore('mcp', undefined, { chrf: estimate(3) })]))).toBeUndefined();
  });
});

describe('the table of measures', () => {
  it('has a column per measure, apart from the ratings', () => {
    const text = plain(
      measureTable(
        scoreCard([domainScore('mcp', 50, { chrf: estimate(12.345), exact: estimate(0), line_f1: estimate(7) })], {
          chrf: estimate(12.345),
        }),
        measureOf,
      ),
    );
    expect(lineOf(text, 'MCP')?.split(/\s+/)).toEqual(['MCP', '9', '12.35', '0.00', '7.00']);
    expect(lineOf(text, 'macro')?.split(/\s+/)).toEqual(['macro', '9', '12.35', '-', '-']);
  });

  it('has an interval next to each of one or two measures, by domain and overall', () => {
    const both = { win_rate: estimate(50), other: { value: 40, rows: 9, clusters: 2 } };
    const text = plain(
      measureTable(scoreCard([domainScore('mcp', undefined, both)], { win_rate: estimate(60) }), measureOf),
    );
    expect(lineOf(text, 'MCP')?.split(/\s+/)).toEqual(['MCP', '9', '50.00', '46.00–54.00', '40.00', '-']);
    expect(lineOf(text, 'macro')?.split(/\s+/)).toEqual(['macro', '9', '60.00', '56.00–64.00', '-', '-']);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('says what the numbers mean for each measure that does not range from 0 to 100', () => {
    const measures = { chrf: estimate(50), bits_a_byte: estimate(1.25), taken_for_real: estimate(48) };
    const table = measureTable(scoreCard([domainScore('mcp', undefined, measures)], measures), measureOf);
    expect(table?.legend).toEqual([
      'Measures are not ratings; 0-100 unless stated otherwise. A mean (macro) is over the domains that have the measure.',
    ]);
    expect(table?.footnotes).toEqual(['bits_a_byte: 0 or more, smaller is better; taken_for_real: 0-100, best at 50.']);
    const texts = table?.groups[0]?.[0]?.map((cell) => (typeof cell === 'string' ? cell : cell.text));
    expect(texts).toEqual(['MCP', '9', '50.00', '1.25', '48.00']);
  });

  it('is omitted if nothing was measured', () => {
    expect(measureTable(scoreCard(published), measureOf)).toBeUndefined();
  });
});
