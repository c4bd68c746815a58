// Progress of a run on stderr: a live block on a terminal, an occasional line elsewhere.

import { domainName, inTableOrder } from '../core/domains.js';
import { duration, oneLine, printable, shortened, widthOf } from '../core/printable.js';
import { barLines, bold, dim, hasBlocks, withRedFailures, wrapped } from '../core/terminal.js';
import type { BackendStatus, Domain, Io, TextSink } from '../core/types.js';

interface ProgressOptions {
  /** The command that runs: `infer`, `judge`. */
  readonly title: string;
  /** What is counted. */
  readonly unit?: 'rows' | 'requests';
  /** Rows (times repeats) by domain, and how many of them were done before this session. */
  readonly totals: ReadonlyMap<Domain, number>;
  readonly already: ReadonlyMap<Domain, number>;
  /** The backend's calls in flight, limit, pauses, outages and latest failure; undefined until it is opened. */
  readonly status: () => BackendStatus | undefined;
  /** What the run has spent, in words; undefined if unknown. */
  readonly spending?: () => string | undefined;
  /** Writes nothing; the caller reports errors. */
  readonly quiet: boolean;
  /** Adds a line for each failed row. */
  readonly verbose: boolean;
  readonly color: boolean;
}

interface SettledRow {
  readonly status: 'ok' | 'failed';
  /** Completion tokens. */
  readonly tokens: number;
  /** For --verbose: which row failed, and why. */
  readonly reason?: string;
  /** Set if the row was already settled in this session and its record has become stale since. */
  readonly isAgain?: boolean;
}

export type Progress = ReturnType<typeof openProgress>;

const TICK_MS = 100;
const LINE_EVERY_MS = 30_000;
const LINES_PER_RUN = 20;
/** A run that takes seconds does not need twenty lines. */
const LINE_AT_MOST_EVERY_MS = 1_000;

/**
 * Shows the progress of a run. On a terminal, a block is redrawn in place at most ten times a second; the cursor always rests below it, so
 * that a process that ends abruptly leaves a clean screen. Rate and time left count only this session's rows.
 */
export function openProgress({ stderr, env }: Pick<Io, 'stderr' | 'env'>, options: ProgressOptions) {
  const { color, verbose } = options;
  const tally = openTally(options, performance.now());
  const look = { color, blocks: hasBlocks(env) };
  const show = options.quiet
    ? { settled() {}, notice(_text: string) {}, tick(_at: number) {}, finish() {} }
    : stderr.isTTY
      ? liveBlock(stderr, tally, look)
      : plainLines(stderr, tally);
  const timer = setInterval(() => show.tick(performance.now()), TICK_MS).unref();
  return {
    settled(domain: Domain, row: SettledRow): void {
      tally.count(domain, row);
      if (verbose && row.status === 'failed') show.notice(`failed: ${row.reason ?? domain}`);
      show.settled();
    },
    /** Prints a permanent line above the block. */
    notice: (text: string): void => show.notice(text),
    /** Prints what is pending, removes the block and stops the timer; the last call. Safe to repeat. */
    finish(): void {
      clearInterval(timer);
      show.finish();
    },
  };
}

/** A block that is redrawn in place, with the cursor always below it. Permanent lines appear above it. */
function liveBlock(
  stderr: TextSink,
  tally: Tally,
  look: { readonly color: boolean; readonly blocks: boolean },
): ReturnType<typeof plainLines> {
  let drawn: readonly string[] = [];
  let pending = '';
  /** Replaces the block with these lines; a terminal made narrower since then has wrapped its old lines. */
  const redraw = (lines: readonly string[], bars: number) => {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / stderr.columns)), 0);
    const erase = rows === 0 ? '' : `\x1b[${rows}A\r\x1b[0J`;
    // The bar of the run is bold, and lines that are not bars are dim.
    const painted = lines.map((line, at) => (at === 0 ? bold(line, look) : at < bars ? line : dim(line, look)));
    stderr.write(`${erase}${pending}${painted.map((line) => `${withRedFailures(line, look)}\n`).join('')}`);
    pending = '';
    drawn = lines;
  };
  const draw = () => {
    // Leaves a column and a row free: a terminal may wrap a full line, and the cursor rests below the block.
    const { lines, bars } = blockLines(tally, stderr.columns - 1, (stderr.rows ?? 24) - 1, look.blocks);
    if (pending !== '' || lines.join('\n') !== drawn.join('\n')) redraw(lines, bars);
  };
  draw();
  return {
    settled() {},
    notice(text) {
      pending += `${printable(text, { multiline: true })}\n`;
    },
    tick: draw,
    finish: () => redraw([], 0),
  };
}

