// What tokens cost: a price, and the cost of calls under it.

import { isObject } from './json.js';
import type { Usage } from './types.js';

/**
 * US dollars for a million tokens. With tiers a call whose prompt has more than `start` tokens costs the tier's price for all of
 * its tokens; the highest such tier holds.
 */
type Rate =
  | number
  | { readonly base: number; readonly tiers: readonly { readonly start: number; readonly price: number }[] };

/** What asking a model costs. Plain JSON: a run's manifest keeps the price that the run was asked under. */
export interface Price {
  /** The model as its price list names it, and the list with its date or file. */
  readonly model: string;
  readonly source: string;
  readonly input: Rate;
  /** For the part of the prompt that came out of the server's cache; charged as input where absent. */
  readonly cached?: Rate;
  /** For the part of the prompt that went into the provider's cache; charged as input where absent. */
  readonly written?: Rate;
  /** Thinking included. */
  readonly output: Rate;
  /** US dollars for each call. */
  readonly call?: number;
}

/** Whether a value is a price, as a manifest may hold one. */
export function isPrice(value: unknown): value is Price {
  if (!isObject(value)) return false;
  const { model, source, input, cached, written, output, call } = value;
  const isTold = typeof model === 'string' && typeof source === 'string';
  const isOptional = (isIt: (value: unknown) => boolean, what: unknown) => what === undefined || isIt(what);
  const areOptional = [cached, written].every((rate) => isOptional(isRate, rate)) && isOptional(isAmount, call);
  return isTold && isRate(input) && isRate(output) && areOptional;
}

function isRate(value: unknown): boolean {
  if (!isObject(value)) return isAmount(value);
  const { base, tiers } = value;
  const isTier = (tier: unknown) => isObject(tier) && isAmount(tier.start) && isAmount(tier.price);
  return isAmount(base) && Array.isArray(tiers) && tiers.every(isTier);
}

/** A number of 0 or more; JSON has no infinite ones. */
function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0;
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
