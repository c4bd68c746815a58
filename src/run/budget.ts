// What a run has spent over all its sessions, in tokens and dollars, and `--budget-usd` and `--budget-tokens`, which bound it.

import { costOf, type Price } from '../core/costs.js';
import { dollars, grouped } from '../core/printable.js';
import { type CallCost, CHARS_A_TOKEN, type Usage } from '../core/types.js';
import type { BudgetSettings } from './options.js';

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
    private readonly spent: Ledger,
    private readonly settings: BudgetSettings,
  ) {}

  /**
   * Keeps back what a call can cost. Undefined where there is no room for it beside those in flight; alone it may always start, so that
   * a budget is used up. What it gives is called once the call has ended and is among what was spent.
   * @param chars of its prompt
   */
  take(chars: number, maxTokens: number, price = this.spent.price): ((usage?: Usage) => void) | undefined {
    const { budgetUsd = Number.POSITIVE_INFINITY, budgetTokens = Number.POSITIVE_INFINITY } = this.settings;
    const perChar = this.#perChar === 0 ? 1 : Math.max(this.#perChar, Math.min(1, ROOM_FOR_PROMPTS * this.#perChar));
    const promptTokens = Math.ceil(chars * perChar);
    const tokens = promptTokens + maxTokens;
    const usd = mostFor(promptTokens, maxTokens, price());
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

export type Spending = ReturnType<typeof spendingOf>;

/** What a run has spent, and what it may. Dollars are absent where no price is known. */
export function spendingOf(
  { tokens, estimated, usd }: Pick<Ledger, 'tokens' | 'estimated' | 'usd'>,
  { budgetUsd, budgetTokens }: BudgetSettings,
) {
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
    ...(budget.tokens === undefined ? [] : [`${grouped(tokens)} of ${grouped(budget.tokens)} tokens`]),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
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
    return `the run has spent its budget of ${grouped(budgetTokens)} tokens (--budget-tokens)`;
  }
  return undefined;
}

/** So many prompt tokens tell the characters a token of a run's prompts. */
const ENOUGH_TOKENS = 10_000;

/** What a run has spent; what nobody counted is estimated. Never goes back: what is spent stays spent, whether its reply was kept or not. */
export class Ledger {
  /** Prompt and output, cached tokens and thinking included. */
  tokens = 0;
  /** Those of the tokens that were estimated. */
  estimated = 0;
  #usd = 0;
  readonly #measured = { chars: 0, tokens: 0 };

  /** `price` is what calls cost now; undefined where nobody knows it. */
  constructor(readonly price: () => Price | undefined) {}

  /** Characters a token of prompts, as this run has measured it; four where it has not. */
  get charsAToken(): number {
    const { chars, tokens } = this.#measured;
    return tokens >= ENOUGH_TOKENS ? chars / tokens : CHARS_A_TOKEN;
  }

  /** US dollars; undefined where no price is known. */
  get usd(): number | undefined {
    return this.price() === undefined ? undefined : this.#usd;
  }

  /**
   * Adds what one record, or one try, cost.
   * @param entry `chars` are those that were sent, where the usage is that of one call, and `calls` those that the cost is of, if not 1
   * @param priceNow of the model that was asked, where the ledger is of several
   */
  add(entry: CallCost & { readonly chars?: number | undefined; readonly calls?: number }, priceNow = this.price): void {
    const { usage, chars, calls = 1, uncounted = { sent: 0, received: 0 } } = entry;
    const { promptTokens = 0, completionTokens = 0 } = usage;
    if (chars !== undefined && promptTokens > 0) {
      this.#measured.chars += chars;
      this.#measured.tokens += promptTokens;
    }
    const guessed = Math.ceil(uncounted.sent / this.charsAToken);
    const guessedOutput = Math.ceil(uncounted.received / CHARS_A_TOKEN);
    this.estimated += guessed + guessedOutput;
    const all = { ...usage, promptTokens: promptTokens + guessed, completionTokens: completionTokens + guessedOutput };
    const tokens = all.promptTokens + all.completionTokens;
    this.tokens += tokens;
    const price = tokens === 0 ? undefined : priceNow();
    // Both counts are there, so the cost is known.
    if (price !== undefined) this.#usd += costOf(all, price, calls) ?? 0;
  }
}

/** US dollars that a call with so many tokens costs at most, whatever goes into a cache; 0 where no price is known. */
function mostFor(promptTokens: number, completionTokens: number, price: Price | undefined): number {
  const costs = [0, promptTokens].map(
    (writtenTokens) => price && costOf({ promptTokens, writtenTokens, completionTokens }, price),
  );
  return Math.max(...costs.map((cost = 0) => cost));
}
