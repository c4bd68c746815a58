// An open run: its folder, locked for one process and checked, the summaries of its rows in memory, and what asking reveals.

import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { callsIn, isUncounted, type Price } from '../core/costs.js';
import { cannotCreate, closingOnFailure, codeOf } from '../core/errors.js';
import { asksWorldModel, type Identity, requireSameIdentity } from '../core/identity.js';
import type { CallLog, Usage } from '../core/types.js';
import { clearRemains, makeFolders, sizeOf } from '../disk/files.js';
import { lockFile } from '../disk/lock.js';
import { Ledger } from './budget.js';
import { type Journal, type JournalRecord, openJournal, viewJournal } from './journal.js';
import { type Manifest, readManifest } from './manifest.js';

/** The price, given the models that have answered so far; undefined if unknown, which does not mean zero. */
export type Pricing = (servedModels: ReadonlySet<string>) => Price | undefined;

/** The result of a finished row. */
export interface RowState {
  readonly status: 'ok' | 'failed';
  readonly class?: string | undefined;
  /** Only for a failed row. */
  readonly reason?: string | undefined;
  readonly flags: readonly string[];
}

/** What stays in memory of a finished row. */
export interface RowSummary extends RowState {
  /** The cost of the row's record, over all its tries. */
  readonly usage: Usage;
  /** Characters sent, if the record took exactly one call. */
  readonly chars?: number | undefined;
  /** Tries of all its calls; 0 for a record that needed none. */
  readonly attempts: number;
  /** Calls that the usage covers. */
  readonly calls: number;
  /** The cost of each of the row's records that needed a model, this one last. */
  readonly taken: readonly Pick<RowSummary, 'usage' | 'calls'>[];
  /** What the record was made from and with (see `StageOutput.stampOf`). */
  readonly stamp: string;
}

/** The key of the stamp in a record's log. A world model's answers depend on little more than the dropped parameters. */
export function stampKeyOf(kind: Manifest['kind']) {
  return asksWorldModel(kind) ? 'dropped' : 'stamp';
}

export type Run = Awaited<ReturnType<typeof openRun>>;

/**
 * Opens `<dir>/<name>.jsonl` with its journal and manifest for this process only, and restores what earlier sessions of the run found out.
 * A dry run creates, locks, moves and repairs nothing, and another process may be working there.
 * @throws UserError 73 (folder, lock), 78 (started under another identity), 65 (manifest unreadable), 66 for a journal that cannot be read.
 */
export async function openRun(options: {
  readonly kind: Manifest['kind'];
  /** Absolute path. */
  readonly dir: string;
  readonly name: string;
  /** Sets existing files aside and starts over. */
  readonly fresh: boolean;
  readonly dryRun?: boolean;
  /** A second file that such a run may write. */
  readonly beside?: string;
  /** Receives the stored manifest, from which it may take what only asking reveals. */
  identity(stored: Manifest | undefined): Identity;
  readonly stateOf: (record: JournalRecord) => RowState;
  /** What calls cost, given the models that have answered so far. */
  readonly pricing?: Pricing;
}) {
  const { kind, dir, name, fresh, dryRun = false, beside, stateOf, pricing = () => undefined } = options;
  const paths = pathsOf(options);
  const { outputPath, journalPath, manifestPath } = paths;
  const whole = [outputPath, manifestPath, ...(beside === undefined ? [] : [join(dir, beside)])];
  const release = dryRun ? undefined : await lockRun(options);
  let journal: Journal<RowSummary> | undefined;
  const close = async () => {
    await journal?.close();
    release?.();
  };
  return closingOnFailure({ close }, async () => {
    if (!dryRun) for (const path of whole) await clearRemains(path);
    if (!dryRun && fresh) await setAside(dir, [...whole, journalPath]);
    const found = fresh ? undefined : await readManifest(manifestPath);
    if (found === undefined && !fresh) await requireNoStray([outputPath, journalPath]);
    const servedModels = new Set(found?.servedModels ?? []);
    const { unrecorded = { calls: 0, usage: {} } } = found ?? {};
    const ledger = new Ledger(() => pricing(servedModels) ?? found?.price);
    ledger.add(unrecorded);
    let isOpen = false;
    const summarise = (record: JournalRecord, earlier: RowSummary | undefined) => {
      const summary = summaryOf(stateOf(record), record.log, stampKeyOf(kind));
      if (!isOpen) ledger.add(entryOf(summary, record.log));
      // Keeps what the replaced record took.
      return earlier === undefined ? summary : { ...summary, taken: [...earlier.taken, ...summary.taken] };
    };
    journal = await (dryRun
      ? viewJournal(fresh ? undefined : journalPath, summarise)
      : openJournal(journalPath, summarise));
    isOpen = true;
    // Requests of a batch are paid for before the first record exists.
    const isBegun = journal.size > 0 || found?.batch !== undefined || ((await sizeOf(outputPath)) ?? 0) > 0;
    // A run without results fixes no settings: after a mistyped model, the corrected command just works.
    const stored = isBegun ? found : undefined;
    if (stored === undefined) servedModels.clear();
    const identity = options.identity(stored);
    if (stored !== undefined) requireSameIdentity(stored.identity, identity, manifestPath);
    const { ids, summaryOf: known, repaired } = journal;
    return {
      ...paths,
      kind,
      dir,
      /** The files it writes there, including its lock; some may not exist yet. */
      files: [...whole, journalPath, join(dir, `.${name}.lock`)],
      journal,
      /** The manifest found on opening; undefined if the folder has no rows yet. */
      stored,
      /** Updated when asking reveals part of the run's identity (a dropped parameter, the judge's snapshot). */
      identity,
      /** When its first session began, in ISO 8601, and when this session began, by the clock of `performance`. */
      startedAt: stored?.startedAt ?? new Date().toISOString(),
      openedAt: performance.now(),
      /** What all sessions have spent: on records, including replaced ones, and on calls that led to no record. */
      ledger,
      /** Rows that earlier sessions have finished. */
      finishedBefore: [...ids()].filter((id) => known(id)?.status === 'ok').length,
      /** What earlier sessions spent on calls that led to no record. */
      unrecorded,
      notices: [...(stored?.notices ?? []), ...(repaired === undefined ? [] : [repaired])],
      servedModels,
      /** The folder of the batch files that the run asks through; undefined if it asks live. */
      batch: stored?.batch,
      /** What `awb serve` said about its models, keyed by the file's SHA-256. */
      models: new Map((stored?.models ?? []).map((model) => [String(model.sha256), model])),
      close,
    };
  });
}

