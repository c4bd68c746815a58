// What episodes cost: two models are paid, each at its own price, over all sessions of the run.

import type { Usage } from '../../../types.js';
import { addUsage, callsIn, countsIn, isUncounted } from '../../../usage.js';
import { Ledger } from '../../ledger.js';
import type { Pricing } from '../../run.js';

/** Who is asked. */
export type Player = 'agent' | 'world';
export const PLAYERS: readonly Player[] = ['agent', 'world'];

interface Account {
  readonly ledger: Ledger;
  readonly served: Set<string>;
  readonly usage: Usage;
  calls: number;
}

export class Purse {
  readonly #accounts: Readonly<Record<Player, Account>>;

  constructor(prices: Readonly<Record<Player, Pricing>>) {
    const account = (pricing: Pricing): Account => {
      const served = new Set<string>();
      return { ledger: new Ledger(() => pricing(served)), served, usage: {}, calls: 0 };
    };
    this.#accounts = { agent: account(prices.agent), world: account(prices.world) };
  }

  /** Adds what the log of a call says, as a journal may hold it. */
  add(player: Player, { usage, uncounted, tries, attempts, model }: Readonly<Record<string, unknown>>): void {
    const account = this.#accounts[player];
    if (typeof model === 'string') account.served.add(model);
    const counts = countsIn(usage);
    addUsage(account.usage, counts);
    account.calls += typeof attempts === 'number' ? attempts : 0;
    account.ledger.add({ usage: counts, calls: callsIn(tries), ...(isUncounted(uncounted) ? { uncounted } : {}) });
  }

  of(player: Player): { readonly usage: Usage; readonly calls: number; readonly served: readonly string[] } {
    const { usage, calls, served } = this.#accounts[player];
    return { usage, calls, served: [...served] };
  }

  /** What the player's calls have cost. */
  ledgerOf(player: Player): Ledger {
    return this.#accounts[player].ledger;
  }

  /** Whether it is known what a call of the player costs. */
  isPriced(player: Player): boolean {
    return this.#accounts[player].ledger.usd !== undefined;
  }

  get tokens(): number {
    return this.#sum(({ tokens }) => tokens);
  }

  get estimated(): number {
    return this.#sum(({ estimated }) => estimated);
  }

  /** US dollars; undefined where the price of either is not known. */
  get usd(): number | undefined {
    return PLAYERS.every((player) => this.isPriced(player)) ? this.#sum(({ usd = 0 }) => usd) : undefined;
  }

  #sum(of: (ledger: Ledger) => number): number {
    return PLAYERS.reduce((sum, player) => sum + of(this.#accounts[player].ledger), 0);
  }
}
