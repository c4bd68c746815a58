// The three clocks of a call: they end it if there is no first token, no further token, or no end.

import { setMaxListeners } from 'node:events';
import { LONGEST_TIMER_MS } from '../../core/timers.js';

/** Limits of one call in milliseconds. The first two apply only to streamed replies. Only text and reasoning count as progress. */
export type TimeLimits = Readonly<Record<'firstTokenTimeoutMs' | 'gapTimeoutMs' | 'callTimeoutMs', number>>;

export type RunningLimits = ReturnType<typeof startClocks>;

/** How long to wait for what follows a reply's end (its token counts), and for the body of an error. */
const TAIL_MS = 5_000;

/** Starts the clocks of a call that may take `leftMs` in all; `stop` ends them. */
export function startClocks(clocks: TimeLimits, stream: boolean, abort: AbortSignal, leftMs: number) {
  const controller = new AbortController();
  const startedMs = performance.now();
  const cancel = () => controller.abort();
  /** The clock that ended the call, in words; and milliseconds to the first progress. */
  const passed: { expired?: string; firstTokenMs?: number | undefined } = {};
  const after = (ms: number, words: string): NodeJS.Timeout => {
    const expire = () => {
      passed.expired ??= words;
      controller.abort();
    };
    return setTimeout(expire, Math.max(0, Math.min(ms, LONGEST_TIMER_MS)));
  };
  const whole = after(leftMs, `no complete reply within ${seconds(clocks.callTimeoutMs)} (--call-timeout)`);
  const first = `no first token within ${seconds(clocks.firstTokenTimeoutMs)} (--first-token-timeout)`;
  let step = stream ? after(clocks.firstTokenTimeoutMs, first) : undefined;
  // Many calls share this signal, each with its own listener.
  setMaxListeners(0, abort);
  abort.addEventListener('abort', cancel, { once: true });
  return Object.assign(passed, {
    /** Aborted if a clock runs out or the run is aborted. */
    signal: controller.signal,
    progress(): void {
      if (!stream) return;
      if (passed.firstTokenMs !== undefined) {
        step?.refresh();
        return;
      }
      passed.firstTokenMs = performance.now() - startedMs;
      clearTimeout(step);
      step = after(clocks.gapTimeoutMs, `no further token within ${seconds(clocks.gapTimeoutMs)} (--gap-timeout)`);
    },
    /** The reply is complete: wait only briefly for the rest. */
    tail(): void {
      clearTimeout(step);
      step = setTimeout(cancel, Math.min(TAIL_MS, clocks.gapTimeoutMs));
    },
    stop(): void {
      clearTimeout(whole);
      clearTimeout(step);
      abort.removeEventListener('abort', cancel);
    },
  });
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
