// Figures of a report as text.

import { type Ends, intervalText } from '../core/figures.js';

/** What stands where there is no figure. */
export const DASH = '–';

/** A score; a missing one as a dash. */
export function number(estimate: { readonly value: number } | null | undefined, decimals = 1): string {
  return estimate?.value.toFixed(decimals) ?? DASH;
}

/** The interval of a score, where it has one. */
export function range(estimate: Ends | null | undefined, decimals = 1): string | undefined {
  return intervalText(estimate ?? {}, (value) => value.toFixed(decimals));
}

/** The interval of a difference, where it has one. */
export function signedRange(difference: Ends): string | undefined {
  return intervalText(difference, signed);
}

/** A difference in points with its sign. The minus is the typographic one, unlike in terminals. */
export function signed(points: number): string {
  const text = Math.abs(points).toFixed(1);
  if (text === '0.0') return '0.0';
  return `${points > 0 ? '+' : '−'}${text}`;
}

/** A whole number with separators; a missing one as a dash. */
export function count(value: number | undefined): string {
  if (value === undefined) return DASH;
  return value === 0 ? '<span class="zero">0</span>' : value.toLocaleString('en');
}
