// Token counts: which can be believed, and their sum.

import { isInteger } from './json.js';
import { keysOf } from './keys.js';
import type { Usage } from './types.js';

/** No call has this many tokens, and up to here the sum over millions of rows is exact. */
const MOST_TOKENS = 1e9;

/** Whether what a server reports can be a number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** Adds the counts of a call to a sum. */
export function addUsage(sum: Usage, more: Usage = {}): void {
  for (const name of keysOf(more)) sum[name] = (sum[name] ?? 0) + (more[name] ?? 0);
}
