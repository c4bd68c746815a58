// Progress of a run on stderr: a live block on a terminal, now and then a line elsewhere.

import { domainName, inTableOrder } from '../domains.js';
import { oneLine, printable, shortened, widthOf } from '../printable.js';
import type { BackendStatus, Domain, TextSink } from '../types.js';

export interface ProgressOptions {
  /** What runs: `infer`, `judge`. */
  readonly title: string;
  /** Rows (times repeats) by domain, and those of them that were done before this session. */
  readonly totals: ReadonlyMap<Domain, number>;
  readonly already: ReadonlyMap<Domain, number>;
  /** Of the backend: its calls in flight, limit, pauses, outages and latest failure; undefined until it is opened. */
  readonly status: () => BackendStatus | undefined;
  /** Writes nothing at all; errors are the caller's. */
  readonly quiet: boolean;
  /** Adds a line for each failed row. */
  readonly verbose: boolean;
  readonly color: boolean;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** The time of day, milliseconds since the epoch, at which outages began and end. */
  readonly date?: () => number;
  /** Calls `tick` again and again until the function it returns is called. */
  readonly every?: (ms: number, tick: () => void) => () => void;
}

export interface SettledRow {
  readonly status: 'ok' | 'failed';
  /** Completion tokens. */
  readonly tokens: number;
  /** For --verbose: which row failed, and why. */
  readonly reason?: string;
}

export interface Progress {
  settled(domain: Domain, row: SettledRow): void;
  /** Shows a line for good, above the block. */
  notice(text: string): void;
  /** Shows what is pending, takes the block away and stops the timer; the last call. Harmless when repeated. */
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
export function openProgress(stderr: TextSink, options: ProgressOptions): Progress {
  if (options.quiet) return { settled() {}, notice() {}, finish() {} };
  const { now = () => performance.now(), every = unreferencedInterval } = options;
  const tally = newTally(options, now());
  const show = stderr.isTTY ? liveBlock(stderr, tally, options.color) : plainLines(stderr, tally, now);
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

function unreferencedInterval(ms: number, tick: () => void): () => void {
  const timer = setInterval(tick, ms);
  timer.unref();
  return () => clearInterval(timer);
}

interface Point {
  readonly at: number;
  readonly rows: number;
  readonly tokens: number;
}

interface DomainTally {
  readonly total: number;
  done: number;
  failed: number;
}

interface Tally {
  readonly title: string;
  readonly domains: ReadonlyMap<Domain, DomainTally>;
  /** Rows and tokens of this session. */
  rows: number;
  tokens: number;
  /** Where the session stood at times past, oldest first: the window of the rate. */
  readonly points: Point[];
  readonly status: () => BackendStatus | undefined;
  readonly date: () => number;
}

function newTally({ title, totals, already, status, date = Date.now }: ProgressOptions, at: number): Tally {
  const domains = [...totals]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, total]) => [domain, { total, done: already.get(domain) ?? 0, failed: 0 }] as const);
  return {
    title,
    domains: new Map(domains),
    rows: 0,
    tokens: 0,
    points: [{ at, rows: 0, tokens: 0 }],
    status,
    date,
  };
}

function count(tally: Tally, domain: Domain, row: SettledRow): void {
  const counts = tally.domains.get(domain);
  if (counts !== undefined) {
    counts.done++;
    if (row.status === 'failed') counts.failed++;
  }
  tally.rows++;
  tally.tokens += row.tokens;
}

const WINDOW_MS = 60_000;
/** Slow rows stretch the window until it holds this many. */
const WINDOW_ROWS = 20;
const POINT_EVERY_MS = 1_000;

/** Notes where the session stands, and forgets points that the window no longer needs. */
function observe(tally: Tally, at: number): void {
  const { points, rows, tokens } = tally;
  if (at - (points.at(-1)?.at ?? 0) < POINT_EVERY_MS) return;
  points.push({ at, rows, tokens });
  while (points[1] !== undefined && at - points[1].at >= WINDOW_MS && rows - points[1].rows >= WINDOW_ROWS)
    points.shift();
}

/** Rows and tokens a second over the window. */
function rates(tally: Tally): { readonly rows: number; readonly tokens: number } {
  const first = tally.points[0] as Point;
  const last = tally.points.at(-1) as Point;
  const seconds = (last.at - first.at) / 1000;
  if (seconds === 0) return { rows: 0, tokens: 0 };
  return { rows: (last.rows - first.rows) / seconds, tokens: (last.tokens - first.tokens) / seconds };
}

function sums(tally: Tally): DomainTally {
  const all = { total: 0, done: 0, failed: 0 };
  for (const { total, done, failed } of tally.domains.values()) {
    all.total += total;
    all.done += done;
    all.failed += failed;
  }
  return all;
}

