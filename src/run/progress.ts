// Progress of a run on stderr, from its beginning to its end: a live block on a terminal, a line now and then elsewhere.

import { domainName, inTableOrder } from '../core/domains.js';
import { counted } from '../core/figures.js';
import { present } from '../core/present.js';
import { oneLine, printable, shortened, widthOf } from '../core/printable.js';
import { barLines, bold, dim, hasBlocks, withRedFailures, wrapped } from '../core/terminal.js';
import type { BackendStatus, Domain, Io, TextSink } from '../core/types.js';

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

/** The run in one line: `infer 1234/2170 rows, 4 failed, 3.2 rows/s, 4812 tokens/s, $4.10 of $5.00, about 5 min left`. */
function summaryLine(tally: Tally): string {
  const { total, done, failed } = tally.sums;
  const failures = failed > 0 ? [`${failed} failed`] : [];
  return [`${tally.counted.title} ${done}/${total} ${unitOf(tally)}`, ...failures, ...paceParts(tally)].join(', ');
}

function unitOf({ counted: { unit = 'rows' } }: Tally): string {
  return unit;
}

function paceParts(tally: Tally): string[] {
  const { total, done } = tally.sums;
  const rate = tally.rates;
  const parts: string[] = [];
  if (rate.rows > 0) parts.push(`${significant(rate.rows)} ${unitOf(tally)}/s`);
  if (rate.tokens > 0) parts.push(`${significant(rate.tokens)} tokens/s`);
  const spending = tally.counted.spending?.();
  if (spending !== undefined) parts.push(spending);
  if (rate.rows > 0 && done < total) parts.push(`about ${duration((total - done) / rate.rows)} left`);
  return parts;
}

function significant(rate: number): string {
  return rate >= 10 ? rate.toFixed(0) : rate.toPrecision(2);
}

/** Seconds in at most two units: `45 s`, `7 min 12 s`, `2 h 05 min`. */
function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

function backendLines(tally: Tally, columns: number): string[] {
  const status = tally.counted.status();
  if (status === undefined) return ['no calls yet'];
  const { inFlight, paced = 0, limit, pausedMs, failure, outages } = status;
  const held = paced > 0 ? `, ${paced} held back by --rpm, --tpm or the budget` : '';
  const paused = pausedMs > 0 ? `, paused by the server for ${duration(pausedMs / 1000)}` : '';
  const states = [
    `${inFlight} in flight${held}, limit ${limit}${paused}`,
    ...outages.map((outage) => `${outageText(outage, tally)}, next try in ${duration(outage.nextMs / 1000)}`),
  ];
  return [
    ...states.flatMap((line) => wrapped(line, columns, 2)),
    ...(failure === undefined
      ? []
      : [`latest failure, ${duration(failure.agoMs / 1000)} ago: ${oneLine(failure.text, 500)}`]),
  ];
}

/** `localhost:8000 gives no reply since 14:02:11, given up at 14:12:11`. */
function outageText(
  { host, hasAnswered, forMs, leftMs }: BackendStatus['outages'][number],
  { counted: { date = Date.now } }: Tally,
): string {
  const timeOfDay = (at: number) => new Date(at).toTimeString().slice(0, 8);
  const until = leftMs > 0 ? `, given up at ${timeOfDay(date() + leftMs)}` : '';
  return `${host} ${hasAnswered ? 'silent' : 'not ready'} since ${timeOfDay(date() - forMs)}${until}`;
}

/**
 * The block's lines, none wider than `columns`, no more than `height`: so many bars, the first of the whole, and what else there is to
 * say below them.
 */
function blockLines(
  tally: Tally,
  columns: number,
  height: number,
  blocks: boolean,
): { readonly lines: readonly string[]; readonly bars: number } {
  const pace = paceParts(tally).join(', ');
  const words = [...(pace === '' ? [] : wrapped(pace, columns, 2)), ...backendLines(tally, columns)];
  // The bar of a single domain would be that of the whole.
  const domains = tally.domains.size > 1 ? [...tally.domains] : [];
  const room = Math.max(0, height - 1 - words.length);
  const shown = domains.length <= room ? domains : domains.slice(0, Math.max(0, room - 1));
  const hidden = domains.length - shown.length;
  const parts = shown.map(([domain, counts]) => ({ name: domainName(domain), ...counts }));
  const bars = barLines([{ name: tally.counted.title, ...tally.sums }, ...parts], columns, blocks);
  const lines = [...bars, ...(hidden > 0 ? [`and ${counted(hidden, 'domain')} more`] : []), ...words];
  return { lines: lines.slice(0, height).map((line) => shortened(line, columns)), bars: bars.length };
}

