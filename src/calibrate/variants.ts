// The list of variants: predictions of known quality that a judge is calibrated with. The order is the order of asking.

import { BASELINES } from '../baselines.js';
import type { VariantFacts } from '../calibration.js';
import { CANARIES } from './canaries.js';
import { DOSES } from './doses.js';
import { ORDER } from './order.js';
import { REWRITES } from './rewrites.js';
import { SINGLES } from './singles.js';
import { otherTruth } from './truth.js';
import type { Variant } from './variant.js';

export const VARIANTS = {
  truth: {
    family: 'truth',
    help: 'the ground truth, word for word',
    isRepeated: true,
    make: ({ sample }) => BASELINES.oracle(sample),
  },
  ...REWRITES,
  ...DOSES,
  ...ORDER,
  persistence: {
    family: 'baseline',
    help: 'the previous observation, where the truth differs from it',
    make: ({ sample }) => {
      const before = BASELINES.persistence(sample);
      return before === '' || before === BASELINES.oracle(sample) ? undefined : before;
    },
  },
  shuffled: {
    family: 'baseline',
    help: "another row's truth",
    isRepeated: true,
    make: ({ sample, donor }) =>
      otherTruth({ sample, donor }) === undefined ? undefined : BASELINES.shuffled(sample, donor),
  },
  empty: { family: 'baseline', help: 'nothing at all', make: BASELINES.empty },
  ...SINGLES,
  ...CANARIES,
} satisfies Record<string, Variant>;

/** What is known of each variant, in the order of asking. */
export function variantFacts(): VariantFacts[] {
  return Object.entries<Variant>(VARIANTS).map(([name, { family, help, dose }]) => ({
    name,
    family,
    help,
    ...(dose === undefined ? {} : { dose }),
  }));
}