/** One line at the beginning, one every 5 % or half minute, and one at the end. */
function plainLines(stderr: TextSink, tally: Tally) {
  const step = () => Math.floor((tally.sums.done / Math.max(1, tally.sums.total)) * LINES_PER_RUN);
  let shown = { at: 0, step: -1, done: -1 };
  const show = () => {
    const { title } = tally.options;
    const { total, done, failed } = tally.sums;
    shown = { at: performance.now(), step: step(), done };
    const failures = failed > 0 ? [`${failed} failed`] : [];
    const summary = [`${title} ${done}/${total} ${tally.unit}`, ...failures, ...paceParts(tally)].join(', ');
    const outages = tally.options.status()?.outages ?? [];
    stderr.write(`${printable([summary, ...outages.map(outageText)].join('; '))}\n`);
  };
  show();
  return {
    settled() {
      if (step() > shown.step && performance.now() - shown.at >= LINE_AT_MOST_EVERY_MS) show();
    },
    notice: (text: string) => stderr.write(`${printable(text, { multiline: true })}\n`),
    tick(at: number) {
      if (at - shown.at >= LINE_EVERY_MS) show();
    },
    finish() {
      if (tally.sums.done !== shown.done) show();
    },
  };
}

/** `3.2 rows/s`, `4812 tokens/s`, `$4.10 of $5.00`, `about 5 min left`, each if known. */
function paceParts(tally: Tally): string[] {
  const { total, done } = tally.sums;
  const { rows, tokens } = tally.rates();
  const significant = (rate: number) => (rate >= 10 ? rate.toFixed(0) : rate.toPrecision(2));
  return [
    rows > 0 && `${significant(rows)} ${tally.unit}/s`,
    tokens > 0 && `${significant(tokens)} tokens/s`,
    tally.options.spending?.(),
    rows > 0 && done < total && `about ${duration((total - done) / rows)} left`,
  ].filter((part) => typeof part === 'string');
}

function backendLines(tally: Tally, columns: number): string[] {
  const now = tally.options.status();
  if (now === undefined) return ['no calls yet'];
  const { inFlight, paced = 0, limit, pausedMs, failure, outages } = now;
  const held = paced > 0 ? `, ${paced} held back by --rpm, --tpm or the budget` : '';
  const paused = pausedMs > 0 ? `, paused by the server for ${duration(pausedMs / 1000)}` : '';
  const states = [
    `${inFlight} in flight${held}, limit ${limit}${paused}`,
    ...outages.map((outage) => `${outageText(outage)}, next try in ${duration(outage.nextMs / 1000)}`),
  ].flatMap((line) => wrapped(line, columns, 2));
  if (failure === undefined) return states;
  return [...states, `latest failure, ${duration(failure.agoMs / 1000)} ago: ${oneLine(failure.text, 500)}`];
}

/** `localhost:8000 silent since 14:02:11, given up at 14:12:11` */
function outageText({ host, hasAnswered, forMs, leftMs }: BackendStatus['outages'][number]): string {
  const timeOfDay = (at: number) => new Date(at).toTimeString().slice(0, 8);
  const until = leftMs > 0 ? `, given up at ${timeOfDay(Date.now() + leftMs)}` : '';
  return `${host} ${hasAnswered ? 'silent' : 'not ready'} since ${timeOfDay(Date.now() - forMs)}${until}`;
}

/** The block's lines, none wider than `columns`, at most `height` of them: bars, first that of the run, then other information. */
function blockLines(tally: Tally, columns: number, height: number, blocks: boolean) {
  const words = [...wrapped(paceParts(tally).join(', '), columns, 2), ...backendLines(tally, columns)].filter(Boolean);
  // With a single domain, its bar would equal that of the run.
  const domains = tally.domains.size > 1 ? [...tally.domains] : [];
  const parts = domains.map(([domain, counts]) => ({ name: domainName(domain), ...counts }));
  const all = barLines([{ name: tally.options.title, ...tally.sums }, ...parts], columns, blocks);
  const bars = all.slice(0, Math.max(1, height - words.length));
  const lines = [...bars, ...words].slice(0, height);
  return { lines: lines.map((line) => shortened(line, columns)), bars: bars.length };
}

type Tally = ReturnType<typeof openTally>;

/** Counts of a session since it began, timed by a monotonic clock. */
function openTally(options: ProgressOptions, began: number) {
  const { unit = 'rows', totals, already } = options;
  const sorted = [...totals].sort(([a], [b]) => inTableOrder(a, b));
  const domains = new Map(
    sorted.map(([domain, total]) => [domain, { total, done: already.get(domain) ?? 0, failed: 0 }]),
  );
  /** All domains together. */
  const sums = { total: 0, done: 0, failed: 0 };
  for (const { total, done } of domains.values()) {
    sums.total += total;
    sums.done += done;
  }
  /** Rows and tokens of this session. */
  const own = { rows: 0, tokens: 0 };
  return {
    ...{ options, unit, domains, sums },
    /** Rows and tokens a second. */
    rates() {
      const seconds = Math.max(1000, performance.now() - began) / 1000;
      return { rows: own.rows / seconds, tokens: own.tokens / seconds };
    },
    /** Counts a row that this session has settled. If it is settled again, it counts only for the rate. */
    count(domain: Domain, { status, tokens, isAgain = false }: SettledRow): void {
      const counts = domains.get(domain);
      for (const each of counts === undefined || isAgain ? [] : [counts, sums]) {
        each.done++;
        if (status === 'failed') each.failed++;
      }
      own.rows++;
      own.tokens += tokens;
    },
  };
}
