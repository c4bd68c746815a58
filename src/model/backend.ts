// What every backend is opened with, and what it tells beside the outcomes.

import type { JsonObject } from '../json.js';
import type { Backend, Sampling } from '../types.js';
import type { Clocks } from './clocks.js';
import type { ScheduleOptions } from './schedule-options.js';

/** What is asked of every backend alike; an absent value is the backend's own. */
export interface BackendOptions extends ScheduleOptions {
  readonly sampling: Sampling;
  /** Has replies come as streams. */
  readonly stream: boolean;
  readonly clocks: Clocks;
  /** On a context overflow, asks once more with the tokens that are left. */
  readonly fitMaxTokens: boolean;
  /** Leaves out, from then on, a parameter that is rejected. */
  readonly allowParamDrop: boolean;
  /** Parameters left out from the start, as an earlier session of the run found them rejected. */
  readonly dropped: readonly string[];
}

/** A backend, and what it learnt of whom it asks. */
export interface OpenBackend extends Backend {
  /** What `awb serve` says of its models; none for any other server. */
  readonly models: readonly JsonObject[];
  /** The parameters that are left out, sorted: part of a run's identity. */
  dropped(): readonly string[];
}
