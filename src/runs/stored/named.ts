// Stored runs by the names that users give them: a label, a number, a judged file or its folder. What is changed is named beyond doubt.

import { existsSync } from 'node:fs';
import { UserError } from '../../errors.js';
import { oneLine } from '../../printable.js';
import type { Io } from '../../types.js';
import { type KnownRun, listOfRuns, runsNamed } from '../databases.js';
import { adviceOn, isFileName, namesakesNote } from '../find.js';
import { judgedFileOf } from '../judged-path.js';
import type { Note } from '../read-run.js';

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
