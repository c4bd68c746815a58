// A comparison of two runs -> its table, the rows that moved most, and a text in each format.

import { domainName } from '../../domains.js';
import { signed, twoDecimals } from '../../figures.js';
import { oneLine, shortened } from '../../printable.js';
import { csvCell } from '../formats/csv.js';
import { asciiJson } from '../formats/json.js';
import { markdownTable, markdownText } from '../formats/markdown.js';
import type { Table } from '../table.js';
import { bold, type Look, terminal, wrapped } from '../terminal.js';
import { comparisonDocument, TOTAL_FIRST } from './json.js';
import { type ComparisonPage, headingOf, judgedWith, openingOf } from './page.js';
import { differenceTable } from './table.js';

/** A comparison in each format, ending in a line feed. Whatever its texts hold, they stay text. */
export const COMPARISON_FORMATS = {
  terminal: terminalPage,
  md: markdownPage,
  json: (page) => `${asciiJson(comparisonDocument(page))}\n`,
  csv,
} satisfies Record<string, (page: ComparisonPage, look: Look) => string>;
export type ComparisonFormat = keyof typeof COMPARISON_FORMATS;

function terminalPage(page: ComparisonPage, look: Look): string {
  const { comparison, notes } = page;
  const text = (line: string | undefined) => (line === undefined ? [] : wrapped(line, look.columns));
  const opening = text(openingOf(page)).map((line) => bold(line, look));
  const blocks = [
    `${[...opening, ...[judgedWith(page), ...notes].flatMap(text)].join('\n')}\n`,
    terminal(differenceTable(comparison, page.dimensions ? 'all' : 'overall'), look),
  ];
  if (comparison.moved.length > 0) {
    const how = wrapped(HOW_TO_READ_ONE, look.columns).join('\n');
    blocks.push(`Rows that moved most:\n${movedLines(page, look.columns)}${how}\n`);
  }
  return blocks.join('\n');
}

/** Says what the rows' keys are for. */
const HOW_TO_READ_ONE =
  'To read one: awb report --run CANDIDATE --compare BASE -o report.html, then open report.html#row=KEY.';

function movedLines({ comparison, weaknesses }: ComparisonPage, columns: number): string {
  return comparison.moved
    .map((row) => {
      const figures = `${signed(row.difference).padStart(8)}  ${twoDecimals(row.base)} -> ${twoDecimals(row.candidate)}`;
      const why = weaknesses.get(row.key);
      const reason = why === undefined ? '' : `          ${shortened(why, Math.max(20, columns - 10))}\n`;
      return `${figures}  ${domainName(row.domain)}, turn ${row.turnIdx}, row ${oneLine(row.key, 40)}\n${reason}`;
    })
    .join('');
}

function markdownPage(page: ComparisonPage): string {
  const { comparison, weaknesses, notes } = page;
  const table = differenceTable(comparison, page.dimensions ? 'all' : 'overall');
  const words = judgedWith(page);
  const moved: Table = {
    columns: ['Change', 'Base', 'Candidate', 'Domain', 'Turn', 'Row', 'Why'].map((heading, index) => ({
      heading,
      short: heading,
      align: index < 3 ? 'right' : 'left',
    })),
    groups: [
      comparison.moved.map((row) => [
        signed(row.difference),
        twoDecimals(row.base),
        twoDecimals(row.candidate),
        domainName(row.domain),
        String(row.turnIdx),
        oneLine(row.key, 40),
        shortened(weaknesses.get(row.key) ?? '', 200),
      ]),
    ],
    footnotes: [],
  };
  return [
    `### ${markdownText(headingOf(page))}`,
    '',
    `**${markdownText(openingOf(page))}**`,
    '',
    ...(words === undefined ? [] : [markdownText(words), '']),
    ...notes.flatMap((note) => [markdownText(note), '']),
    markdownTable(table),
    ...(comparison.moved.length === 0 ? [] : ['#### Rows that moved most', '', markdownTable(moved)]),
  ].join('\n');
}

const CSV_FIELDS = [
  'domain',
  'figure',
  'rows',
  'compared',
  'base',
  'candidate',
  'difference',
  'low',
  'high',
  'se',
  'df',
];

/** A line for each domain and figure, Overall's under the domain `overall`. Unrounded. */
function csv({ comparison }: ComparisonPage): string {
  const { rows, compared, overall } = comparison;
  const sets = [...comparison.domains, { domain: 'overall', rows, compared, figures: overall }];
  const lines = sets.flatMap((set) =>
    TOTAL_FIRST.flatMap((figure) => {
      const found = set.figures[figure];
      if (found === undefined) return [];
      const { value, low, high, se, df } = found.difference;
      const { base, candidate, wins, ties, losses, p, adjustedP, smallestEffect } = found;
      const estimate = [set.domain, figure, set.rows, set.compared, base, candidate, value, low, high, se, df];
      return [[...estimate, p, adjustedP, wins, ties, losses, smallestEffect]];
    }),
  );
  const head = [...CSV_FIELDS, 'p', 'p_adjusted', 'wins', 'ties', 'losses', 'smallest_effect'];
  return [head, ...lines].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}
