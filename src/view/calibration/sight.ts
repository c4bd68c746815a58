// Which damages a judge sees: how many, and as a word on the page.

import type { Loss, Sight } from '../../stats/calibration/document.js';

/** How many damages a judge is blind to, of how many. */
export function sightCounts(losses: readonly Loss[]): { blind: number; undecided: number; all: number } {
  const of = (wanted: Sight) => losses.filter(({ sight }) => sight === wanted).length;
  return { blind: of('blind'), undecided: of('undecided'), all: losses.length };
}

const CLASSES: Readonly<Record<Sight, string>> = { seen: 'good', blind: 'bad', undecided: 'soft' };

export function sightMark(sight: Sight): string {
  return `<span class="${CLASSES[sight]}">${sight}</span>`;
}
