// What a judge gave each variant of each row, in points, and estimates of these: where calibration begins.

import type { CalibratedRow, VariantFacts } from '../../core/calibration.js';
import { FIGURES, type Figure } from '../../core/comparison.js';
import { type EstimateDocument, estimateDocument } from '../../core/document.js';
import { groupBy, type Some } from '../../core/groups.js';
import { isUnasked } from '../../core/judgement.js';
import { countedPoints } from '../../core/points.js';
import { type Domain, type Estimate, LEAST_CLUSTERS } from '../../core/types.js';
import { clusteredEstimate, type Observation } from '../clusters.js';
import { bounded, boundsOf, chanceAbove, chanceBelow, intervalAt, type Range } from '../intervals.js';
import { aboveBy, mean } from '../mean.js';

/** A row of the benchmark, and what was judged of its variants. */
export interface KnownRow {
  readonly domain: Domain;
  readonly trajectory: string;
  readonly judgements: readonly CalibratedRow[];
  readonly variants: ReadonlyMap<string, Judged>;
}

interface Judged {
  /** Points of each figure: the mean over the judgements that have it. */
  readonly points: Readonly<Partial<Record<Figure, number>>>;
  /** The totals of the judgements that a judge was asked for. */
  readonly totals: readonly number[];
}

/** Rows by key, in the order in which they first come. */
export function knownRows(rows: readonly CalibratedRow[]): KnownRow[] {
  return [...groupBy(rows, ({ key }) => key).values()].map((judgements) => ({
    domain: judgements[0].domain,
    trajectory: judgements[0].trajectory,
    judgements,
    variants: new Map([...groupBy(judgements, ({ variant }) => variant)].map(([name, own]) => [name, judgedOf(own)])),
  }));
}

function judgedOf(judgements: Some<CalibratedRow>): Judged {
  const having = (rows: readonly CalibratedRow[], figure: Figure) =>
    rows.map((row) => countedPoints(row, figure)).filter((points) => points !== undefined);
  const found = FIGURES.map((figure) => [figure, having(judgements, figure)] as const);
  return {
    points: Object.fromEntries(found.filter(([, all]) => all.length > 0).map(([figure, all]) => [figure, mean(all)])),
    totals: having(
      judgements.filter(({ failure }) => !isUnasked(failure?.class)),
      'total',
    ),
  };
}

/** What a figure of a row is; undefined where the row lacks what it is computed from. */
export type FigureOf = (row: KnownRow) => number | undefined;

/** The figure of one variant. */
export function pointsOf({ name }: VariantFacts, figure: Figure = 'total'): FigureOf {
  return ({ variants }) => variants.get(name)?.points[figure];
}

/** The mean over those of several variants that the row has, each counting once. It is reckoned once for each row. */
export function meanPointsOf(variants: readonly VariantFacts[], figure: Figure = 'total'): FigureOf {
  const figures = variants.map((variant) => pointsOf(variant, figure));
  const means = new Map<KnownRow, number | undefined>();
  return (row) => {
    if (!means.has(row)) {
      const found = figures.map((figureOf) => figureOf(row)).filter((points) => points !== undefined);
      means.set(row, found.length === 0 ? undefined : mean(found));
    }
    return means.get(row);
  };
}

/** By how much the first figure lies above the second in the same row. */
export function aboveOf(first: FigureOf, second: FigureOf): FigureOf {
  return (row) => {
    const [a, b] = [first(row), second(row)];
    return a === undefined || b === undefined ? undefined : aboveBy(a, b);
  };
}

/** One observation for each row that has the figure, in the cluster of its trajectory. */
export function observed(rows: readonly KnownRow[], figureOf: FigureOf): Observation[] {
  return rows.flatMap((row) => {
    const value = figureOf(row);
    return value === undefined ? [] : [{ value, cluster: row.trajectory }];
  });
}

const SCORES: Range = [0, 100];
const DIFFERENCES: Range = [-100, 100];

/** The mean score of the rows that have it; null where none does. */
export function scoreOf(rows: readonly KnownRow[], figureOf: FigureOf): EstimateDocument | null {
  const found = observed(rows, figureOf);
  return found.length === 0 ? null : estimateDocument(bounded(clusteredEstimate(found, 'score'), SCORES));
}

/** The mean difference of the rows that have it; null where none does. */
export function differenceOf(rows: readonly KnownRow[], figureOf: FigureOf): EstimateDocument | null {
  const found = observed(rows, figureOf);
  return found.length === 0 ? null : estimateDocument(estimatedDifference(found));
}

/** The mean of observed differences, of which there is at least one. */
export function estimatedDifference(found: readonly Observation[]): Estimate {
  return bounded(clusteredEstimate(found), DIFFERENCES);
}

/** The interval of a difference at level `1 - alpha`; both ends are null where it has none. */
export function intervalOfDifference(
  difference: EstimateDocument,
  alpha: number,
): Pick<EstimateDocument, 'low' | 'high'> {
  const { value, rows, clusters, se, df } = difference;
  const estimate = { value, rows, clusters, ...(se !== null && df !== null && { se, df }) };
  return intervalAt(estimate, alpha) ?? boundsOf(estimate, DIFFERENCES, alpha) ?? { low: null, high: null };
}

/** How probable a difference this high would be if there were none: one-sided, undefined below `LEAST_CLUSTERS`. */
export function chanceNotAbove(estimate: Estimate): number | undefined {
  return chanceAbove(estimate, 0) ?? chanceWhereUniform(estimate, estimate.value);
}

/** The same for a difference this low. */
export function chanceNotBelow(estimate: Estimate): number | undefined {
  return chanceBelow(estimate, 0) ?? chanceWhereUniform(estimate, -estimate.value);
}

/** Twice this is the level at which the interval of `boundsOf` ends at 0. */
function chanceWhereUniform(estimate: Estimate, distance: number): number | undefined {
  if (estimate.clusters < LEAST_CLUSTERS) return undefined;
  return distance <= 0 ? 1 : (100 / (100 + distance)) ** estimate.clusters;
}
