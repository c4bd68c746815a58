// A rollout from the flags to its stage: what is refused, what is planned, and what is told of the plan.

import type { Dataset, RowRef } from '../../../bench/dataset.js';
import { EXIT, UserError } from '../../../errors.js';
import { counted } from '../../../figures.js';
import { parseRowId } from '../../../row-id.js';
import { MODEL_CAUSED_FAILURES } from '../../../types.js';
import type { Run } from '../../run.js';
import type { Inference } from '../inferring.js';
import type { InferSettings } from '../options.js';
import { type PlanCounts, planRollout, type RolloutPlan } from './plan.js';

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
