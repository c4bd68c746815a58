// What a run's budget comes to beside its bill: what earlier sessions have spent of it, and how far the rest goes.

import type { Bill, BillBudget, BudgetShare } from '../../bill.js';
import { type BudgetSettings, reachedIn } from '../budget.js';
import type { Ledger } from '../ledger.js';

/** Undefined where none is given. A budget in dollars is left out where nobody knows a price. */
export function budgetOf(bill: Bill, ledger: Ledger, settings: BudgetSettings): BillBudget | undefined {
  const { budgetUsd, budgetTokens } = settings;
  const { promptTokens, outputTokens, usd } = bill.total;
  const shares: BudgetShare[] = [];
  if (budgetUsd !== undefined && ledger.usd !== undefined) {
    const expected = bill.measuredCache?.usd ?? usd?.plain.expected;
    const need = { atLeast: usd?.cached.atLeast ?? 0, ...(expected !== undefined && { expected }) };
    shares.push({ unit: 'usd', budget: budgetUsd, spent: ledger.usd, need });
  }
  if (budgetTokens !== undefined) {
    const { atLeast, expected } = outputTokens;
    const need = {
      atLeast: promptTokens + atLeast,
      ...(expected !== undefined && { expected: promptTokens + expected }),
    };
    shares.push({ unit: 'tokens', budget: budgetTokens, spent: ledger.tokens, need });
  }
  return shares.length === 0 ? undefined : { isSpent: reachedIn(ledger, settings) !== undefined, shares };
}
