// Which runs of a leaderboard cannot be told from the best.

import type { Comparison, Difference } from '../../comparison.js';
import type { Measure, MeasureLookup } from '../../measures.js';
import { countedPoints } from '../../points.js';
import type { BoardRun, IsTied } from '../../report/leaderboard/board.js';
import { type CompareOptions, compareRuns, type NothingInCommon } from '../../score/compare.js';
import { criticalBest } from '../../score/multiple.js';
import type { KnownRun } from '../databases.js';

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
      const pointsOf = measure === undefined ? countedPoints : measuredPoints(measure, measureOf(measure));
      return compareRuns({ rows: rows(best) }, { rows: rows(other) }, { draws: 0, moved: 0, pointsOf });
    },
  );
  const critical = remembered(String, (runs: number) => criticalBest(runs));
  return (best, other, { domain, name }, runs) => {
    const measure = best.judgedWith.rates ? undefined : name;
    // One comparison of a pair answers for both orders.
    const sign = best.id < other.id ? 1 : -1;
    const pair = sign === 1 ? ([best, other, measure] as const) : ([other, best, measure] as const);
    const found = differenceIn(comparison(pair), domain, measure === undefined ? name : 'total');
    const { se, df, low } = found?.difference ?? {};
    if (found === undefined || se === undefined || df === undefined) return undefined;
    const value = sign * found.difference.value;
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

/** A measure in place of the ratings' total, so that it is compared as totals are. Where smaller is better its sign is turned. */
function measuredPoints(measure: string, { better }: Measure): NonNullable<CompareOptions['pointsOf']> {
  const sign = better === 'larger' ? 1 : better === 'smaller' ? -1 : undefined;
  return (row, figure) => {
    const value = figure === 'total' ? row.measures?.[measure] : undefined;
    // A difference of means says which run is better only where one direction is better.
    return value === undefined || sign === undefined ? undefined : sign * value;
  };
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
