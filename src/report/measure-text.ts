// What a measure's numbers mean, in words and digits.

import { type Measure, measureWords } from '../core/measures.js';

/** What a measure is and what it measures, such as `text measure of prediction against ground truth`. */
export function kindText(measure: Measure): string {
  const { one, of } = measureWords(measure);
  return of === undefined ? one : `${one} ${of}`;
}

/** Its range and which way is better, such as `0-100` (where larger is better) or `from 0 on, smaller is better`. */
export function measureText({ range: [low, high], better }: Measure): string {
  const way =
    typeof better === 'object'
      ? `, best at ${better.target}`
      : { larger: '', smaller: ', smaller is better', neither: ', neither way better' }[better];
  return `${rangeText(low, high)}${way}`;
}

function rangeText(low: number, high: number): string {
  if (Number.isFinite(low) && Number.isFinite(high)) return `${low}-${high}`;
  if (Number.isFinite(low)) return `from ${low} on`;
  return Number.isFinite(high) ? `up to ${high}` : 'without ends';
}

/** Whether it is read as scores are: from 0 to 100, a larger one better. */
export function isLikeScore({ range: [low, high], better }: Measure): boolean {
  return low === 0 && high === 100 && better === 'larger';
}

/** Decimals that a page shows of its values: one from 0 to 100, else two. */
export function decimalsOf({ range: [low, high] }: Measure): number {
  return low === 0 && high === 100 ? 1 : 2;
}

/** A text with a capital at its start. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
