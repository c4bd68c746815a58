// Ratings of known predictions, for tests of what they show about a judge.

import type { CalibratedRow, Family, VariantFacts } from '../../src/core/calibration.js';
import { DIMENSIONS, type JudgementFailure } from '../../src/core/types.js';

export function facts(name: string, family: Family, dose?: number): VariantFacts {
  return { name, family, help: name, ...(dose === undefined ? {} : { dose }) };
}

export const TRUTH = facts('truth', 'truth');
export const REWRITE = facts('rewrite-keys', 'rewrite');
export const SHUFFLED = facts('shuffled', 'baseline');

/** Variants of every family. */
export const KNOWN: readonly VariantFacts[] = [
  TRUTH,
  REWRITE,
  facts('rewrite-space', 'rewrite'),
  facts('determined-1of8', 'dose', 1 / 8),
  facts('determined-1of3', 'dose', 1 / 3),
  facts('light', 'order'),
  facts('heavy', 'order'),
  facts('lost-fence', 'single'),
  facts('persistence', 'baseline'),
  SHUFFLED,
  facts('empty', 'baseline'),
  facts('closed-frame', 'attack'),
  facts('flattery', 'attack'),
];

/** The row, variant and place of a judgement. */
interface Place {
  readonly key: string;
  readonly trajectory?: string;
  readonly domain?: string;
  readonly variant: string;
  readonly index?: number;
}

/** A judgement given by its five ratings, by one rating for all of them, or by the reason why it has none. */
export function judged(
  { key, trajectory = key, domain = 'web', variant, index = 0 }: Place,
  said: number | readonly number[] | JudgementFailure,
): CalibratedRow {
  const place = { key, trajectory, repeat: 0, index, domain, turnIdx: 1, variant, flags: [] };
  if (typeof said === 'string') {
    return { ...place, failed: 1, total: 0, ratings: {}, failure: { class: said, reason: said } };
  }
  const ratings = typeof said === 'number' ? DIMENSIONS.map(() => said) : said;
  return {
    ...place,
    failed: 0,
    total: ratings.reduce((sum, rating) => sum + rating, 0) / ratings.length,
    ratings: Object.fromEntries(DIMENSIONS.map((dimension, column) => [dimension, ratings[column] ?? 0])),
  };
}
