// `--budget-usd` and `--budget-tokens`: what a run may spend over all its sessions, and the listener that stops it there.

import { EXIT, UserError } from '../errors.js';
import { counted } from '../figures.js';
import { dollars } from '../money.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { CHARS_A_TOKEN, type Ledger } from './ledger.js';
import type { Beginning, StageListener } from './listeners.js';

export const BUDGET_OPTIONS = {
  'budget-usd': {
    kind: 'number',
    min: 0.0001,
    value: 'X',
    group: 'Cost',
    help: 'stop once the run has cost X US dollars, all sessions together (exit 75); a larger budget goes on',
  },
  'budget-tokens': {
    kind: 'integer',
    min: 1,
    group: 'Cost',
    help: 'stop once the run has taken N tokens, prompt (cached or not) and output',
  },
} as const satisfies OptionTable;

export type BudgetSettings = Partial<Pick<Settings<typeof BUDGET_OPTIONS>, 'budgetUsd' | 'budgetTokens'>>;

/** What a run has spent, beside what it may. */
export interface Spending {
  readonly tokens: number;
  /** Those of the tokens that were estimated. */
  readonly estimated: number;
  /** Absent where no price is known. */
  readonly usd?: number;
  readonly budget: { readonly usd?: number; readonly tokens?: number };
}

export function spendingOf(
  { tokens, estimated, usd }: Pick<Ledger, 'tokens' | 'estimated' | 'usd'>,
  settings: BudgetSettings,
): Spending {
  const { budgetUsd, budgetTokens } = settings;
  const budget = {
    ...(budgetUsd !== undefined && { usd: budgetUsd }),
    ...(budgetTokens !== undefined && { tokens: budgetTokens }),
  };
  return { tokens, estimated, ...(usd !== undefined && { usd }), budget };
}

/** `$4.10 of $5`, `41,200 of 50,000 tokens`, or what was spent alone; undefined where nobody knows or minds. */
export function spendingText({ tokens, usd, budget }: Spending): string | undefined {
  const parts = [
    ...(usd === undefined ? [] : [`${dollars(usd)}${budget.usd === undefined ? '' : ` of ${dollars(budget.usd)}`}`]),
    ...(budget.tokens === undefined ? [] : [`${figure(tokens)} of ${figure(budget.tokens)} tokens`]),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/**
 * Stops the run once it has spent its budget: no try of any call starts from then on, so that what is spent beyond is that of the
 * calls in flight. Nothing is asked where earlier sessions have spent it already.
 */
export function budgetListener(settings: BudgetSettings): StageListener {
  let asking: Beginning | undefined;
  let saidEstimated = false;
  const stopIfReached = () => {
    const reason = asking && reachedIn(asking.ledger, settings);
    if (reason !== undefined) asking?.stop(reason, EXIT.later);
  };
  return {
    begins(beginning) {
      asking = beginning;
      const { unknown } = beginning.ledger;
      if (unknown > 0) {
        beginning.say(`${counted(unknown, 'earlier record')} without token counts: the budget does not count them`);
      }
      stopIfReached();
    },
    tried(_job, { uncounted }) {
      if (uncounted !== undefined && !saidEstimated) {
        saidEstimated = true;
        asking?.say(
          `the server did not count the tokens of every call (it reports none, or the call was broken off): the budget counts them as estimated, ${CHARS_A_TOKEN} characters a token or as measured`,
        );
      }
      stopIfReached();
    },
  };
}

/** Why the run is to stop; undefined while something is left of its budget. What was spent is told once the calls in flight have ended. */
export function reachedIn(
  { tokens, usd }: Pick<Ledger, 'tokens' | 'usd'>,
  { budgetUsd, budgetTokens }: BudgetSettings,
): string | undefined {
  if (budgetUsd !== undefined && usd !== undefined && usd >= budgetUsd) {
    return `the run has spent its budget of $${budgetUsd} (--budget-usd)`;
  }
  if (budgetTokens !== undefined && tokens >= budgetTokens) {
    return `the run has spent its budget of ${figure(budgetTokens)} tokens (--budget-tokens)`;
  }
  return undefined;
}

/** @throws UserError (2) for a budget in dollars where a model is to be served here, and no file says what that costs. */
export function requirePriceOfOwn({ budgetUsd, prices }: BudgetSettings & { readonly prices?: string | undefined }) {
  if (budgetUsd === undefined || prices !== undefined) return;
  throw new UserError(
    '--budget-usd needs a price, and a model that is served here (--local) has none: bound the tokens with --budget-tokens, or give a price of your own with --prices FILE (docs/costs.md)',
  );
}

/** @throws UserError (2) for a budget in dollars where nobody knows what a call costs; what a dry run does not serve has no name yet. */
export function requirePriced(
  {
    budgetUsd,
    dryRun = false,
    local,
  }: BudgetSettings & { readonly dryRun?: boolean; readonly local?: string | undefined },
  isPriced: boolean,
  { model, hosts }: { readonly model: string; readonly hosts: readonly string[] },
): void {
  if (budgetUsd === undefined || isPriced || (dryRun && local !== undefined)) return;
  throw new UserError(
    `--budget-usd needs a price, and none is known for "${model}" at ${hosts.join(', ')}: give it in a file with --prices FILE (docs/costs.md), or bound the tokens with --budget-tokens, which needs none`,
  );
}

function figure(count: number): string {
  return count.toLocaleString('en');
}
