// How far a model's download, check and loading are: one line in place on a terminal, a line now and then elsewhere.

import { shortened } from '../core/printable.js';
import type { TextSink } from '../core/types.js';

const REDRAW_EVERY_MS = 100;
const LINE_EVERY_MS = 5_000;
const CLEAR_LINE = '\r\u001b[2K';

/** Writes nothing when quiet. `now` gives milliseconds of a clock that never goes back. */
export function showLoading(stderr: TextSink, quiet: boolean, now: () => number = () => performance.now()) {
  const steps = new Map<string, string>();
  /** Writes nothing when quiet. */
  const write = (text: string) => {
    if (!quiet) stderr.write(text);
  };
  let shownAt = stderr.isTTY ? Number.NEGATIVE_INFINITY : now();
  let isDrawn = false;
  const clear = () => {
    if (isDrawn) write(CLEAR_LINE);
    isDrawn = false;
  };
  return {
    /** What a step has come to, such as `loading: 43 %`; steps side by side share the line. */
    step(name: string, text: string): void {
      steps.set(name, text);
      if (now() - shownAt < (stderr.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS)) return;
      shownAt = now();
      const line = [...steps.values()].join(', ');
      // A column stays free: a terminal may break a full line.
      write(stderr.isTTY ? `${CLEAR_LINE}${shortened(line, stderr.columns - 1)}` : `${line}\n`);
      isDrawn = stderr.isTTY;
    },
    /** A line for good. */
    say(text: string): void {
      clear();
      write(`${text}\n`);
    },
    /** Takes the line away; the last call but for `say`. */
    finish: clear,
  };
}
