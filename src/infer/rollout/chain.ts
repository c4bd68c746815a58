// The chains of a trajectory: its longest row drives the first, and rows that are no beginning of that one form chains of their own.

import { promptOf, withoutRequest } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';

/** A row of a trajectory, and what stands for it. */
interface TrajectoryRow<Row> {
  readonly row: Row;
  readonly sample: Sample;
}

/** The turns that a rollout goes through, and the rows that it passes. */
export interface Chain<Row> {
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

/** The prompt of a turn without the request to predict, which only the turn to predict has. */
export function bareAction(sample: Sample, turn: number): string {
  if (turn !== sample.turnIdx) return sample.prompts[turn - 1] ?? '';
  return sample.currentPrompt === '' ? withoutRequest(promptOf(sample)) : sample.currentPrompt;
}
