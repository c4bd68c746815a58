// Runs by the names that users give them: a label or number in a SQLite file, a judged file, or the folder of one. What is changed is
// named beyond doubt.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { judgedFileOf } from '../benchmark/judged-path.js';
import { heedStop, nearest, UserError } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { present } from '../core/present.js';
import { oneLine, printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { ratesDimensions } from '../judge/modes.js';
import { shownPath } from '../settings/shown-path.js';
import { shortLabel } from '../settings/value.js';
import { isCovered } from '../stats/coverage.js';
import type { StoredCalibration } from '../store/runs.js';
import { calibrationsIn } from './calibration/reading.js';
import { isComparable } from './comparability.js';
import {
  DEFAULT_DB,
  type KnownRun,
  listOfRuns,
  manifestOf,
  provenanceIn,
  runsNamed,
  withKnownRuns,
} from './databases.js';
import { type Note, type Pair, type ReadRun, readJudgedRun, readStoredRun } from './read-run.js';
import { ownLabel } from './score/record.js';

/** Where names are looked up. */
export interface Naming {
  /** SQLite files, for labels and numbers. */
  readonly db: readonly string[];
  readonly quiet: boolean;
  /** What two runs need not share, by the values of `--allow-different`. */
  readonly allowDifferent?: readonly string[];
  /**
   * Given where the run, or the base of a pair, must not move with its label: a name that several runs would do for is refused, with
   * the words that this makes of the name of one.
   */
  readonly fixed?: (name: string) => string;
}

/** What a run is to stand beside: its name, and whether a run can. */
interface Beside {
  readonly name: string;
  suits(run: ReadRun): boolean;
}

/** A run of a SQLite file, or the path of a judged file. */
type Found = KnownRun | string;
/** A run for each of the names. */
type Choice = readonly Found[];

/**
 * Reads a run by its name: a label or number in one of the SQLite files, or the path of a judged file or of a folder with a
 * judged.jsonl. Of several runs of one name it is the first that suits what it stands beside, in the order of `runsNamed`.
 * @throws UserError: 2 for an unknown run, with a list of the known ones, and for several under `fixed`; 66 and 65 for files.
 */
export async function readRun(name: string, naming: Naming, io: Io, beside?: Beside): Promise<ReadRun> {
  const suits = ([run]: readonly ReadRun[]) => beside?.suits(present(run)) ?? true;
  const [run] = await readRuns([[name, beside?.name]], suits, naming, io);
  return present(run);
}

/** Two runs by their names: of several of one name two that are complete and may be compared. @throws UserError as `readRun`. */
export async function readPair(base: string, candidate: string, naming: Naming, io: Io): Promise<Pair> {
  const allowed = provenanceIn(naming.allowDifferent ?? []);
  const pairOf = ([first, second]: readonly ReadRun[]) => ({ base: present(first), candidate: present(second) });
  const names = [
    [base, candidate],
    [candidate, base],
  ] as const;
  return pairOf(await readRuns(names, (runs) => isComparable(pairOf(runs), allowed), naming, io));
}

/** Reads a run for each name, which has with it the name of what the run stands beside. */
async function readRuns(
  names: readonly (readonly [string, string | undefined])[],
  suits: (runs: readonly ReadRun[]) => boolean,
  naming: Naming,
  io: Io,
): Promise<readonly ReadRun[]> {
  return withReader(names, naming, io, async (find, read, note) => {
    const found = names.map(([name]) => find(name));
    const choices = choicesOf(found);
    const doSuit = async (choice: Choice) => {
      try {
        return suits(await Promise.all(choice.map(read)));
      } catch (error) {
        // One that cannot be read stands in the way of no other.
        if (error instanceof UserError && !io.stop.aborted) return false;
        throw error;
      }
    };
    const suited = choices.length === 1 ? choices[0] : await firstThat(choices, doSuit);
    const isSuitable = suited !== undefined;
    const taken = suited ?? present(choices[0]);
    const { fixed } = naming;
    if (fixed !== undefined) {
      const rivals: KnownRun[] = [];
      for (const other of choices) {
        const [base] = other;
        const isOne = base !== undefined && isStored(base) && isRival(other, taken);
        if (isOne && (await doSuit(other)) === isSuitable) rivals.push(base);
      }
      const runs = [...taken.slice(0, 1).filter(isStored), ...rivals];
      // A number goes after a label, and several files may have it.
      const callOf = (one: KnownRun) =>
        fixed(find(String(one.run.id)).every((other) => other === one) ? String(one.run.id) : one.run.source);
      if (rivals.length > 0) throw several(present(names[0])[0], runs, callOf, io);
    }
    for (const [at, [name, beside]] of names.entries()) {
      const namesakes = (found[at] ?? []).filter(isStored);
      const own = namesakes.find((one) => one === taken[at]);
      if (own !== undefined && namesakes.length > 1) note(namesakesNote(name, own, namesakes, beside, isSuitable));
    }
    return Promise.all(taken.map(read));
  });
}

/** Gives an action what finds the runs of a name, and what reads one. Where all names are files, SQLite files only tell of judges. */
async function withReader<T>(
  named: readonly (readonly [string, unknown])[],
  { db, quiet }: Naming,
  io: Io,
  action: (find: (name: string) => Found[], read: (one: Found) => Promise<ReadRun>, note: Note) => Promise<T>,
): Promise<T> {
  const note = (text: string) => {
    if (!quiet) io.stderr.write(`note: ${text}\n`);
  };
  const others = named.map(([name]) => name).filter((name) => !isFileName(name));
  const unknown = others.find((name) => fileOf(name, io) === undefined);
  // A SQLite file that nobody needs may be missing.
  const files = db.filter((file) => unknown !== undefined || existsSync(resolve(io.cwd, file)));
  const lead = unknown === undefined ? '' : `"${shown(unknown)}" is no judged file, and `;
  const work = (known: readonly KnownRun[], calibrations: readonly StoredCalibration[]) => {
    const runs = new Map<Found, ReadRun>();
    const read = async (one: Found) => {
      const before = runs.get(one);
      if (before !== undefined) return before;
      const run = isStored(one)
        ? readStoredRun(one, manifestOf(one))
        : await readJudgedRun(one, calibrations, note, io);
      runs.set(one, run);
      await heedStop(io);
      return run;
    };
    return action((name) => findRuns(name, known, note, io), read, note);
  };
  return others.length === 0 ? work([], calibrationsIn(files, note, io)) : withKnownRuns(files, io, work, lead);
}

/** All choices for one name, or for a base and a candidate: complete ones first, in the order of the candidates, then of the bases. */
function choicesOf([bases = [], candidates]: readonly Choice[]): Choice[] {
  const all = candidates?.flatMap((candidate) => bases.map((base) => [base, candidate])) ?? bases.map((base) => [base]);
  // Two names mean one run only where they can mean no other.
  const apart = all.filter(([base, candidate]) => base !== candidate);
  const isWhole = (choice: Choice) => Number(choice.every(isComplete));
  return (apart.length > 0 ? apart : all).sort((a, b) => isWhole(b) - isWhole(a));
}

async function firstThat<T>(all: readonly T[], isIt: (one: T) => Promise<boolean>): Promise<T | undefined> {
  for (const one of all) if (await isIt(one)) return one;
  return undefined;
}

/** Whether another run would do as well in the first place: other bytes, as complete, and rated or not alike. */
function isRival([first = '', second]: Choice, [base = '', candidate]: Choice): boolean {
  if (second !== candidate || first === base || !isStored(first) || !isStored(base)) return false;
  if (first.run.sourceSha256 === base.run.sourceSha256) return false;
  return isComplete(first) === isComplete(base) && isRated(first) === isRated(base);
}

function isStored(one: Found): one is KnownRun {
  return typeof one !== 'string';
}

function isComplete(one: Found): boolean {
  return !isStored(one) || isCovered(one.run.card);
}

function isRated({ run }: KnownRun): boolean {
  return ratesDimensions(run.kind);
}

/** Whether a name is that of a file, and of no label. */
function isFileName(name: string): boolean {
  return /\.jsonl$/i.test(name);
}

/** The judged file of this path, where there is one. */
function fileOf(name: string, io: Io, note?: Note): string | undefined {
  const path = judgedFileOf(name, io, note);
  return existsSync(path) && statSync(path).isFile() ? path : undefined;
}

/** The runs of this name in SQLite files, or the path of its judged file. */
function findRuns(name: string, known: readonly KnownRun[], note: Note, io: Io): Found[] {
  if (isFileName(name)) return [judgedFileOf(name, io)];
  const found = runsNamed(name, known);
  if (found.length > 0) return found;
  const path = fileOf(name, io, note);
  if (path !== undefined) return [path];
  throw new UserError(`there is no run or judged file "${shown(name)}"; ${adviceOn(name, known)}`);
}

/** Says which of several runs of a name is taken, and why. */
function namesakesNote(
  name: string,
  taken: KnownRun,
  namesakes: readonly KnownRun[],
  beside?: string,
  isSuitable = true,
): string {
  const fits = beside === undefined ? undefined : `comparable with ${shown(beside)}`;
  const traits = [isComplete(taken) && 'complete', isRated(taken) && 'rated', isSuitable && fits].filter(Boolean);
  const why = traits.length === 0 ? '' : ` that is ${traits.join(', ').replace(/, ([^,]*)$/, ' and $1')}`;
  const none = isSuitable ? '' : `; none is ${fits}`;
  return `${shown(name)} names ${numbersOf(namesakes)}; run ${taken.run.id} is taken, the newest${why}${none}`;
}

/** `runs 1, 2 of awb.sqlite`, in the order of their numbers. */
function numbersOf(runs: readonly KnownRun[]): string {
  const numbers = (own: readonly KnownRun[]) => own.map(({ run }) => run.id).sort((a, b) => a - b);
  const files = [...groupBy(runs, ({ db }) => db)].map(([db, own]) => `${numbers(own).join(', ')} of ${db}`);
  return `runs ${files.join('; ')}`;
}

/** The error for a name that has to mean one run, and can mean any of these. */
function several(name: string, runs: readonly KnownRun[], callOf: (run: KnownRun) => string, io: Io): UserError {
  const lines = runs.map((each) => `  ${each.run.id}: ${shownPath(each.run.source, io)} (${each.db}): ${callOf(each)}`);
  const what = `"${shown(name)}" names ${runs.length} runs that would do, and a base never moves with its label:`;
  return new UserError([what, ...lines].join('\n'));
}

/** What a user may have meant by a name that no run has. */
function adviceOn(name: string, known: readonly KnownRun[]): string {
  if (known.length === 0) return 'the SQLite file holds no runs; awb score RUN adds one';
  const labels = known.flatMap(({ run }) => run.label ?? []);
  const near = nearest(name, labels);
  const advice = near === undefined ? 'the runs are' : `did you mean "${shown(near)}"? The runs are`;
  return [advice, ...listOfRuns(known)].join('\n');
}

/** The stored run of a name, to be shown: of several the first, which is noted. @throws UserError (2) where there is none. */
export function storedRun(name: string, known: readonly KnownRun[], note: Note, io: Io): KnownRun {
  const byName = isFileName(name) ? [] : runsNamed(name, known);
  const [found, ...others] = byName.length > 0 ? byName : ofFile(name, known, io);
  if (found === undefined) throw unknownRun(name, known, io);
  if (others.length > 0) note(namesakesNote(name, found, [found, ...others]));
  return found;
}

/**
 * The stored runs of these names, to be changed; each once.
 * @throws UserError (2) for a name that no run has, and for one that several have: who removes the wrong one may lose it.
 */
export function storedRunsToChange(names: readonly string[], known: readonly KnownRun[], io: Io): KnownRun[] {
  return [...new Set(names.map((name) => storedRunToChange(name, known, io)))];
}

/** The stored run of a name, to be changed. @throws UserError (2) for a name that no run has, and for one that several have. */
export function storedRunToChange(name: string, known: readonly KnownRun[], io: Io): KnownRun {
  const called = isFileName(name) ? [] : known.filter(({ run }) => run.label === name || String(run.id) === name);
  const [found, ...others] = called.length > 0 ? called : ofFile(name, known, io);
  if (found === undefined) throw unknownRun(name, known, io);
  if (others.length === 0) return found;
  const lines = listOfRuns([found, ...others]);
  throw new UserError(
    [`"${shown(name)}" can be any of these runs; name one beyond doubt, as by its number:`, ...lines].join('\n'),
  );
}

/** The runs that were scored from a judged file, the last one first. */
function ofFile(name: string, known: readonly KnownRun[], io: Io): KnownRun[] {
  const path = judgedFileOf(name, io);
  return known.filter(({ run }) => run.source === path).sort((a, b) => (a.run.scoredAt < b.run.scoredAt ? 1 : -1));
}

function unknownRun(name: string, known: readonly KnownRun[], io: Io): UserError {
  const path = judgedFileOf(name, io);
  if (path.endsWith('.jsonl') && existsSync(path)) {
    return new UserError(
      `"${shown(name)}" is stored in no SQLite file that was named; awb score ${shown(name)} stores it`,
    );
  }
  return new UserError(`there is no run "${shown(name)}"; ${adviceOn(name, known)}`);
}

/** Says what was expected of a label by which a run can be called; undefined for one that will do. */
export function checkLabel(text: string): string | undefined {
  if (printable(text) !== text) return 'a name without control characters and line ends';
  if (text !== text.trim()) return 'a name without white space at its ends';
  if (isFileName(text)) return 'a name that is not that of a file, which every command would take it for';
  if (text.startsWith('-')) return 'a name that does not begin as flags do';
  return shortLabel(text);
}

/** @throws UserError (2) where the label is the number of another run of the file, which could be called by it no longer. */
export function requireNoNumber(label: string, run: KnownRun, known: readonly KnownRun[]): void {
  if (!known.some((other) => other !== run && String(other.run.id) === label)) return;
  throw new UserError(`${label} is the number of another run, and a label goes before a number; take another name`);
}

/** What a user has to know of a label: which other runs have it, and what the run's manifest says. */
export function notesOnLabel(label: string, run: KnownRun, known: readonly KnownRun[]): string[] {
  const own = ownLabel(run.run.manifest);
  const kept = `its manifest keeps ${oneLine(own ?? '', 80)}, which commands show that are given the judged file itself`;
  return [...(own === undefined || own === label ? [] : [kept]), ...sharedNote(label, run, known)];
}

function sharedNote(label: string, run: KnownRun, known: readonly KnownRun[]): string[] {
  const alike = known.filter((other) => other !== run && other.run.label === label);
  if (alike.length === 0) return [];
  const numbers = alike.map((other) => other.run.id).join(', ');
  const which = `${alike.length === 1 ? 'run' : 'runs'} ${numbers}`;
  return [`${oneLine(label, 80)} is also the label of ${which}; a number names each`];
}

/**
 * The runs of SQLite files, each by its label or, where that needs quotes or several have it, by its number. None where no file
 * is given and there is none at the usual place, or where one cannot be read: a shell that completes has nobody to tell.
 */
export async function runNames(given: string | undefined, io: Io) {
  const files = (given ?? (io.env.AWB_DB || DEFAULT_DB)).split(',');
  try {
    return await withKnownRuns(files, io, async (known) =>
      known.map((each) => {
        const { id, label, worldModel, judgeModel, kind } = each.run;
        const isPlain = label !== undefined && /^\w[\w.@+=-]*$/.test(label) && runsNamed(label, known).length === 1;
        const words = [isPlain ? `run ${id}` : label, worldModel, judgeModel ?? kind].filter(
          (word) => word !== undefined,
        );
        return { name: isPlain ? label : String(id), description: oneLine(words.join(', '), 60) };
      }),
    );
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}

function shown(text: string): string {
  return oneLine(text, 80);
}
