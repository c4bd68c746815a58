// `--budget-usd` and `--budget-tokens`: what a run may spend over all its sessions, and the listener that stops it there.

import { EXIT } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { dollars } from '../core/money.js';
import { CHARS_A_TOKEN } from '../core/question.js';
import type { Usage } from '../core/types.js';
import type { Ledger } from './ledger.js';
import type { BudgetSettings } from './options.js';
import type { Beginning, StageListener } from './stage-contract.js';

/** Looks so often whether a call in flight has ended. */
const LOOK_EVERY_MS = 20;

/** A prompt may have so many times the tokens a character of any before it. */
const ROOM_FOR_PROMPTS = 1.5;

/**
 * Keeps back the most that calls in flight can cost, their whole output budgets among it, so that a budget is exceeded by less than one
 * call. Their mean would not do: what is still in flight is longer than the mean.
 */
export class Reserve {
  #calls = 0;
  #tokens = 0;
  #usd = 0;
  /** The most tokens a character of a prompt so far; one to be safe as long as nothing was counted. */
  #perChar = 0;

  /** @param spent what all calls have cost so far */
  constructor(
    private readonly spent: Pick<Ledger, 'tokens' | 'usd'>,
    private readonly settings: BudgetSettings,
  ) {}

  /**
   * Keeps back what a call can cost. Undefined where there is no room for it beside those in flight; alone it may always start, so that
   * a budget is used up. What it gives is called once the call has ended and is among what was spent.
   * @param chars of its prompt
   * @param ledger knows its price
   */
  take(chars: number, maxTokens: number, ledger: Ledger): ((usage?: Usage) => void) | undefined {
    const { budgetUsd = Number.POSITIVE_INFINITY, budgetTokens = Number.POSITIVE_INFINITY } = this.settings;
    const perChar = this.#perChar === 0 ? 1 : Math.max(this.#perChar, Math.min(1, ROOM_FOR_PROMPTS * this.#perChar));
    const promptTokens = Math.ceil(chars * perChar);
    const tokens = promptTokens + maxTokens;
    const usd = ledger.mostFor(promptTokens, maxTokens);
    const isTooMuch =
      this.spent.tokens + this.#tokens + tokens > budgetTokens || (this.spent.usd ?? 0) + this.#usd + usd > budgetUsd;
    if (isTooMuch && this.#calls > 0) return undefined;
    this.#hold(1, tokens, usd);
    return ({ promptTokens: counted = 0 } = {}) => {
      this.#hold(-1, -tokens, -usd);
      if (chars > 0) this.#perChar = Math.max(this.#perChar, counted / chars);
    };
  }

  /** The same once there is room; undefined where `isOff` says by then that the call is not to start. */
  async turn(isOff: () => boolean, ...call: Parameters<Reserve['take']>): Promise<ReturnType<Reserve['take']>> {
    for (;;) {
      const given = isOff() ? undefined : this.take(...call);
      if (given !== undefined || isOff()) return given;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  #hold(calls: number, tokens: number, usd: number): void {
    this.#calls += calls;
    this.#tokens += tokens;
    // Sums of dollars are not exact: what is left where nothing is held would grow.
    this.#usd = this.#calls === 0 ? 0 : this.#usd + usd;
  }
}

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
 * Stops the run once it has spent its budget: no try of any call starts from then on. Nothing is asked where earlier sessions have spent
 * it already.
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

function figure(count: number): string {
  return count.toLocaleString('en');
}
