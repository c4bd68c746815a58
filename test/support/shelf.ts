// A shelf for a journal's summaries that keeps them as they come.

import { present } from '../../src/present.js';
import type { Shelf } from '../../src/run/journal.js';

export function listShelf<S>(): Shelf<S> {
  const kept: S[] = [];
  return {
    put(number, summary) {
      kept[number] = summary;
    },
    at: (number) => present(kept[number]),
  };
}
