// Which rows each scenario takes: of every domain the same few as far as they fit, so that twins are shared and prefix caches hit.

import { createHash } from 'node:crypto';
import type { RowRef } from '../../bench/dataset.js';
import { groupBy } from '../../groups.js';
import { present } from '../../present.js';

/** What is asked of a scenario here. */
interface Fitting<S> {
  /** The scenarios that a row of the data is fit for. */
  fitting(row: RowRef): Promise<ReadonlySet<S>>;
}

/**
 * A domain's rows in the order in which scenarios take them: every trajectory gives a row before any gives a second one. The same
 * seed gives the same order, whatever else is chosen, so that more rows are those rows and others.
 */
function inTakingOrder(members: readonly RowRef[], seed: number): RowRef[] {
  const rank = (text: string) => createHash('sha256').update(`scenarios ${seed} ${text}`).digest('hex');
  const ranked = <T>(items: Iterable<T>, textOf: (item: T) => string): T[] =>
    Array.from(items, (item) => ({ item, rank: rank(textOf(item)) }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1))
      .map(({ item }) => item);
  const trajectories = ranked(
    groupBy(members, (row) => row.trajectory),
    ([trajectory]) => trajectory,
  ).map(([, own]) => ranked(own, (row) => row.key));
  const most = Math.max(0, ...trajectories.map((own) => own.length));
  return Array.from({ length: most }, (_, round) => trajectories.flatMap((own) => own[round] ?? [])).flat();
}

/** A domain's rows, each given to a scenario at most once. Rows are looked at when their turn comes, each once. */
export class RowsToTake<S> {
  readonly #order: readonly RowRef[];
  readonly #fitting: Promise<ReadonlySet<S>>[] = [];
  readonly #next = new Map<S, number>();

  constructor(
    members: readonly RowRef[],
    seed: number,
    private readonly scenarios: Fitting<S>,
  ) {
    this.#order = inTakingOrder(members, seed);
  }

  /** The next row that the scenario is fit for; undefined where none is left. */
  async next(scenario: S): Promise<RowRef | undefined> {
    for (let place = this.#next.get(scenario) ?? 0; place < this.#order.length; place++) {
      const row = present(this.#order[place]);
      this.#fitting[place] ??= this.scenarios.fitting(row);
      if (!(await present(this.#fitting[place])).has(scenario)) continue;
      this.#next.set(scenario, place + 1);
      return row;
    }
    this.#next.set(scenario, this.#order.length);
    return undefined;
  }
}
