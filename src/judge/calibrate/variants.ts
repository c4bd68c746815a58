// The list of variants: predictions of known quality that a judge is calibrated with; and which of them a calibration takes.

import { BASELINES } from '../../benchmark/baselines.js';
import type { Family, VariantFacts } from '../../core/calibration.js';
import { present, UserError } from '../../core/errors.js';
import { unknownName } from '../../core/schema.js';
import { CANARIES } from './canaries.js';
import { CORRUPTIONS, REWRITES } from './corruptions.js';
import { SINGLES } from './singles.js';
import { otherTruth, type Variant } from './variant.js';

export const VARIANTS = {
  truth: {
    family: 'truth',
    help: 'the ground truth, word for word',
    isRepeated: true,
    make: ({ sample }) => BASELINES.oracle(sample),
  },
  ...REWRITES,
  ...CORRUPTIONS,
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
  return Object.entries<Variant>(VARIANTS).map(([name, { family, help, dose }]) => ({ name, family, help, dose }));
}

/** The variant of a name that `chosenVariants` gave. */
export function variantOf(name: string): Variant {
  const list: Readonly<Record<string, Variant>> = VARIANTS;
  return present(list[name]);
}

/** What was done to a variant, in a few words; empty for a name that is none. */
export function helpOf(name: string): string {
  return variantFacts().find((variant) => variant.name === name)?.help ?? '';
}

const KINDS = {
  damages: ['order', 'dose', 'single', 'baseline'],
  canaries: ['canary'],
} satisfies Record<string, readonly Family[]>;
type Kind = keyof typeof KINDS;

/**
 * The variants to judge, by name, in the order of asking. Truth and rewrites are always among them, and `shuffled`, which every canary
 * is compared with, where a canary is.
 * @param choice names as the user gave them; absent or empty for all of their kind, and `none` for no one
 * @throws UserError (2) for a name that is unknown, or of the other kind
 */
export function chosenVariants(choice: Readonly<Partial<Record<Kind, readonly string[] | undefined>>>): string[] {
  const canaries = chosen('canaries', choice.canaries);
  const named = new Set([...chosen('damages', choice.damages), ...canaries]);
  if (canaries.length > 0) named.add('shuffled');
  return variantFacts().flatMap(({ name, family }) =>
    family === 'truth' || family === 'rewrite' || named.has(name) ? [name] : [],
  );
}

const NONE = 'none';

function chosen(kind: Kind, names: readonly string[] = []): readonly string[] {
  const families: readonly Family[] = KINDS[kind];
  const known = variantFacts().flatMap(({ name, family }) => (families.includes(family) ? [name] : []));
  if (names.length === 0) return known;
  if (names.length === 1 && names[0] === NONE) return [];
  const stranger = names.find((name) => !known.includes(name));
  if (stranger === undefined) return names;
  throw new UserError(
    `--${kind} takes ${NONE} alone, or some of the known: ${unknownName(`name "${stranger}"`, stranger, known)}`,
  );
}
