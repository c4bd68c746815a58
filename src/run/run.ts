// An open run: its folder, held by one process alone and checked, what stays in memory of its rows, and what asking finds out.

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

/** The price, given the models that have answered so far; undefined where nobody knows it, which is not a price of zero. */
export type Pricing = (servedModels: ReadonlySet<string>) => Price | undefined;

/** What a finished row has come to. */
export interface RowState {
  readonly status: 'ok' | 'failed';
  readonly class?: string | undefined;
  /** Of a failed row. */
  readonly reason?: string | undefined;
  readonly flags: readonly string[];
}

/** What stays in memory of a finished row. */
export interface RowSummary extends RowState {
  /** What the row's record has cost, over all its tries. */
  readonly usage: Usage;
  /** Characters that were sent, where one call is all that the record took. */
  readonly chars?: number | undefined;
  /** Tries of all its calls; 0 for a record that needed none. */
  readonly attempts: number;
  /** Calls that the usage is of. */
  readonly calls: number;
  /** What all of the row's records took that asked for it, this one last. */
  readonly taken: readonly Pick<RowSummary, 'usage' | 'calls'>[];
  /** What the record was made from and with (see `StageOutput.stampOf`). */
  readonly stamp: string;
}

/** Under which name a record's log holds its stamp: a world model's answers depend on the parameters that were dropped, and on little else. */
export function stampKeyOf(kind: Manifest['kind']) {
  return asksWorldModel(kind) ? 'dropped' : 'stamp';
}

export type Run = Awaited<ReturnType<typeof openRun>>;

/**
 * Opens `<dir>/<name>.jsonl` with its journal and manifest for this process alone, and takes up what earlier sessions of the run found
 * out. For a dry run nothing is made, locked, set aside or repaired, and another process may work there.
 * @throws UserError 73 (folder, lock), 78 (begun under another identity), 65 (manifest unreadable), 66 for a journal that cannot be read.
 */
export async function openRun(options: {
  readonly kind: Manifest['kind'];
  /** Absolute. */
  readonly dir: string;
  readonly name: string;
  /** Sets what is there aside and begins anew. */
  readonly fresh: boolean;
  readonly dryRun?: boolean;
  /** A second file that such a run may write. */
  readonly beside?: string;
  /** Is given the stored manifest, from which it may take over what only asking can find out. */
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
      // What the record took whose place this one takes is kept.
      return earlier === undefined ? summary : { ...summary, taken: [...earlier.taken, ...summary.taken] };
    };
    journal = await (dryRun
      ? viewJournal(fresh ? undefined : journalPath, summarise)
      : openJournal(journalPath, summarise));
    isOpen = true;
    // Requests of a batch are paid for before the first record is there.
    const isBegun = journal.size > 0 || found?.batch !== undefined || ((await sizeOf(outputPath)) ?? 0) > 0;
    // A run that holds nothing yet binds nobody: after a mistyped model the command is simply given again.
    const stored = isBegun ? found : undefined;
    if (stored === undefined) servedModels.clear();
    const identity = options.identity(stored);
    if (stored !== undefined) requireSameIdentity(stored.identity, identity, manifestPath);
    const { ids, summaryOf: known, repaired } = journal;
    return {
      ...paths,
      kind,
      dir,
      /** What it writes there, its lock included; some of it may not be there yet. */
      files: [...whole, journalPath, join(dir, `.${name}.lock`)],
      journal,
      /** The manifest found on opening; undefined where the folder holds no row yet. */
      stored,
      /** Rewritten where the run learns what belongs to its identity only while asking (a dropped parameter, the judge's snapshot). */
      identity,
      /** When its first session began, ISO 8601, and when this one did, by the clock of `performance`. */
      startedAt: stored?.startedAt ?? new Date().toISOString(),
      openedAt: performance.now(),
      /** What all sessions have spent: on records, those that others have replaced since among them, and on what came to no record. */
      ledger,
      /** Rows that earlier sessions have finished. */
      finishedBefore: [...ids()].filter((id) => known(id)?.status === 'ok').length,
      /** What earlier sessions spent on what came to no record. */
      unrecorded,
      notices: [...(stored?.notices ?? []), ...(repaired === undefined ? [] : [repaired])],
      servedModels,
      /** The folder of the batch files that the run is asked by; undefined where it is asked live. */
      batch: stored?.batch,
      /** What `awb serve` said of its models, by the file's SHA-256. */
      models: new Map((stored?.models ?? []).map((model) => [String(model.sha256), model])),
      close,
    };
  });
}

/** What an earlier session's record adds to what was spent. */
export function entryOf({ usage, chars, calls }: RowSummary, { uncounted }: JournalRecord['log']) {
  return { usage, chars, calls, ...(isUncounted(uncounted) && { uncounted }) };
}

export function summaryOf(state: RowState, log: JournalRecord['log'], stampKey: string): RowSummary {
  const { status, class: failure, reason, flags } = state;
  // Its checksum shows that a run has written it.
  const { usage = {}, chars, attempts = 0, tries } = log as Partial<CallLog>;
  // So it is with the stamp, which is a text.
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

/** Makes a run's folder, and takes the run for this process alone. @throws UserError (73) */
export async function lockRun({ dir, name }: { readonly dir: string; readonly name: string }) {
  await makeFolder(dir);
  const holder = await readManifest(pathsOf({ dir, name }).manifestPath).catch(() => undefined);
  const who = holder?.state === 'running' ? ` (process ${holder.process?.pid} on ${holder.process?.host})` : '';
  const busy = `another awb works in ${dir}${who}; wait for it to end, or choose another --output-dir`;
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

/** Nobody knows how rows without a manifest were made, so they are neither written over nor mixed with others. */
export async function requireNoStray(
  paths: readonly string[],
  remedy = 'choose another --output-dir, or --fresh to keep it aside',
): Promise<void> {
  for (const path of paths) {
    if (((await sizeOf(path)) ?? 0) === 0) continue;
    throw cannotCreate(
      `${path} was not made by a run in this folder (it has no manifest beside it), and would be written over; ${remedy}`,
    );
  }
}

/** Moves a run's files into a folder of their own beside them. */
export async function setAside(dir: string, paths: readonly string[]): Promise<void> {
  const aside = join(dir, `before-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  for (const path of paths) {
    if ((await sizeOf(path)) === undefined) continue;
    await makeFolder(aside);
    await rename(path, join(aside, path.slice(dir.length + 1)));
  }
}

/** Whether a process of this machine is at work still. @param pid undefined for nobody */
export function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    // Signal 0 is not sent: it only asks whether there is such a process.
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  try {
    // One that has ended keeps its number until its parent has looked. Behind the name, which may hold anything, stands the state.
    return !/\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // A system without /proc, or a process that has gone meanwhile.
    return true;
  }
}
