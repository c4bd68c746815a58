// The runs of SQLite files as a leaderboard takes them, and which of them cannot be told from the best.

import type { Comparison, Difference } from '../core/comparison.js';
import { UserError } from '../core/errors.js';
import type { Measure, MeasureLookup } from '../core/measures.js';
import { countedPoints } from '../core/points.js';
import { askedWord, leadOf, ratesDimensions } from '../judge/modes.js';
import type { BoardRun, IsTied, JudgedWith } from '../report/leaderboard/board.js';
import { type MadeWith, madeWith, verdictsOf } from '../run/made-with.js';
import { type CompareOptions, compareRuns, type NothingInCommon } from '../stats/compare.js';
import { criticalBest } from '../stats/multiple.js';
import { trustIn } from './calibration/reading.js';
import { judgedAt, type KnownRun, manifestOf, runsNamed } from './databases.js';
import { unknownRun } from './find.js';
import type { Note } from './read-run.js';

/** The runs of these labels or numbers; all where no name is given. @throws UserError (2) for a name that no run has. */
export function selected(known: readonly KnownRun[], names: readonly string[]): KnownRun[] {
  if (names.length === 0) return [...known];
  const wanted = new Set<KnownRun>();
  for (const name of names) {
    const named = runsNamed(name, known);
    if (named.length === 0) throw unknownRun(name, known);
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
  const readable = known.flatMap((each) => {
    try {
      return [boardRun(each)];
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      errors.push(error);
      return [];
    }
  });
  const [first] = errors;
  if (first !== undefined && readable.length === 0) throw first;
  for (const { message } of errors) note(`a run is left out: ${message}`);
  return readable;
}

/** A run with its scores and with what it was judged with. @throws UserError (65) for a damaged manifest. */
export function boardRun(known: KnownRun): BoardRun {
  const { run, db, calibrations } = known;
  const made = madeWith(manifestOf(known));
  return {
    id: `${db}#${run.id}`,
    db,
    number: run.id,
    label: run.label,
    worldModel: made.worldModel,
    source: run.source,
    judgedWith: judgedWith(made),
    trust: trustIn(made, calibrations),
    isBaseline: made.baseline !== undefined,
    at: judgedAt(run),
    step: made.meta.step,
    card: run.card,
    costs: run.costs,
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

/** Ties by the comparison that `awb compare` makes. Each pair of runs is compared once. */
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
      const pointsOf = measure === undefined ? countedPoints : valuesOf(measure);
      return compareRuns({ rows: rows(best) }, { rows: rows(other) }, { draws: 0, moved: 0, pointsOf });
    },
  );
  const critical = remembered(String, (runs: number) => criticalBest(runs));
  return (best, other, { domain, name }, runs) => {
    const measure = best.judgedWith.rates ? undefined : name;
    const direction = measure === undefined ? 1 : directionOf(measureOf(measure));
    if (direction === undefined) return undefined;
    // One comparison of a pair answers for both orders.
    const order = best.id < other.id ? 1 : -1;
    const pair = order === 1 ? ([best, other, measure] as const) : ([other, best, measure] as const);
    const found = differenceIn(comparison(pair), domain, measure === undefined ? name : 'total');
    const { se, df, low } = found?.difference ?? {};
    if (found === undefined || se === undefined || df === undefined) return undefined;
    const value = direction * order * found.difference.value;
    // Where there is no interval (few trajectories in common, or few that all say the same), nothing shows that a run is worse.
    if (value >= 0 || low !== undefined) return value + critical(runs)(df) * se >= 0;
    return undefined;
  };
}

function differenceIn(
  comparison: Comparison | NothingInCommon,
  domain: string | undefined,
  name: string,
): Difference | undefined {
  if (comparison.status !== 'ok') return undefined;
  const figures =
    domain === undefined ? comparison.overall : comparison.domains.find((each) => each.domain === domain)?.figures;
  return new Map(Object.entries(figures ?? {})).get(name);
}

/** A measure's values in the place of the total, which is what a comparison has for one figure of a whole row. */
function valuesOf(measure: string): NonNullable<CompareOptions['pointsOf']> {
  return (row, figure) => (figure === 'total' ? row.measures?.[measure] : undefined);
}

/** 1 where a larger value is better, -1 where a smaller one is. Elsewhere a difference of means does not say which run is better. */
function directionOf({ better }: Measure): 1 | -1 | undefined {
  if (better === 'larger') return 1;
  return better === 'smaller' ? -1 : undefined;
}

function remembered<A, B>(keyOf: (argument: A) => string, make: (argument: A) => B): (argument: A) => B {
  const made = new Map<string, B>();
  return (argument) => {
    const key = keyOf(argument);
    const value = made.get(key) ?? make(argument);
    made.set(key, value);
    return value;
  };
}
