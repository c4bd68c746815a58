// The vocabulary of classify.ts and its rules: what a failure is recognised by, and what a rule makes of it.

import type { UserError } from '../../core/errors.js';
import type { Redact } from '../../core/redaction.js';
import type { AttemptFailure } from '../attempt.js';
import type { Said } from './error-body.js';

/** What a call came to: an HTTP answer, an error object in a stream (no status, or 200), or what the connection threw. */
export interface Evidence {
  readonly status?: number;
  /** The body as text. */
  readonly body?: string;
  readonly headers?: { get(name: string): string | null };
  /** What the client or the connection threw. */
  readonly error?: unknown;
}

/** What the classification depends on beside the failure itself. */
export interface CallContext {
  /** Host and port. */
  readonly host: string;
  readonly model: string;
  /** What the server was asked for, in words. */
  readonly asked: string;
  /** Whose flags a remedy names; empty where no model is asked and the flags have no prefix. */
  readonly flagPrefix: 'model' | 'judge' | 'agent' | '';
  readonly hasKey: boolean;
  /** Whether replies are held to a form that this program asks for, and not the user with --extra-body. */
  readonly isHeld?: boolean;
  /** The request body's keys as they were sent: no other parameter counts as rejected. */
  readonly sent: readonly string[];
  /** The proxy in between, and the environment variable that names it. */
  readonly proxy?: { readonly host: string; readonly variable: string } | undefined;
  readonly redact: Redact;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  readonly nowMs: number;
}

/** A failure as the rules see it. */
export interface Situation extends CallContext {
  readonly said: Said;
  readonly status: number;
}

/** What a rule makes of it. */
export interface Classified {
  readonly failure: Omit<AttemptFailure, 'status' | 'reason' | 'stop'>;
  /** The failure in our words. */
  readonly what: string;
  readonly stop?: { readonly remedy: string; readonly exitCode: UserError['exitCode'] };
}

/** Undefined where the rule does not apply. */
export type Rule = (situation: Situation) => Classified | undefined;
