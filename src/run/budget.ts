// What a run has spent over all its sessions, in tokens and dollars, and the limits `--budget-usd` and `--budget-tokens`.

import { costOf, type Price } from '../core/costs.js';
import { dollars, grouped } from '../core/printable.js';
import { type CallCost, CHARS_A_TOKEN, type Usage } from '../core/types.js';
import type { BudgetSettings } from './options.js';

/** How often to check whether a call in flight has ended. */
const LOOK_EVERY_MS = 20;

/** How many times more tokens per character a prompt may have than any prompt before it. */
const ROOM_FOR_PROMPTS = 1.5;

/**
 * Reserves the most that calls in flight can cost, including their full output budgets, so that a budget is exceeded by less than one call.
 * Reserving the mean would not be enough: calls still in flight are longer than average.
 */
export class Reserve {
  #calls = 0;
  #tokens = 0;
  #usd = 0;
  /** The most tokens per character of a prompt so far; while nothing has been counted, one is assumed to be safe. */
  #perChar = 0;

  /** @param spent the cost of all calls so far */
  constructor(
    private readonly spent: Ledger,
    private readonly settings: BudgetSettings,
  ) {}

  /**
   * Reserves what a call can cost. Returns undefined if there is no room for it next to those in flight; with none in flight it may always
   * start, so that a budget is used up. Call the returned function once the call has ended and its cost has been added to `spent`.
   * @param chars length of its prompt
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

  /** Like `take`, but waits until there is room; undefined if `isOff` says meanwhile that the call must not start. */
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
    // Sums of dollars are inexact: without this reset, a rounding error would build up.
    this.#usd = this.#calls === 0 ? 0 : this.#usd + usd;
  }
}

export type Spending = ReturnType<typeof spendingOf>;

/** What a run has spent, and its budget. Dollars are absent if no price is known. */
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

/** `$4.10 of $5`, `41,200 of 50,000 tokens`, or only what was spent; undefined if there is neither a price nor a budget. */
export function spendingText({ tokens, usd, budget }: Spending): string | undefined {
  const parts = [
    ...(usd === undefined ? [] : [`${dollars(usd)}${budget.usd === undefined ? '' : ` of ${dollars(budget.usd)}`}`]),
    ...(budget.tokens === undefined ? [] : [`${grouped(tokens)} of ${grouped(budget.tokens)} tokens`]),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** Why the run must stop; undefined while some budget is left. The amount spent is reported once the calls in flight have ended. */
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

/** A ratio of characters to tokens is trusted after this many prompt tokens. */
const ENOUGH_TOKENS = 10_000;

/**
 * What a run has spent; uncounted tokens are estimated. It never decreases: what is spent stays spent, whether its reply was kept or not.
 */
export class Ledger {
  /** Prompt and output, including cached tokens and thinking. */
  tokens = 0;
  /** The estimated share of `tokens`. */
  estimated = 0;
  #usd = 0;
  readonly #measured = { chars: 0, tokens: 0 };

  /** `price` returns what calls cost now; undefined if unknown. */
  constructor(readonly price: () => Price | undefined) {}

  /** Characters per prompt token, as measured by this run; four before it has measured enough. */
  get charsAToken(): number {
    const { chars, tokens } = this.#measured;
    return tokens >= ENOUGH_TOKENS ? chars / tokens : CHARS_A_TOKEN;
  }

  /** US dollars; undefined if no price is known. */
  get usd(): number | undefined {
    return this.price() === undefined ? undefined : this.#usd;
  }

  /**
   * Adds the cost of one record, or of one try.
   * @param entry `chars` are the characters sent, given if the usage is that of a single call; `calls` is the number of calls the cost
   * covers, if not 1
   * @param priceNow price of the model that was asked, if the ledger covers several
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
    // Both counts are known, so the cost is too.
    if (price !== undefined) this.#usd += costOf(all, price, calls) ?? 0;
  }
}

/** The most US dollars that a call with this many tokens can cost, however much is written to a cache; 0 if no price is known. */
function mostFor(promptTokens: number, completionTokens: number, price: Price | undefined): number {
  const costs = [0, promptTokens].map(
    (writtenTokens) => price && costOf({ promptTokens, writtenTokens, completionTokens }, price),
  );
  return Math.max(...costs.map((cost = 0) => cost));
}
