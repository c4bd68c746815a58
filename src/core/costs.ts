// What calls cost: counts that can be believed, prices, and their sums.

import { z } from 'zod';
import { groupBy, keysOf } from './groups.js';
import { isInteger, isObject } from './json.js';
import { type CallCost, type CallLog, type Domain, TOKEN_KINDS, type Uncounted, type Usage } from './types.js';

/** Who is asked in a judged run: the world model for predictions, the judge for judgements. */
export const ASKED = ['world_model', 'judge'] as const;
export type Asked = (typeof ASKED)[number];

/** What a row took, over all of its records: one that failed and was asked again was paid for all the same. */
export interface Spent {
  /** All of its calls; absent where it needed none. */
  readonly log?: Pick<CallLog, 'attempts' | 'usage' | 'ms'> | undefined;
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

/** What a row's prediction and its judgement took, and how long, in milliseconds; absent as far as nobody knows. */
export type RowSpent = Readonly<Record<'prediction' | 'judgement', RowCost & { readonly ms?: number | undefined }>>;

/** What rows took by domain; one that has no record counts as unknown. */
export function costsByDomain(rows: Iterable<readonly [Domain, RowCost | undefined]>): ReadonlyMap<Domain, Cost> {
  const costOfRow = ({ log, usd }: RowCost = {}): Cost => {
    const usage = log?.usage ?? {};
    return { rows: isCounted(usage) ? 1 : 0, unpriced: usd === undefined ? 1 : 0, usage, usd };
  };
  const domains = groupBy(rows, ([domain]) => domain);
  return new Map(Array.from(domains, ([domain, own]) => [domain, sumOf(own.map(([, row]) => costOfRow(row)))]));
}

/** The sum of costs. "At least nothing" says nothing: rows that needed no call cost 0, whatever the price of the others. */
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

/** US dollars where all of them are known, and undefined elsewhere: part of a bill must not be taken for all of it. */
export function wholeCost({ usd, unpriced }: Cost): number | undefined {
  return unpriced === 0 ? usd : undefined;
}

// What calls cost: which counts can be believed, and their sums.

/** No call has this many tokens, and up to here the sum over millions of rows is exact. */
const MOST_TOKENS = 1e9;

/** Whether what a server reports can be a number of tokens. */
export function isTokenCount(value: unknown): value is number {
  return isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** Whether a value, as a journal may hold one, tells what was not counted. */
export function isUncounted(value: unknown): value is Uncounted {
  if (!isObject(value)) return false;
  return [value.sent, value.received].every((count) => isInteger(count) && count >= 0);
}

/** The counts in a usage as a journal may hold one; whatever else stands there is left out. */
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

/** Of how many calls a log's counts are. */
export function callsCounted({ tries, usage }: Pick<CallLog, 'tries' | 'usage'>): number {
  return tries ?? (isCounted(usage) ? 1 : 0);
}

/** Of how many calls a journal's log says that its counts are; 1 where it says nothing, as those of one call do. */
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

/** A call's log with what those before it cost; the rest is the call's own. Characters that were sent belong to one call. */
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

// What tokens cost: a price, and the cost of calls under it.

const AMOUNT = z.number().min(0);
const TIERS = z.object({ base: AMOUNT, tiers: z.array(z.object({ start: AMOUNT, price: AMOUNT })).readonly() });
/**
 * US dollars for a million tokens. With tiers a call whose prompt has more than `start` tokens costs the tier's price for all of
 * its tokens; the highest such tier holds.
 */
const RATE = z.union([AMOUNT, TIERS]);
type Rate = z.infer<typeof RATE>;

/** What asking a model costs. Plain JSON: a run's manifest keeps the price that the run was asked under. */
export const PRICE = z.object({
  /** The model as its price list names it, and the list with its date or file. */
  model: z.string(),
  source: z.string(),
  input: RATE,
  /** For the part of the prompt that came out of the server's cache; charged as input where absent. */
  cached: RATE.optional(),
  /** For the part of the prompt that went into the provider's cache; charged as input where absent. */
  written: RATE.optional(),
  /** Thinking included. */
  output: RATE,
  /** US dollars for each call. */
  call: AMOUNT.optional(),
});
export type Price = Readonly<z.infer<typeof PRICE>>;

/** Whether a value is a price, as a manifest may hold one. */
export function isPrice(value: unknown): value is Price {
  return PRICE.safeParse(value).success;
}

const MILLION = 1e6;

/**
 * US dollars for one call, or for several as if all were alike: a price may depend on the length of each prompt, and count calls.
 * Undefined where the server did not count both prompt and output, since half of a cost would read as the whole. Counts as OpenAI's wire
 * format has them: cached and written tokens are parts of the prompt, and reasoning tokens part of the completion.
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

/** Whether it depends on how long a prompt is, so that of calls of unlike length a sum of tokens gives no exact cost. */
export function hasTiers({ input, cached, written, output }: Price): boolean {
  return [input, cached, written, output].some((rate) => typeof rate === 'object');
}

function rateAt(rate: Rate, promptTokens: number): number {
  if (typeof rate === 'number') return rate;
  const reached = rate.tiers.filter(({ start }) => promptTokens > start).sort((a, b) => b.start - a.start);
  return reached[0]?.price ?? rate.base;
}
