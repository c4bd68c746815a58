// What calls cost: which counts can be believed, and their sums.

import { isInteger, isObject } from './json.js';
import { keysOf } from './keys.js';
import type { CallCost, Uncounted, Usage } from './types.js';

/** No call has this many tokens, and up to here the sum over millions of rows is exact. */
const MOST_TOKENS = 1e9;

/** Whether what a server reports can be a number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** Whether a value, as a journal may hold one, tells what was not counted. */
export function isUncounted(value: unknown): value is Uncounted {
  if (!isObject(value)) return false;
  return [value.sent, value.received].every((count) => isInteger(count) && count >= 0);
}

/** Adds the counts of a call to a sum. */
export function addUsage(sum: Usage, more: Usage = {}): void {
  for (const name of keysOf(more)) sum[name] = (sum[name] ?? 0) + (more[name] ?? 0);
}

/** What two calls cost together. */
export function costOfBoth(one: CallCost, other: CallCost): { readonly usage: Usage; readonly uncounted?: Uncounted } {
  const usage = { ...one.usage };
  addUsage(usage, other.usage);
  const uncounted = [one.uncounted, other.uncounted].filter((part) => part !== undefined);
  if (uncounted.length === 0) return { usage };
  const sumOf = (name: keyof Uncounted) => uncounted.reduce((sum, part) => sum + part[name], 0);
  return { usage, uncounted: { sent: sumOf('sent'), received: sumOf('received') } };
}
