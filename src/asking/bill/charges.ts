// What calls take: tokens, US dollars and time, and their sums.

import type { Charges, Estimated, TimeBasis } from '../../bill.js';
import { present } from '../../present.js';
import { costOf, type Price } from '../../price.js';
import type { Usage } from '../../types.js';

/** A call that is to be made. Tokens are not rounded. */
export interface Call {
  readonly characters: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: Estimated;
}

/** What a call takes; it is priced by itself, since a price may depend on the length of a prompt. Without a price there is no cost. */
export function chargesOf(call: Call, price: Price | undefined): Charges {
  const { promptTokens, cachedTokens, outputTokens } = call;
  const charges = { rows: 0, calls: 1, ...call };
  if (price === undefined) return charges;
  const costed = (usage: Readonly<Usage>) =>
    mapped(outputTokens, (completionTokens) => present(costOf({ ...usage, completionTokens }, price)));
  // What a cache serves later went into it before.
  const writtenTokens = promptTokens - cachedTokens;
  return {
    ...charges,
    usd: { plain: costed({ promptTokens }), cached: costed({ promptTokens, cachedTokens, writtenTokens }) },
  };
}

/** The sums of some rows' calls. */
export function sumOf(all: readonly Charges[], price: Price | undefined): Charges {
  const sum = (of: (charges: Charges) => number) => all.reduce((total, charges) => total + of(charges), 0);
  const sumOfEstimates = (of: (charges: Charges) => Estimated): Estimated => {
    const estimates = all.map(of);
    const total = (bound: (estimated: Estimated) => number) => estimates.reduce((sum, one) => sum + bound(one), 0);
    const atMost = total((one) => one.atMost ?? Number.POSITIVE_INFINITY);
    return {
      expected: total((one) => one.expected),
      atLeast: total((one) => one.atLeast),
      ...(Number.isFinite(atMost) && { atMost }),
    };
  };
  return {
    rows: sum(({ rows }) => rows),
    calls: sum(({ calls }) => calls),
    characters: sum(({ characters }) => characters),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    outputTokens: sumOfEstimates(({ outputTokens }) => outputTokens),
    ...(price !== undefined && {
      usd: {
        plain: sumOfEstimates(({ usd }) => present(usd).plain),
        cached: sumOfEstimates(({ usd }) => present(usd).cached),
      },
    }),
  };
}

function mapped({ expected, atLeast, atMost }: Estimated, of: (value: number) => number): Estimated {
  return { expected: of(expected), atLeast: of(atLeast), ...(atMost !== undefined && { atMost: of(atMost) }) };
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

/** The time that whatever is slowest takes; undefined where nothing is known. Limits alone give the least time. */
export function timeOf({ calls, promptTokens, outputTokens }: Charges, speed: Speed): TimeBasis | undefined {
  const { rate, measured, rpm, tpm } = speed;
  const pace = rate ?? measured;
  const isLeast = pace === undefined;
  const at = (by: TimeBasis['by'], count: number, perMinute: number | undefined): TimeBasis[] =>
    perMinute === undefined || perMinute <= 0 ? [] : [{ by, perMinute, isLeast, seconds: (60 * count) / perMinute }];
  return [
    ...at(rate === undefined ? 'measured' : 'rate', calls, pace),
    ...at('rpm', calls, rpm),
    ...at('tpm', promptTokens + outputTokens.expected, tpm),
  ].sort((a, b) => b.seconds - a.seconds)[0];
}
