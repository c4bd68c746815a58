// What episodes cost: two models are paid, each at its own price, over all sessions of the run.

import type { Usage } from '../../core/types.js';
import { addUsage, callsIn, countsIn, isUncounted } from '../../core/usage.js';
import { Ledger } from '../../run/budget.js';
import type { Pricing } from '../../run/run.js';

/** Who is asked. */
export type Player = 'agent' | 'world';
export const PLAYERS: readonly Player[] = ['agent', 'world'];

/** What one of the two has cost. */
class Account {
  readonly served = new Set<string>();
  readonly usage: Usage = {};
  calls = 0;
  readonly ledger: Ledger;

  constructor(pricing: Pricing) {
    this.ledger = new Ledger(() => pricing(this.served));
  }

  /** Adds what the log of a call says, as a journal may hold it. */
  add({ usage, uncounted, tries, attempts, model }: Readonly<Record<string, unknown>>): void {
    if (typeof model === 'string') this.served.add(model);
    const counts = countsIn(usage);
    addUsage(this.usage, counts);
    this.calls += typeof attempts === 'number' ? attempts : 0;
    this.ledger.add({ usage: counts, calls: callsIn(tries), ...(isUncounted(uncounted) ? { uncounted } : {}) });
  }
}

/** Both accounts, and what is in them together. */
export class Purse {
  readonly agent: Account;
  readonly world: Account;

  constructor(prices: Readonly<Record<Player, Pricing>>) {
    this.agent = new Account(prices.agent);
    this.world = new Account(prices.world);
  }

  get calls(): number {
    return this.agent.calls + this.world.calls;
  }

  get tokens(): number {
    return this.agent.ledger.tokens + this.world.ledger.tokens;
  }

  get estimated(): number {
    return this.agent.ledger.estimated + this.world.ledger.estimated;
  }

  /** US dollars; undefined where the price of either is not known. */
  get usd(): number | undefined {
    const [agent, world] = [this.agent.ledger.usd, this.world.ledger.usd];
    return agent === undefined || world === undefined ? undefined : agent + world;
  }
}
