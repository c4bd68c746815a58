// An open run: its folder, what stays in memory of its rows, and what the asking finds out beside them.

import { readFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import { type Identity, requireSameIdentity } from '../core/identity.js';
import { isObject } from '../core/json.js';
import type { Price } from '../core/price.js';
import type { Usage } from '../core/types.js';
import { callsIn, isCounted, isUncounted } from '../core/usage.js';
import { sizeOf } from '../disk/file-reading.js';
import { clearRemains } from '../disk/files.js';
import { lockFile } from '../disk/lock.js';
import { makeFolders } from '../disk/make-folder.js';
import { type Journal, type JournalRecord, openJournal, type Summarise, viewJournal } from './journal.js';
import { Ledger } from './ledger.js';
import { type Manifest, readManifest, type Unrecorded } from './manifest.js';

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
  /** What earlier records of the row took that asked for it, too; absent where there is none. */
  readonly earlier?: readonly Taken[];
  /** What the record was made from and with (see `StageOutput.stampOf`). */
  readonly stamp: string;
}

/** What one record took. */
type Taken = Pick<RowSummary, 'usage' | 'calls'>;

/** What is kept of earlier records of a row that nobody counted: one text says it of all. */
const UNCOUNTED: readonly Taken[] = [{ usage: {}, calls: 1 }];

/** Under which name a record's log holds its stamp. */
export const STAMP_KEY = {
  infer: 'dropped',
  judge: 'stamp',
  calibrate: 'stamp',
  likelihood: 'dropped',
  scenarios: 'dropped',
  simulate: 'dropped',
} as const satisfies Record<Manifest['kind'], string>;

export interface Run extends RunFolder<RowSummary> {
  readonly kind: Manifest['kind'];
  /** The folder, absolute. */
  readonly dir: string;
  /** What it writes there, its lock included; some of it may not be there yet. */
  readonly files: readonly string[];
  /** What all sessions have spent: on records, those that others have replaced since among them, and on what came to no record. */
  readonly ledger: Ledger;
  /** Rows that earlier sessions have finished. */
  readonly finishedBefore: number;
  /** What earlier sessions spent on what came to no record. */
  readonly unrecorded: Unrecorded;
  /** Rewritten where the run learns what belongs to its identity only while asking (a dropped parameter, the judge's snapshot). */
  identity: Identity;
  readonly notices: string[];
  readonly servedModels: Set<string>;
  /** What `awb serve` said of its models, by the file's SHA-256. */
  readonly models: Map<string, Readonly<Record<string, unknown>>>;
  /** The folder of the batch files that the run is asked by; undefined where it is asked live. */
  batch?: Manifest['batch'] | undefined;
}

/**
 * Opens a run folder as `openFolder` does, and takes up what earlier sessions of the run found out.
 * @throws UserError 73 (folder, lock), 78 (begun under another identity), 65 (manifest unreadable).
 */
export async function openRun(options: {
  readonly kind: Manifest['kind'];
  readonly dir: string;
  readonly name: string;
  readonly fresh: boolean;
  /** A second file that such a run may write. */
  readonly beside?: string;
  /** Looks at what is there and leaves no trace; nothing can be asked then. */
  readonly dryRun?: boolean;
  readonly identity: (stored: Manifest | undefined) => Identity;
  readonly stateOf: (record: JournalRecord) => RowState;
  /** What calls cost, given the models that have answered so far. */
  readonly pricing?: Pricing;
}): Promise<Run> {
  const { kind, stateOf, dryRun = false, pricing = () => undefined, ...rest } = options;
  // What records cost is summed while they are read, so the price of earlier sessions is looked up before.
  const before = options.fresh ? undefined : await readManifest(join(options.dir, `${options.name}.manifest.json`));
  const servedModels = new Set(before?.servedModels ?? []);
  const { unrecorded = { calls: 0, usage: {} } } = before ?? {};
  const ledger = new Ledger(() => pricing(servedModels) ?? before?.price);
  ledger.add(unrecorded);
  let isOpen = false;
  const summarise = (record: JournalRecord, before: RowSummary | undefined) => {
    const summary = summaryOf(stateOf(record), record.log, STAMP_KEY[kind]);
    if (!isOpen) ledger.add(entryOf(summary, record.log));
    return behind(before, summary);
  };
  const folder = await (dryRun
    ? viewFolder({ ...rest, summarise })
    : openFolder({ ...rest, summarise, lock: lockFile }));
  isOpen = true;
  const { stored, journal } = folder;
  let finishedBefore = 0;
  for (const id of journal.ids()) if (journal.summaryOf(id)?.status === 'ok') finishedBefore++;
  // A run that holds nothing yet binds nobody.
  if (stored === undefined) servedModels.clear();
  return {
    ...folder,
    kind,
    dir: options.dir,
    files: [
      ...[folder.outputPath, folder.journalPath, folder.manifestPath],
      ...[`.${options.name}.lock`, ...(options.beside === undefined ? [] : [options.beside])].map((file) =>
        join(options.dir, file),
      ),
    ],
    ledger,
    finishedBefore,
    unrecorded,
    notices: [...(stored?.notices ?? []), ...(journal.repaired === undefined ? [] : [journal.repaired])],
    servedModels,
    batch: stored?.batch,
    models: new Map((stored?.models ?? []).map((model) => [String(model.sha256), model])),
  };
}

