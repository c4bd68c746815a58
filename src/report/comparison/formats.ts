// A comparison of two runs -> its table, the rows that moved most, and a text in each format.

import { domainName } from '../../domains.js';
import { signed, twoDecimals } from '../../figures.js';
import { oneLine, shortened } from '../../printable.js';
import { csvText } from '../formats/csv.js';
import { asciiJson } from '../formats/json.js';
import { markdownTable, markdownText } from '../formats/markdown.js';
import type { OutputFormat } from '../output-format.js';
import type { Table } from '../table.js';
import { bold, type Look, legendOf, terminal, wrapped } from '../terminal.js';
import { trustTexts } from '../trust.js';
import { comparisonDocument, TOTAL_FIRST } from './json.js';
import { differenceTable } from './table.js';
import { type ComparisonView, headingOf, judgedWith, openingOf, rowsOfMean } from './view.js';

/** A comparison in each format. Whatever its texts hold, they stay text. */
export const COMPARISON_FORMATS = {
  terminal: { endings: [], print: terminalText },
  md: { endings: ['.md'], print: markdown },
  json: { endings: ['.json'], print: (view) => `${asciiJson(comparisonDocument(view))}\n` },
  csv: { endings: ['.csv'], print: csv },
} satisfies Record<string, OutputFormat<ComparisonView, Look>>;

function terminalText(view: ComparisonView, look: Look): string {
  const { base, candidate, comparison, notes } = view;
  const table = differenceTable(comparison, view.dimensions ? 'all' : 'overall');
  const text = (line: string | undefined) => (line === undefined ? [] : wrapped(line, look.columns));
  const opening = text(openingOf(view)).map((line) => bold(line, look));
  const blocks = [
    `${[...opening, ...[judgedWith(view), ...trustTexts(base.trust, candidate.trust), ...notes].flatMap(text)].join('\n')}\n`,
    terminal(table, look),
  ];
  if (comparison.moved.length > 0) {
    const how = wrapped(HOW_TO_READ_ONE, look.columns).join('\n');
    blocks.push(`Rows that moved most:\n${movedLines(view, look.columns)}${how}\n`);
  }
  return [...blocks, legendOf(table.legend ?? [], look)].join('\n');
}

/** Says what the rows' keys are for. */
const HOW_TO_READ_ONE =
  'To read one: awb report --run CANDIDATE --compare BASE -o report.html, then open report.html#row=KEY.';

function movedLines({ comparison, weaknesses }: ComparisonView, columns: number): string {
  return comparison.moved
    .map((row) => {
      const figures = `${signed(row.difference).padStart(8)}  ${twoDecimals(row.base)} -> ${twoDecimals(row.candidate)}`;
      const why = weaknesses.get(row.key);
      const reason = why === undefined ? '' : `          ${shortened(why, Math.max(20, columns - 10))}\n`;
      return `${figures}  ${domainName(row.domain)}, turn ${row.turnIdx}, row ${oneLine(row.key, 40)}\n${reason}`;
    })
    .join('');
}

function markdown(view: ComparisonView): string {
  const { base, candidate, comparison, weaknesses, notes } = view;
  const table = differenceTable(comparison, view.dimensions ? 'all' : 'overall');
  const words = judgedWith(view);
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
    `### ${markdownText(headingOf(view))}`,
    '',
    `**${markdownText(openingOf(view))}**`,
    '',
    ...(words === undefined ? [] : [markdownText(words), '']),
    ...[...trustTexts(base.trust, candidate.trust), ...notes].flatMap((note) => [markdownText(note), '']),
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

/** A line for each domain and figure, Overall's under the domain `overall`; the rows compared are those of the figure. Unrounded. */
function csv({ comparison }: ComparisonView): string {
  const whole = { domain: 'overall', rows: rowsOfMean(comparison), figures: comparison.overall };
  const sets = [...comparison.domains, whole];
  const lines = sets.flatMap((set) =>
    TOTAL_FIRST.flatMap((figure) => {
      const found = set.figures[figure];
      if (found === undefined) return [];
      const { value, low, high, se, df, rows } = found.difference;
      const { base, candidate, wins, ties, losses, p, adjustedP, smallestEffect } = found;
      const estimate = [set.domain, figure, set.rows, rows, base, candidate, value, low, high, se, df];
      return [[...estimate, p, adjustedP, wins, ties, losses, smallestEffect]];
    }),
  );
  const head = [...CSV_FIELDS, 'p', 'p_adjusted', 'wins', 'ties', 'losses', 'smallest_effect'];
  return csvText([head, ...lines]);
}
