// What runs have come to, out of their folders: manifest and journal are read, nothing is locked or written, and another process may work there.

import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { inTableOrder } from '../../core/domains.js';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import type { RunKind } from '../../core/run-kind.js';
import type { Domain } from '../../core/types.js';
import { sizeOf } from '../../disk/file-reading.js';
import { predictionState } from '../../infer/inferring.js';
import { calibrationState, judgementState } from '../../judge/records.js';
import { type JournalRecord, scanJournal } from '../../run/journal.js';
import { Ledger } from '../../run/ledger.js';
import { type Manifest, readManifest } from '../../run/manifest.js';
import { entryOf, isAlive, pathsOf, type RowState, STAMP_KEY, summaryOf } from '../../run/run.js';
import { episodeState } from '../../simulate/episodes/records.js';

interface Progressed {
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly left: number;
  /** Over the last minutes, of a run that works. */
  readonly rowsPerSecond?: number | undefined;
  readonly secondsLeft?: number | undefined;
  readonly tokens: number;
  /** Undefined where nobody knows. */
  readonly usd?: number | undefined;
}

export interface RunStatus extends Progressed {
  /** The folder as the user named it, and the run's name in it, such as `predictions`. */
  readonly dir: string;
  readonly name: string;
  readonly kind: RunKind;
  readonly label?: string | undefined;
  /**
   * `running` where its process lives (on another host: where nobody has said otherwise), `killed` where it died without a word;
   * whatever else the manifest says.
   */
  readonly state: Manifest['state'] | 'killed';
  readonly process?: { readonly pid: number; readonly host: string } | undefined;
  /** Of another host's process nobody here knows whether it lives. */
  readonly isElsewhere: boolean;
  readonly startedAt: string;
  readonly endedAt?: string | undefined;
  /** When the latest record was made. */
  readonly lastAt?: string | undefined;
  readonly domains: ReadonlyMap<Domain, DomainStatus>;
  /** With the reason of the latest one. */
  readonly failures: readonly { readonly class: string; readonly rows: number; readonly reason?: string | undefined }[];
}

interface DomainStatus {
  /** Undefined where the manifest does not say. */
  readonly total?: number | undefined;
  readonly ok: number;
  readonly failed: number;
}

/** All runs together; dollars only where all of them are known, and the time until the slowest has ended. */
export interface StatusSum extends Progressed {
  readonly runs: number;
}

const MANIFEST = '.manifest.json';
/** The rate is that of these last milliseconds. */
const WINDOW_MS = 5 * 60_000;

const STATE_OF: Readonly<Record<RunKind, (record: JournalRecord) => RowState>> = {
  infer: predictionState,
  scenarios: predictionState,
  judge: judgementState,
  calibrate: calibrationState,
  likelihood: judgementState,
  simulate: episodeState,
};

/**
 * The status of every run in a folder, in the order of their beginnings; where there is none, a word on why.
 * @param dir absolute; `shown` is its name as the user gave it
 * @throws UserError (66) where nothing lies there that can be read; (65) for a damaged manifest
 */
export async function readStatuses(dir: string, shown: string, now: number): Promise<RunStatus[] | string> {
  const names = await namesIn(dir, shown);
  if (names === undefined) return `${shown} is a file`;
  if (names.length === 0) return `there is no run in ${shown}`;
  const found: RunStatus[] = [];
  for (const name of names) {
    const { manifestPath, journalPath } = pathsOf({ dir, name });
    const manifest = await readManifest(manifestPath);
    if (manifest === undefined) continue;
    // A file without a journal (a panel) is what its manifest says.
    const records = (await sizeOf(journalPath)) === undefined ? undefined : await recordsIn(journalPath, manifest);
    found.push({ dir: shown, name, ...statusOf(manifest, records, now) });
  }
  return found.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
}

/** The runs in a folder; undefined where it is a file. */
async function namesIn(dir: string, shown: string): Promise<string[] | undefined> {
  const entries = await readdir(dir).catch((error: unknown) => {
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw new UserError(
      `cannot read the folder ${shown} (${codeOf(error)}); name the --output-dir of a run`,
      EXIT.inputMissing,
    );
  });
  return entries?.filter((entry) => entry.endsWith(MANIFEST)).map((entry) => entry.slice(0, -MANIFEST.length));
}

/** What the records of a journal say. */
interface Records {
  /** The domain and the class of failure, if any, of each row's latest record. */
  readonly rows: ReadonlyMap<string, { readonly domain: unknown; readonly failure: string | undefined }>;
  /** Of the latest failure of each class. */
  readonly reasons: ReadonlyMap<string, string | undefined>;
  /** When each was made, milliseconds since the epoch. */
  readonly times: readonly number[];
  readonly ledger: Ledger;
}

async function recordsIn(path: string, { kind, price, unrecorded }: Manifest): Promise<Records> {
  const rows = new Map<string, { domain: unknown; failure: string | undefined }>();
  const reasons = new Map<string, string | undefined>();
  const times: number[] = [];
  const ledger = new Ledger(() => price);
  if (unrecorded !== undefined) ledger.add(unrecorded);
  await scanJournal(path, (record) => {
    const { id, log } = record;
    const state = STATE_OF[kind](record);
    ledger.add(entryOf(summaryOf(state, log, STAMP_KEY[kind]), log));
    const failure = state.status === 'failed' ? (state.class ?? 'unknown') : undefined;
    rows.set(id, { domain: log.domain, failure });
    if (failure !== undefined) reasons.set(failure, state.reason ?? reasons.get(failure));
    const time = typeof log.at === 'string' ? Date.parse(log.at) : Number.NaN;
    if (!Number.isNaN(time)) times.push(time);
  });
  return { rows, reasons, times, ledger };
}

