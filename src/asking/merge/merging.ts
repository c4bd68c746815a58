// The folders of parts into one: every run in them is made aside, and all of them take their places at the end.

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { codeOf, EXIT, throwIfStopped, UserError } from '../../errors.js';
import { syncFolder } from '../../files.js';
import { sizeOf } from '../../run/file-reading.js';
import { lockRun, pathsOf, requireNoStray } from '../../run/folder.js';
import { readManifest, writeManifest } from '../../run/manifest-file.js';
import { shownPath } from '../../settings/shown-path.js';
import { lockFile } from '../../store/lock.js';
import type { Io } from '../../types.js';
import type { JoinedRun } from './joining.js';
import { Kinds } from './kinds.js';
import type { MergeSettings } from './options.js';
import { findParts, type Part } from './parts.js';

/** What came of a merge. */
interface MergedRuns {
  readonly runs: readonly JoinedRun[];
  /** What was left out, a sentence each. */
  readonly notes: readonly string[];
}

/** Folders in which runs are made before they take their places. */
const ASIDE = '.merge-';

/**
 * Merges the runs of the parts into one folder: it has all of them at the end, or what it had before.
 * @throws UserError: 2, 66 and 65 for the parts, 78 where they are parts of different runs, 73 and 74 for the folder, 130 or 143 once the
 * user has interrupted
 */
export async function mergeRuns(settings: MergeSettings, io: Io): Promise<MergedRuns> {
  const dir = resolve(io.cwd, settings.outputDir);
  const { runs, notes } = await findParts(settings.runs, dir, io);
  const releases = [await lockRun({ dir, name: 'merge', lock: lockFile })];
  try {
    for (const name of runs.keys()) releases.push(await lockRun({ dir, name, lock: lockFile }));
    const aside = await openAside(dir);
    try {
      const kinds = new Kinds(settings, dir, aside, io);
      try {
        const joined: JoinedRun[] = [];
        for (const [name, parts] of runs) {
          const run = await kinds.join(name, parts, await ownRun(dir, name, io));
          if (run !== undefined) joined.push(run);
        }
        throwIfStopped(io.stop);
        for (const run of joined) await putInPlace(run, aside, dir);
        return { runs: joined, notes };
      } finally {
        await kinds.close();
      }
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  } finally {
    for (const release of releases) release();
  }
}

/** A folder of our own in the output; those that killed merges have left are taken away. */
async function openAside(dir: string): Promise<string> {
  for (const name of await readdir(dir)) {
    if (name.startsWith(ASIDE)) await rm(join(dir, name), { recursive: true, force: true });
  }
  const aside = join(dir, `${ASIDE}${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(aside);
  } catch (error) {
    throw new UserError(
      `cannot create the folder ${aside} (${codeOf(error)}); choose another --output-dir`,
      EXIT.cannotCreate,
    );
  }
  return aside;
}

/** What the output has of such a run already; undefined where it has none, or one without a row. @throws UserError (75) while it awaits results */
async function ownRun(dir: string, name: string, io: Io): Promise<Part | undefined> {
  const { manifestPath, outputPath, journalPath } = pathsOf({ dir, name });
  const manifest = await readManifest(manifestPath);
  if (manifest === undefined) await requireNoStray([outputPath, journalPath], 'choose another --output-dir');
  // Merged, it would no longer know what it waits for, and pay for it twice.
  if (manifest?.state === 'awaiting') throw awaiting(name, shownPath(dir, io));
  const isBegun = ((await sizeOf(journalPath)) ?? 0) > 0;
  return manifest === undefined || !isBegun
    ? undefined
    : { name: shownPath(dir, io), dir, manifest, journalPath, isBegun };
}

function awaiting(name: string, shown: string): UserError {
  return new UserError(
    `${name}.jsonl in ${shown} awaits results of its batch files; have its own command read them first, and merge then`,
    EXIT.later,
  );
}

/**
 * Moves a run to its place. The manifest goes before the journal and names no output: a run that is left like that is put together anew
 * by the next command, out of a journal that is the old one or the new one.
 */
async function putInPlace({ name, manifest }: JoinedRun, aside: string, dir: string): Promise<void> {
  const [from, to] = [pathsOf({ dir: aside, name }), pathsOf({ dir, name })];
  const { output, beside, ...begun } = manifest;
  await writeManifest(to.manifestPath, { ...begun, state: 'running' });
  const files = [
    from.journalPath,
    from.outputPath,
    ...(beside === undefined ? [] : [join(aside, basename(beside.file))]),
  ];
  for (const file of files) {
    const place = join(dir, basename(file));
    await rename(file, place).catch((error: unknown) => {
      throw new UserError(
        `cannot write ${place} (${codeOf(error)}); mend that, and run the same command again`,
        EXIT.cannotWrite,
      );
    });
  }
  await syncFolder(dir);
  await writeManifest(to.manifestPath, manifest);
}
