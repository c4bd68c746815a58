// Runs by the names that users give them: a label or number in a SQLite file, a judged file, or the folder of one.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { nearest, UserError } from '../errors.js';
import { oneLine } from '../printable.js';
import type { StoredCalibration } from '../store/records.js';
import type { Io } from '../types.js';
import { type KnownRun, listOfRuns, runsNamed, withKnownRuns } from './databases.js';
import { heedStop } from './heed-stop.js';
import { judgedFileOf } from './judged-path.js';
import { type Note, type ReadRun, readJudgedRun, readStoredRun } from './read-run.js';
import { calibrationsIn } from './trust.js';

/** Where names are looked up. */
export interface Naming {
  /** SQLite files, for labels and numbers. */
  readonly db: readonly string[];
  readonly quiet: boolean;
}

/** Two runs, one to be held against the other. */
export interface Pair {
  readonly base: ReadRun;
  readonly candidate: ReadRun;
}

/**
 * Reads a run by its name: a label or number in one of the SQLite files, or the path of a judged file or of a folder with a
 * judged.jsonl. Where several runs have one label, the one that was scored last is read.
 * @throws UserError: 2 for an unknown run, with a list of the known ones; 66 and 65 for files.
 */
export async function readRun(name: string, naming: Naming, io: Io): Promise<ReadRun> {
  return withReader([name], naming, io, (read) => read(name));
}

/** Two runs by their names. @throws UserError as `readRun`. */
export async function readPair(base: string, candidate: string, naming: Naming, io: Io): Promise<Pair> {
  return withReader([base, candidate], naming, io, async (read) => {
    return { base: await read(base), candidate: await read(candidate) };
  });
}

/** Gives an action the function that reads these runs. Where all names are files, SQLite files only tell of judges. */
async function withReader<T>(
  names: readonly string[],
  { db, quiet }: Naming,
  io: Io,
  action: (read: (name: string) => Promise<ReadRun>) => Promise<T>,
): Promise<T> {
  const note = (text: string) => {
    if (!quiet) io.stderr.write(`note: ${text}\n`);
  };
  const others = names.filter((name) => !isFileName(name));
  const unknown = others.find((name) => fileOf(name, io) === undefined);
  // A SQLite file that nobody needs may be missing.
  const files = db.filter((file) => unknown !== undefined || existsSync(resolve(io.cwd, file)));
  const lead = unknown === undefined ? '' : `"${shown(unknown)}" is no judged file, and `;
  const work = (known: readonly KnownRun[], calibrations: readonly StoredCalibration[]) =>
    action(async (name) => {
      const found = findRun(name, known, note, io);
      const run = typeof found === 'string' ? await readJudgedRun(found, calibrations, note, io) : readStoredRun(found);
      await heedStop(io);
      return run;
    });
  return others.length === 0 ? work([], calibrationsIn(files, note, io)) : withKnownRuns(files, io, work, lead);
}

/** Whether a name is that of a file, and of no label. */
export function isFileName(name: string): boolean {
  return /\.jsonl$/i.test(name);
}

/** The judged file of this path, where there is one. */
function fileOf(name: string, io: Io): string | undefined {
  const path = judgedFileOf(name, io);
  return existsSync(path) && statSync(path).isFile() ? path : undefined;
}

/** The run of this name in a SQLite file, or the path of its judged file. */
function findRun(name: string, known: readonly KnownRun[], note: Note, io: Io): KnownRun | string {
  if (isFileName(name)) return resolve(io.cwd, name);
  const [found, ...others] = runsNamed(name, known);
  if (found !== undefined) {
    if (others.length > 0 && found.run.label === name) note(lastOfLabel(found, others.length + 1));
    return found;
  }
  const path = fileOf(name, io);
  if (path !== undefined) return path;
  throw new UserError(`there is no run or judged file "${shown(name)}"; ${adviceOn(name, known)}`);
}

/** Says which of several runs of a label is taken. */
export function lastOfLabel({ run, db }: KnownRun, count: number): string {
  return `${count} runs are labelled ${shown(run.label ?? '')}; the one scored last is taken, number ${run.id} of ${db}`;
}

/** What a user may have meant by a name that no run has. */
export function adviceOn(name: string, known: readonly KnownRun[]): string {
  if (known.length === 0) return 'the SQLite file holds no runs; awb score RUN adds one';
  const near = nearest(
    name,
    known.flatMap(({ run }) => run.label ?? []),
  );
  const advice = near === undefined ? 'the runs are' : `did you mean "${shown(near)}"? The runs are`;
  return [advice, ...listOfRuns(known)].join('\n');
}

function shown(text: string): string {
  return oneLine(text, 80);
}