/** What an earlier session's record adds to the spending. */
export function entryOf({ usage, chars, calls }: RowSummary, { uncounted }: JournalRecord['log']) {
  return { usage, chars, calls, ...(isUncounted(uncounted) && { uncounted }) };
}

export function summaryOf(state: RowState, log: JournalRecord['log'], stampKey: string): RowSummary {
  const { status, class: failure, reason, flags } = state;
  // The record's checksum shows that a run wrote it.
  const { usage = {}, chars, attempts = 0, tries } = log as Partial<CallLog>;
  // The same goes for the stamp, which is a string.
  const { [stampKey]: stamp = '' } = log as Readonly<Record<string, string | undefined>>;
  const calls = callsIn(tries);
  return {
    status,
    class: failure,
    reason,
    flags,
    usage,
    chars,
    attempts,
    calls,
    taken: attempts === 0 ? [] : [{ usage, calls }],
    stamp,
  };
}

/** Creates a run's folder, and locks the run for this process. @throws UserError (73) */
export async function lockRun({ dir, name }: { readonly dir: string; readonly name: string }) {
  await makeFolder(dir);
  const holder = await readManifest(pathsOf({ dir, name }).manifestPath).catch(() => undefined);
  const who = holder?.state === 'running' ? ` (process ${holder.process?.pid} on ${holder.process?.host})` : '';
  const busy = `another awb is working in ${dir}${who}; wait for it to end, or choose another --output-dir`;
  return lockFile(join(dir, `.${name}.lock`), busy);
}

/** The files of a run. */
export function pathsOf({ dir, name }: { readonly dir: string; readonly name: string }) {
  return {
    outputPath: join(dir, `${name}.jsonl`),
    journalPath: join(dir, `${name}.journal.jsonl`),
    manifestPath: join(dir, `${name}.manifest.json`),
  };
}

async function makeFolder(dir: string): Promise<void> {
  await makeFolders(dir).catch((error: unknown) => {
    const what = `cannot create the folder ${dir} (${codeOf(error)})`;
    throw cannotCreate(`${what}; choose another --output-dir`);
  });
}

/** How rows without a manifest were made is unknown, so they are neither overwritten nor mixed with others. */
export async function requireNoStray(
  paths: readonly string[],
  remedy = 'choose another --output-dir, or --fresh to move it aside',
): Promise<void> {
  for (const path of paths) {
    if (((await sizeOf(path)) ?? 0) === 0) continue;
    throw cannotCreate(
      `${path} was not made by a run in this folder (there is no manifest next to it) and would be overwritten; ${remedy}`,
    );
  }
}

/** Moves a run's files into a new folder next to them. */
export async function setAside(dir: string, paths: readonly string[]): Promise<void> {
  const aside = join(dir, `before-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  for (const path of paths) {
    if ((await sizeOf(path)) === undefined) continue;
    await makeFolder(aside);
    await rename(path, join(aside, path.slice(dir.length + 1)));
  }
}

/** Whether a process on this machine is still running. @param pid undefined for no process */
export function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    // Signal 0 is not delivered: it only checks that the process exists.
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  try {
    // A process that has ended keeps its number until its parent has reaped it. The state follows the name, which may contain anything.
    return !/\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // The system has no /proc, or the process has ended meanwhile.
    return true;
  }
}
