// A job whose turn has come, until it is settled: its request, its tries, and what they cost.

import type { CallCost, ModelRequest } from '../../types.js';
import type { AttemptFailure } from '../attempt.js';

export interface Call {
  /** The job's index. */
  readonly job: number;
  request?: ModelRequest;
  startedAt: number;
  attempts: number;
  /** Of all its tries. */
  cost: CallCost;
  /** Those of the tries that the server counted tokens of. */
  counts: number;
  /** Failures at the present endpoint: all, and those that count against the tries. */
  failures: number;
  counted: number;
  /** Failures since the endpoint last answered. Whether they count is known once it answers again. */
  pending: number;
  /** How many outages this call was in whose failures were not counted. */
  forgiven: number;
  firstFailureAt?: number;
  lastFailure?: AttemptFailure;
  /** These end the try in flight, and the back-off. */
  inFlight?: AbortController;
  backOff?: AbortController;
}

const BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

export function newCall(job: number, startedAt: number): Call {
  return {
    job,
    startedAt,
    attempts: 0,
    cost: { usage: {} },
    counts: 0,
    failures: 0,
    counted: 0,
    pending: 0,
    forgiven: 0,
  };
}

/** Forgets the failures at an endpoint, since another one takes the call over. */
export function forgetFailures(call: Call): void {
  call.failures = 0;
  call.counted = 0;
  call.pending = 0;
  delete call.firstFailureAt;
  delete call.lastFailure;
}

/** Whether a call has no try left, if all its failures count. */
export function isSpent(
  { counted, pending, firstFailureAt = Number.POSITIVE_INFINITY }: Call,
  now: number,
  { maxAttempts, retryMs }: { readonly maxAttempts: number; readonly retryMs: number },
): boolean {
  if (pending === 0) return false;
  return counted + pending >= maxAttempts || now >= firstFailureAt + retryMs;
}

/**
 * Milliseconds to wait after one more failure: exponential back-off with full jitter behind the wait that the server asks for, at
 * most `leftMs`. `random` is 0 to 1.
 */
export function backOffMs(call: Call, random: number, retryAfterMs: number, leftMs: number): number {
  const jitterMs = random * Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** call.failures++);
  return Math.min(retryAfterMs + jitterMs, leftMs);
}
