// A comparison of two runs as people read it: its table, the rows that moved most, and a text in each format.

import type { Comparison, Difference, Figure } from '../../core/comparison.js';
import { asciiJson } from '../../core/document.js';
import { domainName } from '../../core/domains.js';
import { intervalText, signed, twoDecimals } from '../../core/figures.js';
import { oneLine, shortened } from '../../core/printable.js';
import { type Column, NONE, type OutputFormat, type Table, withoutIntervalNote } from '../../core/table.js';
import { bold, type Look, legendOf, type MarkedTable, type Tone, terminal, wrapped } from '../../core/terminal.js';
import { DIMENSIONS } from '../../core/types.js';
import { csvText } from '../formats/csv.js';
import { markdownTable, markdownText } from '../formats/markdown.js';
import { trustTexts } from '../trust.js';
import { varianceText } from '../variance.js';
import {
  type ComparisonView,
  comparisonDocument,
  openingOf,
  overallName,
  rowsOfMean,
  rowsText,
  TOTAL_FIRST,
} from './document.js';

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
    `### ${markdownText(`${candidate.name} against ${base.name}`)}`,
    '',
    `**${markdownText(openingOf(view))}**`,
    '',
    ...(words === undefined ? [] : [markdownText(words), '']),
    ...[...trustTexts(base.trust, candidate.trust), ...notes].flatMap((note) => [markdownText(note), '']),
    markdownTable(table),
    ...(comparison.moved.length === 0 ? [] : ['#### Rows that moved most', '', markdownTable(moved)]),
  ].join('\n');
}

