// Progress of a model's download, check and loading: one line updated in place on a terminal, an occasional line elsewhere.

import { shortened } from '../core/printable.js';
import type { TextSink } from '../core/types.js';

const REDRAW_EVERY_MS = 100;
const LINE_EVERY_MS = 5_000;
const CLEAR_LINE = '\r\u001b[2K';

/** Writes nothing when quiet. `now` returns milliseconds of a monotonic clock. */
export function showLoading(stderr: TextSink, quiet: boolean, now: () => number = () => performance.now()) {
  const steps = new Map<string, string>();
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
    /** Shows a step's progress, such as `loading: 43 %`; concurrent steps share the line. */
    step(name: string, text: string): void {
      steps.set(name, text);
      if (now() - shownAt < (stderr.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS)) return;
      shownAt = now();
      const line = [...steps.values()].join(', ');
      // One column stays free, since a terminal may wrap a full line.
      write(stderr.isTTY ? `${CLEAR_LINE}${shortened(line, stderr.columns - 1)}` : `${line}\n`);
      isDrawn = stderr.isTTY;
    },
    /** Writes a line that stays. */
    say(text: string): void {
      clear();
      write(`${text}\n`);
    },
    /** Removes the progress line; only `say` may follow. */
    finish: clear,
  };
}