/** What is counted, and where from. */
interface Counted {
  /** What runs: `infer`, `judge`. */
  readonly title: string;
  /** What is counted; rows where it is absent. */
  readonly unit?: 'rows' | 'requests';
  /** Rows (times repeats) by domain, and those of them that were done before this session. */
  readonly totals: ReadonlyMap<Domain, number>;
  readonly already: ReadonlyMap<Domain, number>;
  /** Of the backend: its calls in flight, limit, pauses, outages and latest failure; undefined until it is opened. */
  readonly status: () => BackendStatus | undefined;
  /** What the run has spent, in words; undefined where nobody knows. */
  readonly spending?: () => string | undefined;
  /** The time of day, milliseconds since the epoch, at which outages began and end. */
  readonly date?: () => number;
}

interface SettledRow {
  readonly status: 'ok' | 'failed';
  /** Completion tokens. */
  readonly tokens: number;
  /** For --verbose: which row failed, and why. */
  readonly reason?: string;
  /** Settled before in this session; its record has become stale since. */
  readonly isAgain?: boolean;
}

interface DomainTally {
  readonly total: number;
  done: number;
  failed: number;
}

const WINDOW_MS = 60_000;
/** Slow rows stretch the window until it holds this many. */
const WINDOW_ROWS = 20;
const POINT_EVERY_MS = 1_000;

/** What a session has counted, since it began. `at`: milliseconds of a clock that never goes back. */
class Tally {
  readonly domains: ReadonlyMap<Domain, DomainTally>;
  /** Rows and tokens of this session. */
  #rows = 0;
  #tokens = 0;
  /** Where the session stood at times past, oldest first: the window of the rate. */
  readonly #points: { readonly at: number; readonly rows: number; readonly tokens: number }[];

  constructor(
    readonly counted: Counted,
    at: number,
  ) {
    const { totals, already } = counted;
    const domains = [...totals].sort(([a], [b]) => inTableOrder(a, b));
    this.domains = new Map(
      domains.map(([domain, total]) => [domain, { total, done: already.get(domain) ?? 0, failed: 0 }]),
    );
    this.#points = [{ at, rows: 0, tokens: 0 }];
  }

  /** All domains together. */
  get sums(): Readonly<DomainTally> {
    const all = { total: 0, done: 0, failed: 0 };
    for (const { total, done, failed } of this.domains.values()) {
      all.total += total;
      all.done += done;
      all.failed += failed;
    }
    return all;
  }

  /** Rows and tokens a second over the window. */
  get rates(): { readonly rows: number; readonly tokens: number } {
    const first = present(this.#points[0]);
    const last = present(this.#points.at(-1));
    const seconds = (last.at - first.at) / 1000;
    if (seconds === 0) return { rows: 0, tokens: 0 };
    return { rows: (last.rows - first.rows) / seconds, tokens: (last.tokens - first.tokens) / seconds };
  }

  /** Counts a row that this session has settled. */
  count(domain: Domain, row: SettledRow): void {
    const counts = this.domains.get(domain);
    if (counts !== undefined && !row.isAgain) {
      counts.done++;
      if (row.status === 'failed') counts.failed++;
    }
    this.#rows++;
    this.#tokens += row.tokens;
  }

  /** Notes where the session stands, and forgets points that the window no longer needs. */
  observe(at: number): void {
    const points = this.#points;
    if (at - present(points.at(-1)).at < POINT_EVERY_MS) return;
    points.push({ at, rows: this.#rows, tokens: this.#tokens });
    while (points[1] && at - points[1].at >= WINDOW_MS && this.#rows - points[1].rows >= WINDOW_ROWS) points.shift();
  }
}
