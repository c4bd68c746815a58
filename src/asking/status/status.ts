// What a run has come to, as whoever looks at its folder tells it while it works or afterwards.

import type { RunKind } from '../../run-kind.js';
import type { Domain } from '../../types.js';

/**
 * `running` where its process lives (on another host: where nobody has said otherwise), `killed` where it died without a word;
 * whatever else the manifest says.
 */
export type RunState = 'running' | 'killed' | 'awaiting' | 'complete' | 'incomplete' | 'interrupted' | 'stopped';

export interface DomainStatus {
  /** Absent where an earlier version did not say. */
  readonly total?: number;
  readonly ok: number;
  readonly failed: number;
}

export interface FailureStatus {
  readonly class: string;
  readonly rows: number;
  /** Of the latest one. */
  readonly reason?: string;
}

export interface RunStatus {
  /** The folder as the user named it, and the run's name in it, such as `predictions`. */
  readonly dir: string;
  readonly name: string;
  readonly kind: RunKind;
  readonly label?: string;
  readonly state: RunState;
  readonly process?: { readonly pid: number; readonly host: string };
  /** Of another host's process nobody here knows whether it lives. */
  readonly isElsewhere: boolean;
  readonly startedAt: string;
  readonly endedAt?: string;
  /** When the latest record was made. */
  readonly lastAt?: string;
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly left: number;
  readonly domains: ReadonlyMap<Domain, DomainStatus>;
  /** Over the last minutes, of a run that works. */
  readonly rowsPerSecond?: number;
  readonly secondsLeft?: number;
  readonly tokens: number;
  readonly usd?: number;
  readonly failures: readonly FailureStatus[];
}

/** Of all runs together; dollars only where all of them are known. */
export interface StatusSum {
  readonly runs: number;
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly left: number;
  readonly tokens: number;
  readonly usd?: number;
  readonly rowsPerSecond?: number;
  /** Until the slowest has ended. */
  readonly secondsLeft?: number;
}

export function sumOf(runs: readonly RunStatus[]): StatusSum {
  const sum = (count: (run: RunStatus) => number) => runs.reduce((all, run) => all + count(run), 0);
  const rate = sum(({ rowsPerSecond = 0 }) => rowsPerSecond);
  const waits = runs.flatMap(({ secondsLeft }) => secondsLeft ?? []);
  return {
    runs: runs.length,
    total: sum(({ total }) => total),
    ok: sum(({ ok }) => ok),
    failed: sum(({ failed }) => failed),
    left: sum(({ left }) => left),
    tokens: sum(({ tokens }) => tokens),
    ...(runs.every(({ usd }) => usd !== undefined) && { usd: sum(({ usd = 0 }) => usd) }),
    ...(rate > 0 && { rowsPerSecond: rate }),
    ...(waits.length > 0 && { secondsLeft: Math.max(...waits) }),
  };
}

/** `awb status --json`: members in snake case, as in all documents; what nobody knows is absent. */
export function statusDocument(runs: readonly RunStatus[], sum: StatusSum): object {
  return { schema: 'awb.status/1', runs: runs.map(runDocument), total: { runs: sum.runs, ...documentOfSums(sum) } };
}

function runDocument(run: RunStatus): object {
  const { dir, name, kind, label, state, process: worker, startedAt, endedAt, lastAt, domains, failures } = run;
  return {
    ...{ dir, name, kind, label, state, process: worker },
    ...{ started_at: startedAt, ended_at: endedAt, last_record_at: lastAt },
    ...documentOfSums(run),
    domains: Object.fromEntries(
      [...domains].map(([domain, { total, ok, failed }]) => [
        domain,
        { total, ok, failed, left: total === undefined ? undefined : Math.max(0, total - ok - failed) },
      ]),
    ),
    failures,
  };
}

function documentOfSums({
  total,
  ok,
  failed,
  left,
  rowsPerSecond,
  secondsLeft,
  tokens,
  usd,
}: StatusSum | RunStatus): object {
  const speed = { rows_per_second: rowsPerSecond, seconds_left: secondsLeft };
  return { total, ok, failed, left, ...speed, tokens, usd };
}
