// Prepares the runs of SQLite files for a leaderboard, and tests which of them cannot be distinguished from the best.

import { messageOf } from '../core/errors.js';
import { heldIn } from '../core/groups.js';
import type { MeasureLookup } from '../core/measures.js';
import { countedPoints } from '../core/points.js';
import { askedWord, modeOf, ratesDimensions } from '../judge/modes.js';
import type { BoardRun, IsTied } from '../report/leaderboard/runs.js';
import { madeWith, verdictsOf } from '../run/made-with.js';
import { type CompareOptions, compareRuns } from '../stats/compare.js';
import { criticalBest } from '../stats/distributions.js';
import { judgedAt, type KnownRun, manifestOf, runsNamed } from './databases.js';
import { unknownRun } from './find.js';
import { type Note, trustIn } from './read-run.js';

/** The runs of these labels or numbers; all if no name is given. @throws UserError (2) for an unknown name. */
export function selected(known: readonly KnownRun[], names: readonly string[]): KnownRun[] {
  if (names.length === 0) return [...known];
  const named = names.flatMap((name) => {
    const found = runsNamed(name, known);
    if (found.length === 0) throw unknownRun(name, known);
    return found;
  });
  return [...new Set(named)];
}

/** The runs whose manifests can be read. The others are left out, with a note. */
export function boardRuns(known: readonly KnownRun[], note: Note): BoardRun[] {
  return known.flatMap((each) => {
    try {
      return boardRun(each);
    } catch (error) {
      note(`a run is left out: ${messageOf(error)}`);
      return [];
    }
  });
}

/** A run with its scores and how it was judged. @throws UserError (65) for a damaged manifest. */
function boardRun(known: KnownRun): BoardRun {
  const { run, db, calibrations } = known;
  const made = madeWith(manifestOf(known));
  const { judge, snapshot, rubricPack, rubricFingerprint, method, sampling, protocol, rollout, mode: kind } = made;
  const asked = askedWord(kind) === 'agent' ? ('agent' as const) : undefined;
  const said = { kind, rates: ratesDimensions(kind), lead: modeOf(kind)?.lead, asked, verdicts: verdictsOf(made) };
  return {
    ...run,
    id: `${db}#${run.id}`,
    db,
    number: run.id,
    worldModel: made.worldModel,
    judgedWith: { ...said, judge, snapshot, rubricPack, rubricFingerprint, method, sampling, protocol, rollout },
    trust: trustIn(made, calibrations),
    isBaseline: made.baseline !== undefined,
    at: judgedAt(run),
    step: made.meta.step,
  };
}

/** Ties by the comparison of `awb compare`. Each pair of runs is compared only once. */
export function tiesOf(known: readonly KnownRun[], measureOf: MeasureLookup): IsTied {
  const stores = new Map(known.map(({ db, store }) => [db, store]));
  const rows = remembered(
    (run: BoardRun) => run.id,
    (run) => stores.get(run.db)?.judgements(run.number) ?? [],
  );
  const comparison = remembered(
    ([best, other, measure]: readonly [BoardRun, BoardRun, string | undefined]) =>
      `${best.id}\n${other.id}\n${measure ?? ''}`,
    ([best, other, measure]) => {
      // A measure takes the place of the total, since both are one figure per row.
      const valuesOf: CompareOptions['pointsOf'] = (row, figure) =>
        figure === 'total' ? row.measures?.[measure ?? ''] : undefined;
      const pointsOf = measure === undefined ? countedPoints : valuesOf;
      return compareRuns({ rows: rows(best) }, { rows: rows(other) }, { draws: 0, moved: 0, pointsOf });
    },
  );
  const critical = remembered(String, (runs: number) => criticalBest(runs));
  return (best, other, { domain, name }, runs) => {
    const measure = best.judgedWith.rates ? undefined : name;
    const better = measure === undefined ? 'larger' : measureOf(measure).better;
    // For other measures a difference of means does not say which run is better.
    if (better !== 'larger' && better !== 'smaller') return undefined;
    // One comparison of a pair serves both orders.
    const isOrdered = best.id < other.id;
    const compared = comparison(isOrdered ? [best, other, measure] : [other, best, measure]);
    if (compared.status !== 'ok') return undefined;
    const ofDomain = compared.domains.find((each) => each.domain === domain)?.figures;
    const figures = new Map(Object.entries((domain === undefined ? compared.overall : ofDomain) ?? {}));
    const found = figures.get(measure === undefined ? name : 'total')?.difference;
    if (found?.se === undefined || found.df === undefined) return undefined;
    const value = isOrdered === (better === 'larger') ? found.value : -found.value;
    // Without an interval (few common trajectories, or few with identical scores), nothing shows that a run is worse.
    if (value < 0 && found.low === undefined) return undefined;
    return value + critical(runs)(found.df) * found.se >= 0;
  };
}

function remembered<A, B>(keyOf: (argument: A) => string, make: (argument: A) => B): (argument: A) => B {
  const made = new Map<string, B>();
  return (argument) => heldIn(made, keyOf(argument), () => make(argument));
}
