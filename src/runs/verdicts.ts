// How verdicts were read, in words.

import type { MadeWith } from '../run/made-with.js';

/** Such as `strict (reading 3, frame 2)`. Ratings that were asked for in another frame, or read otherwise, are not alike. */
export function verdictsOf({ verdicts, versions }: MadeWith): string | undefined {
  if (versions.length === 0) return verdicts;
  return verdicts === undefined ? versions.join(', ') : `${verdicts} (${versions.join(', ')})`;
}
