// The list of variants (predictions of known quality for calibrating a judge), and which of them a calibration takes.

import { BASELINES } from '../../benchmark/baselines.js';
import type { Family, VariantFacts } from '../../core/calibration.js';
import { present, UserError } from '../../core/errors.js';
import { unknownName } from '../../core/schema.js';
import { ATTACKS } from './attacks.js';
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
    help: 'the previous observation, if the truth differs from it',
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
  empty: { family: 'baseline', help: 'an empty prediction', make: BASELINES.empty },
  ...SINGLES,
  ...ATTACKS,
} satisfies Record<string, Variant>;

/** The facts about each variant, in the order of asking. */
export function variantFacts(): VariantFacts[] {
  return Object.entries<Variant>(VARIANTS).map(([name, { family, help, dose }]) => ({ name, family, help, dose }));
}

/** The variant of a name that `chosenVariants` returned. */
export function variantOf(name: string): Variant {
  const list: Readonly<Record<string, Variant>> = VARIANTS;
  return present(list[name]);
}

/** A short description of how a variant is made; empty for an unknown name. */
export function helpOf(name: string): string {
  return variantFacts().find((variant) => variant.name === name)?.help ?? '';
}

const KINDS = {
  corruptions: ['order', 'dose', 'single', 'baseline'],
  attacks: ['attack'],
} satisfies Record<string, readonly Family[]>;
type Kind = keyof typeof KINDS;

/**
 * The variants to judge, by name, in the order of asking. Truth and rewrites are always included, and `shuffled` if any attack is, since
 * every attack is compared with it.
 * @param choice names as given by the user; absent or empty for all of their kind, and `none` for none
 * @throws UserError (2) for a name that is unknown, or of the other kind
 */
export function chosenVariants(choice: Readonly<Partial<Record<Kind, readonly string[] | undefined>>>): string[] {
  const attacks = chosen('attacks', choice.attacks);
  const named = new Set([...chosen('corruptions', choice.corruptions), ...attacks]);
  if (attacks.length > 0) named.add('shuffled');
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
    `--${kind} takes only ${NONE}, or some of the known: ${unknownName(`name "${stranger}"`, stranger, known)}`,
  );
}
