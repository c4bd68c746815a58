// What to type after a run was scored.

import { ratesDimensions } from '../../judge/modes.js';
import { printable } from '../../printable.js';
import { programName } from '../../settings/program-name.js';
import { shellLine } from '../../shell.js';
import type { StoredRun } from '../../store/records.js';
import type { Io } from '../../types.js';
import { wordsFor } from '../databases.js';
import { madeBefore } from './record.js';

/** A run that was scored just now. */
interface Scored {
  readonly id: number;
  /** The mode that it was judged in. */
  readonly kind: string;
  /** The rollout that it is, such as `rollout from 0`. */
  readonly rollout: string | undefined;
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
export function nextSteps({ id, kind, rollout, unforced, db, runs, isShort, isOurs }: Scored, io: Io): string[] {
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
  const other = latestBeside(id, kind, rollout, runs);
  if (other === undefined) {
    return [...drift, `${line('score', 'RUN')}   # another run, in the same file`, line('report', '--run', own)];
  }
  const pair = ratesDimensions(kind) ? [line('compare', other, own), line('gate', other, own)] : [];
  const compared = kind === SCENARIOS ? [] : ['--compare', other];
  return [...drift, ...pair, line('leaderboard'), line('report', '--run', own, ...compared)];
}

/** The mode of runs that need no judge, and whose page shows one of them alone. */
const SCENARIOS = 'scenarios';

function askedBy(kind: string): string {
  return kind === SCENARIOS ? 'awb infer --scenarios command asks' : 'awb infer and awb judge commands ask';
}

/** The run that was scored last of those that were judged in the same way as this one. */
function latestBeside(
  id: number,
  kind: string,
  rollout: string | undefined,
  runs: readonly StoredRun[],
): string | undefined {
  const alike = runs.filter((run) => run.id !== id && run.kind === kind);
  const [latest] = alike
    .filter((run) => madeBefore(run.manifest)?.rollout === rollout)
    .sort((a, b) => (a.scoredAt < b.scoredAt ? 1 : -1));
  return latest && nameOf(latest.id, runs);
}

/** What a run is called on a command line: its label, or its number where the label would name another run. */
function nameOf(id: number, runs: readonly StoredRun[]): string {
  const label = runs.find((run) => run.id === id)?.label;
  // A label that several have, or that reads as a number or a file, would name another run.
  const isPlain =
    label !== undefined && label !== '' && !/^\d+$|^-|\.jsonl$/i.test(label) && printable(label) === label;
  return isPlain && runs.filter((run) => run.label === label).length === 1 ? label : String(id);
}
