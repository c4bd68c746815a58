// Runs by the names that users give them: a label or number in a SQLite file, a judged file, or the folder of one.

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isCovered } from '../coverage.js';
import { heedStop, nearest, UserError } from '../errors.js';
import { ratesDimensions } from '../judge/modes.js';
import { present } from '../present.js';
import { oneLine } from '../printable.js';
import { shownPath } from '../settings/shown-path.js';
import type { StoredCalibration } from '../store/records.js';
import type { Io } from '../types.js';
import { calibrationsIn } from './calibration/reading.js';
import { isComparable } from './comparability.js';
import { type KnownRun, listOfRuns, manifestOf, provenanceIn, runsNamed, withKnownRuns } from './databases.js';
import { judgedFileOf } from './judged-path.js';
import { type Note, type Pair, type ReadRun, readJudgedRun, readStoredRun } from './read-run.js';

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
        if (error instanceof UserError && choices.length > 1 && !io.stop.aborted) return false;
        throw error;
      }
    };
    const taken = choices.length === 1 ? present(choices[0]) : await firstOf(choices, doSuit);
    const isSuitable = choices.length === 1 || (await doSuit(taken));
    const { fixed } = naming;
    const rivals: Choice[] = [];
    for (const other of fixed === undefined ? [] : choices) {
      if (isRival(other, taken) && (await doSuit(other)) === isSuitable) rivals.push(other);
    }
    if (fixed !== undefined && rivals.length > 0) {
      const runs = [taken, ...rivals].map(([base]) => base).filter((one) => one !== undefined && isStored(one));
      // A number goes after a label, and several files may have it.
      const callOf = (one: KnownRun) =>
        fixed(find(String(one.run.id)).every((other) => other === one) ? String(one.run.id) : one.run.source);
      throw several(present(names[0])[0], runs, callOf, io);
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

/** All choices for one name, or for a base and a candidate: in the order of the candidates, then of the bases. */
function choicesOf([bases = [], candidates]: readonly Choice[]): Choice[] {
  if (candidates === undefined) return bases.map((base) => [base]);
  const pairs = candidates.flatMap((candidate) => bases.map((base) => [base, candidate]));
  // Two names mean one run only where they can mean no other.
  const apart = pairs.filter(([base, candidate]) => base !== candidate);
  return apart.length > 0 ? apart : pairs;
}

/** The first choice that suits, of complete runs before all others; the first of all where none suits. */
async function firstOf(choices: readonly Choice[], doSuit: (choice: Choice) => Promise<boolean>): Promise<Choice> {
  const complete = choices.filter((choice) => choice.every(isComplete));
  const ordered = [...new Set([...complete, ...choices])];
  for (const choice of ordered) if (await doSuit(choice)) return choice;
  return present(ordered[0]);
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
export function isFileName(name: string): boolean {
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
export function namesakesNote(
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
  const files = [...new Set(runs.map(({ db }) => db))];
  const numbers = (file: string) => runs.filter(({ db }) => db === file).map(({ run }) => run.id);
  return `runs ${files
    .map(
      (file) =>
        `${numbers(file)
          .sort((a, b) => a - b)
          .join(', ')} of ${file}`,
    )
    .join('; ')}`;
}

/** The error for a name that has to mean one run, and can mean any of these. */
function several(name: string, runs: readonly KnownRun[], callOf: (run: KnownRun) => string, io: Io): UserError {
  const lines = runs.map((each) => `  ${each.run.id}: ${shownPath(each.run.source, io)} (${each.db}): ${callOf(each)}`);
  return new UserError(
    [`"${shown(name)}" names ${runs.length} runs that would do, and a base never moves with its label:`, ...lines].join(
      '\n',
    ),
  );
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
