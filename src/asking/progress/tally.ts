// What a run's progress counts: rows and failures by domain, and how fast rows have come lately.

import { inTableOrder } from '../../domains.js';
import type { BackendStatus, Domain } from '../../types.js';

/** What is counted, and where from. */
export interface Counted {
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

export interface SettledRow {
  readonly status: 'ok' | 'failed';
  /** Completion tokens. */
  readonly tokens: number;
  /** For --verbose: which row failed, and why. */
  readonly reason?: string;
  /** Settled before in this session; its record has become stale since. */
  readonly isAgain?: boolean;
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

export interface Tally {
  readonly title: string;
  readonly unit: 'rows' | 'requests';
  readonly domains: ReadonlyMap<Domain, DomainTally>;
  /** Rows and tokens of this session. */
  rows: number;
  tokens: number;
  /** Where the session stood at times past, oldest first: the window of the rate. */
  readonly points: [Point, ...Point[]];
  readonly status: () => BackendStatus | undefined;
  readonly spending: () => string | undefined;
  readonly date: () => number;
}

/** A tally of a session that begins now. `at`, here and below: milliseconds of a clock that never goes back. */
export function newTally(counted: Counted, at: number): Tally {
  const { title, unit = 'rows', totals, already, status, spending = () => undefined, date = Date.now } = counted;
  const domains = [...totals]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, total]) => [domain, { total, done: already.get(domain) ?? 0, failed: 0 }] as const);
  return {
    title,
    unit,
    domains: new Map(domains),
    rows: 0,
    tokens: 0,
    points: [{ at, rows: 0, tokens: 0 }],
    status,
    spending,
    date,
  };
}

/** Counts a row that this session has settled. */
export function count(tally: Tally, domain: Domain, row: SettledRow): void {
  const counts = tally.domains.get(domain);
  if (counts !== undefined && !row.isAgain) {
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
export function observe(tally: Tally, at: number): void {
  const { points, rows, tokens } = tally;
  if (at - (points.at(-1)?.at ?? 0) < POINT_EVERY_MS) return;
  points.push({ at, rows, tokens });
  while (points[1] !== undefined && at - points[1].at >= WINDOW_MS && rows - points[1].rows >= WINDOW_ROWS)
    points.shift();
}

/** Rows and tokens a second over the window. */
export function rates(tally: Tally): { readonly rows: number; readonly tokens: number } {
  const [first] = tally.points;
  const last = tally.points.at(-1) ?? first;
  const seconds = (last.at - first.at) / 1000;
  if (seconds === 0) return { rows: 0, tokens: 0 };
  return { rows: (last.rows - first.rows) / seconds, tokens: (last.tokens - first.tokens) / seconds };
}

/** All domains together. */
export function sums(tally: Tally): DomainTally {
  const all = { total: 0, done: 0, failed: 0 };
  for (const { total, done, failed } of tally.domains.values()) {
    all.total += total;
    all.done += done;
    all.failed += failed;
  }
  return all;
}
