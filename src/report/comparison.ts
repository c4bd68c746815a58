// A comparison of two runs in each form: the opening sentence, the document of `--json`, the table, the rows that moved most, Markdown and
// CSV.

import { z } from 'zod';
import type { Figure } from '../core/comparison.js';
import { documentOf, FIGURE, keyed, SPREAD, TEXT } from '../core/document.js';
import { domainName, domainsOfMean, meanName } from '../core/domains.js';
import { asciiJson } from '../core/json.js';
import { intervalText, oneLine, shortened, signed, twoDecimals } from '../core/printable.js';
import {
  type Cell,
  type CellTable,
  chanceText,
  columnsOf,
  NO_INTERVAL,
  NONE,
  type OutputFormat,
} from '../core/table.js';
import { blocksText, bold, type Look, legendOf, terminal, wrapped } from '../core/terminal.js';
import { DIMENSIONS, type Estimate } from '../core/types.js';
import type { Comparison, Difference, DifferenceSet } from '../stats/compare.js';
import { csvText, markdownTable, markdownText } from './markup.js';
import { TRUST, type Trust, trustDocument, trustTexts, VARIANCE, varianceSource, varianceText } from './trust.js';

/** A run as shown in a comparison. Its texts may be hostile. */
export interface ShownRun {
  readonly name: string;
  readonly source: string;
  readonly judge?: string | undefined;
  readonly rubricPack?: string | undefined;
  /** The trust in its judge; absent if it asked none. */
  readonly trust?: Trust | undefined;
}

/** A comparison of two runs, with everything that is shown. */
export interface ComparisonView {
  readonly base: ShownRun;
  readonly candidate: ShownRun;
  readonly comparison: Comparison;
  /** Whether the runs agree (`equal`, `different` or `unknown`), by part of their provenance. */
  readonly shared: Readonly<Record<string, string>>;
  /** Why rows moved, by key: the judge's words on the worse side. */
  readonly weaknesses: ReadonlyMap<string, string>;
  readonly notes: readonly string[];
  /** Also show each domain's dimensions; CSV and JSON always contain them. */
  readonly dimensions: boolean;
}

/** The number of rows in a figure, and of how many if it is not all. */
function rowsText(compared: number, rows: number): string {
  return compared === rows ? String(rows) : `${compared}/${rows}`;
}

/** The mean over the compared domains: its name, and how many rows either run chose in its domains. */
export function meanIn({ domains, rows, macroOf }: Comparison): { readonly name: string; readonly rows: number } {
  const compared = domains.filter((each) => each.compared > 0);
  const names = compared.map(({ domain }) => domain);
  const behind = domainsOfMean(names);
  const beside = compared.filter(({ domain }) => !behind.includes(domain));
  return { name: meanName(names, macroOf), rows: beside.reduce((left, domain) => left - domain.rows, rows) };
}

/**
 * The result in one sentence: by how much the candidate is better or worse, or why that cannot be decided. It is about Overall, or the
 * mean of the available domains. Without an interval it says nothing about chance.
 */
export function openingOf({
  base,
  candidate,
  comparison,
}: Pick<ComparisonView, 'base' | 'candidate' | 'comparison'>): string {
  const { total } = comparison.overall;
  const [one, other] = [candidate.name, base.name];
  if (total === undefined) return `${one} cannot be compared with ${other}.`;
  const { name, rows: all } = meanIn(comparison);
  const over = `${name === 'Overall' ? '' : `${name}; `}${rowsText(total.difference.rows, all)} ${all === 1 ? 'row' : 'rows'}`;
  const { value, low = 0, high = 0 } = total.difference;
  const interval = intervalText(total.difference, signed);
  const chance = interval === undefined ? 'too few trajectories for an interval' : `95 % interval ${interval}`;
  const points = `${signed(value)} points (${chance}; ${over})`;
  if (low > 0 || high < 0) return `${one} is ${low > 0 ? 'better' : 'worse'} than ${other}: ${points}.`;
  const least = total.smallestEffect;
  const shown = least === undefined ? '' : `; a true difference of ${twoDecimals(least)} would show with 80 % power`;
  return `${one} and ${other} cannot be told apart: ${points}${shown}.`;
}

