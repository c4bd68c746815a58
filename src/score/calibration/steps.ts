// The known order: whether a judge rates the better of two predictions of one row higher, step by step.

import type { Order, Step, VariantFacts } from '../../calibration.js';
import { present } from '../../present.js';
import { holm } from '../multiple.js';
import { chanceNotAbove, chanceNotBelow, differenceOf } from './estimates.js';
import { aboveOf, type KnownRow, observed, pointsOf } from './points.js';

/** A p of either side is held against this, so that both sides together err in 5 of 100. */
const LEVEL = 0.025;

/** A step before the steps beside it are known: its p are not adjusted. */
export type SingleStep = Omit<Step, 'adjustedP' | 'order'>;

/** The steps of which some row has both sides: down the known order, then from dose to dose. */
export function stepsOf(rows: readonly KnownRow[], variants: readonly VariantFacts[]): SingleStep[] {
  return chainsOf(variants)
    .flatMap((chain) => chain.slice(1).map((worse, place) => ({ better: present(chain[place]), worse })))
    .flatMap(({ better, worse }) => {
      const above = aboveOf(pointsOf(better), pointsOf(worse));
      const difference = differenceOf(rows, above);
      if (difference === undefined) return [];
      const inverted = observed(rows, above).filter(({ value }) => value < 0).length / difference.rows;
      const [p, inversionP] = [chanceNotAbove(difference), chanceNotBelow(difference)];
      return [{ better, worse, difference, inverted, p, inversionP }];
    });
}

/** Predictions from the best to the worst. */
function chainsOf(variants: readonly VariantFacts[]): VariantFacts[][] {
  const named = (name: string) => variants.filter((variant) => variant.name === name);
  const doses = variants.filter(({ dose }) => dose !== undefined);
  return [
    [...named('truth'), ...variants.filter(({ family }) => family === 'order'), ...named('shuffled')],
    [...named('truth'), ...doses.sort((a, b) => (a.dose ?? 0) - (b.dose ?? 0))],
  ];
}

/** The steps of several parts, each p adjusted over all of them. */
export function adjusted(parts: readonly (readonly SingleStep[])[]): Step[][] {
  const all = parts.flat();
  const forward = adjustedBy(all, ({ p }) => p);
  const backward = adjustedBy(all, ({ inversionP }) => inversionP);
  return parts.map((steps) =>
    steps.map((step) => {
      const [adjustedP, inversionP] = [forward.get(step), backward.get(step)];
      return { ...step, adjustedP, inversionP, order: orderOf(adjustedP, inversionP) };
    }),
  );
}

function adjustedBy(
  steps: readonly SingleStep[],
  pOf: (step: SingleStep) => number | undefined,
): Map<SingleStep, number> {
  const tested = steps.filter((step) => pOf(step) !== undefined);
  const levels = holm(tested.flatMap((step) => pOf(step) ?? []));
  return new Map(tested.map((step, index) => [step, present(levels[index])]));
}

function orderOf(adjustedP: number | undefined, inversionP: number | undefined): Order {
  if (adjustedP !== undefined && adjustedP <= LEVEL) return 'kept';
  return inversionP !== undefined && inversionP <= LEVEL ? 'inverted' : 'undecided';
}
