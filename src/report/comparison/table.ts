// The table of differences between two runs.

import type { Comparison, Difference, Figure } from '../../comparison.js';
import { domainName } from '../../domains.js';
import { intervalText, signed, twoDecimals } from '../../figures.js';
import { DIMENSIONS } from '../../types.js';
import { type Column, NONE, withoutIntervalNote } from '../table.js';
import type { MarkedTable, Tone } from '../terminal.js';
import { varianceText } from '../variance.js';
import { overallName, rowsOfMean, rowsText } from './view.js';

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
