// A panel: what several judges gave one prediction -> one rating a dimension, every judge counting alike.

import { FIGURES } from '../../comparison.js';
import { groupBy } from '../../groups.js';
import type { Combination, DomainOffsets, Offsets, PanelAgreement, PanelRule } from '../../panel.js';
import { DIMENSIONS, type Dimension, type Domain, type Ratings } from '../../types.js';
import { mean } from '../mean.js';
import type { Resampling } from '../resampling.js';
import { agreementOf } from './alpha.js';

export const COMBINATIONS: Readonly<Record<Combination, (values: readonly number[]) => number>> = { mean, median };

/** One prediction, with what each judge gave it, in the judges' order; undefined where a judge gave nothing. */
export interface PanelCase {
  readonly domain: Domain;
  readonly trajectory: string;
  readonly given: readonly (Ratings | undefined)[];
}

/** What a panel says of one prediction. */
export interface PanelRating {
  readonly ratings: Ratings;
  /** The mean of the ratings. */
  readonly total: number;
  /** How many judges it comes from: in the dimension that has the fewest. */
  readonly judges: number;
}

/**
 * The judges' offsets by domain and dimension, over the predictions that all of them rated in it: the mean of a judge's rating minus
 * the mean of all judges' ratings. Those of one dimension add up to 0.
 */
export function offsetsOf(cases: readonly PanelCase[]): Offsets {
  return new Map([...groupBy(cases, ({ domain }) => domain)].map(([domain, own]) => [domain, domainOffsets(own)]));
}

function domainOffsets(cases: readonly PanelCase[]): DomainOffsets {
  const whole = cases.filter(({ given }) => given.every((ratings) => ratings !== undefined));
  const judges: Ratings[] = (cases[0]?.given ?? []).map(() => ({}));
  for (const dimension of DIMENSIONS) {
    const rows = whole
      .map(({ given }) => valuesIn(given, dimension))
      .filter((values) => values.length === judges.length);
    if (rows.length === 0) continue;
    const centre = mean(rows.map((values) => mean(values)));
    for (const [judge, offsets] of judges.entries()) {
      // Every row has a value of each judge.
      offsets[dimension] = mean(rows.map((values) => values[judge] as number)) - centre;
    }
  }
  return { rows: whole.length, judges };
}

/**
 * The panel's rating. Without a quorum each dimension needs all judges. With one it needs so many, and each judge's offset is taken out
 * first, so that it makes no difference which of the judges are missing; results are held within 1 and 5. Undefined where no
 * dimension has enough judges, or where the offsets are not known that missing judges make necessary.
 */
export function combinedRating(
  { domain, given }: PanelCase,
  { combine, quorum }: PanelRule,
  offsets: Offsets,
): PanelRating | undefined {
  const ratings: Ratings = {};
  let judges = given.length;
  for (const dimension of DIMENSIONS) {
    const values = valuesIn(given, dimension);
    if (values.length < Math.min(quorum ?? given.length, given.length) || values.length === 0) continue;
    const level = quorum === undefined ? values : levelled(given, dimension, offsets.get(domain));
    if (level === undefined) continue;
    ratings[dimension] = Math.min(5, Math.max(1, COMBINATIONS[combine](level)));
    judges = Math.min(judges, values.length);
  }
  const rated = Object.values(ratings);
  return rated.length === 0 ? undefined : { ratings, total: mean(rated), judges };
}

/** The judges' ratings without their offsets; undefined where one is not known and a judge is missing. */
function levelled(
  given: PanelCase['given'],
  dimension: Dimension,
  offsets: DomainOffsets | undefined,
): number[] | undefined {
  const values: number[] = [];
  for (const [judge, ratings] of given.entries()) {
    const rating = ratings?.[dimension];
    const offset = offsets?.judges[judge]?.[dimension];
    if (rating === undefined) continue;
    if (offset === undefined) return undefined;
    values.push(rating - offset);
  }
  return values;
}

function valuesIn(given: PanelCase['given'], dimension: Dimension): number[] {
  return given.flatMap((ratings) => ratings?.[dimension] ?? []);
}

/** The middle value; of an even number of values the mean of the two in the middle. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length / 2;
  return mean(sorted.slice(Math.ceil(half) - 1, Math.floor(half) + 1));
}

/** How far the judges agree over all predictions in each dimension and in the total, and by domain in the total. */
export function panelAgreement(cases: readonly PanelCase[], resampling: Resampling): PanelAgreement {
  const figures: { -readonly [Name in keyof PanelAgreement['figures']]: PanelAgreement['figures'][Name] } = {};
  for (const figure of FIGURES) {
    const units = cases.map(({ given, trajectory: cluster }) => {
      const values = figure === 'total' ? given.flatMap((ratings) => totalOf(ratings) ?? []) : valuesIn(given, figure);
      return { values, cluster };
    });
    const found = agreementOf(units, figure === 'total' ? 'interval' : 'ordinal', resampling);
    if (found !== undefined) figures[figure] = found;
  }
  const domains = [...groupBy(cases, ({ domain }) => domain)].map(([domain, own]) => {
    const units = own.map(({ given, trajectory }) => {
      return { values: given.flatMap((ratings) => totalOf(ratings) ?? []), cluster: trajectory };
    });
    return { domain, total: agreementOf(units, 'interval', resampling) };
  });
  return { figures, domains };
}

/** A judge's total: the mean of its ratings; undefined where it gave none. */
export function totalOf(ratings: Ratings | undefined): number | undefined {
  const values = Object.values(ratings ?? {});
  return values.length === 0 ? undefined : mean(values);
}
