// The list of variants: predictions of known quality that a judge is calibrated with; and which of them a calibration takes.

import { BASELINES } from '../../benchmark/baselines.js';
import type { Family, VariantFacts } from '../../core/calibration.js';
import { nearest, UserError } from '../../core/errors.js';
import { CANARIES } from './canaries.js';
import { CORRUPTIONS } from './corruptions.js';
import { REWRITES } from './rewrites.js';
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
  return Object.entries<Variant>(VARIANTS).map(([name, { family, help, dose }]) => ({
    name,
    family,
    help,
    dose,
  }));
}

/** What was done to a variant, in a few words; empty for a name that is none. */
export function helpOf(name: string): string {
  return Object.entries<Variant>(VARIANTS).find(([known]) => known === name)?.[1].help ?? '';
}

/** Names as the user gave them; absent for all of their kind, and `none` for no one. */
interface Choice {
  readonly damages?: readonly string[] | undefined;
  readonly canaries?: readonly string[] | undefined;
}

const KINDS = {
  damages: { noun: 'damage', flag: '--damages', families: ['order', 'dose', 'single', 'baseline'] },
  canaries: { noun: 'canary', flag: '--canaries', families: ['canary'] },
} as const satisfies Record<keyof Choice, { noun: string; flag: string; families: readonly Family[] }>;
type Kind = keyof typeof KINDS;

const NONE = 'none';
/** What every canary is compared with. */
const BENEATH_CANARIES = 'shuffled';

/**
 * The variants to judge, by name, in the order of asking. Truth and rewrites are always among them, and `shuffled` where a canary is.
 * @throws UserError (2) for a name that is unknown, or of the other kind
 */
export function chosenVariants(choice: Choice): string[] {
  const damages = chosen('damages', choice.damages);
  const canaries = chosen('canaries', choice.canaries);
  return namesOf((name, { family }) => {
    if (family === 'truth' || family === 'rewrite') return true;
    return damages.has(name) || canaries.has(name) || (name === BENEATH_CANARIES && canaries.size > 0);
  });
}

function chosen(kind: Kind, names: readonly string[] | undefined): ReadonlySet<string> {
  const known = namesOfKind(kind);
  if (names === undefined) return new Set(known);
  const [first, second] = names;
  if (first === NONE && second === undefined) return new Set();
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new UserError(complaint(kind, stranger, known));
  return new Set(names);
}

function complaint(kind: Kind, name: string, known: readonly string[]): string {
  const { noun, flag } = KINDS[kind];
  if (name === NONE) return `${flag} none stands alone; leave out ${NONE} or the other names`;
  const other = kind === 'damages' ? 'canaries' : 'damages';
  if (namesOfKind(other).includes(name)) {
    return `"${name}" is no ${noun} but a ${KINDS[other].noun}; name it with ${KINDS[other].flag}`;
  }
  const guess = nearest(name, known);
  const hint = guess === undefined ? '' : `; did you mean "${guess}"?`;
  return `unknown ${noun} "${name}"${hint}\n${flag} takes ${NONE}, or some of ${known.join(', ')}`;
}

function namesOfKind(kind: Kind): string[] {
  const families: readonly Family[] = KINDS[kind].families;
  return namesOf((_name, { family }) => families.includes(family));
}

function namesOf(isMeant: (name: string, variant: Variant) => boolean): string[] {
  return Object.entries<Variant>(VARIANTS).flatMap(([name, variant]) => (isMeant(name, variant) ? [name] : []));
}
