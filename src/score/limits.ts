// What a candidate may use: the limits that a policy can set.

import { percent } from '../coverage.js';
import { twoDecimals } from '../figures.js';
import type { Evidence } from './evidence.js';

interface Limit {
  /** Its key in a policy and in JSON. */
  readonly name: string;
  /** What it is on, in a sentence. */
  readonly what: string;
  /** The greatest limit that makes sense, in its unit. */
  readonly most: number;
  /** A value in its unit, as it reads in a sentence and in a table. */
  text(value: number): string;
  /** What the candidate used, in its unit; undefined where nobody recorded it. */
  used(evidence: Evidence): number | undefined;
}

/** The limits, in the order in which they are told: truncated predictions of all (0 to 1), completion tokens a row, money for the run. */
export const LIMITS: readonly Limit[] = [
  { name: 'truncated_share', what: 'truncated predictions', most: 1, text: percent, used: truncatedShare },
  {
    name: 'tokens_per_row',
    what: 'completion tokens a row',
    most: Number.POSITIVE_INFINITY,
    text: (value) => String(Number(value.toFixed(1))),
    used: ({ usage }) => usage?.tokensPerRow,
  },
  {
    name: 'cost',
    what: 'cost',
    most: Number.POSITIVE_INFINITY,
    text: twoDecimals,
    used: ({ usage }) => usage?.cost,
  },
];

function truncatedShare({ candidate }: Evidence): number | undefined {
  const domains = candidate?.domains ?? [];
  const rows = domains.reduce((sum, { valid, failed }) => sum + valid + failed, 0);
  const truncated = domains.reduce((sum, { flags }) => sum + (flags.truncated ?? 0), 0);
  return rows === 0 ? undefined : truncated / rows;
}
