// A run's folder: opened for one process alone, checked, and repaired where a kill or a failing disk left damage.

import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import { type Identity, requireSameIdentity } from '../core/identity.js';
import { sizeOf } from '../disk/file-reading.js';
import { clearRemains } from '../disk/files.js';
import { makeFolders } from '../disk/make-folder.js';
import { type Journal, openJournal, type Summarise, viewJournal } from './journal.js';
import type { Manifest } from './manifest.js';
import { readManifest } from './manifest-file.js';

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
