// What a schedule is told: how many calls at once, how often and how long a failure is tried again, and by which clock.

import { type Clock, systemClock } from './clock.js';

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
}

export type ScheduleSettings = Required<ScheduleOptions>;

const DEFAULT_CEILING = 256;

export function withDefaults(options: ScheduleOptions): ScheduleSettings {
  return {
    ceiling: DEFAULT_CEILING,
    waitReadyMs: 0,
    keepGoing: false,
    clock: systemClock,
    random: Math.random,
    onNotice: () => {},
    ...options,
  };
}