/** What an earlier session's record adds to what was spent. */
export function entryOf({ status, attempts, usage, chars, calls }: RowSummary, { uncounted }: JournalRecord['log']) {
  return {
    usage,
    chars,
    calls,
    ...(isUncounted(uncounted) ? { uncounted } : { isUnknown: status === 'ok' && attempts > 0 && !isCounted(usage) }),
  };
}

/** @throws TypeError for what no stage writes */
export function summaryOf(state: RowState, log: JournalRecord['log'], stampKey: string): RowSummary {
  const { status, class: failure, reason, flags } = state;
  const { usage = {}, chars, attempts = 0, tries, [stampKey]: stamp = '' } = log;
  const texts = [failure, reason].filter((text) => text !== undefined);
  const isSound =
    (status === 'ok' || status === 'failed') && [...texts, ...flags].every((text) => typeof text === 'string');
  if (!isSound || typeof stamp !== 'string' || !isUsage(usage) || typeof attempts !== 'number') {
    throw new TypeError('a record of this kind is never written');
  }
  const calls = callsIn(tries);
  // Field by field: what is spread into an object takes up to twice the memory.
  return {
    status,
    class: failure,
    reason,
    flags: flags.length === 0 ? NO_FLAGS : flags,
    usage,
    chars: typeof chars === 'number' ? chars : undefined,
    attempts,
    calls,
    stamp,
  };
}

/** One array for all rows without flags. */
const NO_FLAGS: RowState['flags'] = [];

/** A count of null adds nothing. */
function isUsage(value: unknown): value is Usage {
  return isObject(value) && Object.values(value).every((count) => count === null || typeof count === 'number');
}

/** The summary of a row's record behind that of the record before, whose place it takes: what that one took is kept. */
export function behind(before: RowSummary | undefined, summary: RowSummary): RowSummary {
  if (before === undefined) return summary;
  const earlier = earlierOf(before);
  return earlier === undefined ? summary : { ...summary, earlier };
}

function earlierOf({ attempts, usage, calls, earlier }: RowSummary): readonly Taken[] | undefined {
  if (attempts === 0) return earlier;
  if (isCounted(usage)) return [...(earlier ?? []), { usage, calls }];
  return earlier ?? UNCOUNTED;
}

/** An open run folder: locked, its journal loaded, its identity checked. */
export interface RunFolder<S> {
  readonly outputPath: string;
  readonly journalPath: string;
  readonly manifestPath: string;
  readonly journal: Journal<S>;
  /** The manifest found on opening; undefined where the folder holds no row yet. */
  readonly stored: Manifest | undefined;
  /** The identity under which the run begins or goes on. */
  readonly identity: Identity;
  close(): Promise<void>;
}

interface FolderOptions<S> {
  readonly dir: string;
  readonly name: string;
  /** Sets what is there aside and begins anew. */
  readonly fresh: boolean;
  /** A second file that such a run may write. */
  readonly beside?: string;
  identity(stored: Manifest | undefined): Identity;
  readonly summarise: Summarise<S>;
  lock(path: string, busy: string): Promise<() => void>;
}

/**
 * Opens `<dir>/<name>.jsonl` with its journal and manifest for this process alone.
 * `identity` is given the stored manifest, from which it may take over what only asking can find out. `lock` takes a lock that dies with
 * its process, at once or not at all.
 * @throws UserError 73 (folder, lock), 78 (begun under another identity), 65 (manifest unreadable).
 */