/** A line for each domain and figure, Overall's under the domain `overall`; the rows compared are those of the figure. Unrounded. */
function csv({ comparison }: ComparisonView): string {
  const whole = { domain: 'overall', rows: rowsOfMean(comparison), figures: comparison.overall };
  const lines = [...comparison.domains, whole].flatMap((set) =>
    TOTAL_FIRST.flatMap((figure) => {
      const found = set.figures[figure];
      if (found === undefined) return [];
      const { value, low, high, se, df, rows } = found.difference;
      const { base, candidate, wins, ties, losses, p, adjustedP, smallestEffect } = found;
      const estimate = [set.domain, figure, set.rows, rows, base, candidate, value, low, high, se, df];
      return [[...estimate, p, adjustedP, wins, ties, losses, smallestEffect]];
    }),
  );
  const estimate = [
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
  return csvText([[...estimate, 'p', 'p_adjusted', 'wins', 'ties', 'losses', 'smallest_effect'], ...lines]);
}

/** Judge and rubric pack on one line; undefined where neither is known. */
function judgedWith({ base }: ComparisonView): string | undefined {
  const parts = [base.judge && `judge ${base.judge}`, base.rubricPack && `rubric pack ${base.rubricPack}`];
  const words = parts.filter((part) => part !== undefined && part !== '').join(', ');
  return words === '' ? undefined : oneLine(words, 200);
}

const COLUMNS: readonly Column[] = [
  { heading: 'Domain', short: 'Domain', align: 'left' },
  { heading: 'Rows', short: 'Rows', align: 'right' },
  { heading: 'Base', short: 'Base', align: 'right' },
  { heading: 'Candidate', short: 'Cand.', align: 'right' },
  { heading: 'Difference', short: 'Diff.', align: 'right' },
  { heading: '95 % interval', short: '95 %', align: 'right' },
  { heading: 'p', short: 'p', align: 'right' },
  { heading: 'Won/tied/lost', short: 'W/T/L', align: 'right' },
  { heading: 'Detectable', short: 'Det.', align: 'right' },
];

/** A p below this is written as a bound. */
const LEAST_P = 0.0001;
/** A domain shows a difference where its p, adjusted for all domains, is below this. */
const SHOWN_P = 0.05;

/**
 * The table of differences: a row per domain, then Overall; with `dimensions` also Overall's five, or each domain's too.
 * Points of 0-100 with two decimals.
 */
export function differenceTable(comparison: Comparison, dimensions: 'none' | 'overall' | 'all'): MarkedTable {
  const { domains, overall } = comparison;
  const name = overallName(comparison);
  const rows = rowsOfMean(comparison);
  const ofDomain = (figure: Figure) =>
    domains.map((each): Line => {
      const domain = domainName(each.domain);
      return {
        name: figure === 'total' ? domain : `${domain} ${figure}`,
        rows: each.rows,
        found: each.figures[figure],
      };
    });
  const lines: Line[][] = [
    ofDomain('total'),
    [{ name, rows, found: overall.total }],
    ...(dimensions === 'none' ? [] : [DIMENSIONS.map((figure) => ({ name: figure, rows, found: overall[figure] }))]),
    ...(dimensions === 'all' ? DIMENSIONS.map(ofDomain) : []),
  ];
  return {
    columns: COLUMNS,
    groups: lines.map((group) => group.map(differenceRow)),
    toneOf: (group, row, column) => (TONED.includes(column) ? toneOf(lines[group]?.[row]?.found) : undefined),
    footnotes: [
      ...(lines.flat().some(({ found }) => isStarred(found)) ? ['*: p holds among all domains, too (Holm).'] : []),
      ...fixedNote(name, overall.total),
      ...varianceNote(comparison),
    ],
    legend: [
      'Rows: rated in both runs, of those that either chose (one number where all are). Base and Candidate: scores on these rows, with empty, refused and confusing predictions at rating 1.',
      '95 %: interval of the paired difference for new rows like these, clustered by trajectory. p: permutation test by trajectory. Both are of each line taken alone; * where the p adjusted for all domains is below 0.05, too. Detectable: the smallest true difference that these rows would have shown, with 80 % power.',
      ...withoutIntervalNote(
        [...domains.map(({ figures }) => figures.total), overall.total].map((found) => found?.difference),
      ),
      'A domain in which every row differs alike may hide others: Overall allows for as many as its trajectories leave open.',
      ...(name === 'Overall' ? [] : [`${name}: mean of the domains; Overall needs all seven and no other.`]),
    ],
  };
}

/** What repeats say of these very rows, in one line. */
function fixedNote(name: string, total: Difference | undefined): string[] {
  const fixed = total?.onTheseRows;
  if (fixed === undefined) return [];
  return [
    `On this very benchmark, where the rows are fixed and sampling alone varies: ${name} ${signed(fixed.value)}, 95 % ${intervalText(fixed, signed) ?? NONE}.`,
  ];
}

/** What the variance of the difference is made of, where both runs repeated something. */
function varianceNote({ domains, overall }: Comparison): string[] {
  const parts = domains.flatMap(({ figures }) => figures.total?.split ?? []);
  const text = varianceText(overall.total?.split, parts);
  return text === undefined ? [] : [`Variance of the difference: ${text}.`];
}

/** A line of the table: what it is called, and of how many rows it could be. */
interface Line {
  readonly name: string;
  readonly rows: number;
  readonly found: Difference | undefined;
}

/** The columns that tell a difference. */
const TONED = ['Difference', '95 % interval'].map((heading) =>
  COLUMNS.findIndex((column) => column.heading === heading),
);

/** Whether the candidate is shown to be better or worse. */
function toneOf(found: Difference | undefined): Tone | undefined {
  const { low = 0, high = 0 } = found?.difference ?? {};
  if (low > 0) return 'good';
  return high < 0 ? 'bad' : undefined;
}

function differenceRow({ name, rows, found }: Line): string[] {
  if (found === undefined) return [name, rowsText(0, rows), ...COLUMNS.slice(2).map(() => NONE)];
  const { difference, base, candidate, wins, ties, losses, p, smallestEffect } = found;
  return [
    name,
    rowsText(difference.rows, rows),
    twoDecimals(base),
    twoDecimals(candidate),
    signed(difference.value),
    intervalText(difference, signed) ?? NONE,
    `${chanceText(p)}${isStarred(found) ? '*' : ''}`,
    `${wins}/${ties}/${losses}`,
    smallestEffect === undefined ? NONE : twoDecimals(smallestEffect),
  ];
}

function isStarred(found: Difference | undefined): boolean {
  return found?.adjustedP !== undefined && found.adjustedP < SHOWN_P;
}

function chanceText(p: number | undefined): string {
  if (p === undefined) return NONE;
  return p < LEAST_P ? `<${LEAST_P}` : p.toFixed(4);
}
