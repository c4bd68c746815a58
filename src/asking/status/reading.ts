// A run's status out of its folder: manifest and journal are read, nothing is locked or written, and another process may work there.

import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { inTableOrder } from '../../domains.js';
import { codeOf, EXIT, UserError } from '../../errors.js';
import { isAlive } from '../../run/alive.js';
import { sizeOf } from '../../run/file-reading.js';
import { pathsOf, viewFolder } from '../../run/folder.js';
import type { JournalRecord } from '../../run/journal-record.js';
import type { Manifest } from '../../run/manifest.js';
import { readManifest } from '../../run/manifest-file.js';
import type { RunKind } from '../../run-kind.js';
import type { Domain } from '../../types.js';
import { predictionState } from '../infer/inferring.js';
import { calibrationState, judgementState } from '../judge/records.js';
import { Ledger } from '../ledger.js';
import type { RowState } from '../run.js';
import { entryOf, STAMP_KEY, summaryOf } from '../run.js';
import { episodeState } from '../simulate/episodes/records.js';
import type { DomainStatus, FailureStatus, RunState, RunStatus } from './status.js';

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
    const manifest = await readManifest(pathsOf({ dir, name }).manifestPath);
    if (manifest !== undefined) found.push(await statusOf(dir, shown, name, manifest, now));
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

async function statusOf(dir: string, shown: string, name: string, manifest: Manifest, now: number): Promise<RunStatus> {
  const records = new Records();
  const spent = await readJournal(dir, name, manifest, records);
  const { kind, label, startedAt, endedAt, process: worker } = manifest;
  const isElsewhere = worker?.host !== hostname();
  const state = stateOf(manifest, isElsewhere);
  const domains = domainsOf(manifest, records);
  const { ok, failed } = records.isEmpty ? manifest.counts : records.sums();
  const total = totalOf(manifest, domains);
  const left = Math.max(0, total - ok - failed);
  const rate = state === 'running' ? records.rateAt(now) : undefined;
  const { lastAt } = records;
  return {
    ...{ dir: shown, name, kind, ...(label !== undefined && { label }), state, isElsewhere },
    ...(worker !== undefined && { process: { pid: worker.pid, host: worker.host } }),
    ...{ startedAt, ...(endedAt !== undefined && state !== 'running' && { endedAt }) },
    ...(lastAt !== undefined && { lastAt: new Date(lastAt).toISOString() }),
    ...{ total, ok, failed, left, domains },
    ...(rate !== undefined && { rowsPerSecond: rate, secondsLeft: left / rate }),
    ...spent,
    failures: records.isEmpty ? recordedFailures(manifest) : records.failures(),
  };
}

/** Reads all records, and adds up what they cost. A file without a journal (a panel) is what its manifest says. */
async function readJournal(dir: string, name: string, manifest: Manifest, records: Records) {
  if ((await sizeOf(pathsOf({ dir, name }).journalPath)) === undefined) {
    const { promptTokens = 0, completionTokens = 0 } = manifest.tokens ?? {};
    return { tokens: promptTokens + completionTokens };
  }
  const { kind, price, unrecorded } = manifest;
  const ledger = new Ledger(() => price);
  if (unrecorded !== undefined) ledger.add(unrecorded);
  const folder = await viewFolder<Outcome>({
    ...{ dir, name, fresh: false },
    identity: (stored) => stored?.identity ?? manifest.identity,
    summarise(record) {
      const state = STATE_OF[kind](record);
      ledger.add(entryOf(summaryOf(state, record.log, STAMP_KEY[kind]), record.log));
      return records.outcomeOf(record, state);
    },
  });
  await folder.close();
  const { tokens, usd } = ledger;
  return { tokens, ...(usd !== undefined && { usd }) };
}

function stateOf({ state, process: worker }: Manifest, isElsewhere: boolean): RunState {
  if (state !== 'running' || isElsewhere) return state;
  return isAlive(worker?.pid) ? 'running' : 'killed';
}

