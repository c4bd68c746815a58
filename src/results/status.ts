// The status of runs, as `awb status --json` prints it. Manifests and journals are only read; nothing is locked or written.

import { readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { inTableOrder } from '../core/domains.js';
import { codeOf, inputMissing } from '../core/errors.js';
import { countBy, groupBy, sum } from '../core/groups.js';
import type { RunKind } from '../core/identity.js';
import { predictionState } from '../infer/inferring.js';
import { calibrationState, judgementState } from '../judge/asking.js';
import { Ledger } from '../run/budget.js';
import { type JournalRecord, scanJournal } from '../run/journal.js';
import { type Manifest, readManifest } from '../run/manifest.js';
import { entryOf, isAlive, pathsOf, type RowState, stampKeyOf, summaryOf } from '../run/run.js';
import { episodeState } from '../simulate/episodes/playing.js';

/** Runs as `--json` prints them; unknown values are undefined. */
export type RunStatus = { readonly dir: string; readonly name: string } & ReturnType<typeof statusOf>;

const MANIFEST = '.manifest.json';
/** Journals as read so far, by path. A later call only reads what was appended since. */
export type Readings = Map<string, Promise<Reading>>;
type Reading = ReturnType<typeof newReading>;

/** For a manifest without counts. */
const NONE: Manifest['counts'] = { chosen: 0, ok: 0, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} };
/** The rate is measured over these last milliseconds. */
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
 * The status of every run in a folder, by start time; if there is none, the reason as text.
 * @param dir absolute; `shown` is its name as the user gave it
 * @param readings kept by the caller, and passed again each time
 * @throws UserError (66) if the folder cannot be read; (65) for a damaged manifest
 */
export async function readStatuses(
  dir: string,
  shown: string,
  now: number,
  readings: Readings = new Map(),
): Promise<RunStatus[] | string> {
  const entries = await readdir(dir).catch((error: unknown) => {
    if (codeOf(error) === 'ENOTDIR') return undefined;
    throw inputMissing(`cannot read the folder ${shown} (${codeOf(error)}); name the --output-dir of a run`);
  });
  if (entries === undefined) return `${shown} is a file`;
  const found: RunStatus[] = [];
  for (const entry of entries.filter((entry) => entry.endsWith(MANIFEST))) {
    const name = entry.slice(0, -MANIFEST.length);
    const { manifestPath, journalPath } = pathsOf({ dir, name });
    const manifest = await readManifest(manifestPath);
    if (manifest === undefined) continue;
    // In sequence, since each reading continues where the one before ended.
    const before = readings.get(journalPath)?.catch(() => undefined);
    const reading = (async () => readOn(manifest, journalPath, await before))();
    readings.set(journalPath, reading);
    found.push({ dir: shown, name, ...statusOf(manifest, await reading, now) });
  }
  if (found.length === 0) return `there is no run in ${shown}`;
  return found.sort((a, b) => a.started_at.localeCompare(b.started_at));
}

/** An empty reading of a journal. `base` identifies its run, its file, and the initial sums. */
function newReading(base: string, isRecorded: boolean, price: Manifest['price']) {
  /** Time of each record, in milliseconds since the epoch. */
  const times: number[] = [];
  return {
    base,
    /** False for a run without a journal (a panel), whose manifest has the figures. */
    isRecorded,
    /** Of each row's latest record. */
    rows: new Map<string, { readonly domain: string; readonly failure: string | undefined }>(),
    reasons: new Map<string, string | undefined>(),
    times,
    ledger: new Ledger(() => price),
    /** How many bytes were read. */
    end: 0,
  };
}

/** Adds what was appended to a journal since the last reading; reads it from the start if it is a different journal. */
async function readOn(manifest: Manifest, path: string, known: Reading | undefined): Promise<Reading> {
  const { kind, price, unrecorded, startedAt } = manifest;
  const file = await stat(path).catch(() => undefined);
  const base = JSON.stringify([startedAt, price, unrecorded, file?.ino]);
  const isKnown = known?.base === base && known.end <= (file?.size ?? 0);
  const reading = isKnown ? known : newReading(base, file !== undefined, price);
  const { rows, reasons, times, ledger } = reading;
  if (!isKnown && unrecorded !== undefined) ledger.add(unrecorded);
  const take = (record: JournalRecord) => {
    const { id, log } = record;
    const state = STATE_OF[kind](record);
    ledger.add(entryOf(summaryOf(state, log, stampKeyOf(kind)), log));
    const failure = state.status === 'failed' ? (state.class ?? 'unknown') : undefined;
    rows.set(id, { domain: String(log.domain), failure });
    if (failure !== undefined) reasons.set(failure, state.reason ?? reasons.get(failure));
    const time = typeof log.at === 'string' ? Date.parse(log.at) : Number.NaN;
    if (!Number.isNaN(time)) times.push(time);
  };
  reading.end = (await scanJournal(path, take, reading.end)).end;
  return reading;
}

