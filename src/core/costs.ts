// What calls cost: token counts, prices, and their sums.

import { z } from 'zod';
import { groupBy, keysOf } from './groups.js';
import { isInteger, isObject } from './json.js';
import { type CallCost, type CallLog, type Domain, TOKEN_KINDS, type Uncounted, type Usage } from './types.js';

/** Who is asked in a judged run: the world model for predictions, the judge for judgements. */
export const ASKED = ['world_model', 'judge'] as const;
export type Asked = (typeof ASKED)[number];

/** What a row cost over all of its records: a failed attempt was paid for, too. */
export interface Spent {
  /** All of its calls; absent if it needed none. */
  readonly log?: Pick<CallLog, 'attempts' | 'usage' | 'ms'> | undefined;
  /** US dollars: 0 if it needed no call, absent if unknown. */
  readonly usd?: number | undefined;
}

/** What several rows cost together. */
export interface Cost {
  /** Rows with token counts from the server. */
  readonly rows: number;
  /** Rows that called a model but whose cost is unknown: the server did not count tokens, or there is no known price. */
  readonly unpriced: number;
  /** A kind of token that no server reported is absent. */
  readonly usage: Readonly<Usage>;
  /** US dollars of the rows with a known cost; absent if there are none, or if their cost is 0 and other rows are unknown. */
  readonly usd?: number | undefined;
}

/** What calls to one model cost. */
export interface Spending {
  /** The price used to compute the dollars, if known. */
  readonly price?: Price | undefined;
  readonly total: Cost;
  /** Empty if only the total is known. */
  readonly domains: ReadonlyMap<Domain, Cost>;
}

/** What a run cost; absent for a model whose cost is unknown. */
export type RunCosts = Readonly<Partial<Record<Asked, Spending>>>;

/** The cost when no model is called, as for baselines and text measures. */
export const NO_CALL: Cost = { rows: 0, unpriced: 0, usage: {}, usd: 0 };

/** US dollars of two records of a row. An unknown cost does not hide the other one: a call that was cut off is seldom charged. */
export function usdOfBoth(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other;
}

/** The part of a row's cost that sums need. */
type RowCost = Pick<Spent, 'usd'> & { readonly log?: CallCost | undefined };

/** What a row's prediction and judgement cost, and how long they took in milliseconds; absent if unknown. */
export type RowSpent = Readonly<Record<'prediction' | 'judgement', RowCost & { readonly ms?: number | undefined }>>;

/** What rows cost by domain; a row without a record counts as unknown. */
export function costsByDomain(rows: Iterable<readonly [Domain, RowCost | undefined]>): ReadonlyMap<Domain, Cost> {
  const costOfRow = ({ log, usd }: RowCost = {}): Cost => {
    const usage = log?.usage ?? {};
    return { rows: isCounted(usage) ? 1 : 0, unpriced: usd === undefined ? 1 : 0, usage, usd };
  };
  const domains = groupBy(rows, ([domain]) => domain);
  return new Map(Array.from(domains, ([domain, own]) => [domain, sumOf(own.map(([, row]) => costOfRow(row)))]));
}

/** The sum of costs. Rows that needed no call cost 0 whatever the price of the others, so "at least $0" is dropped: it says nothing. */
export function sumOf(costs: Iterable<Cost>): Cost {
  const sum = { rows: 0, unpriced: 0, usage: {} };
  let dollars: number | undefined;
  for (const { rows, unpriced, usage, usd } of costs) {
    sum.rows += rows;
    sum.unpriced += unpriced;
    addUsage(sum.usage, usage);
    dollars = usdOfBoth(dollars, usd);
  }
  return dollars === undefined || (dollars === 0 && sum.unpriced > 0) ? sum : { ...sum, usd: dollars };
}

/** US dollars if all are known, else undefined: part of a bill must not be read as the complete bill. */
export function wholeCost({ usd, unpriced }: Cost): number | undefined {
  return unpriced === 0 ? usd : undefined;
}

// Which token counts can be believed, and their sums.

/** No call has this many tokens, and below this limit a sum over millions of rows is exact. */
const MOST_TOKENS = 1e9;

/** Whether a value that a server reports can be a number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** Whether a value, as read from a journal, says what was not counted. */
export function isUncounted(value: unknown): value is Uncounted {
  if (!isObject(value)) return false;
  return [value.sent, value.received].every((count) => isInteger(count) && count >= 0);
}

/** The counts in a usage object as read from a journal; other members are dropped. */
export function countsIn(written: unknown): Usage {
  const counts: Usage = {};
  for (const kind of TOKEN_KINDS) {
    const count = isObject(written) ? written[kind] : undefined;
    if (isInteger(count) && count >= 0) counts[kind] = count;
  }
  return counts;
}

