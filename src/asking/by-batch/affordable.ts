// A batch cannot be stopped half-way, so what it will probably cost is held against the budget before it is written.

import { EXIT, UserError } from '../../errors.js';
import { grouped } from '../../figures.js';
import { dollars } from '../../money.js';
import { chargedBill } from '../bill/dry-run.js';
import type { BudgetSettings } from '../budget.js';
import type { AskingSettings } from '../options.js';
import type { Stage, StageJob } from '../stage-contract.js';
import type { Target } from '../target.js';

/** @throws UserError (75) where the bill is larger than what is left of the budget */
export async function requireAffordable<J extends StageJob>(
  stage: Stage<J>,
  target: Target,
  settings: AskingSettings & BudgetSettings,
): Promise<void> {
  if (settings.budgetUsd === undefined && settings.budgetTokens === undefined) return;
  const { budget } = await chargedBill(stage, target, settings);
  for (const { unit, budget: most, spent, need } of budget?.shares ?? []) {
    if (spent + need <= most) continue;
    const show = unit === 'usd' ? dollars : (count: number) => `${grouped(Math.ceil(count))} tokens`;
    throw new UserError(
      `nothing was written: a batch cannot be stopped half-way, and it is estimated to take about ${show(need)}, where ${show(Math.max(0, most - spent))} of the budget (--budget-${unit}) are left; give a larger one, or choose fewer rows (--dry-run shows the bill)`,
      EXIT.later,
    );
  }
}
