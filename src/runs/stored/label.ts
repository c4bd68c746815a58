// The name that a user gives a stored run: whether a run can be called by it, and what else it means then.

import { UserError } from '../../errors.js';
import { oneLine, printable } from '../../printable.js';
import { shortLabel } from '../../settings/value.js';
import type { KnownRun } from '../databases.js';
import { isFileName } from '../find.js';
import { ownLabel } from '../score/record.js';

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