/** The run in one line: `infer 1234/2170 rows, 4 failed, 3.2 rows/s, 4812 tokens/s, about 5 min left`. */
function summaryLine(tally: Tally): string {
  const { total, done, failed } = sums(tally);
  const rate = rates(tally);
  const parts = [`${tally.title} ${done}/${total} rows`];
  if (failed > 0) parts.push(`${failed} failed`);
  if (rate.rows > 0) parts.push(`${significant(rate.rows)} rows/s`);
  if (rate.tokens > 0) parts.push(`${significant(rate.tokens)} tokens/s`);
  if (rate.rows > 0 && done < total) parts.push(`about ${duration((total - done) / rate.rows)} left`);
  return parts.join(', ');
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

function backendLines(tally: Tally): string[] {
  const status = tally.status();
  if (status === undefined) return ['no calls yet'];
  const { inFlight, limit, pausedMs, failure, outages } = status;
  const paused = pausedMs > 0 ? `, paused by the server for ${duration(pausedMs / 1000)}` : '';
  return [
    `${inFlight} in flight, limit ${limit}${paused}`,
    ...outages.map((outage) => `${outageText(outage, tally)}, next try in ${duration(outage.nextMs / 1000)}`),
    ...(failure === undefined
      ? []
      : [`latest failure, ${duration(failure.agoMs / 1000)} ago: ${oneLine(failure.text, 500)}`]),
  ];
}

/** `localhost:8000 gives no reply since 14:02:11, given up at 14:12:11`. */
function outageText({ host, hasAnswered, forMs, leftMs }: BackendStatus['outages'][number], { date }: Tally): string {
  const timeOfDay = (at: number) => new Date(at).toTimeString().slice(0, 8);
  const until = leftMs > 0 ? `, given up at ${timeOfDay(date() + leftMs)}` : '';
  return `${host} ${hasAnswered ? 'silent' : 'not ready'} since ${timeOfDay(date() - forMs)}${until}`;
}

const BAR_COLUMNS = 20;

function domainLine(domain: Domain, { total, done, failed }: DomainTally, nameColumns: number): string {
  const filled = total === 0 ? BAR_COLUMNS : Math.floor((done / total) * BAR_COLUMNS);
  const bar = '#'.repeat(filled) + '.'.repeat(BAR_COLUMNS - filled);
  const counts = `${done}/${total}`.padStart(`${total}`.length * 2 + 1);
  const name = domainName(domain);
  return `${name}${' '.repeat(nameColumns - widthOf(name))} ${bar} ${counts}${failed > 0 ? `, ${failed} failed` : ''}`;
}

/** The block's lines, none wider than `columns`, no more than `height`. */
function blockLines(tally: Tally, columns: number, height: number): string[] {
  const nameColumns = Math.max(...[...tally.domains.keys()].map((domain) => widthOf(domainName(domain))), 0);
  const domains = [...tally.domains].map(([domain, counts]) => domainLine(domain, counts, nameColumns));
  const head = [summaryLine(tally), ...backendLines(tally)];
  const room = height - head.length;
  const shown = domains.length <= room ? domains : domains.slice(0, Math.max(0, room - 1));
  const hidden = domains.length - shown.length;
  const lines = [...head, ...shown, ...(hidden > 0 ? [`and ${hidden} domains more`] : [])];
  return lines.slice(0, height).map((line) => shortened(line, columns));
}

/** One way of showing the tally. */
interface Show {
  settled(): void;
  notice(text: string): void;
  tick(at: number): void;
  finish(): void;
}

function liveBlock(stderr: TextSink, tally: Tally, color: boolean): Show {
  let drawn: readonly string[] = [];
  let pending = '';
  /** Takes the block away; a terminal made narrower since has broken its lines. */
  const erase = () => {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / stderr.columns)), 0);
    return rows === 0 ? '' : `\x1b[${rows}A\r\x1b[0J`;
  };
  const draw = () => {
    // A column and a row stay free: a terminal may break a full line, and the cursor rests below the block.
    const lines = blockLines(tally, stderr.columns - 1, (stderr.rows ?? 24) - 1);
    const unchanged = pending === '' && lines.join('\n') === drawn.join('\n');
    if (unchanged) return;
    const shown = color ? lines.map(painted) : lines;
    stderr.write(`${erase()}${pending}${shown.map((line) => `${line}\n`).join('')}`);
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

/** The look of the tables: the head bold, what is no row of a domain dim; failures red. */
function painted(line: string, index: number): string {
  const red = line.replace(/\d+ failed/, '\x1b[31m$&\x1b[39m');
  if (index === 0) return `\x1b[1m${red}\x1b[22m`;
  return / [#.]{20} /.test(line) ? red : `\x1b[2m${line}\x1b[22m`;
}

function plainLines(stderr: TextSink, tally: Tally, now: () => number): Show {
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
