// An estimate as documents hold it: every key, and null where there is no such figure.

import { z } from 'zod';
import type { Estimate } from './types.js';

/** Unrounded; null where there is none. */
export const FIGURE = z.number().nullable();
export const COUNT = z.int().min(0);

/** See `Estimate` for what each figure is. */
export const ESTIMATE = z.strictObject({
  value: z.number(),
  rows: COUNT,
  clusters: COUNT,
  se: FIGURE,
  df: FIGURE,
  low: FIGURE,
  high: FIGURE,
});
export type EstimateDocument = z.infer<typeof ESTIMATE>;

export function estimateDocument(estimate: Estimate): EstimateDocument {
  const { value, rows, clusters, se = null, df = null, low = null, high = null } = estimate;
  return { value, rows, clusters, se, df, low, high };
}
