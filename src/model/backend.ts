// What every backend is opened with, and what it reports beside the outcomes.

import type { JsonObject } from '../core/json.js';
import type { Sampling } from '../core/sampling.js';
import type { Backend } from '../core/types.js';
import type { Dialect } from './endpoint/dialect.js';
import type { TimeLimits } from './http/time-limits.js';
import type { Clock, Pace, Reserving } from './schedule/pace.js';

/** How many calls at once, how often and how long a failure is tried again, and by which clock. */
export interface ScheduleOptions {
  /** Calls at once per endpoint. Each endpoint has a limit of its own; a number is kept exactly. */
  readonly concurrency: number | 'adaptive';
  /** What an adaptive limit never exceeds (256). */
  readonly ceiling?: number;
  /** Tries of one request. Tries that met a rate limit or an outage do not count, since neither may lose a row. */
  readonly maxAttempts: number;
  /**
   * A request is not tried again once so much time has passed since its first failure; no outage is waited out for longer
   * either.
   */
  readonly retryMs: number;
  /** How long an endpoint that has never answered is waited for (0: as long as a row has tries). */
  readonly waitReadyMs?: number;
  /** Goes on although the first twenty rows failed in one way. */
  readonly keepGoing?: boolean;
  readonly clock?: Clock;
  /** 0 to 1, for the jitter. */
  readonly random?: () => number;
  readonly onNotice?: (text: string) => void;
  /** What holds calls back to so many a minute. */
  readonly pace?: Pace;
}

/** What the pool was told, with what holds where nothing was. */
export type PoolSettings = Required<ScheduleOptions>;

/** The options of every backend. Where one is absent, the backend decides. */
export interface BackendOptions extends Omit<ScheduleOptions, 'pace'> {
  /** Calls, and tokens of prompt and output, that may start a minute, over all endpoints together. */
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  /** What keeps a budget from being exceeded. */
  readonly reserve?: Reserving | undefined;
  readonly sampling: Sampling;
  /** The form that replies are held to, as the wire format's `response_format`. */
  readonly responseFormat?: unknown;
  /** Replies are streamed. */
  readonly stream: boolean;
  readonly clocks: TimeLimits;
  /** After a context overflow, the request is sent once more with the tokens that are left. */
  readonly fitMaxTokens: boolean;
  /** A parameter that is rejected is left out from then on. */
  readonly allowParamDrop: boolean;
  /** Parameters left out from the start, as an earlier session of the run found them rejected. */
  readonly dropped: readonly string[];
  /** What is known of the parameters, where a backend shares it with another; else each learns by itself. */
  readonly dialect?: Dialect;
}

/** What a server tells of its model's context before it is asked. */
export interface ServedContext {
  readonly host: string;
  readonly tokens: number;
  /** It refuses a prompt that fits without its whole output budget; others end the reply where the context does. */
  readonly refusesBudgets: boolean;
}

/** A backend, and what it learnt about the servers that it asks. */
export interface OpenBackend extends Backend {
  /** What `awb serve` says of its models; none for any other server. */
  readonly models: readonly JsonObject[];
  /**
   * The context lengths of the servers that tell them.
   * @throws UserError (2) where no prompt can fit beside the output budget
   */
  contexts(): Promise<readonly ServedContext[]>;
  /** The parameters that are left out, sorted: part of a run's identity. */
  dropped(): readonly string[];
}
