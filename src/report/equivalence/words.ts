// Decision equivalence in words, alike in the terminal and on the page.

import type { Equivalence } from '../../equivalence.js';
import { LEAST_CLUSTERS } from '../../types.js';

/** What a reader must know of it. */
export const EQUIVALENCE_NOTES = [
  'Decision eq.: (predicted - floor) / (ceiling - floor), of 100. It tells how far an agent does after the predicted observation what it does after the true one, and is the part of transfer that needs no training.',
  'Predicted: how often the agent acts alike after the prediction and after the truth. Ceiling: after the truth, asked twice. Floor: after the observation of another row.',
] as const;

/** Why some have none, a sentence for each reason that occurs. */
export function missingNotes(all: readonly Equivalence[]): string[] {
  const has = (reason: Equivalence['found']) => all.some(({ found }) => found === reason);
  return [
    ...(has('does not look')
      ? [
          'None: the interval of ceiling minus floor holds 0, or lies below it. What it is shown is not seen to matter to the agent, so it tells nothing of predictions.',
        ]
      : []),
    ...(has('few')
      ? [`Too few: fewer than ${LEAST_CLUSTERS} trajectories (for the mean of domains: in any of them).`]
      : []),
  ];
}

/** What stands in place of a figure. */
export function missingText(found: Equivalence['found']): string | undefined {
  if (found === 'few') return 'too few';
  return found === 'does not look' ? 'none' : undefined;
}