/** A run in JSON. */
export const RUN = z.strictObject({
  ...keyed(z.string(), 'name', 'source'),
  ...keyed(TEXT, 'judge', 'rubric_pack'),
  judge_trust: TRUST.nullable(),
});

const DIFFERENCE = z.strictObject({
  difference: z.number(),
  ...SPREAD.pick({ low: true, high: true, se: true, df: true, rows: true, clusters: true }).shape,
  ...keyed(z.number(), 'base', 'candidate', 'wins', 'ties', 'losses'),
  ...keyed(FIGURE, 'p', 'p_adjusted', 'smallest_effect'),
  on_these_rows: z.strictObject(keyed(FIGURE, 'low', 'high', 'se', 'df')).nullable(),
  variance: VARIANCE.nullable(),
  bootstrap: z.strictObject(keyed(z.number(), 'low', 'high')).nullable(),
});
const DIFFERENCES = z.strictObject(keyed(DIFFERENCE.nullable(), 'total', ...DIMENSIONS));

/** The figures of a comparison in JSON: unrounded, and null if missing. */
export const COMPARISON = z.strictObject({
  ...keyed(z.number(), 'rows', 'compared', 'coverage', 'macro_of'),
  adjusted: z.strictObject({ interval: z.literal('none'), p: z.literal('none'), p_adjusted: z.string() }),
  overall: DIFFERENCES,
  domains: z.record(
    z.string(),
    z.strictObject({
      ...keyed(z.number(), 'rows', 'compared', 'coverage'),
      missing: z.strictObject(keyed(z.number(), 'base', 'candidate')),
      ...DIFFERENCES.shape,
    }),
  ),
  moved: z.array(
    z.strictObject({
      ...keyed(z.string(), 'key', 'domain'),
      ...keyed(z.number(), 'turn_idx', 'base', 'candidate', 'difference'),
      why: TEXT,
    }),
  ),
});

/** The document of `--format json`. */
export const COMPARE = z.strictObject({
  schema: z.literal('awb.compare/1'),
  ...keyed(RUN, 'base', 'candidate'),
  shared: z.record(z.string(), z.string()),
  summary: z.string(),
  notes: z.array(z.string()),
  ...COMPARISON.shape,
});

function comparisonDocument(view: ComparisonView) {
  return documentOf(COMPARE, {
    schema: 'awb.compare/1',
    base: runSource(view.base),
    candidate: runSource(view.candidate),
    shared: view.shared,
    summary: openingOf(view),
    notes: view.notes,
    ...comparisonSource(view.comparison, view.weaknesses),
  });
}

/** The input of `RUN`, with camelCase names. */
export function runSource(run: ShownRun) {
  return { ...run, judgeTrust: trustDocument(run.trust) };
}

/** The input of `COMPARISON`, with camelCase names. */
export function comparisonSource(comparison: Comparison, weaknesses: ReadonlyMap<string, string> = new Map()) {
  return {
    ...comparison,
    adjusted: { interval: 'none', p: 'none', pAdjusted: 'holm over the domains, for each figure' } as const,
    overall: differencesSource(comparison.overall),
    domains: Object.fromEntries(
      comparison.domains.map(({ domain, figures, ...counts }) => [
        domain,
        { ...counts, ...differencesSource(figures) },
      ]),
    ),
    moved: comparison.moved.map((row) => ({ ...row, why: weaknesses.get(row.key) })),
  };
}

function differencesSource(set: DifferenceSet) {
  const sources = Object.entries(set).map(([figure, found]) => {
    const { difference, pAdjusted, split } = found;
    const source = {
      ...difference,
      ...found,
      difference: difference.value,
      pAdjusted,
      variance: varianceSource(split),
    };
    return [figure, source];
  });
  return Object.fromEntries(sources);
}

/** A comparison in each format. Hostile texts stay text. */
export const COMPARISON_FORMATS = {
  terminal: { endings: [], print: terminalText },
  md: { endings: ['.md'], print: markdown },
  json: { endings: ['.json'], print: (view) => `${asciiJson(comparisonDocument(view))}\n` },
  csv: { endings: ['.csv'], print: csv },
} satisfies Record<string, OutputFormat<ComparisonView, Look>>;

