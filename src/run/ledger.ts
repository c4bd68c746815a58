// What a run has spent, over all its sessions: tokens and dollars, with what nobody counted estimated.

import { costOf, type Price } from '../core/price.js';
import { CHARS_A_TOKEN } from '../core/question.js';
import type { CallCost } from '../core/types.js';

/** So many prompt tokens tell the characters a token of a run's prompts. */
const ENOUGH_TOKENS = 10_000;

/** What one record, or one try, adds. */
interface Entry extends CallCost {
  /** Characters that were sent, where the usage is that of one call. */
  readonly chars?: number | undefined;
  /** Calls that the cost is of: 1 where it is absent. */
  readonly calls?: number;
  /** Nobody knows what it cost: an earlier version kept neither counts nor sizes. */
  readonly isUnknown?: boolean;
}

/** Never goes back: what is spent stays spent, whether its reply was kept or not. */
export class Ledger {
  #tokens = 0;
  #estimated = 0;
  #unknown = 0;
  #usd = 0;
  readonly #measured = { chars: 0, tokens: 0 };
  readonly #price: () => Price | undefined;

  /** `price` is what calls cost now; undefined where nobody knows it. */
  constructor(price: () => Price | undefined) {
    this.#price = price;
  }

  /** Prompt and output, cached tokens and thinking included. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Those of the tokens that were estimated. */
  get estimated(): number {
    return this.#estimated;
  }

  /** Characters a token of prompts, as this run has measured it; four where it has not. */
  get charsAToken(): number {
    const { chars, tokens } = this.#measured;
    return tokens >= ENOUGH_TOKENS ? chars / tokens : CHARS_A_TOKEN;
  }

  /** Records whose cost nobody knows; they add nothing. */
  get unknown(): number {
    return this.#unknown;
  }

  /** US dollars; undefined where no price is known. */
  get usd(): number | undefined {
    return this.#price() === undefined ? undefined : this.#usd;
  }

  /** US dollars that a call with so many tokens costs at most, whatever goes into a cache; 0 where no price is known. */
  mostFor(promptTokens: number, completionTokens: number): number {
    const price = this.#price();
    if (price === undefined) return 0;
    const costs = [0, promptTokens].map((writtenTokens) =>
      costOf({ promptTokens, writtenTokens, completionTokens }, price),
    );
    return Math.max(...costs.map((cost = 0) => cost));
  }

  add(entry: Entry): void {
    const { usage, chars, calls = 1, isUnknown = false } = entry;
    if (isUnknown) this.#unknown++;
    const { promptTokens = 0, completionTokens = 0 } = usage;
    if (chars !== undefined && promptTokens > 0) {
      this.#measured.chars += chars;
      this.#measured.tokens += promptTokens;
    }
    const guess = this.#estimateOf(entry);
    this.#estimated += guess.promptTokens + guess.completionTokens;
    const all = {
      ...usage,
      promptTokens: promptTokens + guess.promptTokens,
      completionTokens: completionTokens + guess.completionTokens,
    };
    const tokens = all.promptTokens + all.completionTokens;
    this.#tokens += tokens;
    const price = tokens === 0 ? undefined : this.#price();
    // Both counts are there, so the cost is known.
    if (price !== undefined) this.#usd += costOf(all, price, calls) ?? 0;
  }

  /** The tokens of what was not counted, rounded up. */
  #estimateOf({ uncounted }: Entry): { readonly promptTokens: number; readonly completionTokens: number } {
    if (uncounted === undefined) return { promptTokens: 0, completionTokens: 0 };
    return {
      promptTokens: Math.ceil(uncounted.sent / this.charsAToken),
      completionTokens: Math.ceil(uncounted.received / CHARS_A_TOKEN),
    };
  }
}
