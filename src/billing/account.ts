// The sums of a bill, by domain and in all: calls go in one by one, since a price may depend on the length of a prompt.

import type { Charges, DomainCharges, Estimated } from '../bill.js';
import { inTableOrder } from '../domains.js';
import { costOf, type Price } from '../price.js';
import type { Domain, Usage } from '../types.js';

/** A call that is to be made. Tokens are not rounded. */
export interface Call {
  readonly characters: number;
  readonly promptTokens: number;
  /** Of the prompt, what a prefix cache could serve. */
  readonly cachedTokens: number;
  readonly output: Estimated;
}

interface Sums {
  rows: number;
  calls: number;
  characters: number;
  promptTokens: number;
  cachedTokens: number;
  output: Estimated;
  plain: Estimated;
  cached: Estimated;
}

const NOTHING: Estimated = { expected: 0, atLeast: 0, atMost: 0 };

export class Account {
  readonly #domains = new Map<Domain, Sums>();

  /** Without a price there is no cost. */
  constructor(private readonly price: Price | undefined) {}

  /** A row with all of its calls. */
  add(domain: Domain, calls: readonly Call[]): void {
    const sums = this.#domains.get(domain) ?? empty();
    this.#domains.set(domain, sums);
    sums.rows++;
    for (const call of calls) this.#addCall(sums, call);
  }

  #addCall(sums: Sums, { characters, promptTokens, cachedTokens, output }: Call): void {
    sums.calls++;
    sums.characters += characters;
    sums.promptTokens += promptTokens;
    sums.cachedTokens += cachedTokens;
    sums.output = sumOf(sums.output, output);
    if (this.price === undefined) return;
    sums.plain = sumOf(sums.plain, costed({ promptTokens }, output, this.price));
    // What a cache serves later went into it before.
    const writtenTokens = promptTokens - cachedTokens;
    sums.cached = sumOf(sums.cached, costed({ promptTokens, cachedTokens, writtenTokens }, output, this.price));
  }

  /** In the order of the published table. */
  domains(): DomainCharges[] {
    return [...this.#domains]
      .sort(([a], [b]) => inTableOrder(a, b))
      .map(([domain, sums]) => ({ domain, ...this.#chargesOf(sums) }));
  }

  total(): Charges {
    const total = empty();
    for (const sums of this.#domains.values()) {
      total.rows += sums.rows;
      total.calls += sums.calls;
      total.characters += sums.characters;
      total.promptTokens += sums.promptTokens;
      total.cachedTokens += sums.cachedTokens;
      total.output = sumOf(total.output, sums.output);
      total.plain = sumOf(total.plain, sums.plain);
      total.cached = sumOf(total.cached, sums.cached);
    }
    return this.#chargesOf(total);
  }

  #chargesOf({ output, plain, cached, ...counts }: Sums): Charges {
    return { ...counts, outputTokens: output, ...(this.price === undefined ? {} : { usd: { plain, cached } }) };
  }
}

function empty(): Sums {
  const counts = { rows: 0, calls: 0, characters: 0, promptTokens: 0, cachedTokens: 0 };
  return { ...counts, output: NOTHING, plain: NOTHING, cached: NOTHING };
}

/** A sum is known where all of its parts are. */
function sumOf(a: Estimated, b: Estimated): Estimated {
  return mapped((bound) => {
    const [one, other] = [a[bound], b[bound]];
    return one === undefined || other === undefined ? undefined : one + other;
  });
}

function costed(prompt: Readonly<Usage>, output: Estimated, price: Price): Estimated {
  return mapped((bound) => {
    const completionTokens = output[bound];
    return completionTokens === undefined ? undefined : costOf({ ...prompt, completionTokens }, price);
  });
}

function mapped(of: (bound: keyof Estimated) => number | undefined): Estimated {
  const [expected, atMost] = [of('expected'), of('atMost')];
  return {
    atLeast: of('atLeast') ?? 0,
    ...(expected === undefined ? {} : { expected }),
    ...(atMost === undefined ? {} : { atMost }),
  };
}
