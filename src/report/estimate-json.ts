// An estimate as every JSON document holds it.

import type { Estimate } from '../types.js';
import { documentOf, ESTIMATE } from './document.js';

/** An estimate with its uncertainty, unrounded; null where there is no such figure. */
export function estimateDocument(estimate: Estimate) {
  return documentOf(ESTIMATE, estimate);
}
