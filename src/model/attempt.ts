// One try of one request at one endpoint: endpoint.ts makes it, tries.ts acts on what came of it.

import type { UserError } from '../errors.js';
import type { FailureClass, ModelRequest, Usage } from '../types.js';

export interface Endpoint {
  /** Host and port, without credentials or path. */
  readonly host: string;
  /**
   * Makes exactly one try. Never throws: whatever happens is an `Attempt`. `attemptIndex` is 0 for the first try and varies the seed.
   * A rejected `max_tokens` is renamed and asked again inside the same try (see endpoint/dialect.ts), so it costs no attempt.
   */
  call(request: ModelRequest, attemptIndex: number, abort: AbortSignal): Promise<Attempt>;
  close(): Promise<void>;
}

export type Attempt = AttemptReply | AttemptFailure | { readonly status: 'interrupted' };

export interface AttemptReply {
  readonly status: 'ok';
  readonly content: string;
  readonly reasoning?: string;
  readonly finishReason?: string;
  readonly servedModel?: string;
  readonly usage: Usage;
  readonly firstTokenMs?: number;
  readonly fittedMaxTokens?: number;
  readonly redacted?: true;
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
  readonly usage?: Usage;
}
