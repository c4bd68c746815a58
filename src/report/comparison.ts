// A comparison of two runs -> its table, the rows that moved most, and a text in each format.

import type { Comparison, Difference, DifferenceSet, Figure } from '../comparison.js';
import { coversBenchmark, domainName } from '../domains.js';
import { signed, twoDecimals } from '../figures.js';
import { oneLine, shortened } from '../printable.js';
import { DIMENSIONS, type Estimate } from '../types.js';
import { asciiJson, csvCell, markdownText } from './formats.js';
import { type Column, NONE, type Table, withoutIntervalNote } from './table.js';
import { bold, type Look, terminal, wrapped } from './terminal.js';

/** The figures as documents list them. */
const TOTAL_FIRST = ['total', ...DIMENSIONS] as const;

/** A run as a comparison names it. Its texts may be hostile. */
export interface ShownRun {
  readonly name: string;
  readonly source: string;
  readonly judge?: string | undefined;
  readonly rubricPack?: string | undefined;
}

/** Two runs compared, with all that a reader is told of it. */
export interface ComparisonPage {
  readonly base: ShownRun;
  readonly candidate: ShownRun;
  readonly comparison: Comparison;
  /** What two runs share: `equal`, `different` or `unknown`, by what. */
  readonly shared: Readonly<Record<string, string>>;
  /** Why rows moved, by key: what their judge said of the worse side. */
  readonly weaknesses: ReadonlyMap<string, string>;
  readonly notes: readonly string[];
  /** Show each domain's dimensions too; CSV and JSON always hold them. */
  readonly dimensions: boolean;
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

/** Texts in which a figure is below this are written as a bound. */
const LEAST_P = 0.0001;
/** Below this, the p of a domain that is adjusted for all of them shows a difference. */
const SHOWN_P = 0.05;

/**
 * The table of differences: a row per domain, then Overall; with `dimensions` also Overall's five, or each domain's too.
 * Points of 0-100 with two decimals.
 */
export function differenceTable(comparison: Comparison, dimensions: 'none' | 'overall' | 'all'): Table {
  const { domains, overall } = comparison;
  const name = overallName(comparison);
  const whole = rowsText(comparison);
  const ofDomain = (figure: Figure) =>
    domains.map((each) =>
      differenceRow(
        figure === 'total' ? domainName(each.domain) : `${domainName(each.domain)} ${figure}`,
        rowsText(each),
        each.figures[figure],
      ),
    );
  return {
    columns: COLUMNS,
    groups: [
      ofDomain('total'),
      [differenceRow(name, whole, overall.total)],
      ...(dimensions === 'none' ? [] : [DIMENSIONS.map((figure) => differenceRow(figure, whole, overall[figure]))]),
      ...(dimensions === 'all' ? DIMENSIONS.map(ofDomain) : []),
    ],
    footnotes: [
      'Rows: rated in both runs, of those that either chose (one number where all are). Base and Candidate: scores on these rows, with empty, refused and planted predictions at rating 1.',
      '95 %: interval of the paired difference for new rows like these, clustered by trajectory. p: permutation test by trajectory. Both are of each line taken alone; * where the p adjusted for all domains (Holm) is below 0.05, too. Detectable: the smallest true difference that these rows would have shown, with 80 % power.',
      ...withoutIntervalNote(
        [...domains.map(({ figures }) => figures.total), overall.total].map((found) => found?.difference),
      ),
      ...fixedNote(name, overall.total),
      ...(name === 'Overall' ? [] : [`${name}: mean of the domains; Overall needs all seven and no other.`]),
    ],
  };
}

/** The second question that repeats answer: about these rows and no others. */
function fixedNote(name: string, total: Difference | undefined): string[] {
  const fixed = total?.onTheseRows;
  if (fixed === undefined) return [];
  return [
    `On this very benchmark, where the rows are fixed and sampling alone varies: ${name} ${signed(fixed.value)}, 95 % ${intervalText(fixed)}.`,
  ];
}

function rowsText({ compared, rows }: { readonly compared: number; readonly rows: number }): string {
  return compared === rows ? String(rows) : `${compared}/${rows}`;
}

/** `Overall` where the seven published domains and no other were compared. */
function overallName({ domains, macroOf }: Comparison): string {
  const compared = domains.filter((each) => each.compared > 0).map(({ domain }) => domain);
  return coversBenchmark(compared) ? 'Overall' : `macro of ${macroOf}`;
}

function differenceRow(name: string, rows: string, found: Difference | undefined): string[] {
  if (found === undefined) return [name, rows, ...COLUMNS.slice(2).map(() => NONE)];
  const { difference, base, candidate, wins, ties, losses, p, adjustedP, smallestEffect } = found;
  return [
    name,
    rows,
    twoDecimals(base),
    twoDecimals(candidate),
    signed(difference.value),
    intervalText(difference),
    `${chanceText(p)}${adjustedP !== undefined && adjustedP < SHOWN_P ? '*' : ''}`,
    `${wins}/${ties}/${losses}`,
    smallestEffect === undefined ? NONE : twoDecimals(smallestEffect),
  ];
}

function intervalText({ low, high }: Estimate): string {
  return low === undefined || high === undefined ? NONE : `${signed(low)} to ${signed(high)}`;
}

function chanceText(p: number | undefined): string {
  if (p === undefined) return NONE;
  return p < LEAST_P ? `<${LEAST_P}` : p.toFixed(4);
}

/** A comparison in each format, ending in a line feed. Whatever its texts hold, they stay text. */
export const COMPARISON_FORMATS = {
  terminal: terminalPage,
  md: markdownPage,
  json: (page) => `${asciiJson(comparisonDocument(page))}\n`,
  csv,
} satisfies Record<string, (page: ComparisonPage, look: Look) => string>;
export type ComparisonFormat = keyof typeof COMPARISON_FORMATS;

/**
 * What came of it, in one sentence: better or worse by how much, or what else is true. Of Overall, or the mean of the domains that
 * there are; without an interval nothing is said about chance.
 */
export function openingOf({ base, candidate, comparison }: ComparisonPage): string {
  const { total } = comparison.overall;
  if (total === undefined) return `Nothing can be said of ${candidate.name} against ${base.name}.`;
  const name = overallName(comparison);
  const over = `${name === 'Overall' ? '' : `${name}; `}${rowsText(comparison)} rows`;
  if (total.wins + total.losses === 0) return `${candidate.name} and ${base.name} score alike on every row (${over}).`;
  const { value, low, high } = total.difference;
  const points = (figure: number) => twoDecimals(Math.abs(figure));
  if (low === undefined || high === undefined) {
    return `${candidate.name} scores ${points(value)} points ${value < 0 ? 'less' : 'more'} than ${base.name} (${over}); whether by more than chance, so few trajectories cannot say.`;
  }
  if (low <= 0 && high >= 0) {
    const least = total.smallestEffect;
    const shown = least === undefined ? '' : `; a true ${points(least)} would have shown, with 80 % power`;
    return `${candidate.name} and ${base.name} cannot be told apart: ${signed(value)} points (95 % interval ${signed(low)} to ${signed(high)}; ${over})${shown}.`;
  }
  const [nearest, furthest] = low > 0 ? [low, high] : [high, low];
  return `${candidate.name} is ${low > 0 ? 'better' : 'worse'} than ${base.name} by ${points(value)} points (95 % interval ${points(nearest)} to ${points(furthest)}; ${over}).`;
}

function headingOf({ base, candidate }: ComparisonPage): string {
  return `${candidate.name} against ${base.name}`;
}

function judgedWith({ base }: ComparisonPage): string | undefined {
  const parts = [base.judge && `judge ${base.judge}`, base.rubricPack && `rubric pack ${base.rubricPack}`];
  const words = parts.filter((part) => part !== undefined && part !== '').join(', ');
  return words === '' ? undefined : oneLine(words, 200);
}

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

/** Keys are of use only where they open something. */
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

/** A table in GitHub's Markdown, its footnotes as a list, ending in an empty line. */
export function markdownTable({ columns, groups, footnotes }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns.map(({ heading }) => markdownText(heading))),
    line(columns.map(({ align }) => (align === 'right' ? '--:' : ':--'))),
    ...groups.flat().map((row) => line(row.map(markdownText))),
    '',
    ...footnotes.map((note) => `- ${markdownText(note)}`),
    ...(footnotes.length === 0 ? [] : ['']),
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

/** The document of `--format json`. Figures are unrounded, and null where there are none. */
function comparisonDocument(page: ComparisonPage) {
  return {
    schema: 'awb.compare/1',
    base: runDocument(page.base),
    candidate: runDocument(page.candidate),
    shared: page.shared,
    summary: openingOf(page),
    notes: page.notes,
    ...differencesDocument(page.comparison, page.weaknesses),
  };
}

export function runDocument({ name, source, judge, rubricPack }: ShownRun) {
  return { name, source, judge: judge ?? null, rubric_pack: rubricPack ?? null };
}

/** The figures of a comparison, as JSON holds them. */
export function differencesDocument(comparison: Comparison, weaknesses: ReadonlyMap<string, string>) {
  const { rows, compared, coverage, macroOf, domains, overall, moved } = comparison;
  return {
    rows,
    compared,
    coverage,
    macro_of: macroOf,
    adjusted: { interval: 'none', p: 'none', p_adjusted: 'holm over the domains, for each figure' },
    overall: setDocument(overall),
    domains: Object.fromEntries(
      domains.map((each) => [
        each.domain,
        {
          rows: each.rows,
          compared: each.compared,
          coverage: each.coverage,
          missing: each.missing,
          ...setDocument(each.figures),
        },
      ]),
    ),
    moved: moved.map(({ key, domain, turnIdx, base, candidate, difference }) => {
      return { key, domain, turn_idx: turnIdx, base, candidate, difference, why: weaknesses.get(key) ?? null };
    }),
  };
}

function spreadDocument({ low, high, se, df }: Estimate) {
  return { low: low ?? null, high: high ?? null, se: se ?? null, df: df ?? null };
}

function setDocument(set: DifferenceSet) {
  return Object.fromEntries(
    TOTAL_FIRST.map((figure) => {
      const found = set[figure];
      if (found === undefined) return [figure, null];
      const { difference, base, candidate, wins, ties, losses, p, adjustedP, smallestEffect, split, bootstrap } = found;
      const { onTheseRows: fixed } = found;
      const { value, low = null, high = null, se = null, df = null, rows, clusters } = difference;
      const estimate = { difference: value, low, high, se, df, rows, clusters };
      const chance = { p: p ?? null, p_adjusted: adjustedP ?? null, smallest_effect: smallestEffect ?? null };
      const more = {
        on_these_rows: fixed === undefined ? null : spreadDocument(fixed),
        variance: split ?? null,
        bootstrap: bootstrap ?? null,
      };
      return [figure, { ...estimate, base, candidate, wins, ties, losses, ...chance, ...more }];
    }),
  );
}
