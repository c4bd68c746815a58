// Stored runs by the names that users give them: a label, a number, a judged file or its folder. What is changed is named beyond doubt.

import { existsSync } from 'node:fs';
import { UserError } from '../../errors.js';
import { oneLine, printable } from '../../printable.js';
import { shortLabel } from '../../settings/value.js';
import type { Io } from '../../types.js';
import { DEFAULT_DB, type KnownRun, listOfRuns, runsNamed, withKnownRuns } from '../databases.js';
import { adviceOn, isFileName, namesakesNote } from '../find.js';
import { judgedFileOf } from '../judged-path.js';
import type { Note } from '../read-run.js';
import { ownLabel } from '../score/record.js';

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

function shown(text: string): string {
  return oneLine(text, 80);
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

/** A name, and what else there is to say of its run. */
interface RunName {
  readonly name: string;
  readonly description: string;
}

/**
 * The runs of SQLite files, each by its label or, where that needs quotes or several have it, by its number. None where no file
 * is given and there is none at the usual place, or where one cannot be read: a shell that completes has nobody to tell.
 */
export async function runNames(given: string | undefined, io: Io): Promise<RunName[]> {
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
