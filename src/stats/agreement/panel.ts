// A panel: the ratings of several judges for one prediction -> one rating per dimension, with every judge counting equally.

import { z } from 'zod';
import { COUNT, FIGURE, keyed } from '../../core/document.js';
import { present } from '../../core/errors.js';
import { groupBy, keysOf, recordOf, type Some } from '../../core/groups.js';
import { DIMENSIONS, type Dimension, type Domain, type Ratings } from '../../core/types.js';
import { mean } from '../clusters.js';
import type { Resampling } from '../resampling.js';
import { ALPHA, type AlphaMetric, agreementOf } from './coefficients.js';

/** How the judges' ratings of one dimension become one. */
export const COMBINATIONS = { mean, median } satisfies Record<string, (values: readonly number[]) => number>;

export interface PanelRule {
  readonly combine: keyof typeof COMBINATIONS;
  /** How many judges a rating needs; all of them if absent. */
  readonly quorum?: number | undefined;
}

/** One of the judges. Its texts may be hostile. */
const JUDGE = z.strictObject({
  name: z.string(),
  /** Its judged file, as named by the user. */
  file: z.string(),
  /** Predictions that it rated; those that failed through its own fault, or in transport; and those it has no row for. */
  ...keyed(COUNT, 'rated', 'failed', 'absent'),
  /** The mean of its totals over the predictions that all judges rated, in points of 0-100; null if there are none. */
  mean_total: FIGURE,
});
export type PanelJudge = z.infer<typeof JUDGE>;

const AGREEMENT = z.strictObject({
  /** By ordinal alpha in a dimension, by interval alpha in the total; null if all ratings are equal. */
  all: z.record(z.enum([...DIMENSIONS, 'total_score']), ALPHA.nullable()),
  domains: z.record(z.string(), z.strictObject({ total_score: ALPHA.nullable() })),
});
export type PanelAgreement = z.infer<typeof AGREEMENT>;

/** A panel's result, as `awb panel --json` prints it. Counts are of predictions. */
export const PANEL = z.strictObject({
  schema: z.literal('awb.panel/1'),
  exit_code: COUNT,
  output: z.string(),
  judges: z.array(JUDGE),
  combine: z.enum(keysOf(COMBINATIONS)),
  quorum: COUNT.nullable(),
  /**
   * `by_fewer`: rated predictions that not all judges rated. `model_caused`: failures that the world model caused, which belong to the
   * prediction, whoever judges. `missing`: a judge failed, and too few are left. `not_judged`: a judge has no row for it, and too few are
   * left, so the panel has none either.
   */
  ...keyed(COUNT, 'predictions', 'rated', 'by_fewer', 'model_caused', 'missing', 'not_judged'),
  /**
   * With a quorum: by how much each judge, in the judges' order, rates higher in a domain than the mean of all, and from how many
   * predictions this was computed. Null for a dimension that no prediction has from all judges.
   */
  offsets: z
    .record(z.string(), z.strictObject({ rows: COUNT, judges: z.array(z.record(z.enum(DIMENSIONS), FIGURE)) }))
    .nullable(),
  agreement: AGREEMENT,
});
export type PanelDocument = Omit<z.infer<typeof PANEL>, 'schema' | 'exit_code' | 'output'>;

/** The judges' offsets by domain. */
export type Offsets = NonNullable<PanelDocument['offsets']>;

/** One prediction, with each judge's ratings in the judges' order; undefined for a judge that gave none. */
export interface PanelCase {
  readonly domain: Domain;
  readonly trajectory: string;
  readonly given: readonly (Ratings | undefined)[];
}

/**
 * The judges' offsets by domain and dimension, over the predictions that all of them rated in it: the mean of a judge's rating minus the
 * mean of all judges' ratings. The offsets of one dimension add up to 0.
 */
export function offsetsOf(cases: readonly PanelCase[]): Offsets {
  const domains = groupBy(cases, ({ domain }) => domain);
  return Object.fromEntries([...domains].map(([domain, own]) => [domain, domainOffsets(own)]));
}

function domainOffsets(cases: Some<PanelCase>): Offsets[string] {
  const judges = cases[0].given;
  const whole = cases.filter(({ given }) => given.every((ratings) => ratings !== undefined));
  const values = recordOf(DIMENSIONS, (dimension) =>
    whole.map(({ given }) => valuesIn(given, dimension)).filter(({ length }) => length === judges.length),
  );
  const offset = (judge: number, rows: readonly (readonly number[])[]) =>
    rows.length === 0 ? null : mean(rows.map((row) => present(row[judge]))) - mean(rows.map(mean));
  return {
    rows: whole.length,
    judges: judges.map((_, judge) => recordOf(DIMENSIONS, (dimension) => offset(judge, values[dimension]))),
  };
}

/**
 * The panel's rating. Without a quorum each dimension needs all judges. With one it needs that many, and each judge's offset is subtracted
 * first, so that it makes no difference which judges are missing; results are clamped to 1 to 5. Undefined if no dimension has enough
 * judges, or if judges are missing and the offsets are unknown.
 */
export function combinedRating({ domain, given }: PanelCase, { combine, quorum }: PanelRule, offsets: Offsets) {
  const ratings: Ratings = {};
  let judges = given.length;
  for (const dimension of DIMENSIONS) {
    const level = given.flatMap((ratings, judge) => {
      const rating = ratings?.[dimension];
      const offset = quorum === undefined ? 0 : offsets[domain]?.judges[judge]?.[dimension];
      return rating === undefined ? [] : [rating - (offset ?? Number.NaN)];
    });
    const isEnough = level.length > 0 && level.length >= Math.min(quorum ?? given.length, given.length);
    // Not a number if a judge's offset is unknown.
    if (!isEnough || !level.every(Number.isFinite)) continue;
    ratings[dimension] = Math.min(5, Math.max(1, COMBINATIONS[combine](level)));
    judges = Math.min(judges, level.length);
  }
  const rated = Object.values(ratings);
  // `total` is the mean of the ratings; `judges` is the number of judges in the dimension that has the fewest.
  return rated.length === 0 ? undefined : { ratings, total: mean(rated), judges };
}

function valuesIn(given: PanelCase['given'], dimension: Dimension): number[] {
  return given.flatMap((ratings) => ratings?.[dimension] ?? []);
}

/** The middle value; for an even number of values, the mean of the middle two. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return mean(sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1));
}

/** How far the judges agree over all predictions in each dimension and in the total, and by domain in the total. */
export function panelAgreement(cases: readonly PanelCase[], resampling: Resampling): PanelAgreement {
  const within = (own: readonly PanelCase[], metric: AlphaMetric, valuesOf: (given: PanelCase['given']) => number[]) =>
    agreementOf(
      own.map(({ given, trajectory: cluster }) => ({ values: valuesOf(given), cluster })),
      metric,
      resampling,
    );
  const inTotal = (own: readonly PanelCase[]) =>
    within(own, 'interval', (given) => given.flatMap((ratings) => totalOf(ratings) ?? []));
  const domains = [...groupBy(cases, ({ domain }) => domain)];
  return {
    all: {
      ...recordOf(DIMENSIONS, (dimension) => within(cases, 'ordinal', (given) => valuesIn(given, dimension))),
      total_score: inTotal(cases),
    },
    domains: Object.fromEntries(domains.map(([domain, own]) => [domain, { total_score: inTotal(own) }])),
  };
}

/** A judge's total: the mean of its ratings; undefined if it gave none. */
export function totalOf(ratings: Ratings | undefined): number | undefined {
  const values = Object.values(ratings ?? {});
  return values.length === 0 ? undefined : mean(values);
}
