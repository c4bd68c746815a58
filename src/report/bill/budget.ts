// A budget beside the bill, in words and in JSON.

import type { BillBudget, BudgetShare } from '../../bill.js';
import { dollars } from '../../money.js';

/** A line for each unit. */
export function budgetLines({ shares }: BillBudget): string[] {
  return shares.map((share) => {
    const { unit, budget, spent } = share;
    const figure = (value: number) => (unit === 'usd' ? dollars(value) : Math.round(value).toLocaleString('en'));
    const of = `${figure(spent)} of ${figure(budget)}${unit === 'usd' ? '' : ' tokens'}`;
    return `Budget: ${of} is spent; ${restText(share)}.`;
  });
}

function restText(share: BudgetShare): string {
  if (share.spent >= share.budget) return 'nothing is left';
  const { of, isLeast } = reachOf(share);
  if (of >= 1)
    return `the rest is enough for ${isLeast ? 'the prompts of this bill, and its output is unknown' : 'this bill'}`;
  const about = isLeast ? 'no more than' : 'about';
  const percent = of < 0.01 ? 'less than 1 %' : `${about} ${Math.floor(100 * of)} %`;
  return `the rest ends at ${percent} of this bill${isLeast ? ', whose output is unknown' : ''}`;
}

/** How much of the bill the rest pays: 1 and above for all of it. Where only the least that it takes is known, it may pay less. */
function reachOf({ budget, spent, need }: BudgetShare): { readonly of: number; readonly isLeast: boolean } {
  const amount = need.expected ?? need.atLeast;
  return {
    of: amount === 0 ? Number.POSITIVE_INFINITY : Math.max(0, budget - spent) / amount,
    isLeast: need.expected === undefined,
  };
}

/** `covers` is the share of the bill that the rest pays, 0 to 1, at most that where its output is unknown. */
export function budgetDocument({ isSpent, shares }: BillBudget) {
  const documentOf = (unit: BudgetShare['unit']) => {
    const share = shares.find((one) => one.unit === unit);
    if (share === undefined) return null;
    const { of, isLeast } = reachOf(share);
    return { budget: share.budget, spent: share.spent, covers: Math.min(1, of), covers_at_most: isLeast };
  };
  return { is_spent: isSpent, usd: documentOf('usd'), tokens: documentOf('tokens') };
}
