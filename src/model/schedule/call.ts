// A job whose turn has come, and the call that it waits for: its request, its tries, and what they cost.

import type { CallCost, Job, ModelRequest } from '../../types.js';
import type { AttemptFailure } from '../attempt.js';

/** A job from its start to its end. It asks one question after the other. */
export class Turn {
  /** What it asks now, or has asked last. */
  call: Call;
  hasAsked = false;
  /** The slot that it holds; undefined before it begins and while its call waits for the next try. */
  slot?: Slot | undefined;
  /** Goes on with the call that waits: in the slot that it holds by then, or not at all. */
  resume?: ((goesOn: boolean) => void) | undefined;
  /** Its group goes on without it. */
  isReleased = false;

  constructor(
    readonly job: Job,
    now: number,
  ) {
    this.call = newCall(job, now, this);
  }
}

interface Slot {
  /** The endpoint's index. */
  readonly endpoint: number;
  free(): void;
}

export interface Call {
  readonly job: Job;
  /** Absent for a call that only tries out whether an endpoint is there. */
  readonly turn?: Turn;
  request?: ModelRequest;
  startedAt: number;
  attempts: number;
  /** Of all its tries. */
  cost: CallCost;
  /** Those of the tries that the server counted tokens of. */
  counts: number;
  /** Failures that lengthen its back-off, and tries that are used up. */
  failures: number;
  counted: number;
  /** Failures at endpoints, by index, of which is not known yet whether the row or the endpoint is at fault. */
  pending: readonly Pending[];
  /** By endpoint, how often it has failed there through no outage. */
  readonly failedAt: Map<number, number>;
  /** How many outages this call was in whose failures were not counted. */
  forgiven: number;
  /** It waits through no fault of its own, so it goes before the rows that have not begun. */
  isFirst: boolean;
  /** Rate limits met since then, while no other call that had met one was answered. */
  refused: { since: number; times: number };
  /** When its back-off ends. */
  dueAt: number;
  firstFailureAt?: number;
  lastFailure?: AttemptFailure;
  /** These end the try in flight, and the back-off. */
  inFlight?: AbortController;
  backOff?: AbortController;
}

/** A failure at an endpoint; `isLimit` where that was a rate limit. */
interface Pending {
  readonly endpoint: number;
  readonly isLimit: boolean;
}

const BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;

export function newCall(job: Job, startedAt: number, turn?: Turn): Call {
  return {
    job,
    ...(turn !== undefined && { turn }),
    startedAt,
    attempts: 0,
    cost: { usage: {} },
    counts: 0,
    failures: 0,
    counted: 0,
    pending: [],
    failedAt: new Map(),
    forgiven: 0,
    isFirst: false,
    refused: { since: startedAt, times: 0 },
    dueAt: startedAt,
  };
}

/**
 * Takes out the failures at an endpoint that `which` names. @returns how many there were
 */
export function takePending(call: Call, endpoint: number, which: (failure: Pending) => boolean = () => true): number {
  const kept = call.pending.filter((failure) => failure.endpoint !== endpoint || !which(failure));
  const taken = call.pending.length - kept.length;
  call.pending = kept;
  return taken;
}

/** Whether a call has no try left, if all its failures count. */
export function isSpent(
  { counted, pending, firstFailureAt = Number.POSITIVE_INFINITY }: Call,
  now: number,
  { maxAttempts, retryMs }: { readonly maxAttempts: number; readonly retryMs: number },
): boolean {
  if (pending.length === 0) return false;
  return counted + pending.length >= maxAttempts || now >= firstFailureAt + retryMs;
}

/**
 * Milliseconds to wait after one more failure: exponential back-off with full jitter behind the wait that the server asks for, at
 * most `leftMs`. `random` is 0 to 1; `level` is the fewest failures that it goes by.
 */
export function backOffMs(call: Call, random: number, retryAfterMs: number, leftMs: number, level = 0): number {
  const jitterMs = random * Math.min(LONGEST_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.max(call.failures++, level));
  return Math.min(retryAfterMs + jitterMs, leftMs);
}
