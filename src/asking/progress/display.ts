// How progress is drawn: a live block on a terminal, a line now and then elsewhere.

import { printable, widthOf } from '../../printable.js';
import { bold, dim, withRedFailures } from '../../report/terminal.js';
import type { TextSink } from '../../types.js';
import { blockLines, outageText, summaryLine } from './lines.js';
import { observe, sums, type Tally } from './tally.js';

const LINE_EVERY_MS = 30_000;
const LINES_PER_RUN = 20;
/** A run of seconds needs no twenty lines. */
const LINE_AT_MOST_EVERY_MS = 1_000;

/** One way of showing the tally. */
interface Display {
  settled(): void;
  notice(text: string): void;
  tick(at: number): void;
  finish(): void;
}

/** A block that is redrawn in place, the cursor always below it. Lines for good stand above it. */
export function liveBlock(
  stderr: TextSink,
  tally: Tally,
  look: { readonly color: boolean; readonly blocks: boolean },
): Display {
  let drawn: readonly string[] = [];
  let pending = '';
  /** Takes the block away; a terminal made narrower since has broken its lines. */
  const erase = () => {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / stderr.columns)), 0);
    return rows === 0 ? '' : `\x1b[${rows}A\r\x1b[0J`;
  };
  const draw = () => {
    // A column and a row stay free: a terminal may break a full line, and the cursor rests below the block.
    const { lines, bars } = blockLines(tally, stderr.columns - 1, (stderr.rows ?? 24) - 1, look.blocks);
    const unchanged = pending === '' && lines.join('\n') === drawn.join('\n');
    if (unchanged) return;
    // The bar of the whole stands out, and what is no bar stands back.
    const painted = lines.map((line, at) => (at === 0 ? bold(line, look) : at < bars ? line : dim(line, look)));
    stderr.write(`${erase()}${pending}${painted.map((line) => `${withRedFailures(line, look)}\n`).join('')}`);
    pending = '';
    drawn = lines;
  };
  draw();
  return {
    settled() {},
    notice(text) {
      pending += `${printable(text, { multiline: true })}\n`;
    },
    tick: draw,
    finish() {
      stderr.write(`${erase()}${pending}`);
      pending = '';
      drawn = [];
    },
  };
}

/** A line at the beginning, every 5 % or half minute, and at the end. */
export function plainLines(stderr: TextSink, tally: Tally, now: () => number): Display {
  let shownAt = 0;
  let shownStep = -1;
  let shownDone = -1;
  const show = () => {
    observe(tally, now());
    const { done, total } = sums(tally);
    shownAt = now();
    shownStep = Math.floor((done / Math.max(1, total)) * LINES_PER_RUN);
    shownDone = done;
    const outages = tally.status()?.outages ?? [];
    stderr.write(
      `${printable([summaryLine(tally), ...outages.map((outage) => outageText(outage, tally))].join('; '))}\n`,
    );
  };
  show();
  return {
    settled() {
      const { done, total } = sums(tally);
      const hasMoved = Math.floor((done / Math.max(1, total)) * LINES_PER_RUN) > shownStep;
      if (hasMoved && now() - shownAt >= LINE_AT_MOST_EVERY_MS) show();
    },
    notice: (text) => stderr.write(`${printable(text, { multiline: true })}\n`),
    tick(at) {
      if (at - shownAt >= LINE_EVERY_MS) show();
    },
    finish() {
      if (sums(tally).done !== shownDone) show();
    },
  };
}