export async function openFolder<S>(options: FolderOptions<S>): Promise<RunFolder<S>> {
  const { dir, beside, fresh, summarise } = options;
  const { outputPath, journalPath, manifestPath } = pathsOf(options);
  const release = await lockRun(options);
  try {
    const whole = [outputPath, manifestPath, ...(beside === undefined ? [] : [join(dir, beside)])];
    for (const path of whole) await clearRemains(path);
    if (fresh) await setAside(dir, [...whole, journalPath]);
    const folder = await folderWith(options, () => openJournal(journalPath, summarise));
    const close = async () => {
      await folder.close();
      release();
    };
    return { ...folder, close };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * The folder as opening would find it, for reading alone: nothing is made, locked, set aside or repaired, and another process may work
 * in it.
 * @throws UserError: as `openFolder`, but for the folder and the lock; 66 for a journal that cannot be read.
 */
export function viewFolder<S>(options: Omit<FolderOptions<S>, 'lock'>): Promise<RunFolder<S>> {
  const journalPath = options.fresh ? undefined : pathsOf(options).journalPath;
  return folderWith(options, () => viewJournal(journalPath, options.summarise));
}

/** A run that begins anew finds nothing. */
async function folderWith<S>(
  options: Omit<FolderOptions<S>, 'lock'>,
  open: () => Promise<Journal<S>>,
): Promise<RunFolder<S>> {
  const paths = pathsOf(options);
  const { outputPath, journalPath, manifestPath } = paths;
  const found = options.fresh ? undefined : await readManifest(manifestPath);
  if (found === undefined && !options.fresh) await requireNoStray([outputPath, journalPath]);
  const journal = await open();
  try {
    // Requests of a batch are paid for before the first record is there.
    const isBegun = journal.size > 0 || found?.batch !== undefined || ((await sizeOf(outputPath)) ?? 0) > 0;
    // A run that holds nothing yet binds nobody: after a mistyped model the command is simply given again.
    const stored = isBegun ? found : undefined;
    const identity = options.identity(stored);
    if (stored !== undefined) requireSameIdentity(stored.identity, identity, manifestPath);
    return { ...paths, journal, stored, identity, close: () => journal.close() };
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** Makes a run's folder, and takes the run for this process alone. @throws UserError (73) */
export async function lockRun({ dir, name, lock }: Pick<FolderOptions<unknown>, 'dir' | 'name' | 'lock'>) {
  await makeFolder(dir);
  return lock(join(dir, `.${name}.lock`), await describeHolder(pathsOf({ dir, name }).manifestPath, dir));
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
  try {
    await makeFolders(dir);
  } catch (error) {
    throw new UserError(
      `cannot create the folder ${dir} (${codeOf(error)}); choose another --output-dir`,
      EXIT.cannotCreate,
    );
  }
}

/** Nobody knows how rows without a manifest were made, so they are neither written over nor mixed with others. */
export async function requireNoStray(
  paths: readonly string[],
  remedy = 'choose another --output-dir, or --fresh to keep it aside',
): Promise<void> {
  for (const path of paths) {
    if (((await sizeOf(path)) ?? 0) === 0) continue;
    throw new UserError(
      `${path} was not made by a run in this folder (it has no manifest beside it), and would be written over; ${remedy}`,
      EXIT.cannotCreate,
    );
  }
}

/** Moves a run's files into a folder of their own beside them. */
export async function setAside(dir: string, paths: readonly string[]): Promise<void> {
  const present = [];
  for (const path of paths) if ((await sizeOf(path)) !== undefined) present.push(path);
  if (present.length === 0) return;
  const aside = join(dir, `before-${new Date().toISOString().replace(/[:.]/g, '-')}`);
  await makeFolder(aside);
  for (const path of present) await rename(path, join(aside, path.slice(dir.length + 1)));
}

async function describeHolder(manifestPath: string, dir: string): Promise<string> {
  const holder = await readManifest(manifestPath).catch(() => undefined);
  const who = holder?.state === 'running' ? ` (process ${holder.process?.pid} on ${holder.process?.host})` : '';
  return `another awb works in ${dir}${who}; wait for it to end, or choose another --output-dir`;
}

/** @param pid undefined for nobody */
export function isAlive(pid: number | undefined): boolean {
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    // Signal 0 is not sent: it only asks whether there is such a process.
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  return !isUnburied(pid);
}

/** One that has ended keeps its number until its parent has looked, which the first process of a container may never do. */
function isUnburied(pid: number): boolean {
  try {
    // Behind the name, which may hold anything, stands the state.
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    // A system without /proc, or a process that has gone meanwhile.
    return false;
  }
}
