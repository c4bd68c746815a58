// Tables of score cards, and how they look in a terminal.

import { describe, expect, it } from 'vitest';
import { measureTable, overallName, scoreTable, type Table } from '../../src/report/table.js';
import { terminal } from '../../src/report/terminal.js';
import { DOMAINS, type DomainScore, type Estimate, type ScoreCard, type ScoreSet } from '../../src/types.js';

const estimate = (value: number): Estimate => ({
  value,
  rows: 9,
  clusters: 3,
  se: 1,
  df: 2,
  low: value - 4,
  high: value + 4,
});

const scores = (value: number): ScoreSet => ({
  format: estimate(value),
  factuality: estimate(value),
  consistency: estimate(value),
  realism: estimate(value),
  quality: estimate(value),
  total: estimate(value),
});

function domain(name: string, value: number | undefined, measures: DomainScore['measures'] = {}): DomainScore {
  const set = value === undefined ? {} : scores(value);
  return {
    domain: name,
    chosen: 472,
    valid: 470,
    failed: 2,
    failures: {},
    coverage: 470 / 472,
    scores: set,
    withFailures: set,
    measures,
    flags: {},
  };
}

function card(domains: readonly DomainScore[], measures: DomainScore['measures'] = {}): ScoreCard {
  const scored = domains.filter((score) => score.scores.total !== undefined);
  const set = scored.length === 0 ? {} : scores(50);
  return {
    domains,
    overall: set,
    macroOf: scored.length,
    overallMicro: set,
    overallWithFailures: set,
    overallMeasures: measures,
    chosen: 2170,
    valid: 2100,
    failed: 70,
    coverage: 0.9,
  };
}

const published = DOMAINS.map((name, index) => domain(name, 40 + index));
const plain = (table: Table | undefined, columns = 80) => terminal(table as Table, { columns, color: false });
const lineOf = (text: string, start: string) => text.split('\n').find((line) => line.startsWith(start));

describe('the name of the mean over domains', () => {
  it.each([
    ['Overall', 'the seven published domains', published],
    ['macro of 6', 'six of them', published.slice(1)],
    ['macro of 8', 'the seven and another', [...published, domain('robotics', 50)]],
    ['macro of 7', 'six and another', [...published.slice(1), domain('robotics', 50)]],
    ['macro of 6', 'seven of which one has no score', [...published.slice(1), domain('mcp', undefined)]],
  ])('is %s for %s', (name, _of, domains) => {
    expect(overallName(card(domains))).toBe(name);
  });
});

describe('the table of ratings', () => {
  it('has a row per domain, the mean over domains and the mean over samples', () => {
    const names = scoreTable(card(published))?.groups.map((rows) => rows.map((row) => row[0]));
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
    expect(lineOf(plain(scoreTable(card([domain('mcp', value)]))), 'MCP')).toContain(` ${text} `);
  });

  it('shows what has no figure as such, never as 0', () => {
    const text = plain(scoreTable(card([domain('mcp', undefined), domain('swe', 50)])));
    expect(lineOf(text, 'MCP')?.split(/\s+/)).toEqual(['MCP', '470/472', ...Array(8).fill('-')]);
  });

  it('is there for rows that all failed, and not for rows that were only measured', () => {
    expect(scoreTable(card([domain('mcp', undefined)]))).toBeDefined();
    expect(scoreTable(card([domain('mcp', undefined, { chrf: estimate(3) })]))).toBeUndefined();
  });
});

describe('the table of measures', () => {
  it('has a column per measure, apart from the ratings', () => {
    const text = plain(
      measureTable(
        card([domain('mcp', 50, { chrf: estimate(12.345), exact: estimate(0) })], { chrf: estimate(12.345) }),
      ),
    );
    expect(lineOf(text, 'MCP')?.split(/\s+/)).toEqual(['MCP', '9', '12.35', '0.00']);
    expect(lineOf(text, 'macro of 1')?.split(/\s+/)).toEqual(['macro', 'of', '1', '9', '12.35', '-']);
  });

  it('is left out where nothing was measured', () => {
    expect(measureTable(card(published))).toBeUndefined();
  });
});

describe('in a terminal', () => {
  const perfect = card(DOMAINS.map((name) => domain(name, 100)));

  it.each([24, 40, 60, 79, 80, 100, 120, 200])('every line fits %i columns', (columns) => {
    for (const shown of [card(published), perfect]) {
      const widths = plain(scoreTable(shown), columns)
        .split('\n')
        .map((line) => line.length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
  });

  it('the usual table stands in one piece in 80 columns, and in whole words in 120', () => {
    const narrow = plain(scoreTable(card(published)), 80);
    expect(narrow.match(/^Domain/gm)).toHaveLength(1);
    expect(lineOf(narrow, 'Overall')).toMatch(/46\.00–54\.00\s+50\.00$/);
    const wide = plain(scoreTable(card(published)), 120);
    expect(wide).toMatch(/Factuality {2}Consistency/);
  });

  it('headings stand in full where there is room for them, each for itself', () => {
    const [heads] = plain(scoreTable(card(published)), 84).split('\n');
    expect(heads).toMatch(/^Domain +Valid rows {2}Format .*\bw\.fail$/);
    expect(plain(scoreTable(card(published)), 300)).toMatch(/^Domain .*95 % interval {2}With failures$/m);
  });

  it('columns that do not fit follow below, none is lost', () => {
    const text = plain(scoreTable(card(published)), 40);
    for (const heading of [/Valid/, /Form/, /Fact/, /Cons/, /Real/, /Qual/, /Total/, /95 %/, /w\.fail|With failures/]) {
      expect(text.split('\n').filter((line) => line.startsWith('Domain') && heading.test(line))).toHaveLength(1);
    }
    expect(text.match(/^Android/gm)?.length).toBeGreaterThan(1);
  });

  it('colours are used only when asked for', () => {
    const table = scoreTable(card(published)) as Table;
    const colored = terminal(table, { columns: 80, color: true });
    expect(plain(table)).not.toContain('\x1b');
    expect(colored).toContain('\x1b[');
    expect(colored.replace(/\x1b\[\d+m/g, '')).toBe(plain(table));
  });

  it('names from the file cannot steer the terminal or burst the table', () => {
    const text = plain(scoreTable(card([domain(`\x1b]52;c;aGk=\x07\u202eevil\r\n${'x'.repeat(99)}`, 50)])));
    expect(text).not.toMatch(/[\x1b\x07\r\u202e]/);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});
