// A batch cannot be stopped half-way, so what it will probably cost is held against the budget before it is written.

import { EXIT, UserError } from '../../errors.js';
import { grouped } from '../../figures.js';
import { dollars } from '../../money.js';
import { chargedBill } from '../bill/dry-run.js';
import type { Stage, StageJob } from '../stage-contract.js';

/** @throws UserError (75) where the bill is larger than what is left of the budget */
export async function requireAffordable<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { settings } = stage;
  if (settings.budgetUsd === undefined && settings.budgetTokens === undefined) return;
  const { total, measured_cache: cache, budget } = (await chargedBill(stage)).document;
  const needs = { usd: cache?.usd ?? total.usd?.expected, tokens: total.prompt_tokens + total.output_tokens.expected };
  for (const unit of ['usd', 'tokens'] as const) {
    const { [unit]: need = 0 } = needs;
    const share = budget?.[unit] ?? undefined;
    if (share === undefined || share.covers === 1) continue;
    const show = unit === 'usd' ? dollars : (count: number) => `${grouped(Math.ceil(count))} tokens`;
    const left = Math.max(0, share.budget - share.spent);
    throw new UserError(
      `nothing was written: a batch cannot be stopped half-way, and it is estimated to take about ${show(need)}, where ${show(left)} of the budget (--budget-${unit}) are left; give a larger one, or choose fewer rows (--dry-run shows the bill)`,
      EXIT.later,
    );
  }
}
