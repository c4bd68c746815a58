// An estimate as every JSON document holds it.

import type { Estimate } from '../types.js';

/** What is known of an estimate's uncertainty, unrounded; null where there is no such figure. */
export function spreadDocument({ rows, clusters, se, df, low, high }: Partial<Estimate>) {
  return {
    rows: rows ?? null,
    clusters: clusters ?? null,
    se: se ?? null,
    df: df ?? null,
    low: low ?? null,
    high: high ?? null,
  };
}

/** An estimate with its uncertainty. */
export function estimateDocument(estimate: Estimate) {
  return { value: estimate.value, ...spreadDocument(estimate) };
}
