// What each damage costs, in which dimension, and whether the judge sees it.

import { EQUIVALENT_POINTS, isDamage, type Loss, type Sight, type VariantFacts } from '../../calibration.js';
import type { Figure } from '../../comparison.js';
import { DIMENSIONS, type Dimension, type Estimate } from '../../types.js';
import { differenceOf } from './estimates.js';
import { aboveOf, type FigureOf, type KnownRow, pointsOf } from './points.js';

/**
 * The damages that were judged beside the truth of the same row, in the order of the list. Damage is done to the truth, so that it is
 * held against the truth alone: what a judge takes off neutral rewrites is no part of it, and would hide as much of each loss.
 */
export function lossesOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Loss[] {
  const truth = variants.find(({ family }) => family === 'truth');
  if (truth === undefined) return [];
  return variants.filter(isDamage).flatMap((variant) => {
    const lossIn = (figure: Figure) => aboveOf(pointsOf(truth, figure), pointsOf(variant, figure));
    const loss = differenceOf(rows, lossIn('total'));
    if (loss === undefined) return [];
    const dimensions = byDimension((dimension) => differenceOf(rows, lossIn(dimension)));
    return [{ variant, loss, dimensions, most: mostOf(rows, dimensions, lossIn), sight: sightOf(loss) }];
  });
}

/** Without an interval nothing is decided. */
function sightOf({ low, high }: Estimate): Sight {
  if (low !== undefined && low > EQUIVALENT_POINTS) return 'seen';
  return high !== undefined && high < EQUIVALENT_POINTS ? 'blind' : 'undecided';
}

type ByDimension<T> = Readonly<Partial<Record<Dimension, T>>>;

function byDimension<T>(of: (dimension: Dimension) => T | undefined): ByDimension<T> {
  const found = DIMENSIONS.map((dimension) => [dimension, of(dimension)] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/**
 * The dimension that loses most, where it loses more than each other one by the 95 % interval of their paired difference. All of
 * these tests have to agree, so that they need no adjustment for their number (an intersection-union test: Berger, Technometrics
 * 24(4), 1982).
 */
function mostOf(
  rows: readonly KnownRow[],
  losses: ByDimension<Estimate>,
  lossIn: (dimension: Dimension) => FigureOf,
): Dimension | undefined {
  const [first, ...others] = DIMENSIONS.filter((dimension) => losses[dimension] !== undefined).sort(
    (a, b) => (losses[b]?.value ?? 0) - (losses[a]?.value ?? 0),
  );
  if (first === undefined || others.length === 0) return undefined;
  const isAbove = (other: Dimension) => {
    const { low } = differenceOf(rows, aboveOf(lossIn(first), lossIn(other))) ?? {};
    return low !== undefined && low > 0;
  };
  return others.every(isAbove) ? first : undefined;
}