function statusOf(manifest: Manifest, records: Records | undefined, now: number): Omit<RunStatus, 'dir' | 'name'> {
  const { kind, label, startedAt, endedAt, process: worker, tokens } = manifest;
  const isElsewhere = worker?.host !== hostname();
  const isKilled = manifest.state === 'running' && !isElsewhere && !isAlive(worker?.pid);
  const state = isKilled ? 'killed' : manifest.state;
  const rows = [...(records?.rows.values() ?? [])];
  const failed = rows.filter(({ failure }) => failure !== undefined);
  const counts = rows.length === 0 ? manifest.counts : { ok: rows.length - failed.length, failed: failed.length };
  const domains = domainsOf(manifest, rows);
  const total = totalOf(manifest, domains);
  const left = Math.max(0, total - counts.ok - counts.failed);
  const rowsPerSecond = state === 'running' ? rateAt(now, records?.times ?? []) : undefined;
  const lastAt = records?.times.reduce((latest, time) => Math.max(latest, time), 0) ?? 0;
  return {
    ...{ kind, label, state, isElsewhere, process: worker && { pid: worker.pid, host: worker.host } },
    ...{ startedAt, endedAt: state === 'running' ? undefined : endedAt },
    lastAt: lastAt === 0 ? undefined : new Date(lastAt).toISOString(),
    ...{ total, ok: counts.ok, failed: counts.failed, left, domains },
    ...{ rowsPerSecond, secondsLeft: rowsPerSecond && left / rowsPerSecond },
    tokens: records?.ledger.tokens ?? (tokens?.promptTokens ?? 0) + (tokens?.completionTokens ?? 0),
    usd: records?.ledger.usd,
    failures: rows.length === 0 ? recordedFailures(manifest) : failuresOf(rows, records?.reasons),
  };
}

function totalOf({ counts, process: worker }: Manifest, domains: ReadonlyMap<Domain, DomainStatus>): number {
  if (worker?.totals === undefined) return counts.chosen;
  return [...domains.values()].reduce((sum, { total = 0 }) => sum + total, counts.absent ?? 0);
}

type Row = Records['rows'] extends ReadonlyMap<string, infer Value> ? Value : never;

function domainsOf({ process: worker }: Manifest, rows: readonly Row[]): ReadonlyMap<Domain, DomainStatus> {
  const counts = new Map<Domain, { total?: number; ok: number; failed: number }>();
  for (const [domain, total] of Object.entries(worker?.totals ?? {})) counts.set(domain, { ok: 0, failed: 0, total });
  for (const { domain, failure } of rows) {
    if (typeof domain !== 'string') continue;
    const count = counts.get(domain) ?? { ok: 0, failed: 0 };
    counts.set(domain, count);
    count[failure === undefined ? 'ok' : 'failed']++;
  }
  return new Map([...counts].sort(([a], [b]) => inTableOrder(a, b)));
}

function recordedFailures({ counts }: Manifest): RunStatus['failures'] {
  return Object.entries(counts.failures ?? {}).map(([name, rows]) => ({ class: name, rows }));
}

/** The most frequent first. */
function failuresOf(rows: readonly Row[], reasons: Records['reasons'] = new Map()): RunStatus['failures'] {
  const counts = new Map<string, number>();
  for (const { failure } of rows) if (failure !== undefined) counts.set(failure, (counts.get(failure) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => ({ class: name, rows: count, reason: reasons.get(name) }));
}

/** Records a second over the last minutes; a pause before them does not count. Undefined where fewer than two were made then. */
function rateAt(now: number, made: readonly number[]): number | undefined {
  const times = made.filter((time) => time >= now - WINDOW_MS && time <= now);
  const first = times.reduce((least, time) => Math.min(least, time), now);
  return times.length < 2 || first >= now ? undefined : (times.length - 1) / ((now - first) / 1000);
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
    usd: runs.every(({ usd }) => usd !== undefined) ? sum(({ usd = 0 }) => usd) : undefined,
    rowsPerSecond: rate > 0 ? rate : undefined,
    secondsLeft: waits.length > 0 ? Math.max(...waits) : undefined,
  };
}

/** `awb status --json`: members in snake case, as in all documents; what nobody knows is absent. */
export function statusDocument(runs: readonly RunStatus[], sum: StatusSum): object {
  return { schema: 'awb.status/1', runs: runs.map(runDocument), total: { runs: sum.runs, ...progressDocument(sum) } };
}

function runDocument(run: RunStatus): object {
  const { dir, name, kind, label, state, process: worker, startedAt, endedAt, lastAt, domains, failures } = run;
  return {
    ...{ dir, name, kind, label, state, process: worker },
    ...{ started_at: startedAt, ended_at: endedAt, last_record_at: lastAt },
    ...progressDocument(run),
    domains: Object.fromEntries(
      [...domains].map(([domain, { total, ok, failed }]) => [
        domain,
        { total, ok, failed, left: total === undefined ? undefined : Math.max(0, total - ok - failed) },
      ]),
    ),
    failures,
  };
}

function progressDocument(status: Progressed): object {
  const { total, ok, failed, left, rowsPerSecond, secondsLeft, tokens, usd } = status;
  return { total, ok, failed, left, rows_per_second: rowsPerSecond, seconds_left: secondsLeft, tokens, usd };
}
