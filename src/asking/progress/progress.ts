// Progress of a run on stderr, from its beginning to its end.

import { hasBlocks } from '../../report/terminal.js';
import type { Domain, Io } from '../../types.js';
import { liveBlock, plainLines } from './display.js';
import { type Counted, count, newTally, observe, type SettledRow } from './tally.js';

interface ProgressOptions extends Counted {
  /** Writes nothing at all; errors are the caller's. */
  readonly quiet: boolean;
  /** Adds a line for each failed row. */
  readonly verbose: boolean;
  readonly color: boolean;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Calls `tick` again and again until the function it returns is called. */
  readonly every?: (ms: number, tick: () => void) => () => void;
}

export interface Progress {
  settled(domain: Domain, row: SettledRow): void;
  /** Shows a line for good, above the block. */
  notice(text: string): void;
  /** Shows what is pending, takes the block away and stops the timer; the last call. Harmless when repeated. */
  finish(): void;
}

const TICK_MS = 100;

/**
 * Shows the progress of a run. On a terminal a block is redrawn in place at most ten times a second; the cursor always rests
 * below it, so that a process that ends at once leaves a whole screen. Rate and time left count this session's rows only.
 */
export function openProgress({ stderr, env }: Pick<Io, 'stderr' | 'env'>, options: ProgressOptions): Progress {
  if (options.quiet) return { settled() {}, notice() {}, finish() {} };
  const { now = () => performance.now(), every = unreferencedInterval } = options;
  const tally = newTally(options, now());
  const show = stderr.isTTY
    ? liveBlock(stderr, tally, { color: options.color, blocks: hasBlocks(env) })
    : plainLines(stderr, tally, now);
  const stop = every(TICK_MS, () => {
    const at = now();
    observe(tally, at);
    show.tick(at);
  });
  let finished = false;
  return {
    settled(domain, row) {
      count(tally, domain, row);
      if (options.verbose && row.status === 'failed') show.notice(`failed: ${row.reason ?? domain}`);
      show.settled();
    },
    notice: (text) => show.notice(text),
    finish() {
      if (finished) return;
      finished = true;
      stop();
      show.finish();
    },
  };
}

/** Calls `tick` again and again, as long as something else keeps the process alive. @returns what ends it */
export function unreferencedInterval(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms);
  timer.unref();
  return () => clearInterval(timer);
}
