// What a run on scenarios asks: chains of one step or more, each a scenario at a start, or the twin that it is held against. Of every domain
// the same few rows are taken as far as they fit, so that twins are shared and prefix caches hit, as many as the calls allow, every scenario
// alike.

import { createHash } from 'node:crypto';
import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { present, throwIfStopped, UserError } from '../../core/errors.js';
import { grouped } from '../../core/figures.js';
import { groupBy } from '../../core/groups.js';
import { rowId } from '../../core/row-id.js';
import { ownStart, scenarioKey, stepKey, twinKey } from '../../core/scenario-row.js';
import type { Domain, Io } from '../../core/types.js';
import type { StageJob } from '../../run/stage-contract.js';
import { applyingTo, type Scenario } from './scenario.js';

/** Steps that follow one another, at a row of the data or at the suite's own start. */
export interface Chain {
  /** What its records are known by: of a row's twin the row's key, as of any prediction of the row. */
  readonly key: string;
  /** Rows of one trajectory share it; a start of the suite's own is one by itself. */
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row of the data; undefined at a start of the suite's own. */
  readonly row: RowRef | undefined;
  /** Undefined for a twin that several scenarios share: it is the row as it stands, whose only step is its own. */
  readonly scenario: Scenario | undefined;
  /** What it is held against; undefined for a twin itself. */
  readonly twin: Chain | undefined;
  readonly steps: number;
}

/** One step of a chain, asked once. */
export interface ScenarioJob extends StageJob {
  readonly chain: Chain;
  /** From 0. */
  readonly step: number;
}

/** A row as it stands. */
function twinOfRow(row: RowRef): Chain {
  const { key, trajectory, domain } = row;
  return { key, trajectory, domain, row, scenario: undefined, twin: undefined, steps: 1 };
}

/** A scenario at a row, held against the row's twin; one of several steps has a twin of its own, which takes the same steps. */
function chainAtRow(scenario: Scenario, row: Chain): Chain {
  const chain = { ...row, scenario, key: scenarioKey(row.key, scenario.name), steps: scenario.steps.length };
  return { ...chain, twin: chain.steps === 1 ? row : twinOf(chain) };
}

/** A scenario at its own start. */
function chainAtStart(scenario: Scenario, domain: Domain): Chain {
  const key = scenarioKey(ownStart(scenario.name), scenario.name);
  const steps = scenario.steps.length;
  const chain: Chain = { key, trajectory: key, domain, row: undefined, scenario, twin: undefined, steps };
  return { ...chain, twin: twinOf(chain) };
}

function twinOf(chain: Chain): Chain {
  return { ...chain, key: twinKey(chain.key, chain.steps), twin: undefined };
}

/** A chain's steps in their order. Those of a chain of several are asked one after the other: each sees what came of those before. */
function jobsOf(chain: Chain): ScenarioJob[] {
  const { domain, trajectory, key, steps } = chain;
  const isSerial = steps > 1;
  return Array.from({ length: steps }, (_, step) => ({
    id: stepId(chain, step),
    domain,
    group: isSerial ? key : trajectory,
    serial: isSerial || undefined,
    isFurther: !isSample({ chain, step }) || undefined,
    chain,
    step,
  }));
}

/** Whether a step stands for a sample: a chain is one, known by its last step, and a twin is none. */
export function isSample({ chain: { twin, steps }, step }: Pick<ScenarioJob, 'chain' | 'step'>): boolean {
  return twin !== undefined && step === steps - 1;
}

/** The journal's id of a step. */
export function stepId(chain: Chain, step: number): string {
  return rowId(keyOfStep(chain, step), 0);
}

/** What a step's record is known by; the last one stands for the chain. */
export function keyOfStep({ key, steps }: Chain, step: number): string {
  return stepKey(key, step, steps);
}

