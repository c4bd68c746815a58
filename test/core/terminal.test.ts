// Tables in a terminal: within its width, and nothing of them lost.

import { describe, expect, it } from 'vitest';
import type { CellTable } from '../../src/core/table.js';
import { terminal } from '../../src/core/terminal.js';
import { DOMAINS } from '../../src/core/types.js';
import { differenceTable } from '../../src/report/comparison.js';
import { scoreTable } from '../../src/report/score-table.js';
import { comparisonView, difference } from '../support/comparison-views.js';
import { domainScore, scoreCard } from '../support/score-cards.js';

const published = DOMAINS.map((name, index) => domainScore(name, 40 + index));
const plain = (table: CellTable | undefined, columns = 80) => terminal(table as CellTable, { columns, color: false });
const lineOf = (text: string, start: string) => text.split('\n').find((line) => line.startsWith(start));

/** A difference of the middle of its interval. */
function withInterval(low: number, high: number) {
  const found = difference((low + high) / 2);
  return { ...found, difference: { ...found.difference, low, high } };
}

describe('in a terminal', () => {
  const perfect = scoreCard(DOMAINS.map((name) => domainScore(name, 100)));

  it.each([24, 40, 60, 79, 80, 100, 120, 200])('every line fits %i columns', (columns) => {
    for (const shown of [scoreCard(published), perfect]) {
      const widths = plain(scoreTable(shown), columns)
        .split('\n')
        .map((line) => line.length);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
  });

  it('the usual table fits in one piece in 80 columns, and with full headings in 120', () => {
    const narrow = plain(scoreTable(scoreCard(published)), 80);
    expect(narrow.match(/^Domain/gm)).toHaveLength(1);
    expect(lineOf(narrow, 'Overall')).toMatch(/46\.00–54\.00\s+50\.00$/);
    const wide = plain(scoreTable(scoreCard(published)), 120);
    expect(wide).toMatch(/Factuality {2}Consistency/);
  });

  it('headings stand in full where there is room for them, each for itself', () => {
    const [heads] = plain(scoreTable(scoreCard(published)), 90).split('\n');
    expect(heads).toMatch(/^Domain +Predictions +Format .*\bOfficial$/);
    expect(plain(scoreTable(scoreCard(published)), 300)).toMatch(/^Domain .*95 % interval {2}Official$/m);
  });

  it('columns that do not fit follow below, none is lost', () => {
    const text = plain(scoreTable(scoreCard(published)), 40);
    for (const heading of [/Pred/, /Form/, /Fact/, /Cons/, /Real/, /Qual/, /Total/, /95 %/, /Official/]) {
      expect(text.split('\n').filter((line) => line.startsWith('Domain') && heading.test(line))).toHaveLength(1);
    }
    expect(text.match(/^Android/gm)?.length).toBeGreaterThan(1);
  });

  it('differences are green, red or plain by their intervals, and no meaning depends on colour alone', () => {
    const { comparison } = comparisonView();
    const of = (low: number, high: number) => ({ ...comparison, overall: { total: withInterval(low, high) } });
    const line = (low: number, high: number, color: boolean) =>
      terminal(differenceTable(of(low, high)), { columns: 100, color })
        .split('\n')
        .find((text) => text.startsWith('Overall') || text.startsWith('macro'));
    expect(line(0.5, 2, true)).toContain('\x1b[32m+');
    expect(line(-2, -0.5, true)).toContain('\x1b[31m-');
    expect(line(-1, 1, true)).not.toMatch(/\x1b\[3[12]m/);
    expect(line(-2, -0.5, true)?.replace(/\x1b\[\d+m/g, '')).toBe(line(-2, -0.5, false));
  });

  it('colours are used only when asked for', () => {
    const table = scoreTable(scoreCard(published)) as CellTable;
    const colored = terminal(table, { columns: 80, color: true });
    expect(plain(table)).not.toContain('\x1b');
    expect(colored).toContain('\x1b[');
    expect(colored.replace(/\x1b\[\d+m/g, '')).toBe(plain(table));
  });

  it('names from the file cannot steer the terminal or burst the table', () => {
    const text = plain(scoreTable(scoreCard([domainScore(`\x1b]52;c;aGk=\x07\u202eevil\r\n${'x'.repeat(99)}`, 50)])));
    expect(text).not.toMatch(/[\x1b\x07\r\u202e]/);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});
