// What calls cost: which counts can be believed, and their sums.

import { isInteger, isObject } from './json.js';
import { keysOf } from './keys.js';
import type { CallCost, CallLog, Uncounted, Usage } from './types.js';

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

const KINDS: Readonly<Record<keyof Usage, true>> = {
  promptTokens: true,
  cachedTokens: true,
  writtenTokens: true,
  completionTokens: true,
  reasoningTokens: true,
};
const TOKEN_KINDS = keysOf(KINDS);

/** The counts in a usage as a journal may hold one; whatever else stands there is left out. */
export function countsIn(written: unknown): Usage {
  const counts: Usage = {};
  for (const kind of TOKEN_KINDS) {
    const count = isObject(written) ? written[kind] : undefined;
    if (isInteger(count) && count >= 0) counts[kind] = count;
  }
  return counts;
}

/** Whether anything was counted. */
export function isCounted(usage: Readonly<Usage>): boolean {
  return Object.keys(usage).length > 0;
}

/** Of how many calls a log's counts are. */
export function callsCounted({ tries, usage }: Pick<CallLog, 'tries' | 'usage'>): number {
  return tries ?? (isCounted(usage) ? 1 : 0);
}

/** Of how many calls a journal's log says that its counts are; 1 where it says nothing, as those of one call do. */
export function callsIn(tries: unknown): number {
  return isInteger(tries) && tries > 0 ? tries : 1;
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

/** A call's log with what those before it cost; the rest is the call's own. Characters that were sent belong to one call. */
export function callsTogether(before: CallLog, { chars: _, ...log }: CallLog): CallLog {
  const tries = callsCounted(before) + callsCounted(log);
  return {
    ...log,
    ...(tries > 1 ? { tries } : {}),
    ...costOfBoth(before, log),
    attempts: before.attempts + log.attempts,
    ms: before.ms + log.ms,
  };
}
