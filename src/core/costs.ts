// What a judged run took: calls of the world model and of the judge, in tokens and in US dollars.

import type { Price } from './price.js';
import type { CallCost, CallLog, Domain, Usage } from './types.js';
import { addUsage, isCounted } from './usage.js';

/** Who is asked in a judged run: the world model for predictions, the judge for judgements. */
export const ASKED = ['world_model', 'judge'] as const;
export type Asked = (typeof ASKED)[number];

/** What a row took, over all of its records: one that failed and was asked again was paid for all the same. */
export interface Spent {
  /** All of its calls; absent where it needed none. */
  readonly log?: CallLog | undefined;
  /** US dollars: 0 where it needed no call, absent where nobody knows. */
  readonly usd?: number | undefined;
}

/** What rows took together. */
export interface Cost {
  /** Rows of which the server counted tokens. */
  readonly rows: number;
  /** Rows whose cost is not known although somebody was asked: the server did not count them, or nobody knows the price. */
  readonly unpriced: number;
  /** A kind of token that no server reported is absent. */
  readonly usage: Readonly<Usage>;
  /** US dollars of the rows whose cost is known; absent where there is none, or where those cost nothing and others are not known. */
  readonly usd?: number | undefined;
}

/** What asking one model took. */
export interface Spending {
  /** The price that the dollars were counted by, where one is known. */
  readonly price?: Price | undefined;
  readonly total: Cost;
  /** Empty where only the total is known. */
  readonly domains: ReadonlyMap<Domain, Cost>;
}

/** What a run took; who is absent, of them nothing is known. */
export type RunCosts = Readonly<Partial<Record<Asked, Spending>>>;

/** The cost of asking nobody, as baselines and text measures do. */
export const NO_CALL: Cost = { rows: 0, unpriced: 0, usage: {}, usd: 0 };

/** US dollars of two records of a row. One of which nothing is known hides no other: a call that was cut off is seldom charged. */
export function usdOfBoth(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other;
}

/** What a row took, as far as sums need it. */
type RowCost = Pick<Spent, 'usd'> & { readonly log?: CallCost | undefined };

/** What rows took by domain; one that has no record counts as unknown. */
export function costsByDomain(rows: Iterable<readonly [Domain, RowCost | undefined]>): ReadonlyMap<Domain, Cost> {
  const sums = new CostSums();
  for (const [domain, spent] of rows) sums.add(domain, spent);
  return sums.domains;
}

/** The same, row by row. */
class CostSums {
  readonly #sums = new Map<Domain, Sum>();

  add(domain: Domain, spent: RowCost | undefined): void {
    const sum = this.#sums.get(domain) ?? { rows: 0, unpriced: 0, usage: {} };
    this.#sums.set(domain, sum);
    const { usage = {} } = spent?.log ?? {};
    add(sum, { rows: isCounted(usage) ? 1 : 0, unpriced: spent?.usd === undefined ? 1 : 0, usage, usd: spent?.usd });
  }

  get domains(): ReadonlyMap<Domain, Cost> {
    return new Map([...this.#sums].map(([domain, sum]) => [domain, known(sum)]));
  }
}

/** The sum of costs. */
export function sumOf(costs: Iterable<Cost>): Cost {
  const sum: Sum = { rows: 0, unpriced: 0, usage: {} };
  for (const cost of costs) add(sum, cost);
  return known(sum);
}

/** "At least nothing" says nothing: rows that needed no call cost 0, whatever the price of the others. */
function known(sum: Sum): Cost {
  const { usd, ...rest } = sum;
  return usd === 0 && sum.unpriced > 0 ? rest : sum;
}

type Sum = { -readonly [Name in keyof Cost]: Cost[Name] } & { readonly usage: Usage };

function add(
  sum: Sum,
  { rows, unpriced, usage, usd }: Omit<Cost, 'usd'> & { readonly usd?: number | undefined },
): void {
  sum.rows += rows;
  sum.unpriced += unpriced;
  addUsage(sum.usage, usage);
  if (usd !== undefined) sum.usd = (sum.usd ?? 0) + usd;
}

/** US dollars where all of them are known, and undefined elsewhere: part of a bill must not be taken for all of it. */
export function wholeCost({ usd, unpriced }: Cost): number | undefined {
  return unpriced === 0 ? usd : undefined;
}
