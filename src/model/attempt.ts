// What one try of one request comes to, and what it cost: an endpoint makes it, the pool acts on it.

import type { UserError } from '../core/errors.js';
import type { CallCost, FailureClass, ModelReply, Usage } from '../core/types.js';

export const INTERRUPTED = { status: 'interrupted' } as const;

/** Is told each piece of a reply as it comes, without secrets. */
export type Hear = (piece: string, kind: 'content' | 'reasoning') => void;

/** Failures that may pass. */
export const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);

export type Attempt = AttemptReply | AttemptFailure | typeof INTERRUPTED;

/** A reply as the try gave it; what all tries cost is known only to the schedule. */
export interface AttemptReply extends Omit<ModelReply, 'log'> {
  readonly usage: Usage;
  readonly firstTokenMs?: number;
}

export interface AttemptFailure {
  readonly status: 'failed';
  readonly class: FailureClass;
  /** One sentence without secrets, times or counts. */
  readonly reason: string;
  /** From Retry-After (seconds or date) or retry-after-ms, milliseconds from now. */
  readonly retryAfterMs?: number;
  /** No connection could be made at all (refused, host unknown): the endpoint may be gone. */
  readonly unreachable?: true;
  /**
   * The failure says nothing about its row: nobody answered, or something else did in the model's place (a gateway, a web
   * server, a server that is loading).
   */
  readonly down?: true;
  /** Present for `auth` and `fatal`: what stops the run, with its exit code and remedy. */
  readonly stop?: UserError;
  /** The parameter that the server does not take, as it was sent. */
  readonly rejected?: string;
  /** Set on a context overflow. `promptTokens` only where the server counted them exactly. */
  readonly overflow?: { readonly contextTokens?: number; readonly promptTokens?: number };
  /** The server does not know the model. */
  readonly unknownModel?: true;
  readonly usage?: Usage;
  /** The server had taken the request and was working on it; so many characters of a reply had come. */
  readonly received?: number;
}

/**
 * What a try cost. A failure costs nothing unless the server was at work when it came: what is refused, limited or not reached is
 * charged by nobody. A try that was broken off is charged for its prompt at least. `sent` counts the characters of the request.
 */
export function costOfTry(sent: () => number, attempt: Attempt): CallCost {
  if (attempt.status === 'interrupted') return { usage: {}, uncounted: { sent: sent(), received: 0 } };
  const { usage = {} } = attempt;
  const isFailed = attempt.status === 'failed';
  const isCounted = usage.promptTokens !== undefined && usage.completionTokens !== undefined;
  const wasIdle = isFailed && attempt.received === undefined && attempt.class !== 'timeout';
  if (isCounted || wasIdle) return { usage };
  const received = isFailed ? (attempt.received ?? 0) : attempt.content.length + (attempt.reasoning?.length ?? 0);
  return {
    usage,
    uncounted: {
      sent: usage.promptTokens === undefined ? sent() : 0,
      received: usage.completionTokens === undefined ? received : 0,
    },
  };
}
