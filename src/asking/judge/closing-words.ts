// What a judging says at its end: what its counts are of, and what comes next.

import { counted } from '../../figures.js';
import type { Counts, Manifest } from '../../run/manifest.js';
import { shellLine } from '../../shell.js';

/** Counts are of judgements, and coverage is of predictions: where these differ, both are said. */
export function remarkOnRepeats({ chosen, counts }: Manifest): string | undefined {
  const predictions = Object.values(chosen).reduce((sum, count) => sum + count, 0);
  return counts.chosen > predictions ? `these are judgements of ${counted(predictions, 'prediction')}` : undefined;
}

/** What to do with the judged file, and before that what would mend it. */
export function nextStep({ absent, failures }: Counts, judged: string, program: string): string {
  const unpredicted = absent + (failures.prediction ?? 0) + (failures['context-overflow'] ?? 0);
  const mend =
    unpredicted > 0
      ? `repeat awb infer (${counted(unpredicted, 'row')} ${unpredicted === 1 ? 'lacks' : 'lack'} a prediction) and then this command; or `
      : '';
  return `${mend}${program} ${shellLine(['score', '--predictions', judged])}`;
}
