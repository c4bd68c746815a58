// From the flags to the plan of a rollout: which chains the chosen rows lead to, what is refused, and what to report. Every row of their
// trajectories is read once, and none is kept.

import type { Dataset, RowRef } from '../../benchmark/dataset.js';
import { inInputOrder } from '../../benchmark/selection.js';
import { throwIfStopped, UserError } from '../../core/errors.js';
import { groupBy } from '../../core/groups.js';
import { counted } from '../../core/printable.js';
import { parseRowId } from '../../core/row-id.js';
import { type Domain, MODEL_CAUSED_FAILURES, type Sample } from '../../core/types.js';
import type { Run } from '../../run/run.js';
import type { Inference } from '../inferring.js';
import type { InferSettings } from '../options.js';
import { bareAction, leaksBesideStates } from './rollout-turn.js';

/** A chain to ask: the turns after `from`, up to the last chosen one. */
export interface PlannedChain {
  /** The trajectory's key, followed by `~N` for the Nth further chain of the trajectory. */
  readonly name: string;
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row whose actions are asked. */
  readonly driver: RowRef;
  /** True turns before the rollout. */
  readonly from: number;
  /** The last turn that is asked; `from` if none is. */
  readonly last: number;
  /** The last turn that is asked, or that an earlier session may have recorded. */
  readonly end: number;
  /** Rows by turn, only those after `from`. */
  readonly rows: ReadonlyMap<number, RowRef>;
}

/** The rollout of the chosen rows. */
export type RolloutPlan = Awaited<ReturnType<typeof planRollout>>;

/**
 * @param recorded the rows that earlier sessions recorded
 * @throws UserError: 65 if a row can no longer be read, 130 or 143 if the user interrupts
 */
export async function planRollout(
  { dataset, chosen }: Pick<Inference, 'dataset' | 'chosen'>,
  recorded: ReadonlySet<RowRef>,
  from: number,
  stop: AbortSignal,
) {
  const isChosen = new Set(chosen);
  const chains: PlannedChain[] = [];
  let [further, leaking, leakingRows] = [0, 0, 0];
  for (const [trajectory, members] of groupBy(dataset.rows, (row) => row.trajectory)) {
    if (!members.some((row) => isChosen.has(row) || recorded.has(row))) continue;
    throwIfStopped(stop);
    const read = await Promise.all(members.map(async (row) => ({ row, sample: await dataset.readSample(row) })));
    for (const [number, { driver, rows }] of chainsOf(read).entries()) {
      const turnsOf = (some: ReadonlySet<RowRef>) => [...rows].flatMap(([turn, row]) => (some.has(row) ? [turn] : []));
      const [turns, before] = [turnsOf(isChosen), turnsOf(recorded)];
      const asked = turns.filter((turn) => turn > from);
      if (asked.length === 0 && before.length === 0) continue;
      if (leaksBesideStates(driver.sample, from + 2)) {
        leaking++;
        leakingRows += asked.length;
        continue;
      }
      if (number > 0 && asked.length > 0) further++;
      const last = Math.max(from, ...asked);
      chains.push({
        name: number === 0 ? trajectory : `${trajectory}~${number}`,
        trajectory,
        domain: driver.sample.domain,
        driver: driver.row,
        from,
        last,
        end: Math.max(last, ...before),
        rows: new Map([...rows].filter(([turn]) => turn > from)),
      });
    }
  }
  const rows = chains.flatMap((chain) => [...chain.rows].flatMap(([turn, row]) => (turn > chain.last ? [] : [row])));
  const passed = rows.filter((row) => !isChosen.has(row)).length;
  const told = [
    `${counted(leaking, 'chain')} (${counted(leakingRows, 'chosen row')}) left out of the rollout: the prompts show the true state in a different form from the observations, and would give it away`,
    `${counted(further, 'chain')} in addition to those of the longest rows: rows whose history differs from their trajectory's longest row`,
    `${counted(passed, 'row')} that this command did not choose lie on the way to chosen ones, and are scored too`,
  ];
  return {
    from,
    /** In the order of their trajectories' first rows. */
    chains,
    /** The rows that are asked and scored, in the order of the data: the chosen ones that a chain leads to, and those on the way. */
    rows: inInputOrder(rows),
    /** Notices for the user, one sentence each. */
    notices: told.filter((text) => !text.startsWith('0 ')),
  };
}

