// An estimate as every JSON document holds it.

import type { Estimate } from '../types.js';
import { documentOf, ESTIMATE, SPREAD } from './document.js';

/** What is known of an estimate's uncertainty, unrounded; null where there is no such figure. */
export function spreadDocument(spread: Partial<Estimate>) {
  return documentOf(SPREAD, spread);
}

/** An estimate with its uncertainty. */
export function estimateDocument(estimate: Estimate) {
  return documentOf(ESTIMATE, estimate);
}
