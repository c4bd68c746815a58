// What a run's progress counts: rows and failures by domain, and how fast rows have come lately.

import { inTableOrder } from '../../core/domains.js';
import { present } from '../../core/present.js';
import type { BackendStatus, Domain } from '../../core/types.js';

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
export class Tally {
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