/** The lines above the table: judge and rubric pack, how far the judges can be trusted, and the notes. */
function headOf({ base, candidate, notes }: ComparisonView): string[] {
  const parts = [base.judge && `judge ${base.judge}`, base.rubricPack && `rubric pack ${base.rubricPack}`].filter(
    Boolean,
  );
  const judged = parts.length === 0 ? [] : [oneLine(parts.join(', '), 200)];
  return [...judged, ...trustTexts(base.trust, candidate.trust), ...notes];
}

function terminalText(view: ComparisonView, look: Look): string {
  const { comparison, weaknesses } = view;
  const table = differenceTable(comparison, view.dimensions);
  const text = (line: string) => wrapped(line, look.columns);
  const moved = comparison.moved.flatMap((row) => {
    const figures = `${signed(row.difference).padStart(8)}  ${twoDecimals(row.base)} -> ${twoDecimals(row.candidate)}`;
    const why = weaknesses.get(row.key);
    const reason = why === undefined ? [] : [`          ${shortened(why, Math.max(20, look.columns - 10))}`];
    return [`${figures}  ${domainName(row.domain)}, turn ${row.turnIdx}, row ${oneLine(row.key, 40)}`, ...reason];
  });
  return blocksText([
    [...text(openingOf(view)).map((line) => bold(line, look)), ...headOf(view).flatMap(text)],
    [terminal(table, look).trimEnd()],
    moved.length === 0
      ? []
      : [
          'Rows that moved most:',
          ...moved,
          ...text('To read them: awb samples CANDIDATE --compare BASE, or awb view.'),
        ],
    [legendOf(table.legend ?? [], look).trimEnd()],
  ]);
}

function markdown(view: ComparisonView): string {
  const { base, candidate, comparison, weaknesses } = view;
  const moved = comparison.moved.map(({ key, domain, turnIdx, ...row }) => [
    ...[signed(row.difference), twoDecimals(row.base), twoDecimals(row.candidate), domainName(domain)],
    ...[String(turnIdx), oneLine(key, 40), shortened(weaknesses.get(key) ?? '', 200)],
  ]);
  const columns = columnsOf('Change, Base, Candidate, <Domain, <Turn, <Row, <Why');
  return [
    `### ${markdownText(`${candidate.name} against ${base.name}`)}`,
    '',
    `**${markdownText(openingOf(view))}**`,
    '',
    ...headOf(view).flatMap((line) => [markdownText(line), '']),
    markdownTable(differenceTable(comparison, view.dimensions)),
    ...(moved.length === 0 ? [] : ['#### Rows that moved most', '', markdownTable({ columns, groups: [moved] })]),
  ].join('\n');
}

const CSV_KEYS = [
  ...(['base', 'candidate', 'difference', 'low', 'high', 'se', 'df', 'p', 'p_adjusted'] as const),
  ...(['wins', 'ties', 'losses', 'smallest_effect'] as const),
];

/** One line per domain and figure, unrounded; Overall has the domain `overall`. `compared` counts the rows of the figure. */
function csv(view: ComparisonView): string {
  const { domains, overall } = comparisonDocument(view);
  const sets = Object.entries({ ...domains, overall: { ...overall, rows: meanIn(view.comparison).rows } });
  const lines = sets.flatMap(([domain, set]) =>
    (['total', ...DIMENSIONS] as const).flatMap((figure) => {
      const found = set[figure];
      return found ? [[domain, figure, set.rows, found.rows, ...CSV_KEYS.map((key) => found[key])]] : [];
    }),
  );
  return csvText([['domain', 'figure', 'rows', 'compared', ...CSV_KEYS], ...lines]);
}

const COLUMNS = columnsOf(
  '<Domain, Rows, Base, Candidate|Cand., Difference|Diff., 95 % interval|95 %, p, Won/tied/lost|W/T/L, Detectable|Det.',
);
/** The columns of the difference and its interval. */
export const TELLING = [4, 5];