function totalOf({ counts, process: worker }: Manifest, domains: ReadonlyMap<Domain, DomainStatus>): number {
  if (worker?.totals === undefined) return counts.chosen;
  return [...domains.values()].reduce((sum, { total = 0 }) => sum + total, counts.absent ?? 0);
}

function domainsOf({ process: worker }: Manifest, records: Records): ReadonlyMap<Domain, DomainStatus> {
  const counts = records.byDomain();
  const totals = worker?.totals ?? {};
  const names = [...new Set([...Object.keys(totals), ...counts.keys()])].sort(inTableOrder);
  return new Map(
    names.map((name) => {
      const total = totals[name];
      return [name, { ...(counts.get(name) ?? { ok: 0, failed: 0 }), ...(total !== undefined && { total }) }];
    }),
  );
}

function recordedFailures({ counts }: Manifest): FailureStatus[] {
  return Object.entries(counts.failures ?? {}).map(([name, rows]) => ({ class: name, rows }));
}

/** What a record says that its row has come to. */
interface Outcome {
  /** Absent where an earlier version did not write it. */
  readonly domain?: string;
  /** The class of the failure. */
  readonly failure?: string;
}

/** What the records of a journal say: the latest one of each row, and when each was made. */
class Records {
  readonly #latest = new Map<string, Outcome>();
  readonly #reasons = new Map<string, string>();
  readonly #times: number[] = [];
  lastAt: number | undefined;

  get isEmpty(): boolean {
    return this.#latest.size === 0;
  }

  /** What a record's row has come to; its time and reason are noted. */
  outcomeOf(
    { id, log: { domain, at } }: JournalRecord,
    { status, class: name = 'unknown', reason }: RowState,
  ): Outcome {
    const failure = status === 'failed' ? name : undefined;
    if (failure !== undefined && reason !== undefined) this.#reasons.set(failure, reason);
    const time = typeof at === 'string' ? Date.parse(at) : Number.NaN;
    if (!Number.isNaN(time)) {
      this.#times.push(time);
      this.lastAt = Math.max(time, this.lastAt ?? time);
    }
    const outcome = { ...(typeof domain === 'string' && { domain }), ...(failure !== undefined && { failure }) };
    this.#latest.set(id, outcome);
    return outcome;
  }

  sums(): { readonly ok: number; readonly failed: number } {
    const failed = [...this.#latest.values()].filter(({ failure }) => failure !== undefined).length;
    return { ok: this.#latest.size - failed, failed };
  }

  byDomain(): Map<Domain, { readonly ok: number; readonly failed: number }> {
    const counts = new Map<Domain, { ok: number; failed: number }>();
    for (const { domain, failure } of this.#latest.values()) {
      if (domain === undefined) continue;
      const count = counts.get(domain) ?? { ok: 0, failed: 0 };
      counts.set(domain, count);
      count[failure === undefined ? 'ok' : 'failed']++;
    }
    return counts;
  }

  failures(): FailureStatus[] {
    const rows = new Map<string, number>();
    for (const { failure } of this.#latest.values()) {
      if (failure !== undefined) rows.set(failure, (rows.get(failure) ?? 0) + 1);
    }
    return [...rows]
      .sort(([, a], [, b]) => b - a)
      .map(([name, count]) => {
        const reason = this.#reasons.get(name);
        return { class: name, rows: count, ...(reason !== undefined && { reason }) };
      });
  }

  /** Records a second over the last minutes; a pause before them does not count. Undefined where fewer than two were made then. */
  rateAt(now: number): number | undefined {
    const times = this.#times.filter((time) => time >= now - WINDOW_MS && time <= now);
    const first = times.reduce((least, time) => Math.min(least, time), now);
    return times.length < 2 || first >= now ? undefined : (times.length - 1) / ((now - first) / 1000);
  }
}
