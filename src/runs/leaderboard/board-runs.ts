// The runs of SQLite files -> runs as a leaderboard takes them.

import { UserError } from '../../errors.js';
import { askedWord, leadOf, ratesDimensions } from '../../judge/modes.js';
import type { BoardRun, JudgedWith } from '../../report/leaderboard/board.js';
import type { MadeWith } from '../../run/made-with.js';
import { judgedAt, type KnownRun, listOfRuns, manifestOf, runsNamed } from '../databases.js';
import { type Note, readStoredRun } from '../read-run.js';
import { verdictsOf } from '../verdicts.js';

/** The runs of these labels or numbers; all where no name is given. @throws UserError (2) for a name that no run has. */
export function selected(known: readonly KnownRun[], names: readonly string[]): KnownRun[] {
  if (names.length === 0) return [...known];
  const wanted = new Set<KnownRun>();
  for (const name of names) {
    const named = runsNamed(name, known);
    if (named.length === 0) {
      const advice = known.length === 0 ? 'there are none' : ['the runs are', ...listOfRuns(known)].join('\n');
      throw new UserError(`there is no run "${name}"; ${advice}`);
    }
    for (const each of named) wanted.add(each);
  }
  return [...wanted];
}

/**
 * The runs whose manifests can be read. What is wrong with another one is noted, and hides none of them.
 * @throws UserError (65) where no manifest can be read.
 */
export function boardRuns(known: readonly KnownRun[], note: Note): BoardRun[] {
  const errors: UserError[] = [];
  const readable = known.filter((each) => {
    try {
      manifestOf(each);
      return true;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      errors.push(error);
      return false;
    }
  });
  const [first] = errors;
  if (first !== undefined && readable.length === 0) throw first;
  for (const { message } of errors) note(`a run is left out: ${message}`);
  return readable.map(boardRun);
}

/** A run with its scores and with what it was judged with. @throws UserError (65) for a damaged manifest. */
export function boardRun(known: KnownRun): BoardRun {
  const { run, db } = known;
  const { made, trust, card, source, costs } = readStoredRun(known);
  return {
    id: `${db}#${run.id}`,
    db,
    number: run.id,
    label: run.label,
    worldModel: made.worldModel,
    source,
    judgedWith: judgedWith(made),
    trust,
    isBaseline: made.baseline !== undefined,
    at: judgedAt(run),
    step: made.meta.step,
    card,
    costs,
    equivalence: run.equivalence,
  };
}

function judgedWith(made: MadeWith): JudgedWith {
  const { mode: kind, judge, snapshot, rubricPack, rubricFingerprint, method, sampling, protocol, rollout } = made;
  const rates = ratesDimensions(kind);
  const asked = askedWord(kind);
  const lead = leadOf(kind);
  const verdicts = verdictsOf(made);
  return {
    kind,
    rates,
    lead,
    judge,
    asked: asked === 'agent' ? asked : undefined,
    snapshot,
    rubricPack,
    rubricFingerprint,
    verdicts,
    method,
    sampling,
    protocol,
    rollout,
  };
}
