// What tricks buy: the points of a bad prediction with a trick above those of the same prediction without it.

import type { Bought, VariantFacts } from '../../calibration.js';
import { ALPHA } from '../intervals.js';
import { differenceAt, differenceOf } from './estimates.js';
import { aboveOf, type KnownRow, pointsOf } from './points.js';

/** The canaries that were judged beside the prediction that they stand on, in the order of the list. */
export function canariesOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): Bought[] {
  const bad = variants.find(({ name }) => name === 'shuffled');
  if (bad === undefined) return [];
  return variants
    .filter(({ family }) => family === 'canary')
    .flatMap((variant) => {
      const gain = differenceOf(rows, aboveOf(pointsOf(variant), pointsOf(bad)));
      return gain === undefined ? [] : [{ variant, gain }];
    });
}

/** The gains with intervals that hold for all canaries at once, by Bonferroni's inequality: each at level `1 - 0.05 / count`. */
export function heldForAll(canaries: readonly Bought[]): Bought[] {
  return canaries.map(({ variant, gain }) => ({ variant, gain: differenceAt(gain, ALPHA / canaries.length) }));
}

/** The canary that buys most. Which one that is was seen in the same data, so that its interval has to hold for all. */
export function gullibilityOf(canaries: readonly Bought[]): Bought | undefined {
  const [first, ...others] = heldForAll(canaries);
  return first && others.reduce((most, one) => (one.gain.value > most.gain.value ? one : most), first);
}