function statusOf(manifest: Manifest, reading: Reading, now: number) {
  const { kind, label, startedAt, endedAt, process: worker, counts = NONE, tokens } = manifest;
  const { isRecorded, rows, reasons, times, ledger } = reading;
  const classes = [...rows.values()].flatMap(({ failure }) => failure ?? []);
  const failed = isRecorded ? classes.length : counts.failed;
  const ok = isRecorded ? rows.size - failed : counts.ok;
  const failures = Object.entries(isRecorded ? countBy(classes, (failure) => failure) : (counts.failures ?? {}));
  const totals = worker?.totals;
  const total =
    totals === undefined ? counts.chosen : Object.values(totals).reduce((sum, rows) => sum + rows, counts.absent ?? 0);
  const left = Math.max(0, total - ok - failed);
  const isKilled = manifest.state === 'running' && worker?.host === hostname() && !isAlive(worker.pid);
  const state = isKilled ? ('killed' as const) : manifest.state;
  const rate = state === 'running' ? rateAt(now, times) : undefined;
  const lastAt = times.reduce((latest, time) => Math.max(latest, time), 0);
  return {
    kind,
    label,
    /** `running` if its process is alive, or may be alive on another host; `killed` if it died without recording its end. */
    state,
    process: worker && { pid: worker.pid, host: worker.host },
    started_at: startedAt,
    ended_at: state === 'running' ? undefined : endedAt,
    last_record_at: lastAt === 0 ? undefined : new Date(lastAt).toISOString(),
    ...{ total, ok, failed, left },
    /** Over the last minutes, for a running run. */
    rows_per_second: rate,
    seconds_left: rate && left / rate,
    tokens: isRecorded ? ledger.tokens : (tokens?.promptTokens ?? 0) + (tokens?.completionTokens ?? 0),
    usd: isRecorded ? ledger.usd : undefined,
    domains: domainsOf(totals, [...rows.values()]),
    /** Most frequent first, each with the reason of the latest one. */
    failures: failures
      .sort(([, a], [, b]) => b - a)
      .map(([name, rows]) => ({ class: name, rows, reason: reasons.get(name) })),
  };
}

function domainsOf(
  totals: Readonly<Record<string, number>> = {},
  rows: readonly { readonly domain: string; readonly failure: string | undefined }[],
) {
  const byDomain = groupBy(rows, ({ domain }) => domain);
  const names = Object.keys({ ...totals, ...Object.fromEntries(byDomain) }).sort(inTableOrder);
  const statuses = names.map((name) => {
    const { [name]: total } = totals;
    const own = byDomain.get(name) ?? [];
    const failed = own.filter(({ failure }) => failure !== undefined).length;
    const left = total === undefined ? undefined : Math.max(0, total - own.length);
    return [name, { total, ok: own.length - failed, failed, left }] as const;
  });
  return Object.fromEntries(statuses);
}

/** Records per second over the last minutes, not counting a pause before the first. Undefined for fewer than two. */
function rateAt(now: number, made: readonly number[]): number | undefined {
  const times = made.filter((time) => time >= now - WINDOW_MS && time <= now);
  const first = times.reduce((least, time) => Math.min(least, time), now);
  return times.length < 2 || first >= now ? undefined : (times.length - 1) / ((now - first) / 1000);
}

/** The sum of all runs: dollars only if all are known, and the time until the slowest ends. */
export function sumOf(runs: readonly RunStatus[]) {
  const rate = sum(runs, ({ rows_per_second: rate = 0 }) => rate);
  const waits = runs.flatMap(({ seconds_left: wait }) => wait ?? []);
  return {
    runs: runs.length,
    total: sum(runs, ({ total }) => total),
    ok: sum(runs, ({ ok }) => ok),
    failed: sum(runs, ({ failed }) => failed),
    left: sum(runs, ({ left }) => left),
    rows_per_second: rate > 0 ? rate : undefined,
    seconds_left: waits.length > 0 ? Math.max(...waits) : undefined,
    tokens: sum(runs, ({ tokens }) => tokens),
    usd: runs.every(({ usd }) => usd !== undefined) ? sum(runs, ({ usd = 0 }) => usd) : undefined,
  };
}
