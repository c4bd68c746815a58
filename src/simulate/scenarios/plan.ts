// Which rows are put under which scenarios: as many as the calls allow, every scenario alike.

import type { RowRef } from '../../bench/dataset.js';
import { UserError } from '../../errors.js';
import { groupBy } from '../../groups.js';
import { present } from '../../present.js';
import { type Chain, chainAtRow, chainAtStart, jobsOf, type ScenarioJob, twinOfRow } from './jobs.js';
import { RowsToTake } from './row-choice.js';
import type { Scenario } from './scenario.js';

/** What a plan is made by. */
interface PlanChoice {
  readonly seed: number;
  /** Rows of a domain that a scenario takes at most. */
  readonly rowsEach: number;
  /** Calls at most, those of twins included. */
  readonly maxCalls: number;
}

/** What is planned, and what there was nothing for. */
export interface Plan {
  /** In the order of asking. */
  readonly jobs: readonly ScenarioJob[];
  /** Scenarios that no chosen row is fit for, and that bring no start of their own. */
  readonly unused: readonly Scenario[];
}

/**
 * Rows are taken in rounds, one for each scenario in each of its domains at a time, until each has as many as it may take or there are
 * no calls left. Starts of the suite's own come behind the first round. A row's twin is asked once, however many scenarios the row stands under.
 * @param fitting the scenarios that a row of the data is fit for
 * @throws UserError (2) where so few calls are too few for anything
 */
export async function planOf(
  rows: readonly RowRef[],
  chosen: readonly RowRef[],
  scenarios: readonly Scenario[],
  fitting: (row: RowRef) => Promise<ReadonlySet<Scenario>>,
  choice: PlanChoice,
): Promise<Plan> {
  const calls = new Calls(choice.maxCalls);
  const twins = new Map<RowRef, Chain>();
  const twinAt = (row: RowRef) => twins.get(row) ?? twinOfRow(row);
  const taken: Chain[] = [];
  const take = (chain: Chain) => {
    const twin = present(chain.twin);
    const isAsked = chain.row !== undefined && twins.get(chain.row) === twin;
    if (!calls.take(chain.steps + (isAsked ? 0 : twin.steps))) return;
    if (chain.row !== undefined && twin.scenario === undefined) twins.set(chain.row, twin);
    taken.push(chain);
  };
  const queues = [...groupBy(chosen, ({ domain }) => domain)].map(([domain, members]) => ({
    scenarios: scenarios.filter(({ at, domains }) => 'applies' in at && domains.includes(domain)),
    rows: new RowsToTake(members, choice.seed, { fitting }),
  }));
  const starts = scenarios.flatMap((scenario) =>
    'start' in scenario.at ? [{ scenario, start: scenario.at.start }] : [],
  );
  for (let round = 0; round < choice.rowsEach && !calls.areSpent; round++) {
    for (const queue of queues) {
      for (const scenario of queue.scenarios) {
        const row = calls.areSpent ? undefined : await queue.rows.next(scenario);
        if (row !== undefined) take(chainAtRow(scenario, twinAt(row)));
      }
    }
    for (const { scenario, start } of round === 0 ? starts : []) take(chainAtStart(scenario, start.domain));
  }
  if (taken.length === 0 && calls.areSpent) throw tooFew(choice.maxCalls);
  const used = new Set(taken.map(({ scenario }) => scenario));
  return {
    jobs: inOrder(rows, scenarios, taken),
    unused: calls.areSpent ? [] : scenarios.filter((scenario) => !used.has(scenario)),
  };
}

/** The calls that a plan may take. Once some do not fit nothing more does, so that every scenario gives up as much. */
class Calls {
  areSpent = false;
  #taken = 0;

  constructor(private readonly most: number) {}

  take(needed: number): boolean {
    this.areSpent ||= this.#taken + needed > this.most;
    if (!this.areSpent) this.#taken += needed;
    return !this.areSpent;
  }
}

function tooFew(maxCalls: number): UserError {
  return new UserError(`--max-calls ${maxCalls} is too few: a scenario takes two calls at least, one for the twin`);
}

/**
 * Domain by domain and trajectory by trajectory. Of a trajectory come first its rows as they stand, and under instructions in front of
 * the action, which share all that stands before it; then, scenario by scenario, its rows under a changed system prompt, which share
 * nothing with those. So prefix caches hit as often as they can. Chains of the suite's own starts come last.
 */
function inOrder(rows: readonly RowRef[], scenarios: readonly Scenario[], taken: readonly Chain[]): ScenarioJob[] {
  const domains = [...new Set(rows.map(({ domain }) => domain))];
  const numberOf = new Map(scenarios.map((scenario, number) => [scenario, number]));
  const placeOf = ({ row, domain, scenario }: Chain): number[] => {
    const number = scenario === undefined ? -1 : present(numberOf.get(scenario));
    if (row === undefined) return [Number.POSITIVE_INFINITY, number];
    const layer = scenario?.put === 'system' ? number : -1;
    return [domains.indexOf(domain), row.trajectoryNumber, layer, row.turnIdx, row.position, number];
  };
  const chains = new Set(taken.flatMap((chain) => [present(chain.twin), chain]));
  return Array.from(chains, (chain) => ({ chain, place: placeOf(chain) }))
    .sort((a, b) => firstDifference(a.place, b.place))
    .flatMap(({ chain }) => jobsOf(chain));
}

function firstDifference(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of a.entries()) {
    const other = present(b[index]);
    if (number !== other) return number < other ? -1 : 1;
  }
  return 0;
}
