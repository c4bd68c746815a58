// The rows of a bill that are too long for the context that a server tells.

import type { Bill, ServerFacts } from '../../bill.js';
import type { Domain } from '../../types.js';
import { fitNotice, leastRoom, type SizedRow } from '../fit.js';

interface Budget {
  readonly maxTokens: number | undefined;
  readonly fitMaxTokens: boolean;
}

/** Takes the sizes of all rows; nothing is kept of those that fit. */
export class Overlong {
  readonly #rows: SizedRow[] = [];
  readonly #room: ReturnType<typeof leastRoom>;

  constructor(
    servers: readonly ServerFacts[],
    private readonly budget: Budget,
  ) {
    const contexts = servers.flatMap(({ host, contextTokens: tokens, refusesBudgets = false }) =>
      tokens === undefined ? [] : [{ host, tokens, refusesBudgets }],
    );
    const room = leastRoom(contexts, budget);
    // Where no row at all can fit, that is said in other words.
    this.#room = room !== undefined && room.tokens > 0 ? room : undefined;
  }

  /** A row and its prompts; without a place where another row stands for it. */
  add(domain: Domain, place: string | undefined, prompts: readonly { readonly promptTokens: number }[]): void {
    if (place === undefined || this.#room === undefined) return;
    const tokens = Math.ceil(Math.max(...prompts.map(({ promptTokens }) => promptTokens)));
    if (tokens > this.#room.tokens) this.#rows.push({ place, domain, tokens });
  }

  notice(): Bill['overlong'] {
    const rows = this.#rows.sort((a, b) => b.tokens - a.tokens);
    const notice = this.#room && fitNotice(rows, this.#room, this.budget);
    return notice && { summary: notice.summary, lines: notice.rows, rows };
  }
}