/** Tells of a row of the data which scenarios it is fit for. */
type Fitting = (row: RowRef) => Promise<ReadonlySet<Scenario>>;

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
  fitting: Fitting,
  choice: PlanChoice,
): Promise<Plan> {
  const twins = new Map<RowRef, Chain>();
  const taken: Chain[] = [];
  let callsLeft = choice.maxCalls;
  // Once some do not fit nothing more does, so that every scenario gives up as much.
  let areSpent = false;
  const take = (chain: Chain) => {
    const twin = present(chain.twin);
    const isAsked = chain.row !== undefined && twins.get(chain.row) === twin;
    const needed = chain.steps + (isAsked ? 0 : twin.steps);
    areSpent ||= needed > callsLeft;
    if (areSpent) return;
    callsLeft -= needed;
    if (chain.row !== undefined && twin.scenario === undefined) twins.set(chain.row, twin);
    taken.push(chain);
  };
  const queues = [...groupBy(chosen, ({ domain }) => domain)].map(([domain, members]) => ({
    scenarios: scenarios.filter(({ at, domains }) => 'applies' in at && domains.includes(domain)),
    nextRow: rowsToTake(members, choice.seed, fitting),
  }));
  for (let round = 0; round < choice.rowsEach && !areSpent; round++) {
    for (const queue of queues) {
      for (const scenario of queue.scenarios) {
        const row = areSpent ? undefined : await queue.nextRow(scenario);
        if (row !== undefined) take(chainAtRow(scenario, twins.get(row) ?? twinOfRow(row)));
      }
    }
    for (const scenario of round === 0 ? scenarios : []) {
      if ('start' in scenario.at) take(chainAtStart(scenario, scenario.at.start.domain));
    }
  }
  if (taken.length === 0 && areSpent) {
    const few = `--max-calls ${choice.maxCalls} is too few`;
    throw new UserError(`${few}: a scenario takes two calls at least, one for the twin`);
  }
  const used = new Set(taken.map(({ scenario }) => scenario));
  return {
    jobs: inOrder(rows, scenarios, taken),
    unused: areSpent ? [] : scenarios.filter((scenario) => !used.has(scenario)),
  };
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
    .sort((a, b) => {
      const at = a.place.findIndex((number, index) => number !== b.place[index]);
      return at < 0 ? 0 : present(a.place[at]) - present(b.place[at]);
    })
    .flatMap(({ chain }) => jobsOf(chain));
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

/**
 * Gives the next of a domain's rows that a scenario is fit for, each to a scenario at most once; undefined where none is left. Rows are
 * looked at when their turn comes, each once.
 */
function rowsToTake(members: readonly RowRef[], seed: number, fitting: Fitting) {
  const order = inTakingOrder(members, seed);
  const fits: Promise<ReadonlySet<Scenario>>[] = [];
  const places = new Map<Scenario, number>();
  return async (scenario: Scenario): Promise<RowRef | undefined> => {
    for (let place = places.get(scenario) ?? 0; place < order.length; place++) {
      const row = present(order[place]);
      fits[place] ??= fitting(row);
      places.set(scenario, place + 1);
      if ((await present(fits[place])).has(scenario)) return row;
    }
    return undefined;
  };
}

/** So long nothing is said of the search, and then again nothing. */
const SILENT_MS = 3_000;

/**
 * The search for rows that scenarios are fit for: one reading of a row for all of them, of which the user hears where it takes long.
 * @param ofRows how many rows are to be looked at; undefined where nobody knows
 * @throws UserError: 130 or 143 once the user has interrupted
 */
export function fittingIn(
  dataset: Pick<Dataset, 'readSample'>,
  scenarios: readonly Scenario[],
  { quiet, ofRows }: { readonly quiet: boolean; readonly ofRows?: number },
  io: Pick<Io, 'stderr' | 'stop'>,
): Fitting {
  let last = performance.now();
  let looked = 0;
  return async (row) => {
    throwIfStopped(io.stop);
    if (!quiet && performance.now() - last > SILENT_MS) {
      last = performance.now();
      const all = ofRows === undefined ? '' : ` of ${grouped(ofRows)}`;
      io.stderr.write(`looking for rows that the scenarios are fit for: ${grouped(looked)}${all} looked at\n`);
    }
    const sample = await dataset.readSample(row);
    looked++;
    return new Set(applyingTo(sample, scenarios));
  };
}
