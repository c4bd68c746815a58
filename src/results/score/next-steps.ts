// What to type after a run was scored.

import { existsSync } from 'node:fs';
import { canonicalJson } from '../../core/json.js';
import { printable } from '../../core/printable.js';
import { shellLine } from '../../core/shell.js';
import type { Io } from '../../core/types.js';
import { ratesDimensions } from '../../judge/modes.js';
import { programName } from '../../settings/program-name.js';
import { isCovered } from '../../stats/coverage.js';
import type { StoredRun } from '../../store/runs.js';
import { judgedAt, wordsFor } from '../databases.js';
import { madeBefore } from './record.js';

/** A run that was scored just now. */
interface Scored {
  readonly id: number;
  /** The mode that it was judged in. */
  readonly kind: string;
  /** Its judged file, where it is a rollout of which the drift was not told. */
  readonly unforced?: string | undefined;
  /** Absolute path of the SQLite file. */
  readonly db: string;
  /** All runs of the file, this one too. */
  readonly runs: readonly StoredRun[];
  /** Whether rows are missing, so that the scores must not be compared. */
  readonly isShort: boolean;
  /** Whether a manifest says that our own judging made the file. */
  readonly isOurs: boolean;
}

/** Command lines to be pasted. The labels and paths in them may be hostile. */
export function nextSteps({ id, kind, unforced, db, runs, isShort, isOurs }: Scored, io: Io): string[] {
  const program = programName(io);
  if (isShort) {
    return isOurs
      ? [`the same ${askedBy(kind)} only for what is missing; then score again`]
      : ['judge the rows that failed once more, then score again'];
  }
  const where = wordsFor(db, io);
  const line = (...words: string[]) => `${program} ${shellLine([...words, ...where])}`;
  const own = nameOf(id, runs);
  const drift =
    unforced === undefined
      ? []
      : [`${line('score', unforced, '--teacher-forced', 'RUN')}   # its rows without --rollout`];
  const base = checkpointBefore(id, runs);
  const other = base && nameOf(base.id, runs);
  const pair =
    other !== undefined && ratesDimensions(kind) ? [line('compare', other, own), line('gate', other, own)] : [];
  const isAlone = runs.every((run) => run.id === id || run.kind !== kind);
  const next = isAlone ? `${line('score', 'RUN')}   # another run, in the same file` : line('leaderboard');
  // A report reads both judged files.
  const isShown = base !== undefined && other !== undefined && kind !== SCENARIOS && existsSync(base.source);
  return [...drift, ...pair, next, line('report', '--run', own, ...(isShown ? ['--compare', other] : []))];
}

/** The mode of runs that need no judge, and whose page shows one of them alone. */
const SCENARIOS = 'scenarios';

function askedBy(kind: string): string {
  return kind === SCENARIOS ? 'awb infer --scenarios command asks' : 'awb infer and awb judge commands ask';
}

/** The checkpoint before this one, by its step: complete, judged as this one was, and over the same data; undefined where there is none. */
function checkpointBefore(id: number, runs: readonly StoredRun[]): StoredRun | undefined {
  const own = runs.find((run) => run.id === id);
  const alike = runs.filter(
    (run) => isCovered(run.card) && stepOf(run) < stepOf(own) && makingOf(run) === makingOf(own),
  );
  return alike.sort((a, b) => stepOf(b) - stepOf(a) || (judgedAt(a) < judgedAt(b) ? 1 : -1))[0];
}

/** Not a number where the user gave none. */
function stepOf(run: StoredRun | undefined): number {
  const { step } = run?.meta ?? {};
  return typeof step === 'string' && step.trim() !== '' ? Number(step) : Number.NaN;
}

function makingOf(run: StoredRun | undefined): string {
  const { shares = {}, rollout = null } = madeBefore(run?.manifest) ?? {};
  return canonicalJson([shares, rollout]);
}

/** What a run is called on a command line: its label, or its number where the label would name another run. */
function nameOf(id: number, runs: readonly StoredRun[]): string {
  const label = runs.find((run) => run.id === id)?.label;
  // A label that several have, or that reads as a number or a file, would name another run.
  const isPlain =
    label !== undefined && label !== '' && !/^\d+$|^-|\.jsonl$/i.test(label) && printable(label) === label;
  return isPlain && runs.filter((run) => run.label === label).length === 1 ? label : String(id);
}
