// Finds runs by the names that users give: a label or number in a SQLite file, a judged file, or its folder. A run to be changed must be
// named unambiguously.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { judgedFileOf } from '../benchmark/judged-path.js';
import { nearest } from '../core/edits.js';
import { heedStop, present, UserError } from '../core/errors.js';
import { groupBy, heldIn } from '../core/groups.js';
import { oneLine, printable, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { ratesDimensions } from '../judge/modes.js';
import { shortLabel } from '../settings/sources.js';
import { isCovered } from '../stats/coverage.js';
import type { StoredCalibration } from '../store/runs.js';
import { isComparable, isForcedPartner } from './comparability.js';
import { type KnownRun, listOfRuns, manifestOf, provenanceIn, ranked, runsNamed, withKnownRuns } from './databases.js';
import { noting } from './output.js';
import { calibrationsIn, type Note, type Pair, type ReadRun, readJudgedRun, readStoredRun } from './read-run.js';

/** How names are looked up. */
interface Naming {
  /** SQLite files, for labels and numbers. */
  readonly db: readonly string[];
  readonly quiet: boolean;
  /** In what two runs may differ, by the values of `--allow-different`. */
  readonly allowDifferent?: readonly string[];
  /**
   * Given if the run, or the base of a pair, must not change with its label. An ambiguous name is then refused; this function turns the
   * name of each run into the words to use instead.
   */
  readonly fixed?: (name: string) => string;
}

/** A run in a SQLite file, or the path of a judged file. */
type Found = KnownRun | string;
/** A run for each of the names. */
type Choice = readonly Found[];

/**
 * Reads a run by its name: a label or number in one of the SQLite files, or the path of a judged file or of a folder with a
 * judged.jsonl. If several runs have the name, it is the first suitable one in the order of `runsNamed`.
 * @throws UserError: 2 for an unknown run, with a list of the known ones, and for an ambiguous one under `fixed`; 66 and 65 for files.
 */
export async function readRun(
  name: string,
  naming: Naming,
  io: Io,
  suits: (run: ReadRun) => boolean = () => true,
): Promise<ReadRun> {
  const [run] = await readRuns([name], ([one]) => suits(present(one)), naming, io);
  return present(run);
}

/**
 * Reads two runs by their names. If a name is ambiguous, complete and suitable runs are preferred; by default, comparable runs suit.
 * @throws UserError as `readRun`.
 */
export async function readPair(
  base: string,
  candidate: string,
  naming: Naming,
  io: Io,
  suits = (pair: Pair) => isComparable(pair, provenanceIn(naming.allowDifferent ?? [])),
): Promise<Pair> {
  const pairOf = ([first, second]: readonly ReadRun[]) => ({ base: present(first), candidate: present(second) });
  return pairOf(await readRuns([base, candidate], (runs) => suits(pairOf(runs)), naming, io));
}

/** The run of `--run` and, if given, that of `--compare`. @throws UserError as `readRun` */
export async function readWithOther(
  settings: Naming & { readonly run: string; readonly compare?: string | undefined },
  io: Io,
): Promise<{ readonly run: ReadRun; readonly other?: ReadRun }> {
  if (settings.compare === undefined) return { run: await readRun(settings.run, settings, io) };
  // A rollout may be shown next to its run with true histories.
  const suits = ({ base, candidate }: Pair) =>
    isComparable({ base, candidate }, []) || isForcedPartner(candidate, base);
  const { base, candidate } = await readPair(settings.compare, settings.run, settings, io, suits);
  return { run: candidate, other: base };
}

async function readRuns(
  names: readonly string[],
  suits: (runs: readonly ReadRun[]) => boolean,
  { db, quiet, fixed }: Naming,
  io: Io,
): Promise<readonly ReadRun[]> {
  const note = noting({ quiet }, io);
  const choose = async (known: readonly KnownRun[], calibrations: readonly StoredCalibration[]) => {
    const runs = new Map<Found, Promise<ReadRun>>();
    const read = (one: Found) =>
      heldIn(runs, one, async () => {
        await heedStop(io);
        return isStored(one) ? readStoredRun(one, manifestOf(one)) : readJudgedRun(one, calibrations, note, io);
      });
    const found = names.map((name) => findRuns(name, known, note, io));
    const choices = choicesOf(found);
    const suitable: Choice[] = [];
    for (const choice of choices.length > 1 ? choices : []) {
      // Further matches only matter if the first one must be unambiguous.
      if (suitable.length > 0 && fixed === undefined) break;
      if (suits(await Promise.all(choice.map(read)))) suitable.push(choice);
    }
    const eligible = suitable.length > 0 ? suitable : choices;
    const taken = present(eligible[0]);
    const rivals = eligible.flatMap((other) => rivalIn(other, taken) ?? []);
    if (fixed !== undefined && rivals.length > 0) {
      const lines = [...taken.slice(0, 1).filter(isStored), ...rivals].map(
        ({ run, db: file }) => `  ${run.id}: ${shownPath(run.source, io)} (${file}): ${fixed(String(run.id))}`,
      );
      const what = `"${shown(present(names[0]))}" names ${lines.length} runs, but a base must stay the same if its label moves; name one of them:`;
      throw new UserError([what, ...lines].join('\n'));
    }
    for (const [at, name] of names.entries()) noteNamesakes(name, taken[at], found[at] ?? [], note);
    return Promise.all(taken.map(read));
  };
  const others = names.filter((name) => !isFileName(name));
  // If all names are files, the SQLite files are only read for calibrations.
  if (others.length === 0) return choose([], calibrationsIn(db, note, io));
  const unknown = others.find((name) => fileOf(name, io) === undefined);
  // A SQLite file that is not needed may be missing.
  const files = db.filter((file) => unknown !== undefined || existsSync(resolve(io.cwd, file)));
  const lead = unknown === undefined ? '' : `"${shown(unknown)}" is not a judged file, and `;
  return withKnownRuns(files, io, choose, lead);
}

/** All choices for one name, or for a base and a candidate: complete ones first, ordered by candidate, then by base. */
function choicesOf([bases = [], candidates]: readonly Choice[]): Choice[] {
  const all = candidates?.flatMap((candidate) => bases.map((base) => [base, candidate])) ?? bases.map((base) => [base]);
  // Both names resolve to the same run only if there is no other choice.
  const apart = all.filter(([base, candidate]) => base !== candidate);
  const isWhole = (choice: Choice) => Number(choice.every(isComplete));
  return (apart.length > 0 ? apart : all).sort((a, b) => isWhole(b) - isWhole(a));
}

/** A run that would be an equally good first choice: different bytes, but equally complete and equally rated. */
function rivalIn([first = '', second]: Choice, [base = '', candidate]: Choice): KnownRun | undefined {
  if (second !== candidate || first === base || !isStored(first) || !isStored(base)) return undefined;
  const isRated = ({ run }: KnownRun) => ratesDimensions(run.kind);
  const isAlike = isComplete(first) === isComplete(base) && isRated(first) === isRated(base);
  return isAlike && first.run.sourceSha256 !== base.run.sourceSha256 ? first : undefined;
}

function isStored(one: Found): one is KnownRun {
  return typeof one !== 'string';
}

function isComplete(one: Found): boolean {
  return !isStored(one) || isCovered(one.run.card);
}

/** Whether a name is that of a file, not a label. */
function isFileName(name: string): boolean {
  return /\.jsonl$/i.test(name);
}

/** The judged file at this path, if there is one. */
function fileOf(name: string, io: Io, note?: Note): string | undefined {
  const path = judgedFileOf(name, io, note);
  return existsSync(path) && statSync(path).isFile() ? path : undefined;
}

/** The runs of this name in SQLite files, or the path of a judged file. */
function findRuns(name: string, known: readonly KnownRun[], note: Note, io: Io): Found[] {
  if (isFileName(name)) return [judgedFileOf(name, io)];
  const found = runsNamed(name, known);
  if (found.length > 0) return found;
  const path = fileOf(name, io, note);
  if (path === undefined) throw unknownRun(name, known, 'run or judged file');
  return [path];
}

/** Notes which of several runs of a name is used: `step-1 names runs 1, 2 of awb.sqlite; using run 2 (name another by its number)`. */
function noteNamesakes(name: string, taken: Found | undefined, found: readonly Found[], note: Note): void {
  const runs = found.filter(isStored);
  if (taken === undefined || !isStored(taken) || runs.length < 2) return;
  const numbers = (own: readonly KnownRun[]) => own.map(({ run }) => run.id).sort((a, b) => a - b);
  const files = [...groupBy(runs, ({ db }) => db)].map(([db, own]) => `${numbers(own).join(', ')} of ${db}`);
  note(`${shown(name)} names runs ${files.join('; ')}; using run ${taken.run.id} (name another by its number)`);
}

/** The error (2) for a name that no run has, with a list of the runs. */
export function unknownRun(name: string, known: readonly KnownRun[], what = 'run'): UserError {
  const there = `there is no ${what} "${shown(name)}"`;
  if (known.length === 0) return new UserError(`${there}, and the SQLite file has no runs; awb score RUN adds one`);
  const labels = known.flatMap(({ run }) => run.label ?? []);
  const near = nearest(name, labels);
  const hint = near === undefined ? 'awb score adds one.' : `did you mean "${shown(near)}"?`;
  return new UserError([`${there}; ${hint} The runs are`, ...listOfRuns(known)].join('\n'));
}

/** The stored runs that a name can mean: a label, a number, or a judged file. @throws UserError (2) if there is none. */
function storedRuns(name: string, known: readonly KnownRun[], io: Io): KnownRun[] {
  const called = isFileName(name) ? [] : known.filter(({ run }) => run.label === name || String(run.id) === name);
  const path = judgedFileOf(name, io);
  const found = called.length > 0 ? called : known.filter(({ run }) => run.source === path);
  if (found.length === 0) throw unknownRun(name, known);
  return found;
}

/** The stored run of a name, to be shown: of several the first, with a note. @throws UserError (2) if there is none. */
export function storedRun(name: string, known: readonly KnownRun[], note: Note, io: Io): KnownRun {
  const all = storedRuns(name, known, io);
  const named = runsNamed(name, all);
  const runs = named.length > 0 ? named : ranked(all);
  noteNamesakes(name, runs[0], runs, note);
  return present(runs[0]);
}

/** The stored run of a name, to be changed. @throws UserError (2) for an unknown or ambiguous name. */
export function storedRunToChange(name: string, known: readonly KnownRun[], io: Io): KnownRun {
  const runs = storedRuns(name, known, io);
  if (runs.length === 1) return present(runs[0]);
  const what = `"${shown(name)}" can mean any of these runs; name one, for example by its number:`;
  throw new UserError([what, ...listOfRuns(runs)].join('\n'));
}

/** What was expected of a label if it cannot name a run; undefined for a valid one. */
export function checkLabel(text: string): string | undefined {
  const isPlain = printable(text) === text && text === text.trim();
  if (isPlain && !isFileName(text) && !text.startsWith('-')) return shortLabel(text);
  return 'a name without control characters or white space at its ends, which is not a file or a flag';
}

/**
 * Notes on a new label: which other runs have it.
 * @throws UserError (2) if it is the number of another run in the file, which could then no longer be named by it.
 */
export function notesOnLabel(label: string, run: KnownRun, known: readonly KnownRun[]): string[] {
  const others = known.filter((other) => other !== run);
  if (others.some((other) => String(other.run.id) === label)) {
    throw new UserError(`${label} is the number of another run, and a label would hide it; choose another name`);
  }
  const numbers = others.filter((other) => other.run.label === label).map((other) => other.run.id);
  const runs = `${numbers.length === 1 ? 'run' : 'runs'} ${numbers.join(', ')}`;
  return numbers.length === 0 ? [] : [`${shown(label)} is also the label of ${runs}; name each by its number`];
}

function shown(text: string): string {
  return oneLine(text, 80);
}
