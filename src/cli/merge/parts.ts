// The runs in the folders that are to be merged: which can be, and what of the others is to be said.

import { readdir, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import type { Io } from '../../core/types.js';
import { sizeOf } from '../../disk/file-reading.js';
import { RECHECK } from '../../judge/judged-files.js';
import { type Manifest, readManifest } from '../../run/manifest.js';
import { pathsOf, requireNoStray } from '../../run/run.js';
import { shownPath } from '../../settings/shown-path.js';

/** A part of a run, in its folder. */
export interface Part {
  /** How the user knows it. */
  readonly name: string;
  /** Absolute. */
  readonly dir: string;
  readonly manifest: Manifest;
  readonly journalPath: string;
  /** Whether its journal holds anything: a run that holds nothing binds nobody. */
  readonly isBegun: boolean;
}

interface FoundParts {
  /** By the name of their files, such as `predictions` and `judged`: predictions come before judgings. */
  readonly runs: ReadonlyMap<string, readonly Part[]>;
  /** What there is to say of folders and of runs in them that are left out. */
  readonly notes: readonly string[];
}

const MANIFEST = /^(?<name>.+)\.manifest\.json$/;

/** Why runs of a kind are not merged. */
const APART: Readonly<Partial<Record<Manifest['kind'], string>>> = {
  calibrate:
    'a calibration plans its rows by all of them, so that parts do not add up to one; calibrate without --shard',
  scenarios: 'each part takes rows of its own for every scenario; run awb infer --scenarios without --shard',
  simulate: 'episodes are no parts of a whole',
};

/**
 * Finds the runs.
 * @throws UserError: 2 for a folder that is named twice, or that is the output; 66 for one that is not there, or whose manifest is not; 65
 * where all that there is cannot be merged
 */
export async function findParts(folders: readonly string[], output: string, io: Io): Promise<FoundParts> {
  const runs = new Map<string, Part[]>();
  const notes: string[] = [];
  const left: string[] = [];
  const seen = new Map<string, string>([[await realPathOf(output), output]]);
  for (const folder of folders) {
    const dir = resolve(io.cwd, folder);
    const name = shownPath(dir, io);
    const real = await realPathOf(dir);
    const before = seen.get(real);
    if (before !== undefined) throw namedTwice(name, before === output);
    seen.set(real, dir);
    const names = await namesIn(dir, name);
    if (names.length === 0) notes.push(`${name} holds no run (yet)`);
    for (const run of names) {
      const { manifestPath, journalPath } = pathsOf({ dir, name: run });
      const manifest = await readManifest(manifestPath);
      if (manifest === undefined) continue;
      const reason = reasonAgainst(run, manifest);
      if (reason !== undefined) {
        left.push(`${name}: ${run}.jsonl is left out: ${reason}`);
        continue;
      }
      const part = { name, dir, manifest, journalPath, isBegun: ((await sizeOf(journalPath)) ?? 0) > 0 };
      if (!part.isBegun) notes.push(`${name}: ${run}.jsonl holds no row (yet)`);
      runs.set(run, [...(runs.get(run) ?? []), part]);
    }
  }
  if (runs.size === 0) throw nothingToMerge([...left, ...notes]);
  return { runs: inOrder(runs), notes: [...notes, ...left] };
}

/** What the output has of such a run already; undefined where it has none, or one without a row. @throws UserError (75) while it awaits results */
export async function ownRun(dir: string, name: string, io: Io): Promise<Part | undefined> {
  const { manifestPath, outputPath, journalPath } = pathsOf({ dir, name });
  const manifest = await readManifest(manifestPath);
  if (manifest === undefined) await requireNoStray([outputPath, journalPath], 'choose another --output-dir');
  const shown = shownPath(dir, io);
  // Merged, it would no longer know what it waits for, and pay for it twice.
  if (manifest?.state === 'awaiting') {
    throw new UserError(
      `${name}.jsonl in ${shown} awaits results of its batch files; have its own command read them first, and merge then`,
      EXIT.later,
    );
  }
  const isBegun = ((await sizeOf(journalPath)) ?? 0) > 0;
  return manifest && isBegun ? { name: shown, dir, manifest, journalPath, isBegun } : undefined;
}

/** Predictions come before what is made of them. */
function inOrder(runs: ReadonlyMap<string, readonly Part[]>): ReadonlyMap<string, readonly Part[]> {
  const isJudged = (parts: readonly Part[]) => parts.some(({ manifest }) => manifest.kind === 'judge');
  return new Map([...runs].sort(([, a], [, b]) => Number(isJudged(a)) - Number(isJudged(b))));
}

/** The same path by all its names, as far as it is there. */
async function realPathOf(path: string): Promise<string> {
  return realpath(path).catch(() => path);
}

/** The names of the runs in a folder. @throws UserError (66) where there is no such folder, or a run in it has no manifest */
async function namesIn(dir: string, shown: string): Promise<string[]> {
  const files = await filesIn(dir, shown);
  for (const file of files) {
    const manifest = file.replace(/\.journal\.jsonl$/, '.manifest.json');
    if (manifest === file || files.includes(manifest) || ((await sizeOf(join(dir, file))) ?? 0) === 0) continue;
    throw new UserError(
      `${shown} has no ${manifest}, which says how the rows in ${file} were made; copy it from where that part ran, or leave the part out`,
      EXIT.inputMissing,
    );
  }
  return files.flatMap((file) => MANIFEST.exec(file)?.groups?.name ?? []).sort();
}

async function filesIn(dir: string, shown: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    const cause = codeOf(error) === 'ENOENT' ? 'there is no such folder' : codeOf(error);
    throw new UserError(`cannot read ${shown}: ${cause}; name the output folders of the parts`, EXIT.inputMissing);
  }
}

function reasonAgainst(name: string, { kind, identity }: Manifest): string | undefined {
  if (identity.members !== undefined) return 'a panel is joined anew from the merged judgings, by awb panel';
  if (name.includes(RECHECK)) return 'a recheck belongs to the judging of its part';
  return APART[kind];
}

function namedTwice(name: string, isOutput: boolean): UserError {
  return new UserError(
    isOutput
      ? `--output-dir names ${name}, which is one of the parts; name another folder`
      : `${name} is named twice; name each part once`,
  );
}

function nothingToMerge(reasons: readonly string[]): UserError {
  return new UserError(
    [
      'there is nothing to merge:',
      ...reasons.map((reason) => `  ${reason}`),
      'Name the output folders of awb infer or awb judge.',
    ].join('\n'),
    EXIT.badData,
  );
}
