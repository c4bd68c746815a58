// What one try of a call cost: the tokens that the server counted, and the characters of what it did not count.

import type { CallCost } from '../core/types.js';
import type { Attempt, AttemptFailure } from './attempt.js';

/**
 * What a try cost. A failure costs nothing unless the server was at work when it came: what is refused, limited or not reached is
 * charged by nobody. A try that was broken off is charged for its prompt at least. `sent` counts the characters of the request.
 */
export function costOfTry(sent: () => number, attempt: Attempt): CallCost {
  if (attempt.status === 'interrupted') return { usage: {}, uncounted: { sent: sent(), received: 0 } };
  const { usage = {} } = attempt;
  const isCounted = usage.promptTokens !== undefined && usage.completionTokens !== undefined;
  if (isCounted || (attempt.status === 'failed' && !wasAtWork(attempt))) return { usage };
  return {
    usage,
    uncounted: {
      sent: usage.promptTokens === undefined ? sent() : 0,
      received: usage.completionTokens === undefined ? receivedIn(attempt) : 0,
    },
  };
}

function wasAtWork({ class: failure, received }: AttemptFailure): boolean {
  return received !== undefined || failure === 'timeout';
}

function receivedIn(attempt: Exclude<Attempt, { status: 'interrupted' }>): number {
  if (attempt.status === 'failed') return attempt.received ?? 0;
  return attempt.content.length + (attempt.reasoning?.length ?? 0);
}