/**
 * The chains of one trajectory, from all of its rows in the order of the data: the longest row drives the first, and rows that are not
 * a beginning of it form chains of their own. Every row is in exactly one, under its turn (1-based). The second of two equal rows
 * begins its own chain, since a run asks for each.
 */
export function chainsOf<Row>(all: readonly { readonly row: Row; readonly sample: Sample }[]) {
  const chains: { readonly driver: (typeof all)[number]; readonly rows: ReadonlyMap<number, Row> }[] = [];
  let left = all;
  while (left.length > 0) {
    const driver = left.reduce((longest, other) => (other.sample.turnIdx > longest.sample.turnIdx ? other : longest));
    const rows = new Map([[driver.sample.turnIdx, driver.row]]);
    left = left.filter(({ row, sample }) => {
      if (row === driver.row) return false;
      if (rows.has(sample.turnIdx) || !isBeginningOf(sample, driver.sample)) return true;
      rows.set(sample.turnIdx, row);
      return false;
    });
    chains.push({ driver, rows });
  }
  return chains;
}

/** Whether the longer row contains everything that this row shows up to the action of its turn. */
function isBeginningOf(row: Sample, longer: Sample): boolean {
  const isSame = (_: unknown, at: number) =>
    row.responses[at] === longer.responses[at] && row.prompts[at] === longer.prompts[at];
  if (!Array.from({ length: row.turnIdx - 1 }).every(isSame)) return false;
  return bareAction(row, row.turnIdx) === bareAction(longer, row.turnIdx);
}

/** @throws UserError (2) for contradictory flags */
export function requireRolloutFlags({ rollout, rolloutFrom, protocol }: InferSettings): void {
  if (!rollout && rolloutFrom !== undefined) {
    throw new UserError('--rollout-from has no effect without --rollout; add --rollout, or leave it out');
  }
  if (rollout && protocol === 'blind') {
    throw new UserError(
      '--rollout needs a history to put predictions into, and --protocol blind sends none; use --protocol history',
    );
  }
}

/** @throws UserError: 2 if no chosen row is left, and as `planRollout` */
export async function openPlan(work: Inference, run: Run): Promise<RolloutPlan> {
  const { settings, dataset, io } = work;
  const plan = await planRollout(work, recordedRows(dataset, run.journal.ids()), settings.rolloutFrom ?? 0, io.stop);
  if (plan.rows.length === 0) throw new UserError(`no chosen row is part of the rollout: ${plan.notices.join('; ')}`);
  const sizes = 'prompt sizes are based on the recorded observations: longer predictions make longer prompts';
  run.notices.push(...plan.notices, ...(settings.dryRun ? [remarkOnRollout(plan), sizes] : []));
  return plan;
}

/** The rows that ids of records name. */
export function recordedRows({ find }: Dataset, ids: Iterable<string>): ReadonlySet<RowRef> {
  return new Set(Array.from(ids, (id) => find(parseRowId(id)?.key ?? '')).filter((row) => row !== undefined));
}

/** Failures that the model caused: the rollout has continued after them. */
export const FINAL_IN_ROLLOUTS: ReadonlySet<string> = new Set(MODEL_CAUSED_FAILURES);

/** How much a rollout asks: rows, and turns between them. */
export function remarkOnRollout({ chains, rows, from }: RolloutPlan): string {
  const asked = chains.filter(({ last }) => last > from);
  const turns = asked.reduce((sum, { last }) => sum + last - from, 0);
  const behind = from === 0 ? '' : ` after ${counted(from, 'true turn')}`;
  return `rollout: ${counted(asked.length, 'chain')} of ${counted(turns, 'turn')}${behind}, ${counted(turns - rows.length, 'turn')} of them between rows, asked but not scored`;
}
