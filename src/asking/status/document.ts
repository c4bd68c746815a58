// The status of runs as JSON: `awb status --json`.

import type { RunStatus, StatusSum } from './status.js';

/** Members in snake case, as in all documents; what nobody knows is absent. */
export function statusDocument(runs: readonly RunStatus[], sum: StatusSum): object {
  return { schema: 'awb.status/1', runs: runs.map(runDocument), total: { runs: sum.runs, ...sums(sum) } };
}

function runDocument(run: RunStatus): object {
  const { dir, name, kind, label, state, process: worker, startedAt, endedAt, lastAt, domains, failures } = run;
  return {
    ...{ dir, name, kind, label, state, process: worker },
    ...{ started_at: startedAt, ended_at: endedAt, last_record_at: lastAt },
    ...sums(run),
    domains: Object.fromEntries(
      [...domains].map(([domain, { total, ok, failed }]) => [
        domain,
        { total, ok, failed, left: total === undefined ? undefined : Math.max(0, total - ok - failed) },
      ]),
    ),
    failures,
  };
}

function sums({ total, ok, failed, left, rowsPerSecond, secondsLeft, tokens, usd }: StatusSum | RunStatus): object {
  const speed = { rows_per_second: rowsPerSecond, seconds_left: secondsLeft };
  return { total, ok, failed, left, ...speed, tokens, usd };
}
