// What every backend is opened with, and what it reports beside the outcomes.

import type { JsonObject } from '../json.js';
import type { Sampling } from '../sampling.js';
import type { Backend } from '../types.js';
import type { Clocks } from './http/time-limits.js';
import type { ScheduleOptions } from './schedule/schedule-options.js';

/** The options of every backend. Where one is absent, the backend decides. */
export interface BackendOptions extends ScheduleOptions {
  readonly sampling: Sampling;
  /** The form that replies are held to, as the wire format's `response_format`. */
  readonly responseFormat?: unknown;
  /** Replies are streamed. */
  readonly stream: boolean;
  readonly clocks: Clocks;
  /** After a context overflow, the request is sent once more with the tokens that are left. */
  readonly fitMaxTokens: boolean;
  /** A parameter that is rejected is left out from then on. */
  readonly allowParamDrop: boolean;
  /** Parameters left out from the start, as an earlier session of the run found them rejected. */
  readonly dropped: readonly string[];
}

/** A backend, and what it learnt about the servers that it asks. */
export interface OpenBackend extends Backend {
  /** What `awb serve` says of its models; none for any other server. */
  readonly models: readonly JsonObject[];
  /** The parameters that are left out, sorted: part of a run's identity. */
  dropped(): readonly string[];
}
