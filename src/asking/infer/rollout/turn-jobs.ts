// What a rollout asks: every turn of every chain in each repeat, a chain strictly turn after turn.

import type { Dataset, RowRef } from '../../../bench/dataset.js';
import { inInputOrder, ORDERS } from '../../../bench/selection.js';
import { present } from '../../../present.js';
import { turnKey } from '../../../rollout.js';
import { rowId } from '../../../row-id.js';
import type { StageJob } from '../../stage-contract.js';
import { jobsOf } from '../inferring.js';
import type { InferSettings } from '../options.js';
import type { PlannedChain, RolloutPlan } from './plan.js';

/** One turn of a chain in one of its repeats. */
export class TurnJob implements StageJob {
  readonly serial = true;

  /** @param turn 1-based */
  constructor(
    readonly chain: PlannedChain,
    readonly turn: number,
    readonly repeat: number,
  ) {}

  /** The benchmark's row that the turn is; undefined for a turn between rows. */
  get row(): RowRef | undefined {
    return this.chain.rows.get(this.turn);
  }

  /** A row's key, or a name in its place. */
  get key(): string {
    return this.row?.key ?? turnKey(this.chain.name, this.turn);
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
    return new TurnJob(this.chain, turn, this.repeat);
  }
}

/** The jobs of a rollout. */
export interface TurnJobs {
  /** Those that are rows of the output, in its order. */
  readonly rows: readonly TurnJob[];
  /** All that is asked, in the order of asking. */
  readonly order: readonly TurnJob[];
  /** All that is asked or may be recorded, chain after chain and repeat after repeat: the order of the file of all turns. */
  readonly turns: readonly TurnJob[];
  /** Those of the turns that are no rows. */
  readonly between: readonly TurnJob[];
}

/** @param recorded the ids of the run's records */
export function turnJobsOf(
  data: Pick<Dataset, 'rows' | 'find'>,
  plan: RolloutPlan,
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
  recorded: Iterable<string>,
): TurnJobs {
  const inRollout = jobsOf(data, plan.rows, repeats, recorded).flatMap(({ row, repeat }) => {
    const chain = plan.chainOf(row);
    return chain === undefined ? [] : [new TurnJob(chain, row.turnIdx, repeat)];
  });
  const most = inRollout.reduce((sum, { repeat }) => Math.max(sum, repeat + 1), repeats);
  const turns = turnsOf(plan.chains, most, ({ end }) => end);
  return {
    rows: inRollout,
    order: turnsOf(inChainOrder(plan, order, sampleSeed), repeats, ({ last }) => last),
    between: turns.filter(({ row }) => row === undefined),
    turns,
  };
}

/** Repeats come one after the other. */
function turnsOf(chains: readonly PlannedChain[], repeats: number, lastOf: (chain: PlannedChain) => number): TurnJob[] {
  return Array.from({ length: repeats }, (_, repeat) =>
    chains.flatMap((chain) =>
      Array.from(
        { length: lastOf(chain) - chain.from },
        (_, index) => new TurnJob(chain, chain.from + 1 + index, repeat),
      ),
    ),
  ).flat();
}

/** Under `prefix` the longest come first: a long chain that begins late would leave the other slots empty at the end. */
function inChainOrder({ chains }: RolloutPlan, order: InferSettings['order'], seed: number): readonly PlannedChain[] {
  if (order === 'prefix') return chains.toSorted((a, b) => b.last - b.from - (a.last - a.from));
  const byDriver = new Map(chains.map((chain) => [chain.driver, chain]));
  return ORDERS[order](inInputOrder(byDriver.keys()), seed).map((row) => present(byDriver.get(row)));
}
