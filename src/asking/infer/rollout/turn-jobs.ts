// What a rollout asks: every turn of every chain in each repeat, a chain strictly turn after turn.

import type { RowIndex } from '../../../bench/row-index.js';
import { ORDERS } from '../../../bench/selection.js';
import { filtered, type List, listOf } from '../../../list.js';
import { present } from '../../../present.js';
import { turnKey } from '../../../rollout.js';
import { rowId } from '../../../row-id.js';
import type { StageJob } from '../../stage-contract.js';
import { jobsOf } from '../jobs.js';
import type { InferSettings } from '../options.js';
import type { PlannedChain, RolloutPlan } from './plan.js';

/** One turn of a chain in one of its repeats. */
export class TurnJob implements StageJob {
  readonly serial = true;
  readonly #rows: RowIndex;

  /** @param turn 1-based */
  constructor(
    rows: RowIndex,
    readonly chain: PlannedChain,
    readonly turn: number,
    readonly repeat: number,
  ) {
    this.#rows = rows;
  }

  /** The benchmark's row that the turn is; undefined for a turn between rows. */
  get row(): number | undefined {
    return this.chain.rows.get(this.turn);
  }

  /** A row's key, or a name in its place. */
  get key(): string {
    const { row } = this;
    return row === undefined ? turnKey(this.chain.name, this.turn) : this.#rows.key(row);
  }

  get id(): string {
    return rowId(this.key, this.repeat);
  }

  get domain(): string {
    return this.chain.domain;
  }

  get group(): string {
    return `${this.chain.name}#${this.repeat}`;
  }

  /** The same chain and repeat at another turn. */
  at(turn: number): TurnJob {
    return new TurnJob(this.#rows, this.chain, turn, this.repeat);
  }
}

/** The jobs of a rollout. */
export interface TurnJobs {
  /** Those that are rows of the output, in its order. */
  readonly rows: List<TurnJob>;
  /** All that is asked, in the order of asking. */
  readonly order: List<TurnJob>;
  /** All that is asked or may be recorded, chain after chain and repeat after repeat: the order of the file of all turns. */
  readonly turns: List<TurnJob>;
  /** Those of the turns that are no rows. */
  readonly between: List<TurnJob>;
}

/** @param recorded the ids of the run's records */
export async function turnJobsOf(
  rows: RowIndex,
  plan: RolloutPlan,
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
  recorded: Iterable<string>,
): Promise<TurnJobs> {
  const jobs = await jobsOf(rows, plan.rows, repeats, recorded);
  const inRollout = [...jobs].flatMap(({ row, repeat }) => {
    const chain = plan.chainOf(row);
    return chain === undefined ? [] : [new TurnJob(rows, chain, rows.turnIdx(row), repeat)];
  });
  const most = inRollout.reduce((sum, { repeat }) => Math.max(sum, repeat + 1), repeats);
  const turns = turnsOf(rows, plan.chains, most, ({ end }) => end);
  return {
    rows: inRollout,
    order: turnsOf(rows, inChainOrder(rows, plan, order, sampleSeed), repeats, ({ last }) => last),
    between: filtered(turns, ({ row }) => row === undefined),
    turns,
  };
}

/** Repeats come one after the other. */
function turnsOf(
  rows: RowIndex,
  chains: readonly PlannedChain[],
  repeats: number,
  lastOf: (chain: PlannedChain) => number,
): List<TurnJob> {
  const turns = chains.flatMap((chain) =>
    Array.from({ length: lastOf(chain) - chain.from }, (_, index) => ({ chain, turn: chain.from + 1 + index })),
  );
  return listOf(turns.length * repeats, (place) => {
    const { chain, turn } = present(turns[place % turns.length]);
    return new TurnJob(rows, chain, turn, Math.floor(place / turns.length));
  });
}

/** Under `prefix` the longest come first: a long chain that begins late would leave the other slots empty at the end. */
function inChainOrder(
  rows: RowIndex,
  { chains }: RolloutPlan,
  order: InferSettings['order'],
  seed: number,
): PlannedChain[] {
  if (order === 'prefix') return chains.toSorted((a, b) => b.last - b.from - (a.last - a.from));
  const byDriver = new Map(chains.map((chain) => [chain.driver, chain]));
  return Array.from(ORDERS[order](rows, Uint32Array.from(byDriver.keys()).sort(), seed), (row) =>
    present(byDriver.get(row)),
  );
}
