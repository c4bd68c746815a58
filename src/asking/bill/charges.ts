// What calls take: tokens, US dollars and time, and their sums.

import type { Charges, EarlierRuns, Estimated, TimeBasis } from '../../bill.js';
import { present } from '../../present.js';
import { costOf, type Price } from '../../price.js';
import type { Usage } from '../../types.js';

/** A call that is to be made. Tokens are not rounded. */
export type Call = Pick<Charges, 'characters' | 'prompt_tokens' | 'cached_tokens' | 'output_tokens'>;

/** What a call takes; it is priced by itself, since a price may depend on the length of a prompt. */
export function chargesOf(call: Call, price: Price | undefined): Charges {
  const { prompt_tokens: promptTokens, cached_tokens: cachedTokens, output_tokens: output } = call;
  const costed = (usage: Readonly<Usage>): Estimated | null => {
    if (price === undefined) return null;
    const cost = (completionTokens: number) => present(costOf({ ...usage, completionTokens }, price));
    const atMost = output.at_most === null ? null : cost(output.at_most);
    return { expected: cost(output.expected), at_least: cost(output.at_least), at_most: atMost };
  };
  // What a cache serves later went into it before.
  const writtenTokens = promptTokens - cachedTokens;
  return {
    ...{ rows: 0, calls: 1, ...call },
    usd: costed({ promptTokens }),
    usd_cached: costed({ promptTokens, cachedTokens, writtenTokens }),
  };
}

/** The sums of some rows' calls. */
export function sumOf(all: readonly Charges[], price: Price | undefined): Charges {
  const sum = (of: (charges: Charges) => number) => all.reduce((total, charges) => total + of(charges), 0);
  const sumOfEstimates = (of: (charges: Charges) => Estimated): Estimated => ({
    expected: sum((charges) => of(charges).expected),
    at_least: sum((charges) => of(charges).at_least),
    at_most: all.some((charges) => of(charges).at_most === null) ? null : sum((charges) => of(charges).at_most ?? 0),
  });
  return {
    rows: sum(({ rows }) => rows),
    calls: sum(({ calls }) => calls),
    characters: sum(({ characters }) => characters),
    prompt_tokens: sum((charges) => charges.prompt_tokens),
    cached_tokens: sum((charges) => charges.cached_tokens),
    output_tokens: sumOfEstimates((charges) => charges.output_tokens),
    usd: price === undefined ? null : sumOfEstimates(({ usd }) => present(usd ?? undefined)),
    usd_cached: price === undefined ? null : sumOfEstimates((charges) => present(charges.usd_cached ?? undefined)),
  };
}

/** With whole tokens, as they are shown. */
export function rounded<C extends Charges>(charges: C): C {
  const { expected, at_least, at_most } = charges.output_tokens;
  return {
    ...charges,
    prompt_tokens: Math.round(charges.prompt_tokens),
    cached_tokens: Math.round(charges.cached_tokens),
    output_tokens: { expected: Math.round(expected), at_least, at_most },
  };
}

/** What is known of the speed, each a minute; a limit of 0 is none. */
export interface Speed {
  /** Calls, as the user says. */
  readonly rate?: number | undefined;
  /** Calls, as earlier runs made them. */
  readonly measured?: number | undefined;
  /** The most calls and tokens that the endpoint takes. */
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
}

/** The time that whatever is slowest takes; null where nothing is known. Limits alone give the least time. */
export function timeOf(
  { calls, prompt_tokens, output_tokens }: Charges,
  { rate, measured, rpm, tpm }: Speed,
  runs: EarlierRuns,
): TimeBasis | null {
  const pace = rate ?? measured;
  const at = (by: TimeBasis['by'], count: number, perMinute: number | undefined): TimeBasis[] => {
    if (perMinute === undefined || perMinute <= 0) return [];
    const seconds = (60 * count) / perMinute;
    return [{ seconds, at_least: pace === undefined, by, per_minute: perMinute, ...(by === 'measured' && runs) }];
  };
  const found = [
    ...at(rate === undefined ? 'measured' : 'rate', calls, pace),
    ...at('rpm', calls, rpm),
    ...at('tpm', prompt_tokens + output_tokens.expected, tpm),
  ];
  return found.sort((a, b) => b.seconds - a.seconds)[0] ?? null;
}
