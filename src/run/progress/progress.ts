// Progress of a run on stderr, from its beginning to its end: a live block on a terminal, a line now and then elsewhere.

import { printable, widthOf } from '../../core/printable.js';
import { bold, dim, hasBlocks, withRedFailures } from '../../core/terminal.js';
import type { Domain, Io, TextSink } from '../../core/types.js';
import { blockLines, outageText, summaryLine } from './lines.js';
import { type Counted, type SettledRow, Tally } from './tally.js';

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

/** One way of showing the tally. */
interface Display {
  settled?(): void;
  notice(text: string): void;
  tick(at: number): void;
  finish(): void;
}

const TICK_MS = 100;
const LINE_EVERY_MS = 30_000;
const LINES_PER_RUN = 20;
/** A run of seconds needs no twenty lines. */
const LINE_AT_MOST_EVERY_MS = 1_000;

/**
 * Shows the progress of a run. On a terminal a block is redrawn in place at most ten times a second; the cursor always rests
 * below it, so that a process that ends at once leaves a whole screen. Rate and time left count this session's rows only.
 */
export function openProgress({ stderr, env }: Pick<Io, 'stderr' | 'env'>, options: ProgressOptions): Progress {
  if (options.quiet) return { settled() {}, notice() {}, finish() {} };
  const { now = () => performance.now(), every = unreferencedInterval, color, verbose } = options;
  const tally = new Tally(options, now());
  const show = stderr.isTTY
    ? liveBlock(stderr, tally, { color, blocks: hasBlocks(env) })
    : plainLines(stderr, tally, now);
  const stop = every(TICK_MS, () => {
    const at = now();
    tally.observe(at);
    show.tick(at);
  });
  let finished = false;
  return {
    settled(domain, row) {
      tally.count(domain, row);
      if (verbose && row.status === 'failed') show.notice(`failed: ${row.reason ?? domain}`);
      show.settled?.();
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

/** A block that is redrawn in place, the cursor always below it. Lines for good stand above it. */
function liveBlock(
  stderr: TextSink,
  tally: Tally,
  look: { readonly color: boolean; readonly blocks: boolean },
): Display {
  let drawn: readonly string[] = [];
  let pending = '';
  /** Puts these lines in the place of the block; a terminal made narrower since has broken its lines. */
  const redraw = (lines: readonly string[], painted: readonly string[]) => {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / stderr.columns)), 0);
    const erase = rows === 0 ? '' : `\x1b[${rows}A\r\x1b[0J`;
    stderr.write(`${erase}${pending}${painted.map((line) => `${line}\n`).join('')}`);
    pending = '';
    drawn = lines;
  };
  const draw = () => {
    // A column and a row stay free: a terminal may break a full line, and the cursor rests below the block.
    const { lines, bars } = blockLines(tally, stderr.columns - 1, (stderr.rows ?? 24) - 1, look.blocks);
    if (pending === '' && lines.join('\n') === drawn.join('\n')) return;
    // The bar of the whole stands out, and what is no bar stands back.
    const painted = lines.map((line, at) => (at === 0 ? bold(line, look) : at < bars ? line : dim(line, look)));
    redraw(
      lines,
      painted.map((line) => withRedFailures(line, look)),
    );
  };
  draw();
  return {
    notice(text) {
      pending += `${printable(text, { multiline: true })}\n`;
    },
    tick: draw,
    finish: () => redraw([], []),
  };
}

/** A line at the beginning, every 5 % or half minute, and at the end. */
function plainLines(stderr: TextSink, tally: Tally, now: () => number): Display {
  const stepOf = ({ done, total }: Tally['sums']) => Math.floor((done / Math.max(1, total)) * LINES_PER_RUN);
  let shown = { at: 0, step: -1, done: -1 };
  const show = () => {
    tally.observe(now());
    const { sums } = tally;
    shown = { at: now(), step: stepOf(sums), done: sums.done };
    const outages = tally.counted.status()?.outages ?? [];
    const words = [summaryLine(tally), ...outages.map((outage) => outageText(outage, tally))];
    stderr.write(`${printable(words.join('; '))}\n`);
  };
  show();
  return {
    settled() {
      if (stepOf(tally.sums) > shown.step && now() - shown.at >= LINE_AT_MOST_EVERY_MS) show();
    },
    notice: (text) => stderr.write(`${printable(text, { multiline: true })}\n`),
    tick(at) {
      if (at - shown.at >= LINE_EVERY_MS) show();
    },
    finish() {
      if (tally.sums.done !== shown.done) show();
    },
  };
}
