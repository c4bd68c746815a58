// Token counts: which are credible, and what they come to.

import { isInteger } from './json.js';
import { keysOf } from './keys.js';
import type { Usage } from './types.js';

/** No call has as many tokens; up to here the sum over millions of rows is exact. */
const MOST_TOKENS = 1e9;

/** Whether a server's word for a number of tokens can be one. */
export function isTokenCount(value: unknown): value is number {
  return isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** Adds the counts that are there to a sum. */
export function addUsage(sum: Usage, more: Usage = {}): void {
  for (const name of keysOf(more)) sum[name] = (sum[name] ?? 0) + (more[name] ?? 0);
}
