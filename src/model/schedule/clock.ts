// The clock that the schedule waits by; a test brings its own.

import { LONGEST_TIMER_MS } from '../../core/timers.js';

export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal is aborted; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
    }),
};
