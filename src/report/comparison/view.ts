// Two runs compared, with all that a reader is told of it, and what is said of it in one sentence.

import type { Comparison } from '../../comparison.js';
import { domainsOfMean, meanName } from '../../domains.js';
import { intervalText, signed, twoDecimals } from '../../figures.js';
import { oneLine } from '../../printable.js';
import type { Trust } from '../trust.js';

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

/** Who is compared with whom. */
export function headingOf({ base, candidate }: ComparisonView): string {
  return `${candidate.name} against ${base.name}`;
}

/** Judge and rubric pack on one line; undefined where neither is known. */
export function judgedWith({ base }: ComparisonView): string | undefined {
  const parts = [base.judge && `judge ${base.judge}`, base.rubricPack && `rubric pack ${base.rubricPack}`];
  const words = parts.filter((part) => part !== undefined && part !== '').join(', ');
  return words === '' ? undefined : oneLine(words, 200);
}
