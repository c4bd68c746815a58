// Two runs compared: all that a reader is told of it, the one sentence that says what came of it, and the document of `--json`.

import { z } from 'zod';
import { type Comparison, type DifferenceSet, FIGURES } from '../../core/comparison.js';
import { documentOf, FIGURE, SPREAD } from '../../core/document.js';
import { domainsOfMean, meanName } from '../../core/domains.js';
import { intervalText, signed, twoDecimals } from '../../core/figures.js';
import { DIMENSIONS } from '../../core/types.js';
import { TRUST, type Trust, trustDocument } from '../trust.js';
import { VARIANCE, varianceSource } from '../variance.js';

/** A run as a comparison names it. Its texts may be hostile. */
export interface ShownRun {
  readonly name: string;
  readonly source: string;
  readonly judge?: string | undefined;
  readonly rubricPack?: string | undefined;
  /** What is known of its judge; absent where it asked none. */
  readonly trust?: Trust | undefined;
}

/** Two runs compared, with all that a reader is told of it. */
export interface ComparisonView {
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

/** How many rows are behind a figure, and of how many where that is fewer. */
export function rowsText(compared: number, rows: number): string {
  return compared === rows ? String(rows) : `${compared}/${rows}`;
}

/** How many rows either run chose in the domains that the mean is of. */
export function rowsOfMean({ domains, rows }: Comparison): number {
  const compared = domains.filter((each) => each.compared > 0).map(({ domain }) => domain);
  const behind = domainsOfMean(compared);
  const beside = domains.filter(({ domain }) => compared.includes(domain) && !behind.includes(domain));
  return beside.reduce((sum, domain) => sum - domain.rows, rows);
}

/** The name of the mean over the domains that were compared. */
export function overallName({ domains, macroOf }: Comparison): string {
  const compared = domains.filter((each) => each.compared > 0).map(({ domain }) => domain);
  return meanName(compared, macroOf);
}

/**
 * What came of it, in one sentence: by how much the candidate is better or worse, or why that cannot be said. It is about Overall, or
 * the mean of the domains that there are. Without an interval nothing is said about chance.
 */
export function openingOf({ base, candidate, comparison }: ComparisonView): string {
  const { total } = comparison.overall;
  if (total === undefined) return `Nothing can be said of ${candidate.name} against ${base.name}.`;
  const name = overallName(comparison);
  const all = rowsOfMean(comparison);
  const rows = `${rowsText(total.difference.rows, all)} ${all === 1 ? 'row' : 'rows'}`;
  const over = `${name === 'Overall' ? '' : `${name}; `}${rows}`;
  if (total.wins + total.losses === 0) return `${candidate.name} and ${base.name} score alike on every row (${over}).`;
  const { value, low, high } = total.difference;
  const points = (figure: number) => twoDecimals(Math.abs(figure));
  if (low === undefined || high === undefined) {
    return `${candidate.name} scores ${points(value)} points ${value < 0 ? 'less' : 'more'} than ${base.name} (${over}); whether by more than chance, so few trajectories cannot say.`;
  }
  if (low <= 0 && high >= 0) {
    const least = total.smallestEffect;
    const shown = least === undefined ? '' : `; a true ${points(least)} would have shown, with 80 % power`;
    return `${candidate.name} and ${base.name} cannot be told apart: ${signed(value)} points (95 % interval ${intervalText({ low, high }, signed)}; ${over})${shown}.`;
  }
  const [nearest, furthest] = low > 0 ? [low, high] : [high, low];
  return `${candidate.name} is ${low > 0 ? 'better' : 'worse'} than ${base.name} by ${points(value)} points (95 % interval ${intervalText({ low: nearest, high: furthest }, points)}; ${over}).`;
}

/** The figures as documents list them. */
export const TOTAL_FIRST = ['total', ...DIMENSIONS] as const;

/** A run, as JSON names it. */
export const RUN = z.strictObject({
  name: z.string(),
  source: z.string(),
  judge: z.string().nullable(),
  rubric_pack: z.string().nullable(),
  judge_trust: TRUST.nullable(),
});

const INTERVAL = z.strictObject({ low: z.number(), high: z.number() });
const DIFFERENCE = z.strictObject({
  difference: z.number(),
  ...SPREAD.pick({ low: true, high: true, se: true, df: true, rows: true, clusters: true }).shape,
  base: z.number(),
  candidate: z.number(),
  wins: z.number(),
  ties: z.number(),
  losses: z.number(),
  p: FIGURE,
  p_adjusted: FIGURE,
  smallest_effect: FIGURE,
  on_these_rows: z.strictObject({ low: FIGURE, high: FIGURE, se: FIGURE, df: FIGURE }).nullable(),
  variance: VARIANCE.nullable(),
  bootstrap: INTERVAL.nullable(),
});
const DIFFERENCES = z.strictObject({
  total: DIFFERENCE.nullable(),
  format: DIFFERENCE.nullable(),
  factuality: DIFFERENCE.nullable(),
  consistency: DIFFERENCE.nullable(),
  realism: DIFFERENCE.nullable(),
  quality: DIFFERENCE.nullable(),
});

/** The figures of a comparison, as JSON holds them: unrounded, and null where there are none. */
export const COMPARISON = z.strictObject({
  rows: z.number(),
  compared: z.number(),
  coverage: z.number(),
  macro_of: z.number(),
  adjusted: z.strictObject({ interval: z.literal('none'), p: z.literal('none'), p_adjusted: z.string() }),
  overall: DIFFERENCES,
  domains: z.record(
    z.string(),
    z.strictObject({
      rows: z.number(),
      compared: z.number(),
      coverage: z.number(),
      missing: z.strictObject({ base: z.number(), candidate: z.number() }),
      ...DIFFERENCES.shape,
    }),
  ),
  moved: z.array(
    z.strictObject({
      key: z.string(),
      domain: z.string(),
      turn_idx: z.number(),
      base: z.number(),
      candidate: z.number(),
      difference: z.number(),
      why: z.string().nullable(),
    }),
  ),
});

/** The document of `--format json`. */
export const COMPARE = z.strictObject({
  schema: z.literal('awb.compare/1'),
  base: RUN,
  candidate: RUN,
  shared: z.record(z.string(), z.string()),
  summary: z.string(),
  notes: z.array(z.string()),
  ...COMPARISON.shape,
});

export function comparisonDocument(view: ComparisonView) {
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

/** What `RUN` is made of. */
export function runSource(run: ShownRun) {
  return { ...run, judgeTrust: trustDocument(run.trust) };
}

/** What `COMPARISON` is made of. */
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
  const sources = FIGURES.map((figure) => {
    const found = set[figure];
    if (found === undefined) return [figure, undefined];
    const { difference, adjustedP: pAdjusted, split } = found;
    return [
      figure,
      { ...difference, ...found, difference: difference.value, pAdjusted, variance: varianceSource(split) },
    ];
  });
  return Object.fromEntries(sources);
}