/** A domain shows a difference if its p, adjusted for all domains, is below this. */
const SHOWN_P = 0.05;

/**
 * The table of differences: a group of the domains, one of Overall and one of its five dimensions; with `dimensions` also a group of the
 * domains for each of the five. Points of 0-100 with two decimals.
 * @returns also the figure of each row, group by group; null if missing
 */
export function differenceTable(
  comparison: Comparison,
  dimensions = false,
): CellTable & { readonly figures: readonly (readonly (Estimate | null)[])[] } {
  const { domains, overall } = comparison;
  const { name, rows } = meanIn(comparison);
  const ofDomains = (figure: Figure) =>
    domains.map(({ domain, rows: own, figures }): Line => {
      const shown = domainName(domain);
      return [figure === 'total' ? shown : `${shown} ${figure}`, own, figures[figure]];
    });
  const lines: Line[][] = [
    ofDomains('total'),
    [[name, rows, overall.total]],
    DIMENSIONS.map((figure): Line => [figure, rows, overall[figure]]),
    ...(dimensions ? DIMENSIONS.map(ofDomains) : []),
  ];
  const totals = domains.map(({ figures }) => figures.total);
  const fixed = overall.total?.onTheseRows;
  const splits = totals.flatMap((total) => total?.split ?? []);
  const variance = varianceText(overall.total?.split, splits);
  return {
    columns: COLUMNS,
    groups: lines.map((group) => group.map(differenceRow)),
    figures: lines.map((group) => group.map(([, , found]) => found?.difference ?? null)),
    footnotes: [
      ...(lines.flat().some(([, , found]) => isStarred(found)) ? ['*: also significant over all domains (Holm).'] : []),
      ...(fixed === undefined
        ? []
        : [
            `On exactly these rows, where only sampling varies: ${name} ${signed(fixed.value)}, 95 % ${intervalText(fixed, signed) ?? NONE}.`,
          ]),
      ...(variance === undefined ? [] : [`Variance of the difference: ${variance}.`]),
    ],
    legend: [
      'Rows: rated in both runs / chosen by either (one number if equal). Base and Candidate: scores on these rows, with empty, refused and confusing predictions as rating 1.',
      '95 %: interval of the paired difference for new rows like these, clustered by trajectory. p: permutation test by trajectory. Both apply to each line on its own; *: the p adjusted for all domains is below 0.05 as well. Detectable: the smallest true difference that these rows would show with 80 % power.',
      NO_INTERVAL,
      'If all rows of a domain differ equally, unseen rows may still differ: Overall allows for as many such rows as its trajectories cannot rule out.',
      ...(name === 'Overall' ? [] : [`${name}: mean of the domains; Overall needs all seven and no other.`]),
    ],
  };
}

/** A line of the table: its name, the most rows it could have, and its figure. */
type Line = readonly [name: string, rows: number, found: Difference | undefined];

/** Whether the candidate is shown to be better or worse. */
function lookOfDifference({ low = 0, high = 0 }: Estimate): string | undefined {
  if (low > 0) return 'good';
  return high < 0 ? 'bad' : undefined;
}

function differenceRow([name, rows, found]: Line): Cell[] {
  if (found === undefined) return [name, rowsText(0, rows), ...COLUMNS.slice(2).map(() => NONE)];
  const { difference, base, candidate, wins, ties, losses, p, smallestEffect } = found;
  const look = lookOfDifference(difference);
  const chance = p === undefined ? NONE : chanceText(p);
  return [
    ...[name, rowsText(difference.rows, rows), twoDecimals(base), twoDecimals(candidate)],
    ...[signed(difference.value), intervalText(difference, signed) ?? NONE].map((text) => ({ text, look })),
    ...[
      `${chance}${isStarred(found) ? '*' : ''}`,
      `${wins}/${ties}/${losses}`,
      smallestEffect === undefined ? NONE : twoDecimals(smallestEffect),
    ],
  ];
}

function isStarred(found: Difference | undefined): boolean {
  return found?.pAdjusted !== undefined && found.pAdjusted < SHOWN_P;
}
