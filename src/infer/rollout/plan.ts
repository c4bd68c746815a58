// A rollout from the flags to its plan: which chains the chosen rows lead to, what is refused, and what is told. Every row of their
// trajectories is read once, and none is kept.

import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { inInputOrder } from '../../benchmark/selection.js';
import { EXIT, throwIfStopped, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { groupBy } from '../../core/groups.js';
import { present } from '../../core/present.js';
import { parseRowId } from '../../core/row-id.js';
import { type Domain, MODEL_CAUSED_FAILURES, type Sample } from '../../core/types.js';
import type { Run } from '../../run/run.js';
import type { Inference } from '../inferring.js';
import type { InferSettings } from '../options.js';
import { bareAction, leaksBesideStates } from './rollout-turn.js';

/** A chain as it is asked: the turns behind `from`, up to the last one that was chosen. */
export interface PlannedChain {
  /** The trajectory's key, and `~N` behind it for the Nth further chain of the trajectory. */
  readonly name: string;
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row that says what is asked. */
  readonly driver: RowRef;
  /** True turns in front of the rollout. */
  readonly from: number;
  /** The last turn that is asked; `from` where none is. */
  readonly last: number;
  /** The last turn that is asked, or that an earlier session may have recorded. */
  readonly end: number;
  /** Rows by turn, those behind `from` alone. */
  readonly rows: ReadonlyMap<number, RowRef>;
}

/** What a rollout makes of the chosen rows. */
export interface RolloutPlan {
  readonly from: number;
  /** In the order of their trajectories' first rows. */
  readonly chains: readonly PlannedChain[];
  /** The rows that are asked and scored, in the order of the data: the chosen ones that a chain leads to, and those on its way. */
  readonly rows: readonly RowRef[];
  /** The chain that a row is in; undefined for a row that is no part of the rollout. */
  chainOf(row: RowRef): PlannedChain | undefined;
  readonly told: PlanCounts;
}

/** What is worth telling of a plan; all but the chains are counts of chosen rows. */
interface PlanCounts {
  /** Chains whose row is no beginning of their trajectory's longest row. */
  readonly furtherChains: number;
  /** Chains whose prompts would give the truth away, and the chosen rows in them. */
  readonly leakingChains: number;
  readonly leakingRows: number;
  /** Chosen rows of the turns that are given as they were. */
  readonly givenRows: number;
  /** Rows that were not chosen, and are asked on the way. */
  readonly passedRows: number;
}

/** What is planned for: a folder of rows, the chosen ones among them, and those that earlier sessions recorded. */
interface Planned {
  readonly dataset: Dataset;
  readonly chosen: readonly RowRef[];
  readonly recorded: ReadonlySet<RowRef>;
  readonly from: number;
  readonly stop: AbortSignal;
}

/** @throws UserError: 65 where a row cannot be read any more, 130 or 143 once the user has interrupted */
export async function planRollout({ dataset, chosen, recorded, from, stop }: Planned): Promise<RolloutPlan> {
  const isChosen = new Set(chosen);
  const chains: PlannedChain[] = [];
  const chainOf = new Map<RowRef, PlannedChain>();
  const counts = { furtherChains: 0, leakingChains: 0, leakingRows: 0, givenRows: 0, passedRows: 0 };
  for (const members of trajectoriesOf(dataset, (row) => isChosen.has(row) || recorded.has(row))) {
    throwIfStopped(stop);
    const read = await Promise.all(members.map(async (row) => ({ row, sample: await dataset.readSample(row) })));
    for (const [number, chain] of chainsOf(read).entries()) {
      const wanted = [...chain.rows].filter(([, row]) => isChosen.has(row));
      const behind = wanted.filter(([turn]) => turn > from);
      const before = [...chain.rows].flatMap(([turn, row]) => (recorded.has(row) ? [turn] : []));
      counts.givenRows += wanted.length - behind.length;
      if (behind.length === 0 && before.length === 0) continue;
      if (leaksBesideStates(chain.driver.sample, from + 2)) {
        counts.leakingChains++;
        counts.leakingRows += behind.length;
        continue;
      }
      const last = Math.max(from, ...behind.map(([turn]) => turn));
      const planned = plannedOf(chain, number, { from, last, end: Math.max(last, ...before) });
      if (number > 0 && planned.last > from) counts.furtherChains++;
      chains.push(planned);
      for (const row of planned.rows.values()) chainOf.set(row, planned);
    }
  }
  const asked = chains.flatMap(({ rows, last }) => [...rows].flatMap(([turn, row]) => (turn > last ? [] : [row])));
  counts.passedRows = asked.filter((row) => !isChosen.has(row)).length;
  return { from, chains, rows: inInputOrder(asked), chainOf: (row) => chainOf.get(row), told: counts };
}

function plannedOf(
  { driver, rows }: Chain<RowRef>,
  number: number,
  turns: Pick<PlannedChain, 'from' | 'last' | 'end'>,
): PlannedChain {
  const { trajectory, domain } = driver.sample;
  return {
    name: number === 0 ? trajectory : `${trajectory}~${number}`,
    trajectory,
    domain,
    driver: driver.row,
    ...turns,
    rows: new Map([...rows].filter(([turn]) => turn > turns.from)),
  };
}

/** All rows of each trajectory that has a wanted one, in the order of these. */
function trajectoriesOf({ rows }: Dataset, isWanted: (row: RowRef) => boolean): (readonly RowRef[])[] {
  const all = groupBy(rows, ({ trajectory }) => trajectory);
  const wanted = new Set(rows.filter(isWanted).map(({ trajectory }) => trajectory));
  return Array.from(wanted, (trajectory) => present(all.get(trajectory)));
}

/** @throws UserError (2) for flags that go against one another */
export function requireRolloutFlags({ rollout, rolloutFrom, protocol }: InferSettings): void {
  if (!rollout && rolloutFrom !== undefined) {
    throw new UserError('--rollout-from says how many turns of a rollout are given: add --rollout, or leave it out');
  }
  if (rollout && protocol === 'blind') {
    throw new UserError(
      '--rollout needs a history to put predictions into, and --protocol blind sends none: take --protocol history',
    );
  }
}

/** @throws UserError: 2 where no chosen row is left, and as `planRollout` */
export async function openPlan({ settings, dataset, chosen, io }: Inference, run: Run): Promise<RolloutPlan> {
  const recorded = recordedRows(dataset, run.journal.ids());
  const from = settings.rolloutFrom ?? 0;
  const plan = await planRollout({ dataset, chosen, recorded, from, stop: io.stop });
  const notices = noticesOf(plan.told, from);
  if (plan.rows.length === 0) {
    throw new UserError(`no chosen row is part of the rollout: ${notices.join('; ')}`, EXIT.usage);
  }
  run.notices.push(...notices, ...(settings.dryRun ? [remarkOnRollout(plan), SIZES] : []));
  return plan;
}

/** The rows that ids of records name. */
export function recordedRows({ find }: Dataset, ids: Iterable<string>): ReadonlySet<RowRef> {
  const recorded = new Set<RowRef>();
  for (const id of ids) {
    const row = find(parseRowId(id)?.key ?? '');
    if (row !== undefined) recorded.add(row);
  }
  return recorded;
}

const SIZES =
  'prompts are sized by the recorded observations: where the model predicts longer ones, they become longer';

/** Failures that the model caused: the rollout has gone on behind them. */
export const FINAL_IN_ROLLOUTS: ReadonlySet<string> = new Set(MODEL_CAUSED_FAILURES);

/** How much a rollout asks: rows, and turns between them. */
export function remarkOnRollout({ chains, rows, from }: RolloutPlan): string {
  const asked = chains.filter(({ last }) => last > from);
  const turns = asked.reduce((sum, { last }) => sum + last - from, 0);
  const between = turns - rows.length;
  const behind = from === 0 ? '' : ` behind ${counted(from, 'true turn')}`;
  return `rollout: ${counted(asked.length, 'chain')} of ${counted(turns, 'turn')}${behind}, ${counted(between, 'turn')} of them between rows, asked and not scored`;
}

function noticesOf({ furtherChains, leakingChains, leakingRows, givenRows, passedRows }: PlanCounts, from: number) {
  const told: readonly (readonly [number, string])[] = [
    [
      leakingChains,
      `${counted(leakingChains, 'chain')} (${counted(leakingRows, 'chosen row')}) left out of the rollout: the prompts show the true state in another form than the observations, and would give it away`,
    ],
    [
      givenRows,
      `${counted(givenRows, 'chosen row')} of the first ${counted(from, 'turn')} not part of the rollout: these turns are given (--rollout-from)`,
    ],
    [
      furtherChains,
      `${counted(furtherChains, 'chain')} beside those of the longest rows: rows that are no beginning of their trajectory's longest row`,
    ],
    [
      passedRows,
      `${counted(passedRows, 'row')} that this command did not choose stand on the way, and are scored, too`,
    ],
  ];
  return told.flatMap(([count, text]) => (count > 0 ? [text] : []));
}

/** A row of a trajectory, and what stands for it. */
interface TrajectoryRow<Row> {
  readonly row: Row;
  readonly sample: Sample;
}

/** The turns that a rollout goes through, and the rows that it passes. */
interface Chain<Row> {
  /** Says what is asked in each turn. */
  readonly driver: TrajectoryRow<Row>;
  /** By turn, 1-based. A turn without a row has a truth, too, but is not scored. */
  readonly rows: ReadonlyMap<number, Row>;
}

/**
 * The chains of one trajectory, given all of its rows in the order of the data. Every row is in exactly one. Of two equal rows the
 * second begins a chain of its own, since a run asks for each.
 */
export function chainsOf<Row>(rows: readonly TrajectoryRow<Row>[]): Chain<Row>[] {
  const chains: Chain<Row>[] = [];
  let left = rows;
  while (left.length > 0) {
    const driver = left.reduce((longest, other) => (other.sample.turnIdx > longest.sample.turnIdx ? other : longest));
    const taken = new Map([[driver.sample.turnIdx, driver.row]]);
    const others: TrajectoryRow<Row>[] = [];
    for (const each of left) {
      const { turnIdx } = each.sample;
      if (each === driver) continue;
      if (taken.has(turnIdx) || !isBeginningOf(each.sample, driver.sample)) others.push(each);
      else taken.set(turnIdx, each.row);
    }
    chains.push({ driver, rows: taken });
    left = others;
  }
  return chains;
}

/** Whether all that a row shows up to the action of its turn stands in the longer one, too. */
function isBeginningOf(row: Sample, longer: Sample): boolean {
  for (let turn = 1; turn < row.turnIdx; turn++) {
    if (row.responses[turn - 1] !== longer.responses[turn - 1]) return false;
    if (row.prompts[turn - 1] !== longer.prompts[turn - 1]) return false;
  }
  return bareAction(row, row.turnIdx) === bareAction(longer, row.turnIdx);
}
