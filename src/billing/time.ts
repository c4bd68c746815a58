// How long calls take at a rate, and under the limits of an endpoint.

import type { Charges, EarlierRuns, TimeBasis } from '../bill.js';

/** What is known of the speed, each a minute; a limit of 0 is none. */
export interface Speed {
  /** Calls, as the user says. */
  readonly rate?: number | undefined;
  /** Calls, as earlier runs made them. */
  readonly measured?: { readonly perMinute: number; readonly runs: EarlierRuns } | undefined;
  /** The most calls and tokens that the endpoint takes. */
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
}

/** The time that whatever is slowest takes; undefined where nothing is known. Limits alone give the least time. */
export function timeOf({ calls, promptTokens, outputTokens }: Charges, speed: Speed): TimeBasis | undefined {
  const { rate, measured, rpm, tpm } = speed;
  const tokens = promptTokens + (outputTokens.expected ?? outputTokens.atLeast);
  const pace = rate ?? measured?.perMinute;
  const isLeast = pace === undefined;
  const at = (by: TimeBasis['by'], count: number, perMinute: number | undefined): TimeBasis[] =>
    perMinute === undefined || perMinute <= 0 ? [] : [{ by, perMinute, isLeast, seconds: (60 * count) / perMinute }];
  const found = [
    ...at(rate === undefined ? 'measured' : 'rate', calls, pace),
    ...at('rpm', calls, rpm),
    ...at('tpm', tokens, tpm),
  ].sort((a, b) => b.seconds - a.seconds)[0];
  return found?.by === 'measured' && measured !== undefined ? { ...found, runs: measured.runs } : found;
}