/** Whether anything was counted. */
function isCounted(usage: Readonly<Usage>): boolean {
  return Object.keys(usage).length > 0;
}

/** How many calls a log's counts cover. */
export function callsCounted({ tries, usage }: Pick<CallLog, 'tries' | 'usage'>): number {
  return tries ?? (isCounted(usage) ? 1 : 0);
}

/** How many calls the counts of a journal's log cover; 1 if it does not say, as for a single call. */
export function callsIn(tries: unknown): number {
  return isInteger(tries) && tries > 0 ? tries : 1;
}

/** Adds the counts of a call to a sum. */
export function addUsage(sum: Usage, more: Usage = {}): void {
  for (const name of keysOf(more)) sum[name] = (sum[name] ?? 0) + (more[name] ?? 0);
}

/** What two calls cost together. */
export function costOfBoth(one: CallCost, other: CallCost): { readonly usage: Usage; readonly uncounted?: Uncounted } {
  const usage = { ...one.usage };
  addUsage(usage, other.usage);
  const uncounted = [one.uncounted, other.uncounted].filter((part) => part !== undefined);
  if (uncounted.length === 0) return { usage };
  const sumOf = (name: keyof Uncounted) => uncounted.reduce((sum, part) => sum + part[name], 0);
  return { usage, uncounted: { sent: sumOf('sent'), received: sumOf('received') } };
}

/**
 * A call's log with the cost of the calls before it added; the rest is the call's own. `chars` is dropped because it describes one
 * call.
 */
export function callsTogether(before: CallLog, { chars: _, ...log }: CallLog): CallLog {
  const tries = callsCounted(before) + callsCounted(log);
  return {
    ...log,
    ...(tries > 1 ? { tries } : {}),
    ...costOfBoth(before, log),
    attempts: before.attempts + log.attempts,
    ms: before.ms + log.ms,
  };
}

// What tokens cost: a price, and the cost of calls at that price.

const AMOUNT = z.number().min(0);
const TIERS = z.object({ base: AMOUNT, tiers: z.array(z.object({ start: AMOUNT, price: AMOUNT })).readonly() });
/**
 * US dollars per million tokens. With tiers, a call whose prompt has more than `start` tokens pays the tier's price for all of its
 * tokens; the highest matching tier applies.
 */
const RATE = z.union([AMOUNT, TIERS]);
type Rate = z.infer<typeof RATE>;

/** What calling a model costs. Plain JSON: a run's manifest keeps the price that the run used. */
export const PRICE = z.object({
  /** The model's name in its price list, and the list with its date or file. */
  model: z.string(),
  source: z.string(),
  input: RATE,
  /** For the part of the prompt read from the server's cache; charged as input if absent. */
  cached: RATE.optional(),
  /** For the part of the prompt written to the provider's cache; charged as input if absent. */
  written: RATE.optional(),
  /** Includes thinking. */
  output: RATE,
  /** US dollars per call. */
  call: AMOUNT.optional(),
});
export type Price = Readonly<z.infer<typeof PRICE>>;

/** Whether a value, as read from a manifest, is a price. */
export function isPrice(value: unknown): value is Price {
  return PRICE.safeParse(value).success;
}

const MILLION = 1e6;

/**
 * US dollars for one call, or for several as if all were alike: a price may depend on the length of each prompt, and may charge per
 * call. Undefined unless the server counted both prompt and completion, since half a cost would read as all of it. Counts follow
 * OpenAI's wire format: cached and written tokens are part of the prompt, reasoning tokens part of the completion.
 */
export function costOf(usage: Readonly<Usage>, price: Price, calls = 1): number | undefined {
  const { promptTokens, cachedTokens = 0, writtenTokens = 0, completionTokens } = usage;
  if (promptTokens === undefined || completionTokens === undefined) return undefined;
  const cached = Math.min(cachedTokens, promptTokens);
  const written = Math.min(writtenTokens, promptTokens - cached);
  const at = (rate: Rate) => rateAt(rate, promptTokens / calls);
  const tokens =
    (promptTokens - cached - written) * at(price.input) +
    cached * at(price.cached ?? price.input) +
    written * at(price.written ?? price.input) +
    completionTokens * at(price.output);
  return tokens / MILLION + calls * (price.call ?? 0);
}

/** Whether the price depends on the length of a prompt, so that a sum over calls of different lengths gives no exact cost. */
export function hasTiers({ input, cached, written, output }: Price): boolean {
  return [input, cached, written, output].some((rate) => typeof rate === 'object');
}

function rateAt(rate: Rate, promptTokens: number): number {
  if (typeof rate === 'number') return rate;
  const reached = rate.tiers.filter(({ start }) => promptTokens > start).sort((a, b) => b.start - a.start);
  return reached[0]?.price ?? rate.base;
}
