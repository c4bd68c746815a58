// The result of one try of one request, and its cost: an endpoint makes the try, the pool acts on it.

import type { UserError } from '../core/errors.js';
import type { CallCost, FailureClass, ModelReply, Usage } from '../core/types.js';

export const INTERRUPTED = { status: 'interrupted' } as const;

/** Receives each piece of a reply as it arrives, without secrets. */
export type Hear = (piece: string, kind: 'content' | 'reasoning') => void;

/** Failures that may pass. */
export const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);

export type Attempt = AttemptReply | AttemptFailure | typeof INTERRUPTED;

/** The reply of a single try; only the schedule knows the cost of all tries. */
export interface AttemptReply extends Omit<ModelReply, 'log'> {
  readonly usage: Usage;
  readonly firstTokenMs?: number;
}

export interface AttemptFailure {
  readonly status: 'failed';
  readonly class: FailureClass;
  /** One sentence without secrets, times or counts. */
  readonly reason: string;
  /** From Retry-After (seconds or date) or retry-after-ms, in milliseconds from now. */
  readonly retryAfterMs?: number;
  /** No connection could be made (refused, host unknown): the endpoint may be gone. */
  readonly unreachable?: true;
  /**
   * The failure says nothing about its row: nobody answered, or something else answered instead of the model (a gateway, a web server,
   * a server that is loading).
   */
  readonly down?: true;
  /** Present for `auth` and `fatal`: the error that stops the run, with its exit code and remedy. */
  readonly stop?: UserError;
  /** The parameter that the server rejects, under the name that was sent. */
  readonly rejected?: string;
  /** Set on a context overflow. `promptTokens` only if the server counted them exactly. */
  readonly overflow?: { readonly contextTokens?: number; readonly promptTokens?: number };
  /** The server does not know the model. */
  readonly unknownModel?: true;
  readonly usage?: Usage;
  /** Set if the server had accepted the request and was working on it: how many characters of the reply had arrived. */
  readonly received?: number;
}

/**
 * The cost of a try. A failure costs nothing unless the server was working when it occurred: nobody charges for requests that were
 * refused, limited or not delivered. A try that was broken off is charged at least for its prompt. `sent` counts the characters of the
 * request.
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
